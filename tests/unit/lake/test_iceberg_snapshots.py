"""Which snapshots of an Iceberg table stand for which versions, and which ones maintenance removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from minercdc.errors import LakeError
from minercdc.lake.table.format import Applied
from minercdc.lake.table.iceberg.snapshots import APPLIED, REWRITE, Snapshots, version_of


@dataclass
class Snapshot:
    """A snapshot as Iceberg gives it.

    :param age: of its commit.
    :param writer: who committed it: a part of its id.
    """

    number: int
    parent: int | None
    age: timedelta = timedelta(0)
    operation_: str = "overwrite"
    said: dict[str, str] = field(default_factory=dict)
    writer: int = 1

    def snapshotId(self) -> int:
        return 100 * self.writer + self.number

    def sequenceNumber(self) -> int:
        return self.number

    def parentId(self) -> int | None:
        return None if self.parent is None else 100 * self.writer + self.parent

    def operation(self) -> str:
        return self.operation_

    def timestampMillis(self) -> int:
        return int((datetime.now(UTC) - self.age).timestamp() * 1000)

    def summary(self) -> dict[str, str]:
        return self.said


class JavaCollection:
    """A collection, and its only iterator, as py4j has them."""

    def __init__(self, found: Sequence[Any]) -> None:
        self._left = list(found)

    def iterator(self) -> JavaCollection:
        return self

    def hasNext(self) -> bool:
        return bool(self._left)

    def next(self) -> Any:
        return self._left.pop(0)


class Table:
    """A table of these snapshots.

    :param history: ids of those that were the current one, in order, also of some that are gone.
    :ivar expired: numbers of those that were removed.
    """

    def __init__(self, kept: Sequence[Snapshot], history: Sequence[int]) -> None:
        self._kept = {one.snapshotId(): one for one in kept}
        self._history = history
        self.expired: list[int] = []

    def name(self) -> str:
        return "shop.t"

    def history(self) -> list[Any]:
        return [SimpleNamespace(snapshotId=lambda number=number: number) for number in self._history]

    def snapshots(self) -> JavaCollection:
        return JavaCollection(list(self._kept.values()))

    def snapshot(self, number: int) -> Snapshot | None:
        return self._kept.get(number)

    def refs(self) -> dict[str, Any]:
        return {}

    def expireSnapshots(self) -> Any:
        def expire(number: int) -> Any:
            self.expired.append(number - 100)
            return expiry

        committed = SimpleNamespace(commit=lambda: None)
        expiry = SimpleNamespace(expireSnapshotId=expire, cleanExpiredFiles=lambda _: committed)
        return expiry


def snapshots(kept: Sequence[Snapshot], history: Sequence[int] | None = None) -> tuple[Snapshots, Table]:
    table = Table(kept, [one.snapshotId() for one in kept] if history is None else [100 + one for one in history])
    found = Snapshots.__new__(Snapshots)
    found.table, found.newest = table, kept[-1]
    return found, table


def days(number: float) -> timedelta:
    return timedelta(days=number)


@pytest.mark.parametrize("of_older", [False, True], ids=["", "versions that an older lake recorded"])
def test_what_has_the_rows_of_a_version_that_was_joined_stays_as_long_as_these_are_needed(*, of_older: bool) -> None:
    """A table that rests: its version goes, when it was joined long ago. Then it changes, and SCNs of before are still to be read."""
    joined = [
        Snapshot(1, None, days(20), said={APPLIED: "1"}),
        Snapshot(2, 1, days(19), REWRITE, said={APPLIED: "1"}),
        Snapshot(3, 2, days(18.9), REWRITE, said={APPLIED: "1"}),
        Snapshot(4, 3, days(1), said={APPLIED: "4"}),
    ]
    first, _, third, last = (one.number if of_older else version_of(one) for one in joined)
    found, table = snapshots(joined)
    found.expire(days(7), (APPLIED,), {first, last})
    assert table.expired == [2, 1]
    assert found.rewritten(first) == version_of(joined[2])
    left, _ = snapshots(joined[2:], [3, 4])  # once the others are gone
    assert left.rewritten(first) == version_of(joined[2])
    assert left.of_version(third) is joined[2]


def test_versions_that_no_scn_needs_go() -> None:
    line = [Snapshot(i, i - 1 or None, days(2 - i / 10), said={APPLIED: str(i)}) for i in (1, 2, 3, 4)]
    found, table = snapshots(line)
    found.expire(days(7), (APPLIED,), {version_of(line[1]), version_of(line[3])})
    assert table.expired == [3, 1]


def test_files_that_were_joined_after_the_table_was_set_back_are_not_those_of_a_later_version() -> None:
    back = [Snapshot(1, None), Snapshot(2, 1), Snapshot(3, 2), Snapshot(4, 1, operation_=REWRITE)]
    first, second, third, joined = map(version_of, back)
    assert snapshots(back, [1, 2, 3, 1, 4])[0].rewritten(third) == third
    assert snapshots([back[0], *back[2:]], [3, 1, 4])[0].rewritten(second) == second
    assert snapshots(back, [1, 2, 3, 1, 4])[0].rewritten(first) == joined


def test_a_version_that_another_process_wrote_over_is_not_the_one_of_its_number() -> None:
    lost, there = Snapshot(2, 1), Snapshot(2, None, writer=2)
    after = Snapshot(3, 2, operation_=REWRITE, writer=2)
    found, _ = snapshots([there])
    assert version_of(lost) != version_of(there)
    with pytest.raises(LakeError, match="version 2 of Iceberg table shop.t is not kept any more"):
        found.of_version(version_of(lost))
    found, _ = snapshots([there, after])
    assert found.rewritten(version_of(lost)) == version_of(lost)
    assert found.rewritten(version_of(there)) == version_of(after)


def test_the_version_of_an_scn_has_nothing_of_a_later_one() -> None:
    """What another process commits beside a merge, and what a kill leaves half done, is none; files that are joined, and columns, are."""

    def said(scn: int) -> dict[str, str]:
        return {APPLIED: Applied(scn, 1).to_json()}

    line = [
        Snapshot(1, None, said=said(5)),
        Snapshot(2, 1),  # half of what makes the next one
        Snapshot(3, 2, said=said(6)),
        Snapshot(4, 3, operation_=REWRITE, said=said(5)),  # that began before
        Snapshot(5, 4),
    ]
    found, _ = snapshots(line)
    assert found.up_to(Applied(6, 1)) is line[4]
    assert found.up_to(Applied(7, 1)) is line[4]  # it took no commit
    assert found.up_to(Applied(5, 1)) is line[1]
    assert found.first_of(Applied(6, 1)) is line[2]
    assert found.first_of(Applied(9, 1)) is line[4]
    assert snapshots(line[:4])[0].up_to(Applied(6, 1)) is line[3]
