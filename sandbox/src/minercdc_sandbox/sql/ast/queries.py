"""Queries and what stands in FROM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.sql.ast.expressions import Call, Expr, Name, OrderItem


@dataclass(slots=True)
class Partition:
    """`PARTITION (name)` or `PARTITION FOR (values)`."""

    name: str | None
    values: list[Expr]
    at: int


@dataclass(slots=True)
class TableRef:
    """`as_of`: ('SCN' | 'TIMESTAMP', expression); `versions`: the same with both ends, None for MINVALUE and MAXVALUE.

    `inline`: of what DML changes, the subquery that stands in place of a name.
    """

    owner: str | None
    name: str
    alias: str | None
    at: int
    as_of: tuple[str, Expr] | None = None
    partition: Partition | None = None
    versions: tuple[str, Expr | None, Expr | None] | None = None
    inline: Query | None = None


@dataclass(slots=True)
class Derived:
    """A subquery in FROM; `lateral` when it may name columns of the relations before it."""

    query: Query
    alias: str | None
    at: int
    as_of: tuple[str, Expr] | None = None
    lateral: bool = False


@dataclass(slots=True)
class Join:
    """`kind`: INNER, LEFT, RIGHT, FULL, CROSS."""

    left: Relation
    right: Relation
    kind: str
    on: Expr | None
    using: list[str]
    at: int
    natural: bool = False


@dataclass(slots=True)
class Pivot:
    """`source PIVOT (aggregate [AS alias], .. FOR columns IN ((values) [AS alias], ..))`."""

    source: Relation
    aggregates: list[tuple[Call, str | None]]
    columns: list[Name]
    values: list[tuple[list[Expr], str]]
    alias: str | None
    at: int


@dataclass(slots=True)
class Unpivot:
    """`source UNPIVOT [INCLUDE NULLS] (values FOR name IN ((columns) [AS literal], ..))`."""

    source: Relation
    values: list[str]
    name: str
    columns: list[tuple[list[Name], Expr | None]]
    include_nulls: bool
    alias: str | None
    at: int


Relation: TypeAlias = "TableRef | Derived | Join | Pivot | Unpivot"


@dataclass(slots=True)
class Item:
    """A select item; `expr` None is `*`, with `star_of` the qualifier."""

    expr: Expr | None
    alias: str | None
    heading: str
    star_of: tuple[str, ...] = ()
    at: int = 0


@dataclass(slots=True)
class Hierarchy:
    """START WITH .. CONNECT BY [NOCYCLE] .. ; `siblings` of ORDER SIBLINGS BY."""

    start: Expr | None
    connect: Expr
    nocycle: bool
    at: int
    siblings: list[OrderItem] = field(default_factory=list)


@dataclass(slots=True)
class Select:
    """`grouping`: the grouping sets of ROLLUP, CUBE and GROUPING SETS; then `group_by` has all their expressions."""

    items: list[Item]
    relations: list[Relation]
    where: Expr | None = None
    group_by: list[Expr] = field(default_factory=list)
    having: Expr | None = None
    distinct: bool = False
    at: int = 0
    hierarchy: Hierarchy | None = None
    grouping: list[list[Expr]] | None = None


@dataclass(slots=True)
class SetOperation:
    """`op`: UNION, INTERSECT, MINUS, each with ALL too."""

    op: str
    left: Select | SetOperation | Query
    right: Select | SetOperation | Query
    at: int


@dataclass(slots=True)
class LockWait:
    """FOR UPDATE or LOCK TABLE: `seconds` None waits for ever, 0 is NOWAIT; `of` the columns of FOR UPDATE OF."""

    seconds: float | None = None
    skip_locked: bool = False
    of: list[Name] = field(default_factory=list)


@dataclass(slots=True)
class Query:
    """`fetch` counts rows, or `percent` of them; `ties` also takes those equal to the last."""

    body: Select | SetOperation | Query
    with_: list[tuple[str, list[str], Query]] = field(default_factory=list)
    order_by: list[OrderItem] = field(default_factory=list)
    offset: Expr | None = None
    fetch: Expr | None = None
    for_update: LockWait | None = None
    at: int = 0
    percent: bool = False
    ties: bool = False
