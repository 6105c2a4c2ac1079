"""Trees of INSERT, UPDATE, DELETE and MERGE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.sql.ast.trees import Expr, Query, Relation, TableRef


@dataclass(slots=True)
class Returning:
    """`RETURNING items INTO binds`; the binds by index, one for each item. `at`: its offset."""

    items: list[Expr]
    binds: list[int]
    at: int


@dataclass(slots=True)
class ErrorLog:
    """`LOG ERRORS [INTO table] [(tag)] [REJECT LIMIT limit]`; `name` None without INTO, `limit` 0 when left out, None for
    UNLIMITED. `at`: its offset."""

    owner: str | None
    name: str | None
    tag: Expr | None
    limit: int | None
    at: int


@dataclass(slots=True)
class Insert:
    """INSERT of one table, from VALUES or a query; the other is None. `columns`: with their offsets, [] for all; `more`: the rows
    of VALUES after the first. `at`: its offset."""

    target: TableRef
    columns: list[tuple[str, int]]
    values: list[Expr] | None
    query: Query | None
    at: int
    returning: Returning | None = None
    more: list[list[Expr]] = field(default_factory=list)
    errors: ErrorLog | None = None


@dataclass(slots=True)
class InsertInto:
    """`INTO table [(columns)] [VALUES (..)]` of a multitable insert; `columns` with their offsets, [] for all; `values` None
    without VALUES."""

    target: TableRef
    columns: list[tuple[str, int]]
    values: list[Expr] | None


@dataclass(slots=True)
class InsertMany:
    """INSERT ALL or, when `first`, INSERT FIRST. `branches`: condition, None without WHEN, and INTO clauses; `otherwise`: those
    of ELSE. `at`: its offset."""

    first: bool
    branches: list[tuple[Expr | None, list[InsertInto]]]
    otherwise: list[InsertInto]
    query: Query
    at: int


Assignment: TypeAlias = "tuple[str, Expr, int]"
"""Column, value, and offset of the assignment."""


@dataclass(slots=True)
class Merge:
    """MERGE. `update`: SET, WHERE and DELETE WHERE; `insert`: columns, values and WHERE; None for a clause left out. `at`: its offset."""

    target: TableRef
    source: Relation
    on: Expr
    at: int
    update: tuple[list[Assignment], Expr | None, Expr | None] | None = None
    insert: tuple[list[tuple[str, int]], list[Expr], Expr | None] | None = None


@dataclass(slots=True)
class Update:
    """`UPDATE target SET assignments [WHERE ..] [RETURNING ..] [LOG ERRORS ..]`. `at`: its offset."""

    target: TableRef
    assignments: list[Assignment]
    where: Expr | None
    at: int
    returning: Returning | None = None
    errors: ErrorLog | None = None


@dataclass(slots=True)
class Delete:
    """`DELETE target [WHERE ..] [RETURNING ..] [LOG ERRORS ..]`. `at`: its offset."""

    target: TableRef
    where: Expr | None
    at: int
    returning: Returning | None = None
    errors: ErrorLog | None = None


Change: TypeAlias = Insert | InsertMany | Merge | Update | Delete
