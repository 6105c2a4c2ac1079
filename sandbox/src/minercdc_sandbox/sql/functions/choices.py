"""Translations of functions whose value is one of their arguments: NVL, COALESCE, DECODE, GREATEST, .. Each raises as
`Conditions.to` when an argument cannot be converted to the result's type."""

from __future__ import annotations

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import first_type
from minercdc_sandbox.sql.functions.rules import Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import NUMBER


def coalesce(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NVL and COALESCE: the first value that is not NULL, in the type of `first_type`. Raises as `Conditions.to`."""
    kind = first_type(args, expr.at)
    sql = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(f"coalesce({sql})", kind, all(arg.nullable for arg in args))


def nvl2(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NVL2(tested, value where that is not NULL, value where it is NULL); the type is `first_type` of the two values. Raises as
    `Conditions.to`."""
    kind = first_type(args[1:], expr.at)
    yes, no = (x.to(arg, kind.family, expr.at) for arg in args[1:])
    return Typed(f"case when {args[0].sql} is not null then {yes} else {no} end", kind)


def nullif(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NULLIF(first, second): NULL where both are equal, else the first, in the type of the first. Raises as `Conditions.compare`."""
    return Typed(f"case when {x.compare('=', args[0], args[1], expr.at)} then null else {args[0].sql} end", args[0].type)


def decode(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DECODE(value, search, result, .. [, otherwise]), in which NULL equals NULL; NULL where nothing matches and there is no
    `otherwise`. The type is `first_type` of the results. Raises as `Conditions.to` and `Conditions.aligned`."""
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
    """GREATEST and LEAST, in the type of `first_type`; NULL when an argument is, as SQLite's max and min of several values.
    Raises ORA-00932 for LOBs, ORA-00997 for LONG, and as `Conditions.to`."""
    kind = first_type(args, expr.at)
    x.comparable(Typed("", kind))
    sql = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(f"{'max' if expr.name == 'GREATEST' else 'min'}({sql})" if len(args) > 1 else sql, kind)


def nanvl(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NANVL: the second value where the first is NaN, else the first; both in the type in which they are calculated. Raises as
    `Conditions.to`."""
    kind = x.numeric(*args)
    first, second = (x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(first if kind is NUMBER else f"case when o_is_nan({first}) then {second} else {first} end", kind)


RULES: dict[str, Rule] = {
    "NVL": (coalesce, 2, 2),
    "COALESCE": (coalesce, 2, None),
    "NVL2": (nvl2, 3, 3),
    "NULLIF": (nullif, 2, 2),
    "DECODE": (decode, 3, None),
    "GREATEST": (extreme, 1, None),
    "LEAST": (extreme, 1, None),
    "NANVL": (nanvl, 2, 2),
}
