"""Types of lake columns, and what their DEFAULT and a wider type become."""

from __future__ import annotations

import pytest
from tests.unit.lake.properties import PROPERTIES

from minercdc.config.load import parse_properties
from minercdc.config.sections import ValueConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.errors import ConfigError
from minercdc.lake.table.defaults import fill_of
from minercdc.lake.table.types import lake_column, refuse_unsupported_modes
from minercdc.lake.table.widening import widened
from minercdc.schema.table import Column


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("SMALLINT", "DECIMAL(7,2)", "DECIMAL(12,2)"),
        ("BIGINT", "DECIMAL(20,0)", "DECIMAL(20,0)"),
        ("BIGINT", "DECIMAL(38,30)", None),
        ("INT", "SMALLINT", "INT"),
        ("INT", "BIGINT", "BIGINT"),
        ("DECIMAL(5,2)", "INT", "DECIMAL(12,2)"),
        ("DECIMAL(10,2)", "DECIMAL(8,4)", "DECIMAL(12,4)"),
        ("DECIMAL(38,0)", "DECIMAL(38,2)", None),
        ("FLOAT", "SMALLINT", "FLOAT"),
        ("FLOAT", "INT", "DOUBLE"),
        ("TINYINT", "FLOAT", "DOUBLE"),
        ("BIGINT", "DOUBLE", None),
        ("DOUBLE", "BIGINT", None),
        ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ"),
        ("DECIMAL(5,2)", "STRING", None),
        ("STRING", "INT", None),
        ("decimal(5, 2)", "DECIMAL(5,2)", "DECIMAL(5,2)"),
    ],
)
def test_a_wider_type_holds_the_values_of_both(old: str, new: str, kind: str | None) -> None:
    assert widened(old, new) == kind


@pytest.mark.parametrize(
    ("source", "default"),
    [
        (Column("C", "DATE"), "SYSDATE"),
        (Column("C", "DATE"), "TIMESTAMP '2020-01-01 10:00:00.5'"),
        (Column("C", "TIMESTAMP WITH LOCAL TIME ZONE", None, 6), "TIMESTAMP '2020-01-01 10:00:00'"),
        (Column("C", "VARCHAR2", 9), "USER || 'x'"),
        (Column("C", "VARCHAR2", 9), "0.5"),
        (Column("C", "NUMBER", 5, 0), "seq.nextval"),
    ],
)
def test_what_only_the_database_can_evaluate_fills_nothing(source: Column, default: str) -> None:
    column = lake_column(source, ValueConfig.model_validate({}), LakeConfig.model_validate({}))
    assert column is not None
    assert fill_of(column, default) is None


@pytest.mark.parametrize("number", ["text", "DOUBLE", "decimal(38, 0)", "Decimal(38,37)"])
def test_a_form_of_unconstrained_numbers_is_accepted(number: str) -> None:
    parse_properties(PROPERTIES | {"minercdc.lake.number": number})


@pytest.mark.parametrize("number", ["decimal", "decimal(38,38)", "decimal(20,2)", "float", "decimal(38,-1)"])
def test_another_form_is_refused(number: str) -> None:
    with pytest.raises(ConfigError, match=r"minercdc.lake.number: .*is not text, double or decimal\(38,S\)"):
        parse_properties(PROPERTIES | {"minercdc.lake.number": number})


def test_topics_that_lost_digits_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"decimal.handling.mode"):
        refuse_unsupported_modes(ValueConfig.model_validate({"decimal.handling.mode": "double"}))
    refuse_unsupported_modes(ValueConfig.model_validate({"time.precision.mode": "isostring"}))


def test_objects_stay_out() -> None:
    assert lake_column(Column("C", "BFILE"), ValueConfig.model_validate({}), LakeConfig.model_validate({})) is None
