"""Functions that choose among their arguments: NVL, COALESCE, DECODE, GREATEST, .."""

from __future__ import annotations

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import count_arguments, first_type
from minercdc_sandbox.sql.functions.rules import Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import NUMBER


def coalesce(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 2, 2 if expr.name == "NVL" else None)
    kind = first_type(args, expr.at)
    sql = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(f"coalesce({sql})", kind, all(arg.nullable for arg in args))


def nvl2(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 3, 3)
    kind = first_type(args[1:], expr.at)
    yes, no = (x.to(arg, kind.family, expr.at) for arg in args[1:])
    return Typed(f"case when {args[0].sql} is not null then {yes} else {no} end", kind)


def nullif(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 2, 2)
    return Typed(f"case when {x.compare('=', args[0], args[1], expr.at)} then null else {args[0].sql} end", args[0].type)


def decode(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DECODE compares NULL equal to NULL, in the type of the first search value."""
    count_arguments(expr, args, 3)
    subject, rest = args[0], args[1:]
    pairs = [(rest[n], rest[n + 1]) for n in range(0, len(rest) - 1, 2)]
    otherwise = rest[-1] if len(rest) % 2 else None
    results = [result for _, result in pairs] + ([otherwise] if otherwise else [])
    kind = first_type(results, expr.at)
    out = []
    for search, result in pairs:
        a, b = x.aligned(subject, Typed(search.sql, search.type, search.nullable), expr.at)
        out.append(f"when {a} is {b} then {x.to(result, kind.family, expr.at)}")
    last = f" else {x.to(otherwise, kind.family, expr.at)}" if otherwise else ""
    return Typed(f"case {' '.join(out)}{last} end", kind)


def extreme(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """GREATEST and LEAST; SQLite's max and min of several values are NULL when one is, as Oracle's."""
    count_arguments(expr, args, 1)
    kind = first_type(args, expr.at)
    x.comparable(Typed("", kind))
    items = [x.to(arg, kind.family, expr.at) for arg in args]
    if len(items) == 1:
        return Typed(items[0], kind)
    return Typed(f"{'max' if expr.name == 'GREATEST' else 'min'}({','.join(items)})", kind)


def nanvl(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """The second value when the first is NaN."""
    count_arguments(expr, args, 2, 2)
    kind = x.numeric(*args)
    first, second = (x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(first if kind is NUMBER else f"case when o_is_nan({first}) then {second} else {first} end", kind)


RULES: dict[str, Rule] = {
    "NVL": coalesce,
    "COALESCE": coalesce,
    "NVL2": nvl2,
    "NULLIF": nullif,
    "DECODE": decode,
    "GREATEST": extreme,
    "LEAST": extreme,
    "NANVL": nanvl,
}
