"""All SQL functions by name, and the call of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from minercdc_sandbox.sql.translate.environment import quote
from minercdc_sandbox.sql.types import BINARY_SIZES, NUMBER, TEXT, Family, column_type

FAMILIES = {"N": Family.NUMBER, "V": Family.VARCHAR, "R": Family.RAW, "D": Family.DATE, "S": Family.TIMESTAMP}
"""Families that the letters of `Plain` convert to; besides, T is a text of any length, L a LOB."""
PLAIN: dict[str, Plain] = {**texts.PLAIN, **numbers.PLAIN, **times.PLAIN, **conversions.PLAIN, **lobs.PLAIN}
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

KNOWN = frozenset({*PLAIN, *RULES, *AGGREGATES, *ANALYTIC, "EXTRACT", "SQLERRM"})
"""Functions of SQL and PL/SQL, which come before stored ones of the same name."""


def call_function(x: Conditions, expr: ast.Call, scope: Scope | None) -> Typed:
    """Translate a call; `scope` None: no column may be named.

    Functions of SQL come before stored ones of the same name. Raises ORA-00904 for an unknown function, ORA-03001 for one of
    Oracle that the sandbox does not have, ORA-00909, ORA-00938 and ORA-00939 for a wrong number of arguments, ORA-00934 and
    ORA-30483 where aggregates or analytic functions are not allowed, ORA-30484 for an analytic one without OVER, ORA-30482 for
    DISTINCT, ORA-00936 for `*` of other functions than aggregates, and as the function's rule, `window` or `stored_call`.
    """
    name = expr.name.removeprefix("SYS.").removeprefix("STANDARD.")
    if expr.over is not None or name in ANALYTIC:
        return _analytic(x, name, expr, scope)
    if name in AGGREGATES:
        if not x.aggregates_allowed:
            raise OraError(934, "group function is not allowed here", expr.at)
        with x.nested(aggregates=False, analytic=False):
            return _aggregate(x, name, expr, scope, "")
    _check_plain(name, expr)
    special = scope.calls.get(name) if scope is not None else None
    if special is not None:
        return special(expr)
    if name == "EXTRACT":
        part = expr.args[0]
        assert isinstance(part, ast.Literal)
        return extract(x, part.text, x.value_of(expr.args[1], scope), expr.at)
    owner, _, method = name.rpartition(".")
    if owner and method in lobs.XML_METHODS and owner != "XMLTYPE":
        return lobs.XML_METHODS[method](x, expr, [x.value_of(ast.Name(tuple(owner.split(".")), expr.at), scope)])
    args = [x.value_of(arg, scope) for arg in expr.args]
    if name in PLAIN:
        return _plain(x, name, expr, args)
    if name in lobs.SINCE_23 and x.env.release < 23:
        raise OraError(904, f'"{expr.name}": invalid identifier', expr.at)
    if name in RULES:
        translate, low, high = RULES[name]
        count_arguments(expr, args, low, high)
        return translate(x, expr, args)
    stored = x.env.stored(x.env.schema, x.env.user, tuple(name.split(".")))
    if stored is not None:
        return stored_call(x, stored, args, expr.at)
    if name in UNKNOWN_HERE:
        raise OraError(3001, f"unimplemented feature: function {name}", expr.at)
    shown = ".".join(f'"{part}"' for part in expr.name.split("."))
    raise OraError(904, f"{shown}: invalid identifier", expr.at)


def _check_plain(name: str, expr: ast.Call) -> None:
    """Check a call of a function that is no aggregate. Raises ORA-00904 for WITHIN GROUP and KEEP, ORA-30482 for DISTINCT,
    ORA-00936 for `*`."""
    if expr.within or expr.keep is not None:
        raise OraError(904, f'"{name}": invalid identifier', expr.at)
    if expr.distinct:
        raise OraError(30482, "DISTINCT option not allowed for this function", expr.at)
    if expr.star:
        raise OraError(936, "missing expression", expr.at)


def stored_call(x: Conditions, stored: Any, args: list[Typed], at: int) -> Typed:
    """SQL that calls a stored function with arguments by position; `stored`: the function that `env.stored` found. Raises
    ORA-06553 for a wrong number of arguments, ORA-06552 for a BOOLEAN before 23ai, ORA-06572 for OUT parameters, and as
    `Conditions.to`."""
    parameters, returns = stored.parameters, stored.returns
    required = sum(parameter.default is None for parameter in parameters)
    if not required <= len(args) <= len(parameters):
        raise OraError(6553, f"PLS-306: wrong number or types of arguments in call to '{stored.name}'", at)
    kinds = [column_type(parameter.variable.type.column) for parameter in parameters]
    result = column_type(returns.column)
    if x.env.release < 23 and Family.BOOLEAN in (result.family, *(kind.family for kind in kinds)):
        raise OraError(6552, "PL/SQL: Statement ignored\nORA-06553: PLS-382: expression is of wrong type", at)
    if any("OUT" in parameter.mode for parameter in parameters):
        raise OraError(6572, f"Function {stored.name} has out arguments", at)
    given = [x.to(arg, kind.family, at) for arg, kind in zip(args, kinds, strict=False)]
    path = [quote(part) for part in stored.path]
    return Typed(f"o_stored({','.join([str(len(path)), *path, *given])})", result)


def _plain(x: Conditions, name: str, expr: ast.Call, args: list[Typed]) -> Typed:
    function, families, required, result = PLAIN[name]
    count_arguments(expr, args, required, len(families))
    if name in _FLOATING and any(arg.type.family in BINARY_SIZES for arg in args):
        kind = x.numeric(*args)
        operands = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
        return Typed(f"o_float_{function}({operands})", NUMBER if name == "SIGN" else kind)
    if result.family in TEXT and args[0].type.national:
        result = replace(result, national=True)
    sql = ",".join(_converted(x, arg, letter, expr.at) for arg, letter in zip(args, families, strict=False))
    if result.family in TEXT and args[0].type.family is Family.CLOB:
        return as_clob(f"o_{function}({sql})", args[0].type.national)
    return Typed(f"o_{function}({sql})", result)


def _converted(x: Conditions, arg: Typed, letter: str, at: int) -> str:
    if letter == "T":
        return x.whole_text(arg, at)
    return lobs.lob_of(x, arg, at) if letter == "L" else x.to(arg, FAMILIES[letter], at)


def _aggregate(x: Conditions, name: str, expr: ast.Call, scope: Scope | None, window_text: str) -> Typed:
    args = [x.value_of(arg, scope) for arg in expr.args]
    if expr.keep is not None:
        found = kept(x, expr, args, [(x.value_of(item.expr, scope), item) for item in expr.keep.order])
    else:
        translate, low, high = AGGREGATES[name]
        order = [(x.value_of(item.expr, scope), item) for item in expr.within]
        if name != "COUNT" or not expr.star:
            count_arguments(expr, args, low, high)
        found = translate(x, expr, args, order)
    return replace(found, sql=found.sql.replace(OVER, window_text))


def _analytic(x: Conditions, name: str, expr: ast.Call, scope: Scope | None) -> Typed:
    """Translate a call that has OVER, or of a function that needs it. Raises ORA-03001 for a function that takes no OVER,
    ORA-30484 without OVER, ORA-30483 where analytic functions are not allowed, ORA-00909, ORA-00938 and ORA-00939 for a wrong
    number of arguments, and as `window` or the function's rule."""
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
            translate, low, high = ANALYTIC[name]
            args = [x.value_of(arg, scope) for arg in expr.args]
            count_arguments(expr, args, low, high)
            return translate(x, expr, args, over)
        return _aggregate(x, name, expr, scope, over.whole)
