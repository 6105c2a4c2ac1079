"""Aggregate functions, which with OVER are analytic ones too (SQL Language Reference, Aggregate Functions).

A rule marks with OVER where SQLite wants the window: `o_int(count(*)<here>)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import BINARY_SIZES, DOUBLE, NUMBER, Family, varchar

OVER = "\x01"
"""Stands where the window of an aggregate goes; nothing is put there without one."""

Ordered: TypeAlias = list[tuple[Typed, ast.OrderItem]]
"""Translated WITHIN GROUP (ORDER BY ..)."""

Aggregate: TypeAlias = Callable[[Conditions, ast.Call, list[Typed], Ordered], Typed]


def _count(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    if expr.star:
        return Typed(f"o_int(count(*){OVER})", NUMBER, False)
    count_arguments(expr, args, 1, 1)
    key = x.comparable(args[0])
    if expr.distinct and expr.over is not None:
        return Typed(f"o_int(o_count_distinct({key}){OVER})", NUMBER, False)
    return Typed(f"o_int(count({'distinct ' if expr.distinct else ''}{key}){OVER})", NUMBER, False)


def _sum(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    count_arguments(expr, args, 1, 1)
    if expr.distinct and expr.over is not None:
        raise OraError(3001, f"unimplemented feature: {expr.name} (DISTINCT ..) OVER", expr.at)
    distinct = "distinct " if expr.distinct else ""
    if args[0].type.family in BINARY_SIZES:
        kind = args[0].type
        total = f"o_float_{expr.name.lower()}({distinct}{x.to(args[0], Family.DOUBLE, expr.at)}){OVER}"
        return Typed(x.to(Typed(total, DOUBLE), kind.family, expr.at), kind)
    return Typed(f"o_{expr.name.lower()}({distinct}{x.to(args[0], Family.NUMBER, expr.at)}){OVER}", NUMBER)


def _extreme(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    count_arguments(expr, args, 1, 1)
    x.comparable(args[0])
    return Typed(f"{expr.name.lower()}({args[0].sql}){OVER}", args[0].type)


def _any_value(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"min({args[0].sql}){OVER}", args[0].type)


def _listagg(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """LISTAGG; with OVER its ORDER BY becomes the window's."""
    count_arguments(expr, args, 1, 2)
    text = x.to(args[0], Family.VARCHAR, expr.at)
    mark = x.to(args[1], Family.VARCHAR, expr.at) if len(args) > 1 else "''"
    terms = ",".join(x.ordering(key, item.descending, item.nulls_first) for key, item in order)
    tail = f" order by {terms}" if terms and expr.over is None else ""
    name = "o_listagg_distinct" if expr.distinct else "o_listagg"
    return Typed(f"{name}({text},{mark}{tail}){OVER}", varchar())


def _statistic(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """VARIANCE, STDDEV, CORR, .. of numbers, computed with 38 digits and more."""
    wanted = 2 if expr.name in _PAIRS else 1
    count_arguments(expr, args, wanted, wanted)
    sql = ",".join(x.to(arg, Family.NUMBER, expr.at) for arg in args)
    distinct = "distinct " if expr.distinct else ""
    return Typed(f"o_{expr.name.lower()}({distinct}{sql}){OVER}", NUMBER)


def _percentile(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """PERCENTILE_CONT and _DISC (p) WITHIN GROUP (ORDER BY x)."""
    count_arguments(expr, args, 1, 1)
    if len(order) != 1:
        raise OraError(30491, "missing ORDER BY clause", expr.at)
    key, item = order[0]
    share = x.to(args[0], Family.NUMBER, expr.at)
    value = x.to(key, Family.NUMBER, expr.at)
    return Typed(f"o_{expr.name.lower()}({value},{share},{int(item.descending)}){OVER}", NUMBER)


def _bits(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"o_{expr.name.lower()}({x.to(args[0], Family.NUMBER, expr.at)}){OVER}", NUMBER)


_PAIRS = frozenset({"CORR", "COVAR_POP", "COVAR_SAMP"})

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": _count,
    "APPROX_COUNT_DISTINCT": lambda x, expr, args, order: _count(x, _distinct(expr), args, order),
    "SUM": _sum,
    "AVG": _sum,
    "MIN": _extreme,
    "MAX": _extreme,
    "ANY_VALUE": _any_value,
    "LISTAGG": _listagg,
    "MEDIAN": _statistic,
    "STDDEV": _statistic,
    "STDDEV_POP": _statistic,
    "STDDEV_SAMP": _statistic,
    "VARIANCE": _statistic,
    "VAR_POP": _statistic,
    "VAR_SAMP": _statistic,
    "CORR": _statistic,
    "COVAR_POP": _statistic,
    "COVAR_SAMP": _statistic,
    "STATS_MODE": _statistic,
    "PERCENTILE_CONT": _percentile,
    "PERCENTILE_DISC": _percentile,
    "BIT_AND_AGG": _bits,
    "BIT_OR_AGG": _bits,
    "BIT_XOR_AGG": _bits,
}
"""Numbers only: MEDIAN, PERCENTILE_CONT and STATS_MODE of dates and text raise what the conversion to NUMBER raises."""


def _distinct(expr: ast.Call) -> ast.Call:
    return ast.Call("COUNT", expr.args, expr.at, distinct=True, over=expr.over)


KEPT = frozenset(["MIN", "MAX", "SUM", "AVG", "COUNT", "STDDEV", "VARIANCE"])
"""Aggregates that take KEEP (DENSE_RANK FIRST | LAST ORDER BY ..)."""


def kept(x: Conditions, expr: ast.Call, args: list[Typed], keys: Ordered) -> Typed:
    """An aggregate over the rows that come first (last) in the order of KEEP."""
    assert expr.keep is not None
    if expr.name not in KEPT:
        raise OraError(3001, f"unimplemented feature: {expr.name} KEEP", expr.at)
    if not expr.star:
        count_arguments(expr, args, 1, 1)
    plain = expr.name in ("MIN", "MAX", "COUNT")
    value = "1" if expr.star else args[0].sql if plain else x.to(args[0], Family.NUMBER, expr.at)
    parts = [f"'{expr.name}'", str(int(expr.keep.first)), value]
    for key, item in keys:
        first = item.descending if item.nulls_first is None else item.nulls_first
        parts += [x.comparable(key), str(int(item.descending)), str(int(first))]
    sql = f"o_keep({','.join(parts)}){OVER}"
    if expr.name == "COUNT":
        return Typed(f"o_int({sql})", NUMBER, False)
    return Typed(sql, args[0].type if expr.name in ("MIN", "MAX") else NUMBER)
