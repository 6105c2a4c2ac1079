"""Rows that a snapshot's query gives as columns are those that it gives as tuples, of every type and extreme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.native_pair import IS_NATIVE

from minercdc import native
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.present_scn import present_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import Row
from minercdc.stream.offset import ChunkProgress

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

_COLUMNS = (
    "ID NUMBER(9) PRIMARY KEY, N NUMBER, I NUMBER(18), S NUMBER(4, -2), M NUMBER(18, 18), P NUMBER(12, 2), L NUMBER(38, 3), O NUMBER(2, 5),"
    " F FLOAT(60), V VARCHAR2(80), NV NVARCHAR2(40), C CHAR(5), NC NCHAR(5), R RAW(20), D DATE, T TIMESTAMP(9),"
    " Z TIMESTAMP(3) WITH TIME ZONE, LZ TIMESTAMP WITH LOCAL TIME ZONE, Y INTERVAL YEAR(4) TO MONTH, DS INTERVAL DAY(5) TO SECOND(9)"
)
_NULLS = ", ".join(["NULL"] * 19)
_ROWS = [
    _NULLS,
    "1e125, 999999999999999999, 999900, 0.999999999999999999, -9999999999.99, 99999999999999999999999999999999999.999, 0.00099, 1.5,"
    " 'a', N'\u00e9', 'c', N'nc', HEXTORAW('00FF'), DATE '-4712-01-01', TIMESTAMP '9999-12-31 23:59:59.999999999',"
    " TIMESTAMP '2024-01-02 03:04:05.123 +05:30', TIMESTAMP '2024-01-02 03:04:05 -09:30', INTERVAL '-9999-11' YEAR(4) TO MONTH,"
    " INTERVAL '-99999 23:59:59.999999999' DAY(5) TO SECOND(9)",
    "-1e-130, -999999999999999999, -100, -0.000000000000000001, 0.01, -0.001, -0.00001, -1e100, '\U0001f600 it''s',"
    " UNISTR('\\D83D\\DE00'), '\u20ac', N'\u00fc', HEXTORAW('AB'), DATE '2026-11-24', TIMESTAMP '0001-01-01 00:00:00',"
    " TIMESTAMP '-4712-01-02 00:00:00.5 +01:00', TIMESTAMP '1582-10-15 00:00:00 +00:00', INTERVAL '0' MONTH, INTERVAL '0' SECOND",
    "1234567890123456789012345678901234567890, 0, 0, 0, 0, 0, 0, 0, ' ', N' ', ' ', N' ', HEXTORAW('00'), DATE '0001-01-01',"
    " TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '1970-01-01 00:00:00 +00:00', TIMESTAMP '1969-12-31 23:59:59.999999 +00:00',"
    " INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "0.1, 1, 100, 0.1, 0.10, 1.500, 0.00001, 0.1, 'x', N'x', 'x', N'x', HEXTORAW('01'), DATE '2000-02-29', TIMESTAMP '2000-02-29 00:00:00.1',"
    " TIMESTAMP '2000-02-29 00:00:00.1 Europe/Berlin', TIMESTAMP '2000-02-29 00:00:00.1 +00:00', INTERVAL '3' YEAR, INTERVAL '90' MINUTE",
]


MakeTable = Callable[[str, list[str]], TableSchema]


@pytest.fixture
def connection(sandbox: SandboxProcess) -> Iterator[oracledb.Connection]:
    name = f"C{uuid4().hex[:8]}".upper()
    sandbox.create_user(name)
    with sandbox.connect(name, name) as connected:
        connected.cursor().execute("ALTER SESSION SET TIME_ZONE = '00:00'")
        yield connected


@pytest.fixture
def table(connection: oracledb.Connection) -> MakeTable:
    def make(columns: str, rows: list[str]) -> TableSchema:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TABLE T ({columns})")
        for number, values in enumerate(rows):
            cursor.execute(f"INSERT INTO T VALUES ({number}, {values})")
        connection.commit()
        (found,) = read_tables(connection, [TableId("ORCLPDB1", connection.username, "T")])
        return found

    return make


def read(connection: oracledb.Connection, schema: TableSchema, **how: Any) -> tuple[list[tuple[str, Row]], set[type]]:
    """(ROWID, Row) pairs, and the types in which they were fetched."""
    batches = list(Scan(schema, present_scn(connection), 2, **how).batches(connection, ChunkProgress()))
    rows = [pair for batch in batches for pair in batch.convert(batch.rows)]
    return rows, {type(batch.rows) for batch in batches}


def test_columns_are_the_tuples(connection: oracledb.Connection, table: MakeTable) -> None:
    assert native.rows is not None
    schema = table(_COLUMNS, _ROWS)
    tuples, kind = read(connection, schema)
    assert kind == {list}
    columns, kind = read(connection, schema, as_columns=True)
    assert kind == {native.rows.ArrowRows}
    assert len(columns) == len(_ROWS)
    for i, (one, other) in enumerate(zip(columns, tuples, strict=True)):
        assert one == other, _ROWS[i]


def test_a_large_column_that_is_not_read(connection: oracledb.Connection, table: MakeTable) -> None:
    assert native.rows is not None
    schema = table("ID NUMBER(9) PRIMARY KEY, DOC CLOB, V VARCHAR2(9)", ["'text', 'v'", "NULL, NULL"])
    assert read(connection, schema, as_columns=True)[1] == {list}
    columns, kind = read(connection, schema, as_columns=True, lobs=False)
    assert kind == {native.rows.ArrowRows}
    assert columns == read(connection, schema, lobs=False)[0]


def test_a_driver_that_gives_no_columns_gives_tuples(
    connection: oracledb.Connection, table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Iterator[Any]:
        raise oracledb.NotSupportedError("DPY-3030: conversion is not supported")
        yield

    schema = table("ID NUMBER(9) PRIMARY KEY, V VARCHAR2(9)", ["'v'"])
    expected = read(connection, schema)
    monkeypatch.setattr(oracledb.Connection, "fetch_df_batches", refuse)
    assert read(connection, schema, as_columns=True) == expected
