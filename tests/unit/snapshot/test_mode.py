"""What each `snapshot.mode` does at a start."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.config.load import parse_properties
from minercdc.config.sections import SnapshotConfig
from minercdc.config.source.selects import select_of, unmatched
from minercdc.config.source.table_names import plain_name
from minercdc.errors import ConfigError
from minercdc.schema.select_text import without_end
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.initial.mode import Start, Steps, decision_of
from minercdc.snapshot.query import query_of

NOTHING = Start(offset_exists=False, snapshot_under_way=False)
UNDER_WAY = Start(offset_exists=True, snapshot_under_way=True)
STREAMED = Start(offset_exists=True, snapshot_under_way=False)


def steps(mode: str, start: Start, **options: Any) -> tuple[bool, bool, bool]:
    found = decision_of(SnapshotConfig(**{"snapshot.mode": mode, **options}))(start)
    return found.data, found.schema, found.stream


@pytest.mark.parametrize(
    ("mode", "first", "later"),
    [
        ("initial", (True, True, True), (False, False, True)),
        ("initial_only", (True, True, False), (False, False, False)),
        ("no_data", (False, True, True), (False, False, True)),
        ("schema_only", (False, True, True), (False, False, True)),
        ("always", (True, True, True), (True, True, True)),
        ("recovery", (False, True, True), (False, True, True)),
        ("schema_only_recovery", (False, True, True), (False, True, True)),
        ("when_needed", (True, True, True), (False, False, True)),
    ],
)
def test_steps_are_debeziums(mode: str, first: tuple[bool, bool, bool], later: tuple[bool, bool, bool]) -> None:
    assert steps(mode, NOTHING) == first
    assert steps(mode, UNDER_WAY) == first
    assert steps(mode, STREAMED) == later


def test_five_properties_decide() -> None:
    prefix = "snapshot.mode.configuration.based."
    given: dict[str, Any] = {
        f"{prefix}snapshot.schema": "true",
        f"{prefix}start.stream": "true",
        f"{prefix}snapshot.on.data.error": "true",
    }
    decide = decision_of(SnapshotConfig(**{"snapshot.mode": "configuration_based", **given}))
    assert decide(STREAMED) == Steps(False, True, True, False, True)


def decide_by_hand(start: Start) -> Steps:
    return Steps(data=not start.offset_exists, schema=True, stream=False)


def decide_wrongly(start: Start) -> str:
    return "yes"


def test_a_callable_decides() -> None:
    name = {"snapshot.mode.custom.name": f"{__name__}:decide_by_hand"}
    assert steps("custom", NOTHING, **name) == (True, True, False)
    assert steps("custom", STREAMED, **name) == (False, True, False)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("decide", "package.module:function"),
        ("no.such.module:decide", "cannot be loaded"),
        (f"{__name__}:nothing", "cannot be loaded"),
        (f"{__name__}:NOTHING", "cannot be called"),
    ],
)
def test_a_callable_that_is_not_there_is_named(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        steps("custom", NOTHING, **{"snapshot.mode.custom.name": name})


def test_a_callable_that_returns_something_else_is_named() -> None:
    with pytest.raises(ConfigError, match="decide_wrongly returned 'yes'"):
        steps("custom", NOTHING, **{"snapshot.mode.custom.name": f"{__name__}:decide_wrongly"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"snapshot.mode": "custom"}, "snapshot.mode.custom.name: set it if"),
        ({"snapshot.locking.mode.custom.name": "a:b"}, "snapshot.locking.mode.custom.name: set it if"),
        ({"snapshot.query.mode": "custom"}, "snapshot.query.mode.custom.name: set it if"),
        ({"minercdc.start.scn": "7"}, "requires snapshot.mode=no_data"),
        (
            {"snapshot.mode": "no_data", "minercdc.start.scn": "7", "minercdc.start.timestamp": "2026-01-01"},
            "set either this or",
        ),
        ({"snapshot.mode": "no_data", "minercdc.start.timestamp": "yesterday"}, "yesterday"),
        ({"snapshot.select.statement.overrides": "A.B"}, "overrides.A.B: needed"),
        ({"snapshot.select.statement.overrides.A.B": "select 1"}, "does not list the table"),
        (
            {"snapshot.select.statement.overrides": "A.B", "snapshot.select.statement.overrides.A.B": " -- later\n;"},
            "overrides.A.B: there is no SELECT in it",
        ),
        (
            {
                "snapshot.select.statement.overrides": "A.B",
                "snapshot.select.statement.overrides.A.B": "#SCN#",
                "snapshot.enhance.predicate.scn": "#SCN#",
            },
            "overrides.A.B: there is no SELECT in it",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(options: dict[str, str], says: str) -> None:
    base = {
        "topic.prefix": "t",
        "database.hostname": "h",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "minercdc.kafka.bootstrap.servers": "k:1",
    }
    with pytest.raises(ConfigError, match=says):
        parse_properties(base | options)


def test_selects_are_found_by_their_table() -> None:
    base = {
        "topic.prefix": "t",
        "database.hostname": "h",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "minercdc.kafka.bootstrap.servers": "k:1",
        "snapshot.select.statement.overrides": "inv.item",
        "snapshot.select.statement.overrides.inv.item": "select * from inv.item where live = 1;",
    }
    assert parse_properties(base).snapshot_selects == {"inv.item": "select * from inv.item where live = 1"}


TABLES = [TableId("PDB1", "SHOP", "CUSTOMER"), TableId("PDB1", "SHOP", "day.Sum")]


@pytest.mark.parametrize(
    ("given", "table"),
    [
        ("SHOP.CUSTOMER", 0),
        ("shop.customer", 0),
        ("PDB1.SHOP.CUSTOMER", 0),
        ('"SHOP"."CUSTOMER"', 0),
        (" shop . customer ", 0),
        ('SHOP."day.Sum"', 1),
        ("SHOP.day.Sum", 1),
        ("shop.day.Sum", None),
        ("pdb1.SHOP.day.Sum", 1),
        ("SHOP.DAY.SUM", None),
        ("SHOP.day.sum", None),
        ('SHOP."customer"', None),
        ("SHOP.CUSTOMERS", None),
        ("CUSTOMER", None),
        ("PDB2.SHOP.CUSTOMER", None),
    ],
)
def test_a_select_is_for_the_table_that_is_named_in_any_of_debeziums_forms(given: str, table: int | None) -> None:
    selects = {plain_name(given): "select 1"}
    assert [select_of(selects, one, TABLES) is not None for one in TABLES] == [number == table for number in range(2)]
    assert bool(list(unmatched(selects, TABLES))) == (table is None)


CASES = [TableId("PDB1", "SHOP", name) for name in ("ORDERS", "Orders", "orders")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["SHOP.ORDERS"], [0, None, None]),
        (["shop.orders"], [0, None, None]),
        (["shop.Orders"], [0, None, None]),
        (["shop.oRDERS"], [0, None, None]),
        (["SHOP.Orders", "SHOP.ORDERS"], [1, 0, None]),
        (["oRDERS", 'SHOP."orders"'], [None, None, 1]),
        (["SHOP.ORDERS", "PDB1.SHOP.ORDERS"], [1, None, None]),
        (["PDB1.SHOP.oRDERS", "SHOP.ORDERS"], [1, None, None]),
    ],
)
def test_names_that_differ_in_case_are_those_of_different_tables(given: list[str], expected: list[int | None]) -> None:
    """The exact spelling wins; without one it is the table in upper case, as for SQL."""
    selects = {plain_name(name): str(number) for number, name in enumerate(given)}
    found = [select_of(selects, one, CASES) for one in CASES]
    assert found == [None if number is None else str(number) for number in expected]


def test_a_name_that_is_no_table_comes_with_the_one_that_was_meant() -> None:
    ((problem, _),) = unmatched({"SHOP.CUSTOMR": ""}, TABLES)
    assert "SHOP.CUSTOMR is not a captured table" in problem
    assert "did you mean SHOP.CUSTOMER?" in problem
    ((problem, _),) = unmatched({"SHOP.DAY.SUM": ""}, TABLES)
    assert 'did you mean SHOP."day.Sum"?' in problem


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("select 1 from t -- all", "select 1 from t"),
        ("select 1 from t /* all */ ; -- yes\n;\n", "select 1 from t"),
        ("select /*+ full(t) */ 1 -- one\nfrom t", "select /*+ full(t) */ 1 -- one\nfrom t"),
        ("select ';--' from t where a = '--;' ;", "select ';--' from t where a = '--;'"),
        ("select q'[;--]' from t where a = q'!it's; --!'--", "select q'[;--]' from t where a = q'!it's; --!'"),
        ('select "a;--" from "t--"', 'select "a;--" from "t--"'),
        ("select 1; select 2;", "select 1; select 2"),
        ("select 1 /* open", "select 1 /* open"),
        (" -- nothing", ""),
    ],
)
def test_what_follows_a_select_is_taken_off(given: str, kept: str) -> None:
    assert without_end(given) == kept


def other_query(_table: str, _columns: list[str]) -> object:
    return 5


def commented_query(_table: str, _columns: list[str]) -> str:
    return "-- SELECT * FROM S.T WHERE LIVE = 1"


def test_a_query_without_a_select_does_not_have_the_whole_table_published() -> None:
    named = {"snapshot.query.mode": "custom", "snapshot.query.mode.custom.name": f"{__name__}:commented_query"}
    query = query_of(SnapshotConfig.model_validate(named))
    assert query is not None
    with pytest.raises(ConfigError, match="in which there is no SELECT"):
        query(TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER"),)))


def test_a_query_that_is_no_text_is_refused() -> None:
    config = SnapshotConfig.model_validate(
        {"snapshot.query.mode": "custom", "snapshot.query.mode.custom.name": f"{__name__}:other_query"}
    )
    query = query_of(config)
    assert query is not None
    with pytest.raises(ConfigError, match="other_query returned 5, neither a SELECT nor None"):
        query(TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER"),)))
    assert query_of(SnapshotConfig.model_validate({})) is None
