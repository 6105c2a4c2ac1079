"""Aggregate functions."""

from __future__ import annotations

from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.functions.arguments import count_arguments
from minercdc.sandbox.sql.functions.rules import Rule
from minercdc.sandbox.sql.scope import Typed
from minercdc.sandbox.sql.translate.conditions import Conditions
from minercdc.sandbox.sql.types import BINARY_SIZES, DOUBLE, NUMBER, Family


def _aggregate_count(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    if expr.star:
        return Typed("o_int(count(*))", NUMBER, False)
    count_arguments(expr, args, 1, 1)
    distinct = "distinct " if expr.distinct else ""
    return Typed(f"o_int(count({distinct}{x.comparable(args[0])}))", NUMBER, False)


def _aggregate_sum(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    distinct = "distinct " if expr.distinct else ""
    if args[0].type.family in BINARY_SIZES:
        kind = args[0].type
        total = f"o_float_{expr.name.lower()}({distinct}{x.to(args[0], Family.DOUBLE, expr.at)})"
        return Typed(x.to(Typed(total, DOUBLE), kind.family, expr.at), kind)
    return Typed(f"o_{expr.name.lower()}({distinct}{x.to(args[0], Family.NUMBER, expr.at)})", NUMBER)


def _aggregate_extreme(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"{expr.name.lower()}({args[0].sql})", args[0].type)


AGGREGATES: dict[str, Rule] = {
    "COUNT": _aggregate_count,
    "SUM": _aggregate_sum,
    "AVG": _aggregate_sum,
    "MIN": _aggregate_extreme,
    "MAX": _aggregate_extreme,
}
