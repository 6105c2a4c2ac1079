"""Applies DDL statements to table shapes. `ddl_parser` reads their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from minercdc.schema.table import Column, TableId, TableSchema


@dataclass(frozen=True, slots=True)
class TableName:
    """A name as the dictionary spells it: unquoted words in upper case. `schema` is None when it was not qualified."""

    schema: str | None
    table: str

    def within(self, database: str, default_schema: str) -> TableId:
        """The id of the table that the name means in `database`, for a session whose current schema is `default_schema`."""
        return TableId(database, self.schema or default_schema, self.table)


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE with a list of columns.

    :param key: names of the columns of its primary key, () for none.
    """

    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE, with or without PURGE."""

    name: TableName


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """TRUNCATE TABLE: all rows are gone, the shape stays."""

    name: TableName


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME of a table, to `new_name` in the same schema."""

    name: TableName
    new_name: str


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ADD of columns, after the others, in this order."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ModifyColumn:
    """MODIFY of one column. Attributes that the statement does not give stay as they are in the table.

    :param column: the attributes given; `type_given`, `null_given` and `default_given` say which.
    :param default_given: True of DEFAULT NULL, too, which removes the default.
    """

    column: Column
    type_given: bool
    null_given: bool
    default_given: bool


@dataclass(frozen=True, slots=True)
class DropColumns:
    """DROP of columns, by their names; with `unused`, SET UNUSED, after which they stay in the stored rows."""

    names: tuple[str, ...]
    unused: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME of a column, which keeps its place."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """ADD of a primary key, by names of columns in its order."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyUnclear:
    """A constraint was dropped, changed, enabled or disabled: only the dictionary knows the key then, and what is NOT NULL."""


Change: TypeAlias = AddColumns | ModifyColumn | DropColumns | RenameColumn | PrimaryKey | KeyUnclear


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE, with its changes in the order written; () when the statement changes no shape.

    :param loses_rows: it takes rows away or brings some without redo of them: TRUNCATE, DROP and EXCHANGE PARTITION.
    :param moves_rows: rows have other ROWIDs since: MOVE, SHRINK; SPLIT, MERGE and COALESCE PARTITION.
    """

    name: TableName
    changes: tuple[Change, ...]
    loses_rows: bool = False
    moves_rows: bool = False


@dataclass(frozen=True, slots=True)
class CommentOn:
    """COMMENT ON a table, or on a column of it. `column` is None for the table; `text` None takes the comment away."""

    name: TableName
    column: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Unclear:
    """A statement about a table whose effect this grammar does not know.

    :param name: None when not even the table is clear.
    """

    name: TableName | None
    reason: str


Statement: TypeAlias = CreateTable | AlterTable | DropTable | TruncateTable | RenameTable | CommentOn | Unclear


class ShapeUnclear(Exception):
    """A change does not fit the known version of the table; its text says why. Whoever applies changes reads the dictionary
    then."""


def apply_changes(table: TableSchema, changes: Sequence[Change]) -> TableSchema:
    """The table after ALTER TABLE, with the `version` of `table`. It has no key once a column of the key is dropped, and no
    `stored` after SET UNUSED, since the names are not known then. A KeyUnclear changes nothing: the caller calls `with_key_of`.

    :raises ShapeUnclear: a change names a column that the table lacks, or adds one that it has.
    """
    columns = list(table.columns)
    stored = list(table.stored)
    key = [table.columns[i].name for i in table.key]
    for change in changes:
        match change:
            case AddColumns(added):
                if {column.name for column in added} & {column.name for column in columns}:
                    raise ShapeUnclear("an added column is there already")
                columns.extend(added)
                stored += [column.name for column in added] if stored else []
            case ModifyColumn():
                i = _index(columns, change.column.name)
                columns[i] = _modified(columns[i], change)
            case DropColumns(names, unused):
                for name in names:
                    del columns[_index(columns, name)]
                # The numbering closes up after DROP, and keeps a gap without a name after SET UNUSED.
                stored = [] if unused else [name for name in stored if name not in names]
                if set(names) & set(key):
                    key = []
            case RenameColumn(name, new_name):
                columns[_index(columns, name)] = replace(columns[_index(columns, name)], name=new_name)
                key = [new_name if part == name else part for part in key]
                stored = [new_name if part == name else part for part in stored]
            case PrimaryKey(names):
                key = list(names)
                for i in (_index(columns, name) for name in key):
                    columns[i] = replace(columns[i], nullable=False)
    key_positions = tuple(_index(columns, name) for name in key)
    return replace(table, columns=tuple(columns), key=key_positions, stored=tuple(stored))


def commented(table: TableSchema, statement: CommentOn) -> TableSchema:
    """The table after COMMENT ON, with the `version` of `table`. The comment of a column that `table` lacks changes nothing:
    such a column is left out for its type."""
    if statement.column is None:
        return replace(table, comment=statement.text)
    columns = (
        replace(column, comment=statement.text) if column.name == statement.column else column for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def with_key_of(table: TableSchema, present: TableSchema) -> TableSchema:
    """`table` with the key of `present`, the dictionary's version, and the NOT NULL of the columns that both have.

    The result has no key when `table` lacks a column of that key.
    """
    now = {column.name: column for column in present.columns}
    columns = tuple(
        replace(column, nullable=now[column.name].nullable) if column.name in now else column for column in table.columns
    )
    positions = table.positions()
    names = [present.columns[i].name for i in present.key]
    key = tuple(positions[name] for name in names) if all(name in positions for name in names) else ()
    return replace(table, columns=columns, key=key)


def _index(columns: Sequence[Column], name: str) -> int:
    for i, column in enumerate(columns):
        if column.name == name:
            return i
    raise ShapeUnclear(f"no column {name}")


def _modified(column: Column, change: ModifyColumn) -> Column:
    new = change.column
    if change.type_given:
        column = replace(column, type_name=new.type_name, length=new.length, scale=new.scale)
    if change.null_given:
        column = replace(column, nullable=new.nullable)
    return replace(column, default=new.default) if change.default_given else column


def create_table(statement: CreateTable, table: TableId) -> TableSchema:
    """The table that CREATE TABLE makes: version 1, no object id, columns of all types. Raises ValueError when it has not
    all columns of its key."""
    names = [column.name for column in statement.columns]
    key = tuple(names.index(name) for name in statement.key)
    return TableSchema(table, statement.columns, key, stored=tuple(names))
