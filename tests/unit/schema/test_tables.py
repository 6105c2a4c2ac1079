"""Known tables and the filter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables

ITEM = TableSchema(TableId("DB", "LAB", "ITEM"), (Column("ID", "NUMBER"),), (0,), object_id=7)


@dataclass
class Change:
    table: TableId
    before: TableSchema | None
    after: TableSchema | None


def test_rename_moves_the_table() -> None:
    tables = Tables([ITEM])
    renamed = replace(ITEM, id=TableId("DB", "LAB", "NEW"))
    tables.apply(Change(ITEM.id, ITEM, renamed))
    assert (tables.find(ITEM.id), tables.find(renamed.id), tables.find_object(renamed.id.database, 7)) == (
        None,
        renamed,
        renamed.id,
    )


def test_ids_of_partitions_stay_with_their_table() -> None:
    """Also when its structure is read again, as it is of a table that was suspended, after some of them have gone."""
    tables = Tables([replace(ITEM, parts=frozenset([8, 9]))])
    tables.put(replace(ITEM, parts=frozenset([9, 10])))
    renamed = replace(ITEM, id=TableId("DB", "LAB", "NEW"), parts=frozenset([8, 9, 10]))
    assert [tables.find_object("DB", number) for number in (7, 8, 9, 10)] == [ITEM.id] * 4
    tables.apply(Change(ITEM.id, ITEM, renamed))
    assert [tables.find_object("DB", number) for number in (7, 8, 10)] == [renamed.id] * 3
    other = replace(renamed, object_id=20, parts=frozenset([21]))
    tables.put(other)
    assert [tables.find_object("DB", number) for number in (7, 8, 20, 21)] == [None, None, other.id, other.id]


def test_version_goes_on_after_drop_and_create() -> None:
    tables = Tables([replace(ITEM, version=4)])
    tables.apply(Change(ITEM.id, ITEM, None))
    assert len(tables) == 0
    assert tables.next_version(ITEM).version == 5


def test_every_change_shows_in_the_generation() -> None:
    tables = Tables()
    before = tables.generation
    tables.put(ITEM)
    assert tables.generation > before


def test_our_own_table_is_never_captured() -> None:
    written = TableFilter(never=frozenset({("C##MINERCDC", "REDO_FLUSH")}))
    assert not written.includes("C##MINERCDC", "REDO_FLUSH")
    assert written.includes("LAB", "REDO_FLUSH")


def test_filter_is_anchored_and_ignores_case() -> None:
    by_table = TableFilter(table_include=[r"lab\.item.*"])
    assert by_table.includes("LAB", "ITEMS")
    assert not by_table.includes("XLAB", "ITEM")
    assert not by_table.includes("LAB", "XITEM")


def test_own_schemas_of_oracle_are_captured_only_when_named() -> None:
    assert not TableFilter().includes("SYS", "T")
    assert TableFilter(schema_include=["sys"]).includes("SYS", "T")
    assert not TableFilter().includes("LAB", "BIN$abc==$0")
    assert not TableFilter(schema_exclude=["LAB"]).includes("LAB", "T")
    assert not TableFilter(table_exclude=["LAB.T"]).includes("LAB", "T")


@pytest.mark.parametrize(
    ("table", "passes"),
    [
        ("MDRT_1A2F$", False),
        ("MDXT_1A2F$_BKTS", False),
        ("MDRS_12$", False),
        ("SYS_IOT_OVER_71234", False),
        ("MLOG$_ITEM", False),
        ("MDRT_ORDERS", True),
        ("MDRS_ABC", True),
        ("MDXT_12", True),
        ("SYS_IOT_OVER_VIEW", True),
    ],
)
def test_tables_that_oracle_makes_are_no_others_whose_names_begin_so(table: str, passes: bool) -> None:
    assert TableFilter(schema_include=["LAB"]).includes("LAB", table) == passes


def test_object_ids_are_those_of_their_database() -> None:
    other = replace(ITEM, id=TableId("OTHER", "LAB", "THING"))
    tables = Tables([ITEM, other])
    assert (tables.find_object("DB", 7), tables.find_object("OTHER", 7)) == (ITEM.id, other.id)
    tables.drop(other.id)
    assert (tables.find_object("DB", 7), tables.find_object("OTHER", 7)) == (ITEM.id, None)


def test_a_user_names_a_table_of_every_database_or_of_one() -> None:
    assert TableNames.among(["DB"]).given(ITEM.id) == ("LAB.ITEM", "LAB.ITEM")
    assert TableNames.among(["DB", "OTHER"]).given(ITEM.id) == ("DB.LAB.ITEM", "LAB.ITEM")


@pytest.mark.parametrize(
    ("databases", "table", "name"),
    [
        (["DB"], ITEM.id, "LAB.ITEM"),
        (["DB", "OTHER"], ITEM.id, "DB.LAB.ITEM"),
        (["ORCL.EXAMPLE.COM"], TableId("ORCL.EXAMPLE.COM", "LAB", "ITEM"), "LAB.ITEM"),
        (["DB"], TableId("DB", "LAB", "A.B"), "LAB.A.B"),
        (["DB"], TableId("DB", "LAB.A", "B"), '"LAB.A".B'),
        (["DB", "OTHER"], TableId("DB", "LAB.A", 'B".C'), 'DB."LAB.A".B".C'),
    ],
)
def test_stored_state_finds_the_table_of_each_name(databases: list[str], table: TableId, name: str) -> None:
    names = TableNames.among(databases)
    assert names.of(table) == name
    assert names.table(name) == table


def test_a_pattern_names_a_table_of_every_database_or_of_one() -> None:
    patterns = [r"lab\.item", r"sales\.lab\.note"]
    for database, note in (("SALES", True), ("STOCK", False), ("", False)):
        wanted = TableFilter(table_include=patterns, database=database)
        assert (wanted.includes("LAB", "ITEM"), wanted.includes("LAB", "NOTE")) == (True, note)
        left = TableFilter(table_exclude=patterns, database=database)
        assert (left.includes("LAB", "ITEM"), left.includes("LAB", "NOTE")) == (False, not note)
