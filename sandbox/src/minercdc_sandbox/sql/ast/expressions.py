"""Expressions, and the windows and orders they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from minercdc_sandbox.sql.ast.queries import Query


@dataclass(slots=True)
class OrderItem:
    expr: Expr
    descending: bool
    nulls_first: bool | None


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
    """A column, pseudo-column or function without arguments; `outer` when `(+)` follows it."""

    parts: tuple[str, ...]
    at: int
    quoted: bool = False
    outer: bool = False


FrameBound: TypeAlias = "tuple[str, Expr | None]"
"""`CURRENT ROW`, `UNBOUNDED PRECEDING`, `UNBOUNDED FOLLOWING`, or PRECEDING and FOLLOWING with how many."""


@dataclass(slots=True)
class Frame:
    """`mode`: ROWS, RANGE or GROUPS."""

    mode: str
    first: FrameBound
    last: FrameBound
    at: int


@dataclass(slots=True)
class Window:
    """OVER (..)."""

    partition: list[Expr] = field(default_factory=list)
    order: list[OrderItem] = field(default_factory=list)
    frame: Frame | None = None


@dataclass(slots=True)
class Keep:
    """KEEP (DENSE_RANK FIRST | LAST ORDER BY ..)."""

    first: bool
    order: list[OrderItem]


@dataclass(slots=True)
class Call:
    name: str
    args: list[Expr]
    at: int
    distinct: bool = False
    star: bool = False
    within: list[OrderItem] = field(default_factory=list)
    keep: Keep | None = None
    ignore_nulls: bool = False
    over: Window | None = None


@dataclass(slots=True)
class Parent:
    """`PRIOR operand`, and `CONNECT_BY_ROOT operand` when `root`."""

    operand: Expr
    root: bool
    at: int


@dataclass(slots=True)
class Missing:
    """A NULL of the operand's type: a column that a grouping set leaves out."""

    operand: Expr
    at: int


@dataclass(slots=True)
class Quantified:
    """`left op ANY | ALL (query or list)`; SOME is ANY."""

    op: str
    left: Expr
    all: bool
    items: list[Expr] | Query
    at: int


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
    """`(query)`; in SET (a, b) = (query) the value is one `column` of as many as are assigned, `width`."""

    query: Query
    at: int
    column: int = 0
    width: int = 1


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
    " | Parent | Missing | Quantified"
)
