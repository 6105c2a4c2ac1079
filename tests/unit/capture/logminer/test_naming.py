"""Rows without a dictionary get the names that the primary, or the schema history, has for their objects."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.session.table_names import ObjectNames
from minercdc.errors import PrerequisiteError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables

ORDERS = TableSchema(TableId("PDB", "SHOP", "ORDERS"), (Column("ID", "NUMBER", 9, 0, False),), (0,), object_id=70)
PDB = 3


class Primary:
    """A driver's connection whose ALL_OBJECTS has these rows; it notes the ids of each query."""

    def __init__(self, *objects: tuple[int, str, str, str]) -> None:
        self.objects, self.asked = objects, list[str]()

    def cursor(self) -> Primary:
        return self

    def __enter__(self) -> Primary:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, sql: str) -> None:
        self.asked.append(sql.rpartition("OBJECT_ID IN (")[2].rstrip(")"))
        self.tables = "ALL_INDEXES" not in sql

    def fetchall(self) -> list[tuple[int, str, str, str]]:
        ids = self.asked[-1].split(", ")
        return [one for one in self.objects if str(one[0]) in ids and self.tables == one[3].startswith("TABLE")]

    def close(self) -> None: ...


def row(code: int, object_id: int = 70, **other: Any) -> LogMinerRow:
    usual = LogMinerRow(
        100,
        code,
        1,
        " 0x000001.00000002.0010 ",
        0,
        b"\1" * 8,
        PDB,
        "UNKNOWN",
        f"OBJ# {object_id}",
        "AAA",
        0,
        0,
        0,
        None,
        datetime(2026, 1, 1),
        "UNKNOWN",
        None,
        object_id,
        None,
        "insert into ..",
    )
    return usual._replace(**other)


def names(primary: Primary, tables: Tables | None = None) -> ObjectNames:
    mined = TableFilter(schema_include=["SHOP"])
    context: Any = SimpleNamespace(connect_pdb=lambda: primary, database="PDB", tables=tables or Tables(), mined=mined)
    return ObjectNames(context, frozenset({"SYS"}))


def test_rows_get_the_name_of_their_object_which_is_looked_up_once() -> None:
    primary = Primary((70, "SHOP", "ORDERS", "TABLE"), (71, "SYS", "OBJ$", "TABLE"))
    naming = names(primary)
    start = row(OpCode.START, 0, owner=None, table=None)
    for _ in range(2):
        found = naming.named([start, row(OpCode.INSERT), row(OpCode.UPDATE, 71), row(OpCode.DELETE, 72)], PDB)
        named = [(one[7], one[8], one[12], one[13]) for one in found]
        assert named == [
            (None, None, 0, None),
            ("SHOP", "ORDERS", 2, "Dictionary Mismatch"),  # decoded by the stored columns of the schema history
            ("UNKNOWN", "OBJ# 72", 0, None),
        ], "rows of SYS are dropped, those of an unknown table stay what they are"
    assert primary.asked == ["70, 71, 72", "72"]


def test_ddl_without_names_is_of_the_table_with_its_object_id() -> None:
    tables = Tables()
    tables.put(ORDERS)
    naming = names(Primary(), tables)
    (found,) = naming.named([row(OpCode.DDL, sql="drop table orders")], PDB)
    assert (found[7], found[8], found[15]) == ("SHOP", "ORDERS", None)
    (found,) = naming.named([row(OpCode.DDL, owner="SHOP", table="ORDERS", user="APP")], PDB)
    assert (found[7], found[8], found[15]) == ("SHOP", "ORDERS", "APP")
    (found,) = naming.named([row(OpCode.DDL, 99, sql="create table t (n number)", user="APP")], PDB)
    assert (found[7], found[15]) == (None, "APP"), "unqualified names lie in the schema of who ran it"


def test_a_partition_of_a_captured_table_is_refused() -> None:
    naming = names(Primary((70, "SHOP", "PARTS", "TABLE PARTITION"), (71, "OTHER", "PARTS", "TABLE PARTITION")))
    assert naming.named([row(OpCode.INSERT, 71)], PDB)[0][7] == "OTHER"
    with pytest.raises(PrerequisiteError, match="SHOP.PARTS is partitioned"):
        naming.named([row(OpCode.INSERT)], PDB)


@pytest.mark.parametrize("kind", ["INDEX", "CLUSTER"])
def test_a_captured_table_whose_rows_have_another_objects_id_is_refused(kind: str) -> None:
    naming = names(Primary((70, "SHOP", "ITEMS", kind), (71, "OTHER", "ITEMS", kind)))
    assert naming.named([row(OpCode.INSERT, 71)], PDB)[0][7] == "OTHER"
    with pytest.raises(PrerequisiteError, match="SHOP.ITEMS is partitioned, index-organized or clustered"):
        naming.named([row(OpCode.INSERT)], PDB)


def test_rows_whose_container_is_not_said_are_not_guessed() -> None:
    naming = names(Primary((70, "SHOP", "ORDERS", "TABLE")))
    assert naming.named([row(OpCode.INSERT, con_id=None)], None)
    with pytest.raises(PrerequisiteError, match="SRC_CON_ID"):
        naming.named([row(OpCode.INSERT, con_id=None)], PDB)
