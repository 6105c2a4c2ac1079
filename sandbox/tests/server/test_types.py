"""All types through python-oracledb: binds, values and descriptions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture
def cursor(sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table kinds (id number(5), bf binary_float, bd binary_double, tz timestamp with time zone,"
            " ltz timestamp(3) with local time zone, ym interval year to month, ds interval day(4) to second(6),"
            " nc nchar(4), nv nvarchar2(10))"
        )
        yield cursor
        cursor.execute("drop table kinds purge")


def test_binds_come_back(cursor: oracledb.Cursor) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123000)
    rows = [
        (
            1,
            -1.5,
            math.pi,
            moment.replace(tzinfo=UTC),
            moment,
            oracledb.IntervalYM(1, 2),
            timedelta(3, 4, 5),
            "n\u00e4",
            "\U0001f600",
        ),
        (2, math.inf, -0.0, None, None, oracledb.IntervalYM(-99, -11), timedelta(days=-2, microseconds=7), None, "x" * 10),
    ]
    cursor.setinputsizes(
        None,
        *(oracledb.DB_TYPE_BINARY_FLOAT, oracledb.DB_TYPE_BINARY_DOUBLE, oracledb.DB_TYPE_TIMESTAMP_TZ),
        *(oracledb.DB_TYPE_TIMESTAMP_LTZ, None, None, oracledb.DB_TYPE_NCHAR, oracledb.DB_TYPE_NVARCHAR),
    )
    cursor.executemany("insert into kinds values (:1, :2, :3, :4, :5, :6, :7, :8, :9)", rows)
    found = cursor.execute("select * from kinds order by id").fetchall()
    first = list(rows[0])
    first[3], first[7] = moment, "n\u00e4  "
    assert found == [tuple(first), rows[1]]
    assert math.copysign(1, found[1][2]) == 1
    assert [(d[1].name, *d[3:6]) for d in cursor.description or ()][1:] == [
        ("DB_TYPE_BINARY_FLOAT", None, None, None),
        ("DB_TYPE_BINARY_DOUBLE", None, None, None),
        ("DB_TYPE_TIMESTAMP_TZ", None, 0, 6),
        ("DB_TYPE_TIMESTAMP_LTZ", None, 0, 3),
        ("DB_TYPE_INTERVAL_YM", None, 2, 0),
        ("DB_TYPE_INTERVAL_DS", None, 4, 6),
        ("DB_TYPE_NCHAR", 8, None, None),
        ("DB_TYPE_NVARCHAR", 20, None, None),
    ]


def test_not_a_number(cursor: oracledb.Cursor) -> None:
    cursor.setinputsizes(oracledb.DB_TYPE_BINARY_DOUBLE)
    cursor.execute("insert into kinds (bd) values (:1)", [math.nan])
    [(value,)] = cursor.execute("select bd from kinds where bd = binary_double_nan").fetchall()
    assert math.isnan(value)


def test_regions_reach_thin_clients_as_text_only(cursor: oracledb.Cursor) -> None:
    cursor.execute("insert into kinds (tz) values (timestamp '2024-07-01 12:00:00 Europe/Berlin')")
    shown = cursor.execute("select to_char(tz, 'HH24:MI TZR') from kinds").fetchall()
    assert shown == [("12:00 Europe/Berlin",)]
    with pytest.raises(oracledb.NotSupportedError, match="DPY-3022"):
        cursor.execute("select tz from kinds").fetchall()


def test_dictionary_shows_the_types(cursor: oracledb.Cursor) -> None:
    cursor.execute(
        "select data_type, data_length, data_precision, data_scale, char_length, char_used from all_tab_cols"
        " where table_name = 'KINDS' order by column_id"
    )
    assert cursor.fetchall()[1:] == [
        ("BINARY_FLOAT", 4, None, None, 0, None),
        ("BINARY_DOUBLE", 8, None, None, 0, None),
        ("TIMESTAMP(6) WITH TIME ZONE", 13, None, 6, 0, None),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 11, None, 3, 0, None),
        ("INTERVAL YEAR(2) TO MONTH", 5, 2, 0, 0, None),
        ("INTERVAL DAY(4) TO SECOND(6)", 11, 4, 6, 0, None),
        ("NCHAR", 8, None, None, 4, "C"),
        ("NVARCHAR2", 20, None, None, 10, "C"),
    ]
