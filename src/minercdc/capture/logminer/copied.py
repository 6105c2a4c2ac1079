"""CREATE TABLE with the columns of other tables: AS a query, FOR EXCHANGE WITH a table.

A column that the query takes as it is from one captured table is as it was there at this point of redo: its type, and its NOT NULL constraint
unless a primary key implied it (SQL Language Reference, CREATE TABLE, AS subquery). Of all else the dictionary says the types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from minercdc.schema.ddl import CreateTable, Query, Selected, ShapeUnclear, TableName
from minercdc.schema.ddl_columns import UNSAID
from minercdc.schema.table import Column, NotNull, TableSchema, with_nulls

FindTable: TypeAlias = Callable[[TableName], TableSchema | None]
"""The captured table that a name in a statement means, as it is at this point of redo; None for any other."""

VisibleColumns: TypeAlias = Callable[[TableName], tuple[str, ...]]
"""Names of the columns that `*` has of a table or view; () where it has changed since the statement, or is gone."""


def with_columns(statement: CreateTable, find: FindTable, visible: VisibleColumns) -> CreateTable:
    """The statement with what other tables say of its columns.

    :raises ShapeUnclear: it has columns of a table that has changed since, or is not known.
    """
    if statement.like is not None:
        return _like(statement, statement.like, find)
    if statement.query is None:
        return statement
    items = _items(statement.query, visible, must=not statement.columns)
    if not statement.columns:
        names = tuple(item.name for item in items)
        columns = tuple(Column(name, UNSAID) for name in names)
        statement = replace(statement, columns=columns, stored=names + statement.stored, unsaid=frozenset(names))
    return _as_selected(statement, items, find) if statement.query is not None and statement.query.is_plain else statement


def _items(query: Query, visible: VisibleColumns, *, must: bool) -> list[Selected]:
    """The items of a query, each `*` as the columns that it means; [] where that is not known. With `must`, raises ShapeUnclear then."""
    found: list[Selected] = []
    for item in query.items:
        if item.name or item.table is None:
            found.append(item)
            continue
        names = visible(item.table)
        if not names and must:
            raise ShapeUnclear(f"CREATE TABLE with the columns of {item.table.table}, which has changed since")
        if not names:
            return []
        found += [Selected(name, item.table, name) for name in names]
    return found


def _as_selected(statement: CreateTable, items: list[Selected], find: FindTable) -> CreateTable:
    """The statement with types and NOT NULL constraints of the columns that are taken as they are from a captured table."""
    if len(items) != len(statement.columns):
        return statement
    columns = list(statement.columns)
    not_nulls = list(statement.not_nulls)
    unsaid = set(statement.unsaid)
    for i, (column, item) in enumerate(zip(statement.columns, items, strict=True)):
        source = find(item.table) if item.table is not None else None
        like = next((one for one in source.columns if one.name == item.column), None) if source is not None else None
        if source is None or like is None:
            continue
        columns[i] = replace(column, type_name=like.type_name, length=like.length, scale=like.scale)
        if source.not_nulls is not None:
            unsaid.discard(column.name)
            copied = any(one.holds and one.column == item.column for one in source.not_nulls)
            if copied and not any(one.column == column.name for one in not_nulls):
                not_nulls.append(NotNull(column.name))
    made = with_nulls(columns, statement.keys, not_nulls)
    return replace(statement, columns=made, not_nulls=tuple(not_nulls), unsaid=frozenset(unsaid))


def _like(statement: CreateTable, name: TableName, find: FindTable) -> CreateTable:
    """FOR EXCHANGE WITH TABLE: the stored columns of the other table, in its order; no keys. Whether they are NOT NULL, and their
    defaults, the dictionary says."""
    source = find(name)
    if source is None or not source.stored:
        raise ShapeUnclear(f"CREATE TABLE FOR EXCHANGE WITH TABLE {name.table}, which is not captured")
    columns = tuple(replace(column, nullable=True, default=None, comment=None) for column in source.columns)
    return replace(statement, columns=columns, stored=source.stored, unsaid=frozenset(column.name for column in columns))
