"""Patterns that match nothing are named, and what is masked is shown."""

from __future__ import annotations

import pytest
from tests.unit.config.test_load import GOOD
from tests.unit.messages.transforms.made import UNWRAP

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.messages.envelope.column_changes import ColumnChanges
from minercdc.pipeline.table_plan import hidden
from minercdc.pipeline.unused_patterns import pattern_findings
from minercdc.schema.table import Column, TableId, TableSchema

ORDERS = TableSchema(
    TableId("ORCLPDB1", "SHOP", "ORDERS"),
    (Column("ID", "NUMBER", 9, 0, False), Column("NAME", "VARCHAR2", 40), Column("NOTE", "CLOB")),
    (0,),
)


def config(**more: str) -> ConnectorConfig:
    return parse_properties(GOOD | {name.replace("_", "."): value for name, value in more.items()})


def problems(configured: ConnectorConfig) -> list[str]:
    return [finding.problem for finding in pattern_findings(configured, [ORDERS])]


CONVERTER = {"converters": "r", "r.type": "io.debezium.connector.oracle.converters.RawToStringConverter"}


@pytest.mark.parametrize(
    ("given", "right", "wrong", "kind"),
    [
        ("column.mask.with.5.chars", r"shop\.orders\.name", r"SHOP\.ORDER\.NAME", "column"),
        ("column.mask.hash.v2.SHA-256.with.salt.pepper", r"SHOP\..*\.NOTE", "NAME", "column"),
        ("column.truncate.to.9.chars", ".*NAME", ".*MAIL", "column"),
        ("column.exclude.list", r"SHOP\.ORDERS\.NOTE", r"SHOP\.ORDERS\.NOTES", "column"),
        ("column.include.list", r".*\.ID", r"ORDERS\.ID", "column"),
        ("column.propagate.source.type", ".*", "x", "column"),
        ("datatype.propagate.source.type", r".*\.CLOB", r".*\.NCLOB", "type"),
        ("r.selector", r"SHOP\.ORDERS\..*", r"SHOP\.ITEMS\..*", "column"),
    ],
)
def test_a_pattern_without_effect_is_named_with_its_property(given: str, right: str, wrong: str, kind: str) -> None:
    more = CONVERTER if given == "r.selector" else {}
    (found,) = problems(parse_properties({**GOOD, **more, given: f"{right},{wrong}"}))
    assert found.startswith(f"{given.partition('.with.salt')[0]}: '{wrong}' matches no {kind} of a ")
    assert "pepper" not in found


def test_rules_of_tables_and_members_of_the_envelope() -> None:
    found = problems(
        config(
            message_key_columns=r"SHOP\.ORDERS:ID;SHOP\.ORDER:ID",
            minercdc_topic_partition_columns=r"SHOP\.ITEMS:ID",
            transforms="u",
            transforms_u_type=UNWRAP,
            transforms_u_add_fields="op,source.scn,before.NAME,transaction.id:T,source.scm,MAIL",
            transforms_u_add_headers="tabel:T",
        )
    )
    assert [line.partition(",")[0] for line in found] == [
        r"message.key.columns: 'SHOP\.ORDER' matches no captured table",
        r"minercdc.topic.partition.columns: 'SHOP\.ITEMS' matches no captured table",
        "transforms.u.add.fields: 'source.scm' is no member of the envelope",
        "transforms.u.add.fields: 'MAIL' is no member of the envelope",
        "transforms.u.add.headers: 'tabel:T' is no member of the envelope",
    ]


def test_without_tables_nothing_is_said_of_patterns() -> None:
    assert not list(pattern_findings(config(column_exclude_list="x"), []))


def test_the_plan_shows_what_becomes_of_values() -> None:
    given = {
        "column.mask.with.5.chars": r"SHOP\.ORDERS\.(NAME|ID)",
        "column.truncate.to.9.chars": r".*",
        "column.mask.hash.SHA-256.with.salt.pepper": r"SHOP\.ORDERS\.HASHED",
    }
    changes = ColumnChanges(parse_properties({**GOOD, **given}).column_rules)
    number, name, note = ORDERS.columns
    assert hidden(ORDERS.id, name, changes) == "; masked, 5 asterisks (column.mask.with.5.chars)"
    assert hidden(ORDERS.id, note, changes) == "; cut after 9 characters (column.truncate.to.9.chars)"
    assert hidden(ORDERS.id, number, changes).startswith("; refused: column SHOP.ORDERS.ID of type NUMBER is not text")
    hashing = ColumnChanges(changes.rules[2:])
    hashed = hidden(ORDERS.id, Column("HASHED", "VARCHAR2", 9), hashing)
    assert hashed == "; hashed by sha256 (column.mask.hash.SHA-256)"
    assert hidden(ORDERS.id, name, hashing) == ""
