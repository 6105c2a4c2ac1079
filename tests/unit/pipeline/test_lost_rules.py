"""A rename that takes a column or table away from a rule of the configuration is reported."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from tests.unit.config.test_load import GOOD
from tests.unit.pipeline.test_unmatched import ORDERS

from minercdc.config.load import parse_properties
from minercdc.pipeline.ddl_notices import lost_rules
from minercdc.schema.ddl.changes import apply_changes
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import AlterTable
from minercdc.schema.table import TableSchema
from minercdc.stream.events import Notification, SchemaChange, Scn

RENAMED = replace(ORDERS, id=ORDERS.id._replace(table="OLD_ORDERS"))
RENAME_NAME = "ALTER TABLE SHOP.ORDERS RENAME COLUMN NAME TO BUYER"


def altered(ddl: str) -> TableSchema:
    statement = parse_ddl(ddl)
    assert isinstance(statement, AlterTable)
    return apply_changes(ORDERS, statement.changes)


def lost(after: TableSchema | None, **properties: str) -> list[Notification]:
    change = SchemaChange((after or ORDERS).id, ORDERS, after, "", Scn(77), 5)
    return list(lost_rules(parse_properties({**GOOD, **properties}), change))


@pytest.mark.parametrize(
    ("given", "consequence"),
    [
        ("column.mask.with.5.chars", "values are published in clear"),
        ("column.mask.hash.v2.SHA-256.with.salt.pepper", "values are published in clear"),
        ("column.truncate.to.9.chars", "values are published in full length"),
        ("column.exclude.list", "values are published"),
        ("column.propagate.source.type", "it has no effect there"),
    ],
)
def test_a_renamed_column_loses_its_rule(given: str, consequence: str, caplog: pytest.LogCaptureFixture) -> None:
    (found,) = lost(altered(RENAME_NAME), **{given: r"SHOP\.ITEMS\.X,SHOP\.ORDERS\.NAME"})
    data = found.additional_data
    assert (found.aggregate_type, found.type, found.time_us) == ("Schema", "RULE_LOST", 5)
    assert data["data_collections"] == "ORCLPDB1.SHOP.ORDERS"
    assert data["rule"].startswith(given.partition(".with.salt")[0])
    assert data["rule"].endswith(r": SHOP\.ORDERS\.NAME")
    assert data["reason"].endswith(f" from SHOP.ORDERS.BUYER (was SHOP.ORDERS.NAME): {consequence}")
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert data["reason"] in line.message
    assert data["fix"] in line.message
    assert "pepper" not in str(found) + line.message


def test_a_renamed_table_loses_the_rules_of_its_columns_and_its_key() -> None:
    mask, key = {"column.mask.with.5.chars": r"SHOP\.ORDERS\.N.*"}, {"message.key.columns": r"SHOP\.ORDERS:ID"}
    found = {one.additional_data["rule"].partition(":")[0]: one.additional_data for one in lost(RENAMED, **mask, **key)}
    assert set(found) == {"column.mask.with.5.chars", "message.key.columns"}
    assert (
        "SHOP.OLD_ORDERS.NAME (was SHOP.ORDERS.NAME), SHOP.OLD_ORDERS.NOTE (was SHOP.ORDERS.NOTE)"
        in (found["column.mask.with.5.chars"]["reason"])
    )
    assert "SHOP.OLD_ORDERS (was SHOP.ORDERS)" in found["message.key.columns"]["reason"]


def test_of_many_columns_some_are_named() -> None:
    column = ORDERS.columns[1]
    wide = replace(ORDERS, columns=tuple(replace(column, name=f"C{i}") for i in range(30)), key=())
    change = SchemaChange(RENAMED.id, wide, replace(wide, id=RENAMED.id), "", Scn(77), 5)
    mask = {"column.mask.with.5.chars": r"SHOP\.ORDERS\..*"}
    (found,) = lost_rules(parse_properties({**GOOD, **mask}), change)
    assert "SHOP.OLD_ORDERS.C9 (was SHOP.ORDERS.C9) and 20 more: values" in found.additional_data["reason"]


@pytest.mark.parametrize(
    ("after", "patterns"),
    [
        (altered(RENAME_NAME), r"SHOP\.ORDERS\.NAME,SHOP\.ORDERS\.BUYER"),
        (altered(RENAME_NAME), r"SHOP\.ORDERS\..*"),
        (altered(RENAME_NAME), r"SHOP\.ORDERS\.NOTE"),
        (RENAMED, r"SHOP\..*\.NAME"),
        (altered("ALTER TABLE SHOP.ORDERS DROP COLUMN NAME"), r"SHOP\.ORDERS\.NAME"),
        (altered("ALTER TABLE SHOP.ORDERS ADD BUYER VARCHAR2(40)"), r"SHOP\.ORDERS\.NAME"),
        (altered("ALTER TABLE SHOP.ORDERS ADD (BUYER NUMBER(3)) DROP (NAME)"), r"SHOP\.ORDERS\.NAME"),
        (None, r"SHOP\.ORDERS\.NAME"),
    ],
)
def test_a_rule_that_still_holds_or_whose_column_is_gone_is_not_lost(after: TableSchema | None, patterns: str) -> None:
    assert lost(after, **{"column.mask.with.5.chars": patterns}) == []
