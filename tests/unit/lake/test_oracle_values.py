"""In which form Oracle's values are read for which type of the lake."""

from __future__ import annotations

import pytest

from minercdc.lake.source.oracle_values import OracleValue
from minercdc.schema.table import Column


@pytest.mark.parametrize(
    ("type_name", "kind", "form"),
    [
        ("NUMBER", "STRING", "row"),
        ("NUMBER", "DECIMAL(12,2)", "row"),
        ("TIMESTAMP", "STRING", "row"),
        ("RAW", "BINARY", "row"),
        ("RAW", "STRING", "topic"),
        ("BLOB", "STRING", "topic"),
        ("TIMESTAMP WITH TIME ZONE", "STRING", "topic"),
        ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP", "topic"),
        ("INTERVAL DAY TO SECOND", "BIGINT", "topic"),
        ("CLOB", "STRING", "row"),
    ],
)
def test_what_the_lake_keeps_as_the_topic_has_it_is_read_so(type_name: str, kind: str, form: str) -> None:
    assert OracleValue(Column("C", type_name), kind).form == form


def test_a_number_is_cast_from_its_text_and_never_through_a_double() -> None:
    value = OracleValue(Column("C", "NUMBER", 38, 10), "DECIMAL(38,10)")
    assert value.typed("c0") == "CAST(c0 AS DECIMAL(38,10))"
    assert "DOUBLE" not in value.of_oracle("c0") + value.of_lake("v")
