"""The scan's SQL and its rows."""

from __future__ import annotations

from minercdc.oracle.fetching.rows import RowConverter, selected_columns
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.scan import scan_sql
from minercdc.stream.offset import ChunkProgress

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


def test_scan_requests_exact_values_in_order_of_rowid() -> None:
    columns = """ROWID, "ID", "QTY", "Name", TO_CHAR("D", 'SYYYY-MM-DD HH24:MI:SS'), "R\""""
    assert scan_sql(TABLE, 77, ChunkProgress(), selected_columns(TABLE, "ROWID", True)) == (
        f'SELECT {columns} FROM "LAB"."ITEM" AS OF SCN 77 ORDER BY ROWID',
        {},
    )


def test_scan_of_a_range_goes_on_after_its_last_row() -> None:
    sql, binds = scan_sql(TABLE, 77, ChunkProgress("AAA", "AAZ"), "ROWID")
    assert sql.endswith(" AS OF SCN 77 WHERE ROWID >= :first AND ROWID < :until ORDER BY ROWID")
    assert binds == {"first": "AAA", "until": "AAZ"}
    sql, binds = scan_sql(TABLE, 77, ChunkProgress("AAA", "AAZ", "AAF"), "ROWID")
    assert sql.endswith(" AS OF SCN 77 WHERE ROWID > :last AND ROWID < :until ORDER BY ROWID")
    assert binds == {"last": "AAF", "until": "AAZ"}


def test_table_without_supported_columns_has_empty_rows() -> None:
    empty = TableSchema(TABLE.id, ())
    assert list(RowConverter(empty)([("AAA",), ("AAB",)])) == [("AAA", ()), ("AAB", ())]


def test_rows_equal_those_of_redo() -> None:
    batch = [
        ("AAA", "1", ".5", "a'b", " 2026-02-28 13:45:59", b"\xca\xfe"),
        ("AAB", "2", None, None, "-4712-01-01 00:00:00", None),
    ]
    assert list(RowConverter(TABLE)(batch)) == [
        ("AAA", ("1", "0.5", "a'b", "2026-02-28 13:45:59", "cafe")),
        ("AAB", ("2", None, None, "-4712-01-01 00:00:00", None)),
    ]
