"""Analytic functions and the text of their windows (SQL Language Reference, Analytic Functions).

A frame of RANGE takes UNBOUNDED and CURRENT ROW only: distances in values are refused, in ROWS they work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.functions.arguments import count_arguments
from minercdc.sandbox.sql.scope import Scope, Typed
from minercdc.sandbox.sql.translate.conditions import Conditions
from minercdc.sandbox.sql.types import NUMBER, Family

Analytic: TypeAlias = Callable[[Conditions, ast.Call, list[Typed], "Over"], Typed]


class Over:
    """The text of OVER (..): whole, and with only its partition."""

    def __init__(self, partition: str, order: str, frame: str) -> None:
        self.partition, self.order, self.frame = partition, order, frame

    @property
    def whole(self) -> str:
        return f" over ({' '.join(part for part in (self.partition, self.order, self.frame) if part)})"

    @property
    def partitioned(self) -> str:
        return f" over ({self.partition})"


def window(x: Conditions, over: ast.Window, scope: Scope | None, listed: list[tuple[Typed, ast.OrderItem]]) -> Over:
    """Translate OVER (..). `listed`: the order of LISTAGG, in which the whole partition is seen.

    Raises ORA-30485 for a frame without an order.
    """
    partition = ",".join(x.comparable(x.value(expr, scope)) for expr in over.partition)
    keys = [(x.value(item.expr, scope), item) for item in over.order] or listed
    order = ",".join(x.ordering(key, item.descending, item.nulls_first) for key, item in keys)
    frame = ""
    if over.frame is not None:
        if not over.order:
            raise OraError(30485, "missing ORDER BY expression in the window specification", over.frame.at)
        first, last = (_bound(x, over.frame, bound) for bound in (over.frame.first, over.frame.last))
        frame = f"{over.frame.mode.lower()} between {first} and {last}"
    elif listed:
        frame = "rows between unbounded preceding and unbounded following"
    return Over(f"partition by {partition}" if partition else "", f"order by {order}" if order else "", frame)


def _bound(x: Conditions, frame: ast.Frame, bound: ast.FrameBound) -> str:
    side, amount = bound
    if amount is None:
        return side.lower()
    if frame.mode == "RANGE":
        raise OraError(3001, "unimplemented feature: RANGE with a distance in a window", frame.at)
    return f"{_integer(x, amount)} {side.lower()}"


def _integer(x: Conditions, expr: ast.Expr) -> str:
    if not isinstance(expr, ast.Literal) or not expr.text.isdigit():
        raise OraError(3001, "unimplemented feature: a window distance that is not a whole literal", expr.at)
    return expr.text


def _numbering(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """ROW_NUMBER, RANK, DENSE_RANK."""
    count_arguments(expr, args, 0, 0)
    if not over.order:
        raise OraError(30485, "missing ORDER BY expression in the window specification", expr.at)
    return Typed(f"o_int({expr.name.lower()}(){over.whole})", NUMBER, False)


def _ntile(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"o_int(ntile(o_to_int({x.to(args[0], Family.NUMBER, expr.at)})){over.whole})", NUMBER, False)


def _percent_rank(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """(rank - 1) / (rows - 1); 0 of a single row."""
    count_arguments(expr, args, 0, 0)
    rows = f"count(*){over.partitioned}"
    return Typed(f"o_div(o_int(rank(){over.whole}-1),o_int(max({rows}-1,1)))", NUMBER, False)


def _cume_dist(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """Rows up to the last peer / rows."""
    count_arguments(expr, args, 0, 0)
    peers = Over(over.partition, over.order, "range between unbounded preceding and current row").whole
    return Typed(f"o_div(o_int(count(*){peers}),o_int(count(*){over.partitioned}))", NUMBER, False)


def _neighbour(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """LAG and LEAD (value [, distance [, default]])."""
    count_arguments(expr, args, 1, 3)
    if expr.ignore_nulls:
        raise OraError(3001, f"unimplemented feature: {expr.name} IGNORE NULLS", expr.at)
    if not over.order:
        raise OraError(30485, "missing ORDER BY expression in the window specification", expr.at)
    kind = args[0].type
    parts = [args[0].sql]
    if len(args) > 1:
        parts.append(f"o_to_int({x.to(args[1], Family.NUMBER, expr.at)})")
    if len(args) > 2:
        parts.append(x.to(args[2], kind.family, expr.at))
    return Typed(f"{expr.name.lower()}({','.join(parts)}){over.whole}", kind)


def _edge(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE (value, n)."""
    nth = expr.name == "NTH_VALUE"
    count_arguments(expr, args, 1 + nth, 1 + nth)
    if expr.ignore_nulls:
        if nth:
            raise OraError(3001, "unimplemented feature: NTH_VALUE IGNORE NULLS", expr.at)
        return Typed(f"o_{expr.name.lower()}_known({args[0].sql}){over.whole}", args[0].type)
    tail = f",o_to_int({x.to(args[1], Family.NUMBER, expr.at)})" if nth else ""
    return Typed(f"{expr.name.lower()}({args[0].sql}{tail}){over.whole}", args[0].type)


def _ratio(x: Conditions, expr: ast.Call, args: list[Typed], over: Over) -> Typed:
    count_arguments(expr, args, 1, 1)
    value = x.to(args[0], Family.NUMBER, expr.at)
    return Typed(f"o_ratio({value},o_sum({value}){over.partitioned})", NUMBER)


ANALYTIC: dict[str, Analytic] = {
    "ROW_NUMBER": _numbering,
    "RANK": _numbering,
    "DENSE_RANK": _numbering,
    "NTILE": _ntile,
    "PERCENT_RANK": _percent_rank,
    "CUME_DIST": _cume_dist,
    "LAG": _neighbour,
    "LEAD": _neighbour,
    "FIRST_VALUE": _edge,
    "LAST_VALUE": _edge,
    "NTH_VALUE": _edge,
    "RATIO_TO_REPORT": _ratio,
}
"""Functions that are nothing without OVER; all aggregates take it too."""
