"""Which table features of Delta a lake table is given, and what is done where one is forbidden."""

from __future__ import annotations

import re

import pytest

from minercdc.config.target.lake import LakeConfig
from minercdc.lake.table.columns import TableColumn, evolution
from minercdc.lake.table.delta_features import (
    COLUMN_MAPPING,
    DELETION_VECTORS,
    TYPE_WIDENING,
    Feature,
    feature_of,
    features_of,
    rewritten,
    unmapped,
)


def columns(*specs: str) -> list[TableColumn]:
    """Columns from `NAME TYPE ID`."""
    return [TableColumn(*spec.split(" ")) for spec in specs]


def config(forbidden: str = "") -> LakeConfig:
    return LakeConfig.model_validate({"minercdc.lake.forbidden.features": forbidden})


def test_a_new_table_has_no_feature_that_it_does_not_need() -> None:
    properties = features_of(config()).of_new_table(columns("A INT a", "it's.a`b STRING b"))
    assert not {COLUMN_MAPPING.property, TYPE_WIDENING.property, DELETION_VECTORS.property} & properties.keys()


@pytest.mark.parametrize("character", " ,;{}()\n\t=")
def test_a_name_that_parquet_forbids_takes_a_column_mapping(character: str) -> None:
    odd = TableColumn(f"A{character}B", "INT", "a")
    assert unmapped([TableColumn("A", "INT", "x"), odd]) == [odd.name]
    assert features_of(config()).of_new_table([odd])[COLUMN_MAPPING.property] == "name"


@pytest.mark.parametrize(
    ("there", "wanted", "policy", "needed"),
    [
        (columns("A INT a"), columns("A INT a", "B STRING b"), "text", set()),
        (columns("A INT a"), [*columns("A INT a"), TableColumn("B C", "STRING", "b")], "text", {COLUMN_MAPPING}),
        (columns("A INT a", "B INT b"), columns("A INT a"), "text", {COLUMN_MAPPING}),
        (columns("A INT a"), columns("B INT a"), "text", {COLUMN_MAPPING}),
        (columns("A INT a"), columns("A BIGINT a"), "text", {TYPE_WIDENING}),
        (columns("A INT a"), columns("A STRING a"), "text", {COLUMN_MAPPING}),
        (columns("A INT a"), columns("A STRING a"), "new_column", {COLUMN_MAPPING}),
        (columns("A INT a"), columns("A INT b"), "text", {COLUMN_MAPPING}),
    ],
)
def test_a_step_needs_a_feature_or_none(
    there: list[TableColumn], wanted: list[TableColumn], policy: str, needed: set[Feature]
) -> None:
    steps = evolution(there, wanted, {"a", "b"}, policy)  # type: ignore[arg-type]
    assert {feature for step in steps if (feature := feature_of(step))} == needed


@pytest.mark.parametrize(
    ("there", "wanted", "policy", "expected"),
    [
        ("A INT a,B INT b", "B INT a,A INT b", "text", {"B": "`A`", "A": "`B`"}),
        ("A INT a,B INT b", "B INT b", "text", {"B": "`B`"}),
        ("A INT a", "A BIGINT a,C DATE c", "text", {"A": "CAST(`A` AS BIGINT)", "C": "CAST(NULL AS DATE)"}),
        ("A INT a", "A STRING a", "text", {"A": "coalesce(CAST(NULL AS STRING), CAST(`A` AS STRING))"}),
        ("A INT a", "A STRING a", "new_column", {"A__1": "`A`", "A": "CAST(NULL AS STRING)"}),
    ],
)
def test_what_the_steps_do_is_done_by_writing_the_rows_again(
    there: str, wanted: str, policy: str, expected: dict[str, str]
) -> None:
    before, after = columns(*there.split(",")), columns(*wanted.split(","))
    found = rewritten(before, evolution(before, after, {"a", "b"}, policy))  # type: ignore[arg-type]
    assert {column.name: sql for column, sql in found} == expected
    assert {column for column, _ in found} >= set(after)


def test_forbidden_features_have_deltas_names() -> None:
    assert features_of(config("COLUMNMAPPING, typeWidening")).forbidden == {"columnMapping", "typeWidening"}
    with pytest.raises(
        ValueError, match=re.escape("'rowTracking' is not one of columnMapping, typeWidening, deletionVectors")
    ):
        config("rowTracking")
