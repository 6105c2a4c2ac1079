"""CREATE TABLE with the columns of other tables: AS a query, FOR EXCHANGE WITH a table.

A column that the query takes as it is from one captured table is as it was there at this point of redo: its type, and its NOT NULL constraint
unless a primary key implied it (SQL Language Reference, CREATE TABLE, AS subquery). Of all else the dictionary says the types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from minercdc.schema.ddl.changed_constraints import ReadPresent
from minercdc.schema.ddl.changes import HIDDEN
from minercdc.schema.ddl.columns import UNSAID
from minercdc.schema.ddl.statements import CreateTable, Query, Selected, ShapeUnclear, TableName
from minercdc.schema.table import Column, NotNull, TableSchema, with_nulls

FindTable: TypeAlias = Callable[[TableName], TableSchema | None]
"""The captured table that a name in a statement means, as it is at this point of redo; None for any other."""

VisibleColumns: TypeAlias = Callable[[TableName, datetime], tuple[str, ...]]
"""Names of the columns that `*` has of a table or view; () where it has had DDL after that time, or is gone."""


def with_columns(
    statement: CreateTable, at: datetime, find: FindTable, visible: VisibleColumns, present: ReadPresent
) -> CreateTable:
    """The statement with what other tables say of its columns.

    :param at: when it ran, in the time of the database's host.
    :param present: reads the new table as the dictionary has it now.
    :raises ShapeUnclear: it has columns of a table that has changed since, or is not known.
    """
    if statement.like is not None:
        return _like(statement, statement.like, find)
    if statement.query is None:
        return statement
    items = _items_of(statement.query, at, find, visible, present)
    if not items and not statement.columns:
        raise ShapeUnclear("CREATE TABLE with the columns of a table that has changed since")
    if not statement.columns:
        names = tuple(item.name for item in items)
        columns = tuple(Column(name, UNSAID) for name in names)
        statement = replace(statement, columns=columns, stored=statement.stored + names, unsaid=frozenset(names))
    return _as_selected(statement, items, find) if statement.query is not None and statement.query.is_plain else statement


def _items_of(query: Query, at: datetime, find: FindTable, visible: VisibleColumns, present: ReadPresent) -> list[Selected]:
    """The items of a query, each `*` as the columns that it means; [] where that is not known.

    The columns that a captured table has at this point of redo are surer than the second of the last DDL. But what is known of it leaves
    out virtual columns, which `*` has, and has INVISIBLE ones. So the new table must have these columns first; and what follows must
    have been added later: it is no column of the tables that are copied.
    """
    stars = [item.table for item in query.items if item.table is not None and item.is_star]
    if not stars:
        return list(query.items)
    captured = _expanded(query, lambda name: _captured_names(find(name)))
    made = present()
    if made is not None and captured:
        names = [column.name for column in made.columns]
        copied = {name for table in stars for name in visible(table, datetime.max)}
        if names[: len(captured)] == [item.name for item in captured] and not copied & set(names[len(captured) :]):
            return captured
    return _expanded(query, lambda name: visible(name, at)) or (captured if made is None else [])


def _expanded(query: Query, columns: Callable[[TableName], tuple[str, ...]]) -> list[Selected]:
    """The items of a query, each `*` as these columns; [] where a table has none."""
    found: list[Selected] = []
    for item in query.items:
        names = columns(item.table) if item.table is not None and item.is_star else None
        if names == ():
            return []
        found += [item] if names is None else [Selected(name, item.table, name) for name in names]
    return found


def _captured_names(table: TableSchema | None) -> tuple[str, ...]:
    """Names of the columns of a captured table; () for another, and for one with columns that are left out."""
    if table is None or {name for name in table.stored if not HIDDEN.fullmatch(name)} != table.positions().keys():
        return ()
    return tuple(column.name for column in table.columns)


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
