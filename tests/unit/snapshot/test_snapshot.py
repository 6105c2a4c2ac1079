"""Marks of snapshot rows, the scan's SQL and its rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minercdc.events import ChangeEvent, Op, Scn
from minercdc.offset import TableProgress
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.initial import mark_rows
from minercdc.snapshot.scan import row_converter, scan_sql

TABLE = TableSchema(
    TableId("DB", "LAB", "ITEM"),
    (
        Column("ID", "NUMBER", 10, 0),
        Column("QTY", "NUMBER", 12, 3),
        Column("Name", "VARCHAR2", 80),
        Column("D", "DATE"),
        Column("R", "RAW", 4),
    ),
    (0,),
)


def marks(counts: list[int], done: list[int] | None = None) -> list[tuple[str, bool]]:
    progress = [TableProgress(f"LAB.T{i}", rows=rows) for i, rows in enumerate(done or [0] * len(counts))]
    events = [
        (place, ChangeEvent(Op.READ, TABLE, None, (), Scn(1), 0, None, 0, f"{place}/{i}"))
        for place, count in enumerate(counts)
        for i in range(count)
    ]
    found = []
    for event, place, is_last in mark_rows(iter(events), progress):
        assert event.snapshot is not None
        assert event.row_id is not None
        assert event.row_id.startswith(f"{place}/")
        found.append((event.snapshot.value, is_last))
    return found


def test_first_and_last_rows_are_marked() -> None:
    assert marks([3, 2, 3]) == [
        ("first", False),
        ("true", False),
        ("last_in_data_collection", True),
        ("first_in_data_collection", False),
        ("last_in_data_collection", True),
        ("first_in_data_collection", False),
        ("true", False),
        ("last", True),
    ]


def test_last_row_is_last_though_empty_tables_follow() -> None:
    assert marks([0, 2, 0]) == [("first", False), ("last", True)]
    assert marks([0, 0]) == []


def test_single_rows() -> None:
    assert marks([1]) == [("last", True)]
    assert marks([1, 1, 1]) == [("first", True), ("last_in_data_collection", True), ("last", True)]


def test_resumed_snapshot_has_no_second_first() -> None:
    assert marks([2, 2], done=[5, 0]) == [
        ("true", False),
        ("last_in_data_collection", True),
        ("first_in_data_collection", False),
        ("last", True),
    ]


def test_row_held_back_is_not_marked_last_when_reading_breaks_off() -> None:
    def breaking() -> Iterator[tuple[int, ChangeEvent]]:
        for i in range(3):
            yield 0, ChangeEvent(Op.READ, TABLE, None, (), Scn(1), 0, None, 0, str(i))
        raise ConnectionError

    taken: list[tuple[ChangeEvent, int, bool]] = []
    rows = mark_rows(breaking(), [TableProgress("LAB.T")])
    with pytest.raises(ConnectionError):
        taken.extend(rows)
    assert [(event.row_id, is_last) for event, _, is_last in taken] == [("0", False), ("1", False)]


def test_scan_asks_for_exact_values_in_order_of_rowid() -> None:
    columns = """ROWID, "ID", "QTY", "Name", TO_CHAR("D", 'SYYYY-MM-DD HH24:MI:SS'), "R\""""
    assert scan_sql(TABLE, 77, after=False) == f'SELECT {columns} FROM "LAB"."ITEM" AS OF SCN 77 ORDER BY ROWID'
    assert scan_sql(TABLE, 77, after=True).endswith(" AS OF SCN 77 WHERE ROWID > :last ORDER BY ROWID")


def test_table_without_supported_columns_has_empty_rows() -> None:
    empty = TableSchema(TABLE.id, ())
    assert list(row_converter(empty)([("AAA",), ("AAB",)])) == [("AAA", ()), ("AAB", ())]


def test_rows_equal_those_of_redo() -> None:
    batch = [
        ("AAA", "1", ".5", "a'b", " 2026-02-28 13:45:59", b"\xca\xfe"),
        ("AAB", "2", None, None, "-4712-01-01 00:00:00", None),
    ]
    assert list(row_converter(TABLE)(batch)) == [
        ("AAA", ("1", "0.5", "a'b", "2026-02-28 13:45:59", "cafe")),
        ("AAB", ("2", None, None, "-4712-01-01 00:00:00", None)),
    ]
