"""BOOLEAN, JSON and VECTOR through python-oracledb: binds, arrays, fetches, RETURNING and blocks."""

from __future__ import annotations

import array
import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

DOCUMENT = {"a": [1, Decimal("2.5"), None, "q", True], "d": datetime.datetime(2026, 1, 2, 3, 4, 5), "o": {"": {}}}
ROWS: list[tuple[Any, ...]] = [
    (1, True, DOCUMENT, array.array("f", [1, 2, 3])),
    (2, False, [1, "x"], array.array("f", [-0.5, 0, 1e9])),
    (3, None, None, None),
]


@pytest.fixture
def cursor(sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table modern (id number primary key, b boolean, j json, v vector(3, float32))")
        cursor.setinputsizes(None, oracledb.DB_TYPE_BOOLEAN, oracledb.DB_TYPE_JSON, oracledb.DB_TYPE_VECTOR)
        cursor.executemany("insert into modern values (:1, :2, :3, :4)", ROWS)
        yield cursor
        cursor.execute("drop table modern purge")


def test_values_come_back_as_they_went(cursor: oracledb.Cursor) -> None:
    assert cursor.execute("select * from modern order by id").fetchall() == ROWS
    assert [d.type_code.name for d in cursor.description or ()][1:] == ["DB_TYPE_BOOLEAN", "DB_TYPE_JSON", "DB_TYPE_VECTOR"]


def test_booleans_are_conditions_and_binds(cursor: oracledb.Cursor) -> None:
    assert cursor.execute("select id from modern where b").fetchall() == [(1,)]
    assert cursor.execute("select id from modern where b = :1", [False]).fetchall() == [(2,)]
    assert cursor.execute("select :1 from dual", [True]).fetchall() == [(True,)]


def test_json_dates_are_text_of_paths(cursor: oracledb.Cursor) -> None:
    found = cursor.execute("select json_value(j, '$.d'), json_value(j, '$.a[1]') from modern where id = 1").fetchall()
    assert found == [("2026-01-02T03:04:05", "2.5")]


def test_returning_and_blocks_hand_them_out(cursor: oracledb.Cursor) -> None:
    flag, vector, document = (
        cursor.var(t) for t in (oracledb.DB_TYPE_BOOLEAN, oracledb.DB_TYPE_VECTOR, oracledb.DB_TYPE_JSON)
    )
    cursor.execute("update modern set b = false where id = 1 returning b, v into :1, :2", [flag, vector])
    assert flag.getvalue() == [False]
    assert vector.getvalue() == [ROWS[0][3]]
    cursor.execute("begin select j into :1 from modern where id = 1; :2 := 1 < 2 and not :3; end;", [document, flag, False])
    assert document.getvalue() == DOCUMENT
    assert flag.getvalue() is True
