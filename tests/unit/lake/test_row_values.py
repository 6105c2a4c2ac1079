"""Values decoded in Python: every type, in every mode, as Spark SQL has it (`tests/spark/test_lake_types.py`)."""

from __future__ import annotations

import json
from decimal import Decimal
from struct import pack
from typing import Any

import pytest
from tests.spark.test_lake_types import CASES, PLACEHOLDER, Case, handling_of, values_of

from minercdc.config.target.lake import LakeConfig
from minercdc.errors import LakeError
from minercdc.lake.read.row_values import converted, placeholder_of, reading_of, wall_text
from minercdc.lake.table.types import LakeColumn, lake_column
from minercdc.schema.table import Column
from minercdc.values.codec import codec_for

ZONED = [
    Case("TIMESTAMP WITH LOCAL TIME ZONE", None, scale, text, wanted)
    for scale, text, wanted in (
        (6, "2026-03-29 01:30:00.123456000", "2026-03-29 01:30:00.123456"),
        (6, "1500-02-29 00:00:00.000000000", "1500-03-01 00:00:00"),
        (0, "0001-01-01 00:00:00.000000000", "0001-01-01 00:00:00"),
        (9, "2026-03-29 01:30:00.123456789", "2026-03-29T01:30:00.123456789Z"),
    )
]


def column_of(case: Case) -> LakeColumn:
    source = Column("C", case.type, case.length, case.scale)
    column = lake_column(source, values_of(case.modes), LakeConfig.model_validate({"minercdc.lake.number": case.number}))
    assert column is not None
    return column


def read(case: Case, member: Any) -> Any:
    lake = LakeConfig.model_validate({"minercdc.lake.number": case.number})
    return reading_of(column_of(case), values_of(case.modes), lake)(member)


def shown(value: Any, spark_type: str) -> object:
    """As Spark's CAST AS STRING prints it; a FLOAT or DOUBLE as a number."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if spark_type.startswith("TIMESTAMP"):
        return wall_text(value).rstrip("0").rstrip(".")
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, float) else str(value)


@pytest.mark.parametrize("case", [*CASES, *ZONED], ids=str)
def test_a_value_is_that_of_spark_sql(case: Case) -> None:
    codec = codec_for(Column("C", case.type, case.length, case.scale), handling_of(values_of(case.modes)))
    column = column_of(case)
    found = shown(read(case, json.loads(codec.to_json(case.text))), column.spark_type)
    if isinstance(found, float):
        bits = "f" if column.spark_type == "FLOAT" else "d"
        assert pack(bits, found) == pack(bits, float(str(case.wanted)))
    else:
        assert found == case.wanted


@pytest.mark.parametrize(
    ("case", "member"),
    [
        (Case("NUMBER", 2, 0, "", None), 128),
        (Case("NUMBER", 10, 2, "", None), "f" * 24),
        (Case("NUMBER", 10, 2, "", None), "not base64!"),
        (Case("TIMESTAMP WITH LOCAL TIME ZONE", None, 6, "", None), "yesterday"),
        (Case("TIMESTAMP WITH LOCAL TIME ZONE", None, 6, "", None), "2026-13-01T00:00:00Z"),
        (Case("FLOAT", 126, None, "", None, number="decimal(38,1)"), {"scale": 2, "value": "AQ=="}),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named(case: Case, member: object) -> None:
    with pytest.raises(LakeError, match="column C: a value does not fit"):
        read(case, member)


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    text = Case("VARCHAR2", 10, None, "", None)
    assert read(text, json.loads('"a\\ud800é"')) == "a?é"


def test_placeholders_are_those_of_the_type() -> None:
    found = [placeholder_of(column_of(Case(kind, None, None, "", None)), values_of(())) for kind in ("CLOB", "BLOB", "DATE")]
    assert found == [PLACEHOLDER, PLACEHOLDER.encode(), None]


@pytest.mark.parametrize(
    ("value", "old", "new", "wanted"),
    [
        (7, "INT", "BIGINT", 7),
        (-7, "SMALLINT", "DECIMAL(12,2)", Decimal("-7.00")),
        (Decimal("7.25"), "DECIMAL(9,2)", "DECIMAL(20,4)", Decimal("7.2500")),
        (Decimal("7.25"), "DECIMAL(9,2)", "DECIMAL(9,1)", Decimal("7.3")),  # as Spark rounds
        (Decimal("7"), "DECIMAL(9,0)", "INT", 7),
        (Decimal("7.5"), "DECIMAL(9,2)", "DOUBLE", 7.5),
        (Decimal("7.50"), "DECIMAL(9,2)", "STRING", "7.5"),
        (Decimal("700"), "DECIMAL(9,0)", "STRING", "700"),
        (Decimal("0.00"), "DECIMAL(9,2)", "STRING", "0"),
        (-12, "BIGINT", "STRING", "-12"),
        (-1, "TIMESTAMP_NTZ", "STRING", "1969-12-31 23:59:59.999999000"),
        (None, "BINARY", "STRING", None),
    ],
)
def test_a_value_of_an_older_version_becomes_what_spark_makes_of_it(value: Any, old: str, new: str, wanted: object) -> None:
    assert converted(value, old, new, "C") == wanted


@pytest.mark.parametrize(
    ("value", "old", "new"), [(1.5, "DOUBLE", "STRING"), ("7", "STRING", "INT"), (300, "INT", "TINYINT")]
)
def test_what_only_spark_can_cast_is_refused(value: object, old: str, new: str) -> None:
    with pytest.raises(LakeError, match=f"an earlier {old} cannot be converted to {new}"):
        converted(value, old, new, "C")
