"""The lake's record: which of its entries came last."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, ClassVar, Self, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from minercdc.lake.table import state
from minercdc.lake.table.format import LogTable, Once, RowsAsked
from minercdc.lake.table.state import Entry, StateTable, state_of


class Appended:
    """A table of the rows that are appended."""

    name = "state"

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool:
        self.rows += rows.to_pylist()
        return True


class Committing(Appended):
    """Its appends are there some time before they return."""

    def __init__(self) -> None:
        super().__init__()
        self.is_there, self.goes_on = threading.Event(), threading.Event()

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool:
        done = super().append_here(rows)
        self.is_there.set()
        assert self.goes_on.wait(60)
        return done

    def newest_version(self) -> int:
        return len(self.rows)

    def read_here(self, asked: RowsAsked) -> list[pa.Table]:
        columns = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        return [pa.table({**columns, "at": pa.array(columns["at"], pa.timestamp("us", "UTC"))})]


def test_what_a_thread_appends_is_not_read_by_another_one_as_that_of_others() -> None:
    table = Committing()
    record = StateTable(cast(Any, None), cast(LogTable, table))
    with ThreadPoolExecutor(2) as pool:
        appended = pool.submit(record.append, [Entry("complete", scn=10)])
        assert table.is_there.wait(60)
        others = pool.submit(record.of_others)
        wait([others], timeout=0.2)
        table.goes_on.set()
        assert others.result() == []
        appended.result()


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
