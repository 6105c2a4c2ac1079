"""Which DEFAULTs are in the schema of a field."""

from __future__ import annotations

import pytest

from minercdc.messages.envelope.defaults import column_default
from minercdc.schema.table import Column
from minercdc.stream.offset import JsonValue
from minercdc.values.codec import ValueHandling, codec_for


@pytest.mark.parametrize(
    ("column", "default"),
    [
        (Column("C", "NUMBER", 5, 0, default="7"), 7),
        (Column("C", "NUMBER", 5, 0, default=" -7 "), -7),
        (Column("C", "NUMBER", 10, 2, default="1.25"), "fQ=="),
        (Column("C", "NUMBER", default="1.5"), None),
        (Column("C", "NUMBER", 5, 0, default="1 + 1"), None),
        (Column("C", "BINARY_DOUBLE", default="0.5"), 0.5),
        (Column("C", "VARCHAR2", 10, default="'it''s'"), "it's"),
        (Column("C", "VARCHAR2", 10, default="'a' || 'b'"), None),
        (Column("C", "VARCHAR2", 10, default="USER"), None),
        (Column("C", "NCHAR", 4, default="N'ab'"), "ab  "),
        (Column("C", "NUMBER", 5, 0, default="( (7) ) /* seven */"), 7),
        (Column("C", "NUMBER", 5, 0, default="+7"), 7),
        (Column("C", "NUMBER", 20, 0, default="1e10"), "AlQL5AA="),
        (Column("C", "NUMBER", 12, 2, default="1E3"), "AYag"),
        (Column("C", "NUMBER", 5, 2, default="5."), "AfQ="),
        (Column("C", "NUMBER", 5, 2, default="1.255"), None),
        (Column("C", "NUMBER", 5, 0, default="(1) + (2)"), None),
        (Column("C", "BINARY_FLOAT", default="1.5f"), 1.5),
        (Column("C", "BINARY_DOUBLE", default="1e3"), 1000.0),
        (Column("C", "VARCHAR2", 10, default="('x')"), "x"),
        (Column("C", "VARCHAR2", 10, default="'a -- b'"), "a -- b"),
        (Column("C", "VARCHAR2", 10, default="q'[it's]'"), "it's"),
        (Column("C", "VARCHAR2", 10, default="nq'!it's!'"), "it's"),
        (Column("C", "DATE", default="SYSDATE"), None),
        (Column("C", "DATE", nullable=False, default="(sysdate)"), 0),
        (Column("C", "TIMESTAMP", None, 6, nullable=False, default="systimestamp"), 0),
        (Column("C", "TIMESTAMP WITH TIME ZONE", None, 0, nullable=False, default="systimestamp"), "1970-01-01T00:00:00Z"),
        (Column("C", "DATE", default="date '2024-02-29'"), None),
        (Column("C", "DATE", nullable=False, default="date '2024-02-29'"), 1709164800000),
        (Column("C", "TIMESTAMP", None, 6, False, "timestamp '2024-02-29 12:13:14.5'"), 1709208794500000),
        (
            Column("C", "TIMESTAMP WITH TIME ZONE", None, 0, False, "timestamp '2024-01-01 00:00:00 +02:00'"),
            "2024-01-01T00:00:00+02:00",
        ),
        (Column("C", "DATE", default="to_date('2024-01-02', 'yyyy-mm-dd')"), 1704153600000),
        (Column("C", "DATE", default="TO_DATE('02.01.2024 03:04:05 PM','dd.mm.yyyy hh:mi:ss am')"), 1704207845000),
        (Column("C", "DATE", default="to_date('2-JAN-2024', 'DD-MON-YYYY')"), 1704153600000),
        (Column("C", "DATE", default="to_date('2024-13-02', 'yyyy-mm-dd')"), None),
        (Column("C", "DATE", default="to_date('2024', 'yyyy')"), None),
        (Column("C", "DATE", default="to_date('2024-01-02')"), None),
        (Column("C", "DATE", default="'01-JAN-24'"), None),
        (
            Column("C", "TIMESTAMP", None, 3, default="to_timestamp('2024-02-29 12:13:14.5','yyyy-mm-dd hh24:mi:ss.ff')"),
            1709208794500,
        ),
        (
            Column(
                "C",
                "TIMESTAMP WITH TIME ZONE",
                None,
                3,
                default="to_timestamp_tz('2024-01-01 00:00:00 +02:00','yyyy-mm-dd hh24:mi:ss tzh:tzm')",
            ),
            "2024-01-01T00:00:00.000+02:00",
        ),
        (Column("C", "INTERVAL DAY TO SECOND", 2, 6, default="interval '1 02:03:04' day to second"), None),
        (Column("C", "INTERVAL DAY TO SECOND", 2, 6, default="to_dsinterval('1 02:03:04')"), 93784000000),
        (Column("C", "INTERVAL YEAR TO MONTH", 2, default="'1-2'"), 36817200000000),
        (Column("C", "INTERVAL YEAR TO MONTH", 2, default="'x'"), None),
        (Column("C", "RAW", 4, default="hextoraw('0a')"), None),
        (Column("C", "DATE"), None),
    ],
)
def test_constants_have_a_default_and_expressions_do_not(column: Column, default: JsonValue) -> None:
    assert column_default(column, codec_for(column, ValueHandling())) == default
