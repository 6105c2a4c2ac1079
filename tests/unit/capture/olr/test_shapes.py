"""Which table and shape a change has, when its object id or name is not that of a table that is known."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.capture.olr.context import shapes_of

from minercdc.capture.olr.message import Message, Operation, Place
from minercdc.capture.olr.shapes import Shapes
from minercdc.oracle.dictionary.dependent_tables import Child
from minercdc.schema.table import Column, Key, TableId, TableSchema
from minercdc.stream.events import SchemaChange

T = TableId("PDB", "SHOP", "T")
KNOWN = TableSchema(T, (Column("ID", "NUMBER"), Column("A", "NUMBER")), (0,), object_id=100)
RENAMED = replace(KNOWN, columns=(Column("ID", "NUMBER"), Column("B", "NUMBER")))
MESSAGE = Message(Place(50, 1), [], scn=50, xid="0" * 16)


def inserted(object_id: int, table: str = "T", **after: Any) -> Operation:
    return Operation("c", "SHOP", table, object_id, after=after or {"ID": "1", "A": "2"})


def renewed(found: Shapes, operation: Operation) -> list[SchemaChange]:
    return list(found.renewed(T, operation, MESSAGE, 0))


@pytest.mark.parametrize("now", [RENAMED, replace(RENAMED, object_id=300)], ids=["altered", "another table"])
def test_a_row_of_a_partition_has_the_shape_of_its_place_in_the_stream(now: TableSchema) -> None:
    found = shapes_of(KNOWN, present=now)  # the DDL is still to come
    assert renewed(found, inserted(501)) == []
    assert found.reader(T).read(inserted(501))[2] == ("1", "2")


def test_a_row_with_a_hidden_column_has_the_shape_of_its_place_in_the_stream() -> None:
    """The text of CREATE TABLE does not say the columns that Oracle makes itself, and the server shows them."""
    now = replace(RENAMED, stored=("ID", "B", "SYS_NC00003$"))
    found = shapes_of(KNOWN, present=now)
    row = inserted(100, ID="1", A="2", **{"SYS_NC00003$": "00"})
    assert renewed(found, row) == []
    assert found.reader(T).read(row)[2] == ("1", "2")


def test_a_table_that_was_made_again_without_ddl_has_its_present_shape() -> None:
    now = replace(RENAMED, object_id=300)
    (change,) = renewed(shapes_of(KNOWN, present=now), inserted(300, ID="1", B="2"))
    assert change.after is not None
    assert (change.after.columns, change.after.object_id) == (now.columns, 300)


def test_a_column_that_came_without_ddl_is_read() -> None:
    (change,) = renewed(shapes_of(KNOWN, present=RENAMED), inserted(100, ID="1", B="2"))
    assert change.after is not None
    assert change.after.columns == RENAMED.columns


@pytest.mark.parametrize("object_id", [100, 501, 0], ids=["its own", "of a partition", "not given"])
def test_the_name_of_a_table_may_begin_as_that_of_an_unknown_object(object_id: int) -> None:
    orders = replace(KNOWN, id=TableId("PDB", "SHOP", "OBJ_ORDERS"))
    assert shapes_of(orders).captured(inserted(object_id, "OBJ_ORDERS")) == orders.id


@pytest.mark.parametrize("owner", ["SHOP", None])
def test_an_object_without_name_is_found_by_its_id_or_named_once(
    owner: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    found = shapes_of(KNOWN)
    assert found.captured(replace(inserted(100, "OBJ_100"), owner=owner)) == T
    with caplog.at_level(logging.WARNING):
        assert found.captured(replace(inserted(7, "OBJ_7"), owner=owner)) is None
        assert found.captured(replace(inserted(7, "OBJ_7"), owner=owner)) is None
    assert caplog.text.count("does not know the name of OBJ_7") == 1


# ---- what the dictionary says of a statement ----

_AT = datetime(2026, 3, 1, 12)
_AHEAD = timedelta(hours=2)


class Ids:
    """The dictionary's object ids: the table is called `name` now, and has a child by a foreign key."""

    def __init__(self, name: str, *children: Child) -> None:
        self.name, self._children = T._replace(table=name), children

    def present_name(self, _: TableSchema) -> TableId:
        return self.name

    def children(self, _: TableId) -> tuple[Child, ...]:
        return self._children

    def altered(self, _: object, __: datetime) -> frozenset[TableId]:
        return frozenset()

    def host_time(self, _: str) -> datetime:
        return _AT

    def parts(self, _: object) -> dict[TableId, frozenset[int]]:
        return {}


def followed(sql: str, now: TableSchema, *known: TableSchema, ids: Ids | None = None) -> tuple[list[SchemaChange], Shapes]:
    """What a statement does at noon of the host, which is 10 o'clock UTC.

    :param now: the table as the dictionary has it now.
    """
    shapes = shapes_of(*known, present=now, ids=ids, ahead=_AHEAD)
    time_us = int((_AT - _AHEAD).replace(tzinfo=UTC).timestamp()) * 1_000_000
    return list(shapes.follow(Operation("ddl", "SHOP", "T", 100, sql=sql), MESSAGE, time_us)), shapes


def test_a_check_that_is_dropped_takes_no_key_with_it() -> None:
    """Oracle made the names of both. The dictionary has the key still, since before the statement."""
    known = replace(KNOWN, keys=(Key("P", ("ID",)),), not_nulls=())
    there = replace(KNOWN, keys=(Key("P", ("ID",), "SYS_C1"),), not_nulls=(), changed={"SYS_C1": _AT - timedelta(hours=1)})
    _, shapes = followed("alter table t drop constraint SYS_C2", there, known)
    assert shapes.reader(T).schema.key == (0,)
    _, shapes = followed("alter table t drop constraint SYS_C1", replace(there, keys=(), key=(), changed={}), known)
    assert shapes.reader(T).schema.key == ()
    # One of the same name that was made an hour after the statement is another one.
    later = replace(there, changed={"SYS_C1": _AT + timedelta(hours=1)})
    _, shapes = followed("alter table t drop constraint SYS_C1", later, known)
    assert shapes.reader(T).schema.key == ()


def test_a_table_that_is_renamed_later_is_not_dropped_by_what_its_text_leaves_open() -> None:
    now = replace(KNOWN, id=T._replace(table="LATER"), columns=(*KNOWN.columns, Column("C", "NUMBER")))
    _, shapes = followed("alter table t add (c shop.numbers)", now, KNOWN, ids=Ids("LATER"))
    assert shapes.reader(T).schema.columns == now.columns


def test_truncate_cascade_empties_the_tables_that_refer_to_it() -> None:
    child = TableSchema(TableId("PDB", "SHOP", "CHILD"), KNOWN.columns, (0,), object_id=200)
    found = Child(child.id, 200, cascades=True, by_reference=False, changed=_AT - timedelta(hours=3))
    changes, _ = followed("truncate table t cascade", KNOWN, KNOWN, child, ids=Ids("T", found))
    assert [(change.table.table, change.truncate) for change in changes] == [("T", True), ("CHILD", True)]
