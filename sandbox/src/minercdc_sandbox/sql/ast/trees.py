"""Expressions and queries, in one module because each may contain the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.sql.ast.leaves import Bind, IntervalLiteral, Literal, LockWait, Name, TypeName


@dataclass(slots=True)
class OrderItem:
    """One term of ORDER BY; `nulls_first` also where it is only the default of DESC."""

    expr: Expr
    descending: bool
    nulls_first: bool


FrameBound: TypeAlias = "tuple[str, Expr | None]"
"""`CURRENT ROW`, `UNBOUNDED PRECEDING` or `UNBOUNDED FOLLOWING` with None; `PRECEDING` or `FOLLOWING` with the distance."""


@dataclass(slots=True)
class Frame:
    """The frame of a window; `mode`: ROWS, RANGE or GROUPS. `at`: its offset."""

    mode: str
    first: FrameBound
    last: FrameBound
    at: int


@dataclass(slots=True)
class Window:
    """OVER (..); `frame` None without a frame clause."""

    partition: list[Expr] = field(default_factory=list)
    order: list[OrderItem] = field(default_factory=list)
    frame: Frame | None = None


@dataclass(slots=True)
class Keep:
    """`KEEP (DENSE_RANK FIRST | LAST ORDER BY ..)`; LAST when `first` is False."""

    first: bool
    order: list[OrderItem]


@dataclass(slots=True)
class Call:
    """`name(args)` with its clauses; `star`: `name(*)`, `within`: WITHIN GROUP, `over`: OVER, None without it, `truncates`: ON
    OVERFLOW TRUNCATE. `name` may be qualified. `at`: its offset."""

    name: str
    args: list[Expr]
    at: int
    distinct: bool = False
    star: bool = False
    within: list[OrderItem] = field(default_factory=list)
    keep: Keep | None = None
    ignore_nulls: bool = False
    truncates: bool = False
    over: Window | None = None


@dataclass(slots=True)
class Parent:
    """`PRIOR operand`, or `CONNECT_BY_ROOT operand` when `root`. `at`: its offset."""

    operand: Expr
    root: bool
    at: int


@dataclass(slots=True)
class Missing:
    """A NULL of the operand's type, for an expression of GROUP BY that is not in the grouping set. `at`: its offset."""

    operand: Expr
    at: int


@dataclass(slots=True)
class Quantified:
    """`left op ANY | ALL (query or list)`; SOME is ANY. `at`: its offset."""

    op: str
    left: Expr
    all: bool
    items: list[Expr] | Query
    at: int


@dataclass(slots=True)
class Negative:
    """`- operand`. `at`: its offset."""

    operand: Expr
    at: int


@dataclass(slots=True)
class Binary:
    """Arithmetic with `op` + - * / and `||`. `at`: its offset."""

    op: str
    left: Expr
    right: Expr
    at: int


@dataclass(slots=True)
class Compare:
    """`left op right`; `op` is one of `FLIPPED`. `at`: its offset."""

    op: str
    left: Expr
    right: Expr
    at: int


FLIPPED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Operators of `Compare`, by those that mean the same with the sides exchanged."""


@dataclass(slots=True)
class Logic:
    """`op` AND or OR over two or more operands, NOT over one. `at`: its offset."""

    op: str
    operands: list[Expr]
    at: int


@dataclass(slots=True)
class Between:
    """`operand [NOT] BETWEEN low AND high`. `at`: its offset."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool
    at: int


@dataclass(slots=True)
class In:
    """`operand [NOT] IN (items)`, a list or a query. `at`: its offset."""

    operand: Expr
    items: list[Expr] | Query
    negated: bool
    at: int


@dataclass(slots=True)
class Like:
    """`operand [NOT] LIKE pattern [ESCAPE escape]`. `at`: its offset."""

    operand: Expr
    pattern: Expr
    escape: Expr | None
    negated: bool
    at: int


@dataclass(slots=True)
class IsNull:
    """`operand IS [NOT] NULL`. `at`: its offset."""

    operand: Expr
    negated: bool
    at: int


@dataclass(slots=True)
class Exists:
    """`EXISTS (query)`. `at`: its offset."""

    query: Query
    at: int


@dataclass(slots=True)
class Scalar:
    """Column `column` of `(query)`, which must have `width` columns: more than one only in SET (a, b) = (query). `at`: its offset."""

    query: Query
    at: int
    column: int = 0
    width: int = 1


@dataclass(slots=True)
class Case:
    """CASE: `branches` of condition and result, or, with an `operand`, of value and result; `otherwise` None without ELSE. `at`:
    its offset."""

    operand: Expr | None
    branches: list[tuple[Expr, Expr]]
    otherwise: Expr | None
    at: int


