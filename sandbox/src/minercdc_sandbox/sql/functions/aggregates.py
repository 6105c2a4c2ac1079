"""Aggregate functions, which with OVER are analytic ones too (SQL Language Reference, Aggregate Functions).

The SQL of a translated aggregate has the mark `OVER` where its window belongs; the caller replaces that mark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import BINARY_SIZES, DOUBLE, NUMBER, Family, varchar

OVER = "\x01"
"""To be replaced by the window of the aggregate, or by nothing: `o_int(count(*)<here>)`."""

Ordered: TypeAlias = list[tuple[Typed, ast.OrderItem]]
"""Translated WITHIN GROUP (ORDER BY ..)."""

Aggregate: TypeAlias = tuple[Callable[[Conditions, ast.Call, list[Typed], Ordered], Typed], int, int]
"""Translates a call, given its translated arguments and order; how many arguments it takes at least and at most."""


def _count(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    if expr.star:
        return Typed(f"o_int(count(*){OVER})", NUMBER, False)
    key = x.comparable(args[0])
    if expr.distinct and expr.over is not None:
        return Typed(f"o_int(o_count_distinct({key}){OVER})", NUMBER, False)
    return Typed(f"o_int(count({'distinct ' if expr.distinct else ''}{key}){OVER})", NUMBER, False)


def _sum(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    if expr.distinct and expr.over is not None:
        raise OraError(3001, f"unimplemented feature: {expr.name} (DISTINCT ..) OVER", expr.at)
    distinct = "distinct " if expr.distinct else ""
    if args[0].type.family in BINARY_SIZES:
        total = f"o_float_{expr.name.lower()}({distinct}{x.to(args[0], Family.DOUBLE, expr.at)}){OVER}"
        return Typed(x.to(Typed(total, DOUBLE), args[0].type.family, expr.at), args[0].type)
    return Typed(f"o_{expr.name.lower()}({distinct}{x.to(args[0], Family.NUMBER, expr.at)}){OVER}", NUMBER)


def _extreme(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    x.comparable(args[0])
    return Typed(f"{expr.name.lower()}({args[0].sql}){OVER}", args[0].type)


def _any_value(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    return Typed(f"min({args[0].sql}){OVER}", args[0].type)


def _listagg(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """LISTAGG(value [, separator]), a VARCHAR2(4000); without a separator the texts are joined directly. With OVER, `order` adds
    nothing to the SQL, since `window` has ordered the rows by it. ON OVERFLOW TRUNCATE is ORA-03001 once a text is too long: how
    many bytes Oracle keeps for the count is not known. Raises as `Conditions.to` and `Conditions.ordering`."""
    text = x.to(args[0], Family.VARCHAR, expr.at)
    mark = x.to(args[1], Family.VARCHAR, expr.at) if len(args) > 1 else "''"
    terms = ",".join(x.ordering(key, item) for key, item in order)
    tail = f" order by {terms}" if terms and expr.over is None else ""
    name = f"o_listagg{'_distinct' if expr.distinct else ''}{'_cut' if expr.truncates else ''}"
    return Typed(f"{name}({text},{mark}{tail}){OVER}", varchar())


def _statistic(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """MEDIAN, VARIANCE, STDDEV, CORR and the others of `_STATISTICS`: a NUMBER from values that are converted to NUMBER. Raises
    as `Conditions.to`; `order` has no effect."""
    sql = ",".join(x.to(arg, Family.NUMBER, expr.at) for arg in args)
    distinct = "distinct " if expr.distinct else ""
    return Typed(f"o_{expr.name.lower()}({distinct}{sql}){OVER}", NUMBER)


def _percentile(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    """PERCENTILE_CONT and PERCENTILE_DISC (share) WITHIN GROUP (ORDER BY value), a NUMBER. Raises ORA-30491 unless `order` has
    exactly one key, and as `Conditions.to`."""
    if len(order) != 1:
        raise OraError(30491, "missing ORDER BY clause", expr.at)
    key, item = order[0]
    share = x.to(args[0], Family.NUMBER, expr.at)
    value = x.to(key, Family.NUMBER, expr.at)
    return Typed(f"o_{expr.name.lower()}({value},{share},{int(item.descending)}){OVER}", NUMBER)


def _bits(x: Conditions, expr: ast.Call, args: list[Typed], order: Ordered) -> Typed:
    return Typed(f"o_{expr.name.lower()}({x.to(args[0], Family.NUMBER, expr.at)}){OVER}", NUMBER)


_STATISTICS = ("MEDIAN", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP", "STATS_MODE")

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": (_count, 1, 1),
    "APPROX_COUNT_DISTINCT": (lambda x, expr, args, order: _count(x, replace(expr, distinct=True), args, order), 1, 1),
    **dict.fromkeys(("SUM", "AVG"), (_sum, 1, 1)),
    **dict.fromkeys(("MIN", "MAX"), (_extreme, 1, 1)),
    "ANY_VALUE": (_any_value, 1, 1),
    "LISTAGG": (_listagg, 1, 2),
    **dict.fromkeys(_STATISTICS, (_statistic, 1, 1)),
    **dict.fromkeys(("CORR", "COVAR_POP", "COVAR_SAMP"), (_statistic, 2, 2)),
    **dict.fromkeys(("PERCENTILE_CONT", "PERCENTILE_DISC"), (_percentile, 1, 1)),
    **dict.fromkeys(("BIT_AND_AGG", "BIT_OR_AGG", "BIT_XOR_AGG"), (_bits, 1, 1)),
}
"""Numbers only: MEDIAN, PERCENTILE_CONT and STATS_MODE of dates and text raise what the conversion to NUMBER raises."""

KEPT = frozenset(["MIN", "MAX", "SUM", "AVG", "COUNT", "STDDEV", "VARIANCE"])
"""Aggregates that take KEEP (DENSE_RANK FIRST | LAST ORDER BY ..)."""


def kept(x: Conditions, expr: ast.Call, args: list[Typed], keys: Ordered) -> Typed:
    """Translate an aggregate with KEEP (DENSE_RANK FIRST | LAST ORDER BY ..); `keys`: its translated order. The SQL has the mark
    `OVER`. MIN and MAX keep the type of the argument, the others return NUMBER. Raises ORA-03001 for an aggregate that is not in
    `KEPT`, ORA-00909 and ORA-00939 unless there is one argument or `*`, and as `Conditions.to` and `Conditions.comparable`."""
    assert expr.keep is not None
    if expr.name not in KEPT:
        raise OraError(3001, f"unimplemented feature: {expr.name} KEEP", expr.at)
    if not expr.star:
        count_arguments(expr, args, 1, 1)
    plain = expr.name in ("MIN", "MAX", "COUNT")
    value = "1" if expr.star else args[0].sql if plain else x.to(args[0], Family.NUMBER, expr.at)
    parts = [f"'{expr.name}'", str(int(expr.keep.first)), value]
    for key, item in keys:
        parts += [x.comparable(key), str(int(item.descending)), str(int(item.nulls_first))]
    sql = f"o_keep({','.join(parts)}){OVER}"
    if expr.name == "COUNT":
        return Typed(f"o_int({sql})", NUMBER, False)
    return Typed(sql, args[0].type if expr.name in ("MIN", "MAX") else NUMBER)
