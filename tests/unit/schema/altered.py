"""A table, and what a statement of ALTER TABLE makes of it."""

from __future__ import annotations

from minercdc.schema.ddl.changes import apply_changes
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import (
    AlterTable,
)
from minercdc.schema.table import Column, Key, TableId, TableSchema

ITEM = TableId("DB", "LAB", "ITEM")
TABLE = TableSchema(
    ITEM,
    (Column("ID", "NUMBER", 10, 0, nullable=False), Column("NAME", "VARCHAR2", 80)),
    (0,),
    stored=("ID", "PHOTO", "NAME"),
    keys=(Key("P", ("ID",), "PK"),),
)
# Reserved words of the SQL Language Reference: no column has one of these as its name.


def altered(sql: str, table: TableSchema = TABLE, present: TableSchema | None = None) -> TableSchema:
    statement = parse_ddl(sql)
    assert isinstance(statement, AlterTable), statement
    return apply_changes(table, statement.changes, lambda: present)


def names(table: TableSchema) -> list[str]:
    return [column.name for column in table.columns]