@dataclass(slots=True)
class AtZone:
    """`operand AT TIME ZONE zone`; AT LOCAL has no zone. `at`: its offset."""

    operand: Expr
    zone: Expr | None
    at: int


@dataclass(slots=True)
class IsBinary:
    """`operand IS [NOT] NAN | INFINITE`. `at`: its offset."""

    operand: Expr
    what: str
    negated: bool
    at: int


@dataclass(slots=True)
class Cast:
    """`CAST(operand AS target)`. `at`: its offset."""

    operand: Expr
    target: TypeName
    at: int


@dataclass(slots=True)
class Row:
    """`(a, b, ..)`, two or more expressions. `at`: its offset."""

    items: list[Expr]
    at: int


Expr: TypeAlias = (
    "Literal | IntervalLiteral | AtZone | IsBinary | Bind | Name | Call | Negative | Binary | Compare | Logic | Between | In"
    " | Like | IsNull | Exists | Scalar | Case | Cast | Row | Parent | Missing | Quantified"
)


@dataclass(slots=True)
class Partition:
    """`PARTITION (name)`, or `PARTITION FOR (values)` with `name` None. `at`: its offset.

    :ivar is_sub: SUBPARTITION was said.
    """

    name: str | None
    values: list[Expr]
    at: int
    is_sub: bool = False


@dataclass(slots=True)
class TableRef:
    """A table in FROM, or the target of DML. `at`: its offset.

    :ivar owner, alias: None without one.
    :ivar as_of: 'SCN' or 'TIMESTAMP', and the expression.
    :ivar partition: of PARTITION (..); None without it.
    :ivar versions: 'SCN' or 'TIMESTAMP', low and high end of VERSIONS BETWEEN; None for MINVALUE and MAXVALUE.
    :ivar inline: the subquery that DML changes, as of `UPDATE (SELECT ..)`; then `name` is ''.
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
    """A subquery in FROM; `as_of` as in `TableRef`; `lateral`: it may name columns of the relations before it. `at`: its offset."""

    query: Query
    alias: str | None
    at: int
    as_of: tuple[str, Expr] | None = None
    lateral: bool = False


@dataclass(slots=True)
class Join:
    """A join; `kind`: INNER, LEFT, RIGHT, FULL, CROSS; `on` None and `using` [] without these. `at`: its offset."""

    left: Relation
    right: Relation
    kind: str
    on: Expr | None
    using: list[str]
    at: int
    natural: bool = False


@dataclass(slots=True)
class Pivot:
    """`source PIVOT (aggregate [AS alias], .. FOR columns IN ((values) [AS alias], ..))`. `at`: its offset."""

    source: Relation
    aggregates: list[tuple[Call, str | None]]
    columns: list[Name]
    values: list[tuple[list[Expr], str]]
    alias: str | None
    at: int


@dataclass(slots=True)
class Unpivot:
    """`source UNPIVOT [INCLUDE NULLS] (values FOR name IN ((columns) [AS literal], ..))`. `at`: its offset."""

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
    """A select item. `expr` None is `*`, of the relation `star_of` or, when that is (), of all; `heading`: the name of a column
    without alias. `at`: its offset."""

    expr: Expr | None
    alias: str | None
    heading: str
    star_of: tuple[str, ...] = ()
    at: int = 0


@dataclass(slots=True)
class Hierarchy:
    """START WITH .. CONNECT BY [NOCYCLE] .. ; `siblings` of ORDER SIBLINGS BY. `at`: its offset."""

    start: Expr | None
    connect: Expr
    nocycle: bool
    at: int
    siblings: list[OrderItem] = field(default_factory=list)


@dataclass(slots=True)
class Select:
    """One query block: a SELECT without what may follow it in a `Query`. `at`: its offset.

    :ivar group_by: the expressions of GROUP BY, of grouping sets those of all.
    :ivar grouping: the grouping sets if there are several, else None; `spread` makes it [] for GROUP BY ().
    """

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
    """A set operation on two queries. `op`: UNION, INTERSECT or MINUS, or one of them with ` ALL`. `at`: its offset."""

    op: str
    left: Select | SetOperation | Query
    right: Select | SetOperation | Query
    at: int


@dataclass(slots=True)
class Query:
    """A query with the clauses around its body. `at`: its offset.

    :ivar with_: name, column names ([] for none) and query of each CTE.
    :ivar fetch: number of rows of FETCH, or with `percent` their percentage; `ties` is WITH TIES.
    :ivar for_update: of FOR UPDATE; None without it.
    """

    body: Select | SetOperation | Query
    with_: list[tuple[str, list[str], Query]] = field(default_factory=list)
    order_by: list[OrderItem] = field(default_factory=list)
    offset: Expr | None = None
    fetch: Expr | None = None
    for_update: LockWait | None = None
    at: int = 0
    percent: bool = False
    ties: bool = False
