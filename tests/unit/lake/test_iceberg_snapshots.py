"""Which snapshots of an Iceberg table stand for which versions, and which ones maintenance removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from minercdc.lake.table.iceberg.snapshots import APPLIED, REWRITE, Snapshots


@dataclass
class Snapshot:
    """A snapshot as Iceberg gives it.

    :param age: of its commit.
    """

    number: int
    parent: int | None
    age: timedelta = timedelta(0)
    operation_: str = "overwrite"
    said: dict[str, str] = field(default_factory=dict)

    def snapshotId(self) -> int:  # noqa: N802
        return 100 + self.number

    def sequenceNumber(self) -> int:  # noqa: N802
        return self.number

    def parentId(self) -> int | None:  # noqa: N802
        return None if self.parent is None else 100 + self.parent

    def operation(self) -> str:
        return self.operation_

    def timestampMillis(self) -> int:  # noqa: N802
        return int((datetime.now(UTC) - self.age).timestamp() * 1000)

    def summary(self) -> dict[str, str]:
        return self.said


class Table:
    """A table of these snapshots.

    :param history: numbers of those that were the current one, in order, also of some that are gone.
    :ivar expired: numbers of those that were removed.
    """

    def __init__(self, kept: Sequence[Snapshot], history: Sequence[int]) -> None:
        self._kept = {one.snapshotId(): one for one in kept}
        self._history = history
        self.expired: list[int] = []

    def history(self) -> list[Any]:
        return [SimpleNamespace(snapshotId=lambda number=number: 100 + number) for number in self._history]

    def snapshots(self) -> list[Snapshot]:
        return list(self._kept.values())

    def snapshot(self, number: int) -> Snapshot | None:
        return self._kept.get(number)

    def refs(self) -> dict[str, Any]:
        return {}

    def expireSnapshots(self) -> Any:  # noqa: N802
        def expire(number: int) -> Any:
            self.expired.append(number - 100)
            return expiry

        committed = SimpleNamespace(commit=lambda: None)
        expiry = SimpleNamespace(expireSnapshotId=expire, cleanExpiredFiles=lambda _: committed)
        return expiry


def snapshots(kept: Sequence[Snapshot], history: Sequence[int] | None = None) -> tuple[Snapshots, Table]:
    table = Table(kept, [one.number for one in kept] if history is None else history)
    found = Snapshots.__new__(Snapshots)
    found.table, found.newest = table, kept[-1]
    return found, table


def days(number: float) -> timedelta:
    return timedelta(days=number)


def test_what_has_the_rows_of_a_version_that_was_joined_stays_as_long_as_these_are_needed() -> None:
    """A table that rests: its version goes, when it was joined long ago. Then it changes, and SCNs of before are still to be read."""
    joined = [
        Snapshot(1, None, days(20), said={APPLIED: "1"}),
        Snapshot(2, 1, days(19), REWRITE, said={APPLIED: "1"}),
        Snapshot(3, 2, days(18.9), REWRITE, said={APPLIED: "1"}),
        Snapshot(4, 3, days(1), said={APPLIED: "4"}),
    ]
    found, table = snapshots(joined)
    found.expire(days(7), (APPLIED,), {1, 4})
    assert table.expired == [2, 1]
    assert found.rewritten(1) == 3
    assert snapshots(joined[2:], [3, 4])[0].rewritten(1) == 3  # once the others are gone


def test_versions_that_no_scn_needs_go() -> None:
    found, table = snapshots([Snapshot(i, i - 1 or None, days(2 - i / 10), said={APPLIED: str(i)}) for i in (1, 2, 3, 4)])
    found.expire(days(7), (APPLIED,), {2, 4})
    assert table.expired == [3, 1]


def test_files_that_were_joined_after_the_table_was_set_back_are_not_those_of_a_later_version() -> None:
    back = [Snapshot(1, None), Snapshot(2, 1), Snapshot(3, 2), Snapshot(4, 1, operation_=REWRITE)]
    assert snapshots(back, [1, 2, 3, 1, 4])[0].rewritten(3) == 3
    assert snapshots([back[0], *back[2:]], [3, 1, 4])[0].rewritten(2) == 2
    assert snapshots(back, [1, 2, 3, 1, 4])[0].rewritten(1) == 4
