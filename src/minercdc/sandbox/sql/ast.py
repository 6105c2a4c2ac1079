"""Syntax trees: expressions, queries and DML. `at` is the 0-based offset in the statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True)
class Literal:
    """`kind`: N number, S string, U national string, D date, T timestamp, 0 null, P DEFAULT."""

    kind: str
    text: str
    at: int


@dataclass(slots=True)
class IntervalLiteral:
    """`INTERVAL 'text' first(lead) TO last(digits)`, units as written: YEAR, MONTH, DAY, HOUR, MINUTE, SECOND."""

    text: str
    first: str
    last: str
    lead: int
    digits: int
    at: int


@dataclass(slots=True)
class Bind:
    index: int
    name: str
    at: int


@dataclass(slots=True)
class Name:
    """A column, pseudo-column or function without arguments."""

    parts: tuple[str, ...]
    at: int
    quoted: bool = False


@dataclass(slots=True)
class Call:
    name: str
    args: list[Expr]
    at: int
    distinct: bool = False
    star: bool = False


@dataclass(slots=True)
class Unary:
    op: str
    operand: Expr
    at: int


@dataclass(slots=True)
class Binary:
    """Arithmetic and `||`."""

    op: str
    left: Expr
    right: Expr
    at: int


@dataclass(slots=True)
class Compare:
    op: str
    left: Expr
    right: Expr
    at: int


@dataclass(slots=True)
class Logic:
    """AND, OR over two or more; NOT over one."""

    op: str
    operands: list[Expr]
    at: int


@dataclass(slots=True)
class Between:
    operand: Expr
    low: Expr
    high: Expr
    negated: bool
    at: int


@dataclass(slots=True)
class InList:
    operand: Expr
    items: list[Expr]
    negated: bool
    at: int


@dataclass(slots=True)
class InQuery:
    operand: Expr
    query: Query
    negated: bool
    at: int


@dataclass(slots=True)
class Like:
    operand: Expr
    pattern: Expr
    escape: Expr | None
    negated: bool
    at: int


@dataclass(slots=True)
class IsNull:
    operand: Expr
    negated: bool
    at: int


@dataclass(slots=True)
class Exists:
    query: Query
    at: int


@dataclass(slots=True)
class Scalar:
    query: Query
    at: int


@dataclass(slots=True)
class Case:
    operand: Expr | None
    branches: list[tuple[Expr, Expr]]
    otherwise: Expr | None
    at: int


@dataclass(slots=True)
class TypeName:
    """A declared type: name and the numbers in parentheses (`*` is None)."""

    name: str
    numbers: list[int | None]
    unit: str | None
    at: int


@dataclass(slots=True)
class AtZone:
    """`operand AT TIME ZONE zone`; AT LOCAL has no zone."""

    operand: Expr
    zone: Expr | None
    at: int


@dataclass(slots=True)
class IsBinary:
    """`operand IS [NOT] NAN | INFINITE`."""

    operand: Expr
    what: str
    negated: bool
    at: int


@dataclass(slots=True)
class Cast:
    operand: Expr
    target: TypeName
    at: int


@dataclass(slots=True)
class Row:
    """(a, b) on the left of IN, or inside its list."""

    items: list[Expr]
    at: int


Expr: TypeAlias = (
    "Literal | IntervalLiteral | AtZone | IsBinary | Bind | Name | Call | Unary | Binary | Compare | Logic | Between | InList | InQuery"
    " | Like | IsNull | Exists | Scalar | Case | Cast | Row"
)


@dataclass(slots=True)
class TableRef:
    """`as_of`: ('SCN' | 'TIMESTAMP', expression)."""

    owner: str | None
    name: str
    alias: str | None
    at: int
    as_of: tuple[str, Expr] | None = None


@dataclass(slots=True)
class Derived:
    query: Query
    alias: str | None
    at: int
    as_of: tuple[str, Expr] | None = None


@dataclass(slots=True)
class Join:
    """`kind`: INNER, LEFT, RIGHT, FULL, CROSS."""

    left: Relation
    right: Relation
    kind: str
    on: Expr | None
    using: list[str]
    at: int


Relation: TypeAlias = "TableRef | Derived | Join"


@dataclass(slots=True)
class Item:
    """A select item; `expr` None is `*`, with `star_of` the qualifier."""

    expr: Expr | None
    alias: str | None
    heading: str
    star_of: tuple[str, ...] = ()
    at: int = 0


@dataclass(slots=True)
class Select:
    items: list[Item]
    relations: list[Relation]
    where: Expr | None = None
    group_by: list[Expr] = field(default_factory=list)
    having: Expr | None = None
    distinct: bool = False
    at: int = 0


@dataclass(slots=True)
class SetOperation:
    """`op`: UNION, UNION ALL, INTERSECT, MINUS."""

    op: str
    left: Select | SetOperation | Query
    right: Select | SetOperation | Query
    at: int


@dataclass(slots=True)
class OrderItem:
    expr: Expr
    descending: bool
    nulls_first: bool | None


@dataclass(slots=True)
class LockWait:
    """FOR UPDATE or LOCK TABLE: `seconds` None waits for ever, 0 is NOWAIT."""

    seconds: float | None = None
    skip_locked: bool = False


@dataclass(slots=True)
class Query:
    body: Select | SetOperation | Query
    with_: list[tuple[str, list[str], Query]] = field(default_factory=list)
    order_by: list[OrderItem] = field(default_factory=list)
    offset: Expr | None = None
    fetch: Expr | None = None
    for_update: LockWait | None = None
    at: int = 0


@dataclass(slots=True)
class Returning:
    """`RETURNING items INTO binds`."""

    items: list[Expr]
    binds: list[int]
    at: int


@dataclass(slots=True)
class Insert:
    owner: str | None
    table: str
    columns: list[tuple[str, int]]
    values: list[Expr] | None
    query: Query | None
    at: int
    returning: Returning | None = None


@dataclass(slots=True)
class Update:
    target: TableRef
    assignments: list[tuple[str, Expr, int]]
    where: Expr | None
    at: int
    returning: Returning | None = None


@dataclass(slots=True)
class Delete:
    target: TableRef
    where: Expr | None
    at: int
    returning: Returning | None = None
