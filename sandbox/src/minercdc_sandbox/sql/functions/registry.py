"""All SQL functions by name, and the call of one."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions import choices, conversions, environment, lobs, numbers, texts, times
from minercdc_sandbox.sql.functions.absent import UNKNOWN_HERE
from minercdc_sandbox.sql.functions.aggregates import AGGREGATES, OVER, kept
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.lobs import as_clob
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.functions.times import extract
from minercdc_sandbox.sql.functions.windows import ANALYTIC, window
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import BINARY_SIZES, NUMBER, TEXT, Family

_FAMILY = {"N": Family.NUMBER, "T": Family.VARCHAR, "R": Family.RAW, "D": Family.DATE}


PLAIN: dict[str, Plain] = {**texts.PLAIN, **numbers.PLAIN, **times.PLAIN, **conversions.PLAIN}


_FLOATING = frozenset(["ABS", "SIGN", "CEIL", "FLOOR", "SQRT", "POWER", "MOD"])
"""Functions that stay in BINARY_FLOAT or BINARY_DOUBLE when an argument is one."""


RULES: dict[str, Rule] = {
    **choices.RULES,
    **texts.RULES,
    **numbers.RULES,
    **times.RULES,
    **conversions.RULES,
    **environment.RULES,
    **lobs.RULES,
}


def call_function(x: Conditions, expr: ast.Call, scope: Scope | None) -> Typed:
    """Translate a call. Raises ORA-00904 for an unknown function, ORA-00909/00938 for the number of arguments."""
    name = expr.name.removeprefix("SYS.").removeprefix("STANDARD.")
    if expr.over is not None or name in ANALYTIC:
        return _analytic(x, name, expr, scope)
    if name in AGGREGATES:
        if not x.aggregates_allowed:
            raise OraError(934, "group function is not allowed here", expr.at)
        with x.nested(aggregates=False, analytic=False):
            return _aggregate(x, name, expr, scope, "")
    if expr.within or expr.keep is not None:
        raise OraError(904, f'"{name}": invalid identifier', expr.at)
    if expr.star or expr.distinct:
        raise OraError(
            30482 if expr.distinct else 936,
            "DISTINCT option not allowed for this function" if expr.distinct else "missing expression",
            expr.at,
        )
    special = scope.calls.get(name) if scope is not None else None
    if special is not None:
        return special(expr)
    if name == "EXTRACT":
        part = expr.args[0]
        assert isinstance(part, ast.Literal)
        return extract(x, part.text, x.value_of(expr.args[1], scope), expr.at)
    method = name.rpartition(".")
    if method[1] and method[2] in lobs.XML_METHODS and not name.startswith("XMLTYPE."):
        owner = ast.Name(tuple(method[0].split(".")), expr.at)
        return lobs.XML_METHODS[method[2]](x, expr, [x.value_of(owner, scope)])
    args = [x.value_of(arg, scope) for arg in expr.args]
    if name in PLAIN:
        return _plain(x, name, expr, args)
    if name in RULES:
        return RULES[name](x, expr, args)
    if name in UNKNOWN_HERE:
        raise OraError(3001, f"unimplemented feature: function {name}", expr.at)
    shown = ".".join(f'"{part}"' for part in expr.name.split("."))
    raise OraError(904, f"{shown}: invalid identifier", expr.at)


def _plain(x: Conditions, name: str, expr: ast.Call, args: list[Typed]) -> Typed:
    function, families, required, result = PLAIN[name]
    count_arguments(expr, args, required, len(families))
    if name in _FLOATING and any(arg.type.family in BINARY_SIZES for arg in args):
        kind = x.numeric(*args)
        operands = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
        return Typed(f"o_float_{function}({operands})", NUMBER if name == "SIGN" else kind)
    if result.family in TEXT and args[0].type.national:
        result = replace(result, national=True)
    sql = ",".join(
        x.whole_text(arg, expr.at) if kind == "T" else x.to(arg, _FAMILY[kind], expr.at)
        for arg, kind in zip(args, families, strict=False)
    )
    if result.family in TEXT and args[0].type.family is Family.CLOB:
        return as_clob(f"o_{function}({sql})", args[0].type.national)
    return Typed(f"o_{function}({sql})", result)


def _aggregate(x: Conditions, name: str, expr: ast.Call, scope: Scope | None, window_text: str) -> Typed:
    args = [x.value_of(arg, scope) for arg in expr.args]
    if expr.keep is not None:
        found = kept(x, expr, args, [(x.value_of(item.expr, scope), item) for item in expr.keep.order])
    else:
        found = AGGREGATES[name](x, expr, args, [(x.value_of(item.expr, scope), item) for item in expr.within])
    return replace(found, sql=found.sql.replace(OVER, window_text))


def _analytic(x: Conditions, name: str, expr: ast.Call, scope: Scope | None) -> Typed:
    """Raises ORA-30483 where analytic functions may not be, ORA-30484 for one without OVER."""
    if name not in ANALYTIC and name not in AGGREGATES:
        raise OraError(3001, f"unimplemented feature: {name} OVER", expr.at)
    if expr.over is None:
        raise OraError(30484, "missing window specification for this function", expr.at)
    if not x.analytic_allowed:
        raise OraError(30483, "window functions are not allowed here", expr.at)
    with x.nested(analytic=False):
        listed = [(x.value_of(item.expr, scope), item) for item in expr.within] if name == "LISTAGG" else []
        over = window(x, expr.over, scope, listed)
        if name in ANALYTIC:
            return ANALYTIC[name](x, expr, [x.value_of(arg, scope) for arg in expr.args], over)
        return _aggregate(x, name, expr, scope, over.whole)
