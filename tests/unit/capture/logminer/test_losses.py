"""DDL that takes rows from tables which it does not name, or brings them some: redo has nothing of it but the statement."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.redo import ITEM, ITEM_ID, NOON, A, Dictionary, Miner, Redo, schema_changes

from minercdc.oracle.dictionary.dependent_tables import Child
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import SchemaChange

X = replace(ITEM, id=TableId("DB", "LAB", "X"), object_id=90)
QUOTED = replace(ITEM, id=TableId("DB", "LAB", "x y"), object_id=91)
PARTED = replace(ITEM, parts=frozenset([101]), parts_from="DDL", listed_at=NOON)
LONG_AGO, AT = NOON - timedelta(days=30), NOON + timedelta(seconds=101)


def read(
    tmp_path: Path, statement: str, *tables: TableSchema, ids: Dictionary | None = None, **row: Any
) -> list[SchemaChange]:
    redo = Redo()
    redo.ddl(A, statement, **row)
    miner = Miner(tmp_path, tables=tables, ids=ids or Dictionary({}))
    return [change for change in schema_changes(miner.read(redo.rows)) if not change.ids_only]


def named(changes: list[SchemaChange]) -> list[str]:
    return [f"{change.table}{' emptied' if change.truncate else ''}" for change in changes]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("alter table item exchange partition p with table x", ["LAB.ITEM", "LAB.X"]),
        ("alter table item exchange partition p with table lab.x including indexes", ["LAB.ITEM", "LAB.X"]),
        ("alter table item exchange partition for (to_date('1', 'dd')) with table x", ["LAB.ITEM", "LAB.X"]),
        ('alter table item exchange subpartition "s" with table "x y" without validation', ["LAB.ITEM", "LAB.x y"]),
        ("alter table lab.item exchange partition p with table lab.other", ["LAB.ITEM"]),
        ("alter table lab.item exchange partition p with table app.x", ["LAB.ITEM"]),
        ("alter table item truncate partition p", ["LAB.ITEM"]),
    ],
)
def test_both_tables_of_an_exchange_are_named(
    tmp_path: Path, statement: str, expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    changes = read(tmp_path, statement, PARTED, X, QUOTED)
    assert named(changes) == expected
    assert [change.ddl for change in changes] == [statement] * len(expected)
    assert [change.before for change in changes] == [change.after for change in changes]
    for name in expected:
        assert f"{name}: rows were removed or added without a trace in redo" in caplog.text


@pytest.mark.parametrize(
    ("owner", "user", "statement", "expected"),
    [
        ("APP", "APP", "alter table parted exchange partition p with table lab.x", ["LAB.X"]),
        ("APP", "LAB", "alter table app.parted exchange partition p with table x", ["LAB.X"]),
        ("APP", "LAB", "alter table parted exchange partition p with table x", []),  # CURRENT_SCHEMA is APP
        ("LAB", "APP", "alter table parted exchange partition p with table x", ["LAB.X"]),
        ("LAB", "APP", "alter table lab.parted exchange partition p with table x", ["LAB.X"]),
    ],
)
def test_the_exchanged_table_alone_may_be_captured(
    tmp_path: Path, owner: str, user: str, statement: str, expected: list[str]
) -> None:
    changes = read(tmp_path, statement, X, owner=owner, user=user, table="PARTED", object_id=50)
    assert named([change for change in changes if change.table == X.id]) == expected


def test_without_the_schema_of_the_exchanged_table_it_is_one_that_had_ddl_since(tmp_path: Path) -> None:
    statement = "alter table app.parted exchange partition p with table x"
    app = replace(X, id=TableId("DB", "APP", "X"), object_id=95)
    for altered, expected in ((X, ["LAB.X"]), (app, ["APP.X"])):
        ids = Dictionary({}, {X.id: LONG_AGO, app.id: LONG_AGO, altered.id: AT})
        changes = read(tmp_path, statement, X, app, ids=ids, owner="APP", user="LAB", table="PARTED", object_id=50)
        assert [str(change.table) for change in changes if change.table != ITEM_ID] == expected


def child(schema: TableSchema, *, cascades: bool = True, reference: bool = False, at: datetime | None = LONG_AGO) -> Child:
    return Child(schema.id, schema.object_id, reference, cascades, at)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (child(X), ["LAB.X emptied"]),
        (child(X, cascades=False), []),  # it was so then, or Oracle had refused the statement
        (child(X, at=AT), ["LAB.X"]),
        (child(X, cascades=False, at=AT), ["LAB.X"]),
        (child(X, at=None), ["LAB.X"]),
        (child(replace(X, object_id=99)), []),  # another table, made since
    ],
)
def test_truncate_cascade_empties_what_refers_to_the_table(tmp_path: Path, found: Child, expected: list[str]) -> None:
    """Certainly, where the foreign key is as it was; else some rows may have gone."""
    ids = Dictionary({}, children={ITEM_ID: (found,), TableId("DB", "APP", "P"): (found,)})
    assert named(read(tmp_path, "truncate table item drop storage cascade", ITEM, X, ids=ids)) == [
        "LAB.ITEM emptied",
        *expected,
    ]
    assert named(read(tmp_path, "truncate table item", ITEM, X, ids=ids)) == ["LAB.ITEM emptied"]
    not_captured = read(tmp_path, "truncate table p cascade", ITEM, X, ids=ids, owner="APP", table="P", object_id=50)
    assert named(not_captured) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("alter table item drop partition p", ["LAB.ITEM", "LAB.X"]),
        ("alter table item split partition p at (5)", ["LAB.ITEM", "LAB.X"]),
        ("alter table item truncate partition p cascade", ["LAB.ITEM", "LAB.X"]),
        ("alter table item truncate partition p update indexes", ["LAB.ITEM"]),
        ("alter table item truncate partition cascade", ["LAB.ITEM"]),
        ("alter table item add partition q values less than (9)", ["LAB.ITEM"]),
        ("alter table item exchange partition p with table x2 cascade", ["LAB.ITEM", "LAB.X2", "LAB.X", "LAB.Y2"]),
        ("alter table item exchange partition p with table x2", ["LAB.ITEM", "LAB.X2"]),
    ],
)
def test_tables_that_are_partitioned_by_reference_lose_the_same_partitions(
    tmp_path: Path, statement: str, expected: list[str]
) -> None:
    by_reference = replace(X, parts=frozenset([121]), parts_from="PARENT", listed_at=NOON)
    other, its_child = (replace(X, id=TableId("DB", "LAB", name), object_id=n) for name, n in (("X2", 92), ("Y2", 93)))
    plain = replace(X, id=TableId("DB", "LAB", "PLAIN"), object_id=94)
    ids = Dictionary(
        {}, children={ITEM_ID: (child(by_reference, reference=True), child(plain)), other.id: (child(its_child),)}
    )
    tables = (PARTED, by_reference, other, its_child, plain)
    assert named(read(tmp_path, statement, *tables, ids=ids)) == expected


def test_what_a_cascade_concerned_is_logged_as_unknown_without_its_table(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Gone(Dictionary):
        def present_name(self, table: TableSchema) -> TableId | None:
            return None

    assert named(read(tmp_path, "truncate table item cascade", ITEM, X, ids=Gone({}))) == ["LAB.ITEM emptied"]
    assert "CASCADE of DDL on LAB.ITEM, which no longer exists: the affected tables are unknown" in caplog.text


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("truncate cluster c", ["LAB.ITEM emptied", "LAB.X emptied"]),
        ("truncate cluster lab.C reuse storage", ["LAB.ITEM emptied", "LAB.X emptied"]),
        ("truncate cluster app.c", []),
        ("truncate cluster d", []),
    ],
)
def test_the_tables_in_a_cluster_are_emptied_with_it(tmp_path: Path, statement: str, expected: list[str]) -> None:
    """The known ones: 500 is a table that is not captured."""
    ids = Dictionary({TableId("DB", "LAB", "C"): (ITEM.object_id, X.object_id, 500), TableId("DB", "LAB", "D"): ()})
    assert named(read(tmp_path, statement, ITEM, X, QUOTED, ids=ids, table="C", object_id=66)) == expected


def test_which_tables_a_cluster_has_is_logged_as_unknown_without_a_dictionary(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    redo = Redo()
    redo.ddl(A, "truncate cluster c drop storage", table="C", object_id=66)
    assert schema_changes(Miner(tmp_path).read(redo.rows)) == []
    assert "TRUNCATE of cluster LAB.C: without a dictionary, the emptied tables are unknown" in caplog.text
