"""The lake's record: which of its entries came last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, ClassVar, Self, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from minercdc.lake.table import state
from minercdc.lake.table.format import LogTable, Once
from minercdc.lake.table.state import Entry, StateTable, state_of


class Appended:
    """A table of the rows that are appended."""

    name = "state"

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool:
        self.rows += rows.to_pylist()
        return True


class Clock(datetime):
    """Is set back by an hour after each look."""

    hour: ClassVar[int] = 20

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        cls.hour -= 1
        return cls(2026, 1, 1, cls.hour, tzinfo=UTC)


def test_the_order_of_entries_is_kept_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "datetime", Clock)
    table = Appended()
    record = StateTable(cast(Any, None), cast(LogTable, table))
    for scn in (10, 20, 30):
        record.append([Entry("table", "A.T", version=scn, scn=scn), Entry("complete", scn=scn)])
    times = [row["at"] for row in table.rows]
    assert times == sorted(set(times))
    assert times[-1] - times[0] < timedelta(seconds=1)
    found = state_of(
        Entry(row["kind"], row["name"], scn=row["scn"]) for row in sorted(table.rows, key=lambda row: row["at"])
    )
    assert (found.complete, found.tables["A.T"].scn) == (30, 30)


def test_how_far_a_table_was_is_known_when_it_is_made_again_as_of_an_earlier_scn() -> None:
    found = state_of(Entry("table", "A.T", version=number, scn=scn) for number, scn in enumerate((10, 30, 20)))
    assert (found.applied("A.T").scn, found.furthest["A.T"]) == (20, 30)
