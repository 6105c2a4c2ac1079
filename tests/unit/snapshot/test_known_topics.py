"""The topics of the tables that a stored offset knows, as `minercdc tail` and `minercdc plan` show them."""

from __future__ import annotations

import pytest
from tests.unit.lake.properties import PROPERTIES, SEVERAL

from minercdc.config.load import parse_properties
from minercdc.operate.offsets.read import StoredOffset
from minercdc.operate.tail import topics_of
from minercdc.oracle.connect import database_names
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import Offset, SuspendedTable

TOPIC = "p.SHOP.EMP_1"
EXCLUDED = {"table.exclude.list": "SHOP[.]EMP[$]1"}


@pytest.mark.parametrize(
    ("properties", "suspended", "owner"),
    [
        ({}, {}, "EMP$1"),
        ({}, {"EMP#1": "MC-4502"}, "EMP$1"),
        ({}, {"EMP$1": "MC-4502"}, "EMP#1"),
        (EXCLUDED, {}, "EMP#1"),
        (EXCLUDED, {"EMP#1": "MC-4502"}, "EMP$1"),
    ],
)
def test_of_two_tables_with_one_topic_the_one_that_is_published_has_it(
    properties: dict[str, str], suspended: dict[str, str], owner: str
) -> None:
    config = parse_properties(PROPERTIES | properties)
    (database,) = database_names(config.database)
    ids = [TableId(database, "SHOP", name) for name in ("EMP$1", "EMP#1", "OK")]
    changes = [SchemaChange(one, None, TableSchema(one, ()), "", Scn(1), 0, snapshot=True) for one in ids]
    entries = tuple(SuspendedTable(f"SHOP.{name}", 5, code, "shared") for name, code in suspended.items())
    topics, refused = topics_of(config, StoredOffset(Offset("logminer", suspended=entries), "here", tuple(changes)))
    assert {topic: one.table for topic, one in topics.items()} == {TOPIC: owner, "p.SHOP.OK": "OK"}
    ((table, error),) = refused.items()
    assert table.table == ({"EMP$1", "EMP#1"} - {owner}).pop()
    assert f"would share the topic {TOPIC}" in error.message


def test_of_tables_of_two_databases_with_one_topic_the_one_that_is_not_suspended_has_it() -> None:
    config = parse_properties(SEVERAL | {"topic.naming.strategy": "tests.unit.lake.test_history:topic_of"})
    ids = [TableId(database, "SHOP", "ITEM") for database in ("SALES", "STOCK")]
    changes = [SchemaChange(one, None, TableSchema(one, ()), "", Scn(1), 0, snapshot=True) for one in ids]
    entries = (SuspendedTable("SALES.SHOP.ITEM", 5, "MC-4502", "shared"),)
    topics, refused = topics_of(config, StoredOffset(Offset("logminer", suspended=entries), "here", tuple(changes)))
    assert topics == {"p.ITEM": ids[1]}
    assert refused.keys() == {ids[0]}
