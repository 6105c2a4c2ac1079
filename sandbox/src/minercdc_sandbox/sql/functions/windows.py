"""Analytic functions and the text of their windows (SQL Language Reference, Analytic Functions).

A distance in a RANGE is measured by SQLite, so its key is ordered as a plain number: NUMBER as floating point, DATE and
TIMESTAMP in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, intervals, number, temporal
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.runtime import evaluate
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import NUMBER, Family


@dataclass(frozen=True, slots=True)
class Over:
    """SQL of the clauses of OVER (..), each with its keywords; '' for one left out."""

    partition: str
    order: str
    frame: str

    @property
    def whole(self) -> str:
        """SQL of OVER with all clauses, with a space before it."""
        return f" over ({' '.join(part for part in (self.partition, self.order, self.frame) if part)})"

    @property
    def partitioned(self) -> str:
        """SQL of OVER with PARTITION BY only, with a space before it."""
        return f" over ({self.partition})"


Analytic: TypeAlias = tuple[Callable[[Conditions, ast.Call, list[Typed], Over], Typed], int, int]
"""Translates a call, given its translated arguments and window; how many arguments it takes at least and at most."""


def window(x: Conditions, over: ast.Window, scope: Scope | None, listed: list[tuple[Typed, ast.OrderItem]]) -> Over:
    """Translate OVER (..). `listed`: WITHIN GROUP (ORDER BY ..) of LISTAGG, which then sees the whole partition; [] for others.
    `scope` None: no column may be named.

    Raises ORA-30485 for a frame without an order; for a distance in RANGE ORA-30486 unless there is one key and ORA-00902 for a
    key other than NUMBER, DATE or TIMESTAMP; ORA-03001 for a distance in ROWS or GROUPS that is no whole literal, or in RANGE of
    months; and as `value_of`, `Conditions.comparable` and `Conditions.ordering`.
    """
    partition = ",".join(x.comparable(x.value_of(expr, scope)) for expr in over.partition)
    partition = f"partition by {partition}" if partition else ""
    keys = [(x.value_of(item.expr, scope), item) for item in over.order] or listed
    order = ",".join(x.ordering(key, item) for key, item in keys)
    frame = ""
    if over.frame is not None:
        if not over.order:
            raise OraError(30485, "missing ORDER BY expression in the window specification", over.frame.at)
        if over.frame.mode == "RANGE" and any(amount is not None for _, amount in (over.frame.first, over.frame.last)):
            return _measured(x, partition, keys, over.frame)
        first, last = (_bound(x, over.frame, bound) for bound in (over.frame.first, over.frame.last))
        frame = f"{over.frame.mode.lower()} between {first} and {last}"
    elif listed:
        frame = "rows between unbounded preceding and unbounded following"
    return Over(partition, f"order by {order}" if order else "", frame)


def _bound(x: Conditions, frame: ast.Frame, bound: ast.FrameBound) -> str:
    side, amount = bound
    return side.lower() if amount is None else f"{_integer(x, amount)} {side.lower()}"


def _measured(x: Conditions, partition: str, keys: list[tuple[Typed, ast.OrderItem]], frame: ast.Frame) -> Over:
    """The window of a RANGE frame whose bounds are distances of its one key; `partition`: SQL of PARTITION BY. Raises ORA-30486
    unless there is one key, ORA-00902 for a key other than NUMBER, DATE or TIMESTAMP, and as `_distance`."""
    if len(keys) != 1:
        raise OraError(30486, "invalid window aggregation group in the window specification", frame.at)
    key, item = keys[0]
    in_time = key.type.family in (Family.DATE, Family.TIMESTAMP)
    if not in_time and key.type.family is not Family.NUMBER:
        raise OraError(902, "invalid datatype", frame.at)
    order = f"o_range_{'time' if in_time else 'number'}({key.sql}){' desc' if item.descending else ''}"
    bounds = [
        side.lower() if amount is None else f"{_distance(x, amount, in_time)} {side.lower()}"
        for side, amount in (frame.first, frame.last)
    ]
    nulls = "first" if item.nulls_first else "last"
    return Over(partition, f"order by {order} nulls {nulls}", f"range between {bounds[0]} and {bounds[1]}")


def _distance(x: Conditions, amount: ast.Expr, in_time: bool) -> str:
    """`?n` for a distance that each run evaluates once: SQLite wants a constant there. Nanoseconds when `in_time`, where a number
    means days; else a number.

    No column may be named. Raises ORA-03001 for an interval of months, and as `Conditions.to`; the run raises ORA-30486 for NULL.
    """
    inner = type(x)(x.env, x.bind_types)
    typed = inner.value_of(amount, None)
    if typed.type.family is Family.MONTHS:
        raise OraError(3001, "unimplemented feature: RANGE with a distance in months", amount.at)
    is_interval = in_time and typed.type.family is Family.INTERVAL
    sql = typed.sql if is_interval else inner.to(typed, Family.NUMBER, amount.at)

    def distance(run: Run) -> int | float:
        cell = evaluate(sql, inner.parameters, run)
        if not isinstance(cell, bytes):
            raise OraError(30486, "invalid window aggregation group in the window specification", amount.at)
        if is_interval:
            return intervals.decode(cell)
        value = number.decode(cell)
        return int(value * temporal.DAY_NS) if in_time else float(value)

    return x.parameter(("distance", id(amount)), distance)


def _integer(x: Conditions, expr: ast.Expr) -> str:
    if not isinstance(expr, ast.Literal) or not expr.text.isdecimal():
        raise OraError(3001, "unimplemented feature: a window distance that is not a whole literal", expr.at)
    return expr.text


def _numbering(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """ROW_NUMBER, RANK and DENSE_RANK, a NUMBER. Raises ORA-30485 without ORDER BY in the window."""
    if not over.order:
        raise OraError(30485, "missing ORDER BY expression in the window specification", expr.at)
    return Typed(f"o_int({expr.name.lower()}(){over.whole})", NUMBER, False)


def _ntile(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    return Typed(f"o_int(ntile(o_to_int({x.to(args[0], Family.NUMBER, expr.at)})){over.whole})", NUMBER, False)


def _percent_rank(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """PERCENT_RANK, a NUMBER: (rank - 1) / (rows of the partition - 1); 0 for a single row."""
    rows = f"count(*){over.partitioned}"
    return Typed(f"o_div(o_int(rank(){over.whole}-1),o_int(max({rows}-1,1)))", NUMBER, False)


def _cume_dist(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """CUME_DIST, a NUMBER: rows up to the last one that is equal in the order / rows of the partition."""
    peers = Over(over.partition, over.order, "range between unbounded preceding and current row").whole
    return Typed(f"o_div(o_int(count(*){peers}),o_int(count(*){over.partitioned}))", NUMBER, False)


def _neighbour(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """LAG and LEAD (value [, distance [, default]]), in the type of the value; the distance is 1 and the default NULL if left
    out. Raises ORA-30485 without ORDER BY in the window, and as `Conditions.to`."""
    if not over.order:
        raise OraError(30485, "missing ORDER BY expression in the window specification", expr.at)
    kind = args[0].type
    if expr.ignore_nulls:
        return _known_neighbour(x, expr, args, over)
    parts = [args[0].sql]
    if len(args) > 1:
        parts.append(f"o_to_int({x.to(args[1], Family.NUMBER, expr.at)})")
    if len(args) > 2:
        parts.append(x.to(args[2], kind.family, expr.at))
    return Typed(f"{expr.name.lower()}({','.join(parts)}){over.whole}", kind)


def _known_neighbour(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """LAG and LEAD with IGNORE NULLS: the n-th value that is not NULL, backwards or forwards. The default also replaces a value
    that is missing. Raises as `Conditions.to`."""
    kind, back = args[0].type, expr.name == "LAG"
    distance = f"o_to_int({x.to(args[1], Family.NUMBER, expr.at)})" if len(args) > 1 else "1"
    frame = (
        "rows between unbounded preceding and 1 preceding" if back else "rows between 1 following and unbounded following"
    )
    whole = Over(over.partition, over.order, frame).whole
    sql = f"o_{'last' if back else 'first'}_known({args[0].sql},{distance}){whole}"
    if len(args) > 2:
        sql = f"coalesce({sql},{x.to(args[2], kind.family, expr.at)})"
    return Typed(sql, kind)


def _edge(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE (value, n) of the window, with IGNORE NULLS among the values that are not NULL; in
    the type of the value. Raises as `Conditions.to`."""
    tail = f",o_to_int({x.to(args[1], Family.NUMBER, expr.at)})" if len(args) > 1 else ""
    name = expr.name.lower()
    if expr.ignore_nulls:
        name = "o_first_known" if tail else f"o_{name}_known"
    return Typed(f"{name}({args[0].sql}{tail}){over.whole}", args[0].type)


def _ratio(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    value = x.to(args[0], Family.NUMBER, expr.at)
    return Typed(f"o_ratio({value},o_sum({value}){over.partitioned})", NUMBER)


ANALYTIC: dict[str, Analytic] = {
    **dict.fromkeys(("ROW_NUMBER", "RANK", "DENSE_RANK"), (_numbering, 0, 0)),
    "NTILE": (_ntile, 1, 1),
    "PERCENT_RANK": (_percent_rank, 0, 0),
    "CUME_DIST": (_cume_dist, 0, 0),
    **dict.fromkeys(("LAG", "LEAD"), (_neighbour, 1, 3)),
    **dict.fromkeys(("FIRST_VALUE", "LAST_VALUE"), (_edge, 1, 1)),
    "NTH_VALUE": (_edge, 2, 2),
    "RATIO_TO_REPORT": (_ratio, 1, 1),
}
"""Functions that need OVER. Aggregates take it, too."""
