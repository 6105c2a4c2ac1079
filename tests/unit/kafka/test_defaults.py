"""Which DEFAULTs are told in the schema of a field."""

from __future__ import annotations

import pytest

from minercdc.kafka.defaults import column_default
from minercdc.offset import JsonValue
from minercdc.schema.table import Column
from minercdc.values.codec import ValueHandling, codec_for


@pytest.mark.parametrize(
    ("column", "told"),
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
        (Column("C", "DATE", default="SYSDATE"), None),
        (Column("C", "DATE"), None),
    ],
)
def test_constants_are_told_and_expressions_are_not(column: Column, told: JsonValue) -> None:
    assert column_default(column, codec_for(column, ValueHandling())) == told
