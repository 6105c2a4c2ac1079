"""Marks of snapshot rows: first and last, of all and of each table, in whatever order ranges are read."""

from __future__ import annotations

from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.row_marks import Placed, RowMarks
from minercdc.stream.events import ChangeEvent, Op, Scn, SnapshotMark

TABLE = TableSchema(TableId("DB", "LAB", "ITEM"), (), ())


def row(name: str) -> ChangeEvent:
    return ChangeEvent(Op.READ, TABLE, None, (), Scn(1), 0, None, 0, name)


class Reading:
    """Takes batches, as 'table.range' and a number of rows, and notes what is delivered."""

    def __init__(self, begun: tuple[int, ...] = ()) -> None:
        self.marks = RowMarks(begun)
        self.delivered: list[tuple[str, str]] = []

    def take(self, table: int, number: int, count: int) -> None:
        self._note(self.marks.take((table, number), [row(f"{table}.{number}/{i}") for i in range(count)]))

    def end_table(self, table: int) -> None:
        self._note(self.marks.end_table(table))

    def end(self) -> list[tuple[str, str]]:
        self._note(self.marks.end())
        return self.delivered

    def _note(self, groups: object) -> None:
        for place, events in groups:  # type: ignore[attr-defined]
            for event in events:
                assert event.row_id.startswith(f"{place[0]}.{place[1]}/")
                self.delivered.append((event.row_id, event.snapshot.value))


def marks(counts: list[int], begun: tuple[int, ...] = ()) -> list[str]:
    """Of tables read whole, one after another, in batches of two."""
    reading = Reading(begun)
    for table, count in enumerate(counts):
        for start in range(0, count, 2):
            reading.take(table, 0, min(2, count - start))
        reading.end_table(table)
    return [mark for _, mark in reading.end()]


def test_first_and_last_rows_are_marked() -> None:
    assert marks([3, 2, 3]) == [
        *("first", "true", "last_in_data_collection"),
        *("first_in_data_collection", "last_in_data_collection"),
        *("first_in_data_collection", "true", "last"),
    ]


def test_last_row_is_last_though_empty_tables_follow() -> None:
    assert marks([0, 2, 0]) == ["first", "last"]
    assert marks([0, 0]) == []


def test_single_rows() -> None:
    assert marks([1]) == ["last"]
    assert marks([1, 1, 1]) == ["first", "last_in_data_collection", "last"]


def test_resumed_snapshot_has_no_second_first() -> None:
    assert marks([2, 2], begun=(0,)) == ["true", "last_in_data_collection", "first_in_data_collection", "last"]


def test_ranges_of_a_table_side_by_side_have_one_last_row() -> None:
    reading = Reading()
    reading.take(0, 0, 2)
    reading.take(0, 1, 2)
    reading.take(1, 0, 1)
    reading.take(0, 0, 1)
    reading.end_table(1)
    reading.end_table(0)
    assert reading.end() == [
        ("0.0/0", "first"),
        ("0.0/1", "true"),
        ("0.1/0", "true"),
        ("0.1/1", "true"),
        ("1.0/0", "last_in_data_collection"),
        ("0.0/0", "last"),
    ]


def test_a_row_that_is_held_back_is_reported_for_its_range_only() -> None:
    rows = RowMarks(())
    assert list(rows.take((0, 0), [row("a")])) == []
    assert rows.holds((0, 0))
    assert not rows.holds((0, 1))
    (placed,) = rows.take((0, 1), [row("b")])
    assert placed.place == (0, 0)
    assert (rows.holds((0, 0)), rows.holds((0, 1))) == (False, True)
    assert list(rows.end_table(0)) == []
    assert rows.holds((0, 1))
    (last,) = rows.end()
    assert isinstance(last, Placed)
    assert last.events[0].snapshot is SnapshotMark.LAST
    assert not rows.holds((0, 1))
