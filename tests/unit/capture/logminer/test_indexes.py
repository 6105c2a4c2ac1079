"""Unique indexes of other schemas than their tables': whose key they are while they are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.redo import ITEM, ITEM_ID, A, Dictionary, Miner, Redo, schema_changes

from minercdc.messages.table_changes import remembered, table_of
from minercdc.schema.table import Column, Key, TableId, TableSchema

COLUMNS = (Column("ID", "NUMBER", 10, 0, nullable=False), Column("QTY", "NUMBER", 12, 3, nullable=False))
BARE = replace(ITEM, columns=COLUMNS, key=(), keys=())
OF_APP = replace(BARE, id=TableId("DB", "APP", "ITEM"), object_id=78)


def index(owner: str | None = "", name: str = "I") -> Key:
    return Key("I", ("ID",), name, owner=owner)


def indexed(table: TableSchema, *keys: Key) -> TableSchema:
    return replace(table, key=(0,) if keys else (), keys=keys)


def keys_after(
    tmp_path: Path,
    statement: str,
    *tables: TableSchema,
    now: tuple[TableSchema, ...] = (),
    owner: str = "LAB",
    user: str = "LAB",
    object_id: int = 0,
) -> dict[str, list[str]]:
    """The names of the keys of each table after a statement, with their owners where these are others'.

    :param now: tables as the dictionary has them.
    """
    redo = Redo()
    redo.ddl(A, statement, owner=owner, user=user, table=None, object_id=object_id)
    miner = Miner(tmp_path, tables=tables, dictionary={table.id: table for table in now}, ids=Dictionary({}))
    miner.read(redo.rows)
    found: dict[str, list[str]] = {}
    for table in miner.tables:
        assert table.key == ((0,) if table.keys else ())
        found[str(table.id)] = [f"{key.owner}.{key.name}" if key.owner else key.name for key in table.keys or ()]
    return found


@pytest.mark.parametrize("segment_owner", ["LAB", "APP"])
@pytest.mark.parametrize(
    ("statement", "user", "expected"),
    [
        ("create unique index app.i on lab.item (id)", "SYS", ["APP.I"]),
        ("create unique index app.i on item (id)", "LAB", ["APP.I"]),
        ("create unique index lab.i on lab.item (id)", "LAB", ["I"]),
        ("create unique index i on lab.item (id)", "APP", ["APP.I"]),
    ],
)
def test_an_index_is_its_owners_and_its_tables_key_whichever_of_them_redo_shows(
    tmp_path: Path, statement: str, user: str, segment_owner: str, expected: list[str]
) -> None:
    assert keys_after(tmp_path, statement, BARE, owner=segment_owner, user=user) == {"LAB.ITEM": expected}


def test_a_table_without_a_schema_is_that_of_the_current_one(tmp_path: Path) -> None:
    """Not of the index's; where redo leaves both, the dictionary says which has the index, and the row's object id does."""
    statement = "create unique index app.i on item (id)"
    none: dict[str, list[str]] = {"LAB.ITEM": [], "APP.ITEM": []}
    both = BARE, OF_APP
    assert keys_after(tmp_path, statement, *both, owner="LAB") == none | {"LAB.ITEM": ["APP.I"]}
    assert keys_after(tmp_path, statement, *both, owner="APP") == none | {"LAB.ITEM": ["APP.I"]}
    has = indexed(OF_APP, index())
    assert keys_after(tmp_path, statement, *both, now=(has, BARE), owner="APP") == none | {"APP.ITEM": ["I"]}
    assert keys_after(tmp_path, statement, *both, owner="APP", object_id=78) == none | {"APP.ITEM": ["I"]}
    assert keys_after(tmp_path, statement, OF_APP, owner="APP") == {"APP.ITEM": []}


@pytest.mark.parametrize("segment_owner", ["LAB", "APP"])
@pytest.mark.parametrize(
    ("statement", "user", "left"),
    [
        ("drop index app.i", "SYS", []),
        ("drop index i", "APP", []),
        ("alter index app.i rename to j", "SYS", ["APP.J"]),
        ("drop index lab.i", "LAB", ["APP.I"]),
        ("drop index other.i", "LAB", ["APP.I"]),
        ("drop index app.j", "LAB", ["APP.I"]),
    ],
)
def test_an_index_of_another_schema_is_dropped_and_renamed(
    tmp_path: Path, statement: str, user: str, segment_owner: str, left: list[str]
) -> None:
    table = indexed(BARE, index("APP"))
    assert keys_after(tmp_path, statement, table, owner=segment_owner, user=user) == {"LAB.ITEM": left}


def test_redo_need_not_say_the_schema_of_an_index_at_all(tmp_path: Path) -> None:
    """SEG_OWNER is the table's, and CURRENT_SCHEMA neither that nor the user's: an index that is there still is not the dropped one."""
    table, there = indexed(BARE, index("APP")), (indexed(BARE, index("APP")),)
    assert keys_after(tmp_path, "drop index i", table, user="SYS") == {"LAB.ITEM": []}
    assert keys_after(tmp_path, "drop index i", table, user="SYS", now=there) == {"LAB.ITEM": ["APP.I"]}
    assert keys_after(tmp_path, "drop index i", table, user="SYS", now=there, object_id=77) == {"LAB.ITEM": []}
    other = replace(BARE, id=TableId("DB", "LAB", "OTHER"), object_id=79)
    assert keys_after(tmp_path, "drop index i", table, other, user="APP", object_id=79)["LAB.ITEM"] == ["APP.I"]
    create = "create unique index i on lab.item (id)"
    assert keys_after(tmp_path, create, BARE, user="SYS", now=there) == {"LAB.ITEM": ["APP.I"]}
    create = "create unique index app.i on item (id)"
    assert keys_after(tmp_path, create, BARE, user="SYS", now=there, owner="APP") == {"LAB.ITEM": ["APP.I"]}


def test_of_two_indexes_with_one_name_that_goes_which_is_meant(tmp_path: Path) -> None:
    """A text without a schema may mean either where the current schema is not known: the object id says it, or the dictionary."""
    mine, others = indexed(BARE, index()), indexed(OF_APP, index())
    assert keys_after(tmp_path, "drop index app.i", mine, others) == {"LAB.ITEM": ["I"], "APP.ITEM": []}
    for object_id, now, gone in ((78, (mine, others), "APP.ITEM"), (0, (others,), "LAB.ITEM"), (0, (mine,), "APP.ITEM")):
        found = keys_after(tmp_path, "drop index i", mine, others, now=now, owner="APP", object_id=object_id)
        assert found == {"LAB.ITEM": ["I"], "APP.ITEM": ["I"]} | {gone: []}


def test_the_history_keeps_the_owner_and_that_of_before_is_looked_up(tmp_path: Path) -> None:
    redo = Redo()
    redo.ddl(A, "create unique index app.i on lab.item (id)", owner="LAB", user="LAB")
    (change,) = schema_changes(Miner(tmp_path, tables=[BARE], ids=Dictionary({})).read(redo.rows))
    document: Any = remembered(change)[0]
    assert table_of(document).keys == (index("APP"),)
    (keys,) = [attribute for attribute in document["table"]["attributes"] if attribute["name"] == "KEYS"]
    keys["value"] = '[["I", ["ID"], "I", true, true], ["P", ["QTY"], "PK", true, true]]'
    assert table_of(document).keys == (index(None), Key("P", ("QTY",), "PK"))


def test_an_index_whose_owner_is_not_known_goes_by_its_name_unless_the_dictionary_has_it(tmp_path: Path) -> None:
    table, now = indexed(BARE, index(None)), (indexed(BARE, index("APP")),)
    assert keys_after(tmp_path, "drop index app.i", table) == {"LAB.ITEM": []}
    assert keys_after(tmp_path, "drop index app.i", table, now=now) == {"LAB.ITEM": []}
    assert keys_after(tmp_path, "drop index other.i", table, now=now) == {"LAB.ITEM": ["I"]}


def test_the_key_of_a_table_whose_keys_are_not_known_goes_with_its_index(tmp_path: Path) -> None:
    """An earlier release stored the key alone; the dictionary has the index no more."""
    table = replace(BARE, key=(0,), keys=None)
    second = replace(BARE, key=(1,), keys=(Key("I", ("QTY",), "J"),))
    redo = Redo()
    redo.ddl(A, "drop index lab.i")
    miner = Miner(tmp_path, tables=[table], dictionary={ITEM_ID: second}, ids=Dictionary({}))
    (change,) = schema_changes(miner.read(redo.rows))
    assert change.after is not None
    assert (change.after.key, change.after.keys) == ((1,), second.keys)
