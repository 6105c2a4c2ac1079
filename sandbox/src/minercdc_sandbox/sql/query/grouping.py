"""GROUP BY: the check of its expressions, and ROLLUP, CUBE, GROUPING SETS as a UNION ALL of plain groupings."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any, cast

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.query.trees import is_aggregate
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.expressions import Expressions


def check_grouped(x: Expressions, exprs: list[ast.Expr], groups: list[Typed], select: ast.Select, scope: Scope) -> None:
    """Check the expressions of a grouped SELECT, `groups` being those of GROUP BY. Raises ORA-00979, or ORA-00937 without GROUP
    BY, for a column that is neither in GROUP BY nor in an aggregate."""
    known = {group.sql for group in groups}
    for expr in exprs:
        culprit = _ungrouped(x, expr, known, scope)
        if culprit is not None:
            if select.group_by or select.grouping is not None:
                raise OraError(979, "not a GROUP BY expression", culprit.at)
            raise OraError(937, "not a single-group group function", culprit.at)


def _ungrouped(x: Expressions, expr: ast.Expr, known: set[str], scope: Scope) -> ast.Expr | None:
    if is_aggregate(expr) or isinstance(expr, ast.Missing):
        return None
    if isinstance(expr, ast.Name):
        found = scope.resolve(expr)
        if found is None and len(expr.parts) == 1 and expr.parts[0] in scope.pseudo:
            return expr if scope.pseudo[expr.parts[0]].sql not in known else None
        return expr if found is not None and found[1] is scope and found[0].sql not in known else None
    composed = isinstance(expr, (ast.Call, ast.Binary, ast.Negative, ast.Case, ast.Cast, ast.Parent))
    if composed and x.value(expr, scope).sql in known:
        return None
    culprits = (_ungrouped(x, child, known, scope) for child in ast.children(expr))
    return next((culprit for culprit in culprits if culprit is not None), None)


def spread(select: ast.Select) -> ast.Select | ast.SetOperation:
    """The UNION ALL of one SELECT per grouping set, in their order, with NULL for expressions not in the set, and numbers for
    GROUPING. Raises ORA-00979 for GROUPING of another expression."""
    assert select.grouping is not None
    made: list[ast.Select | ast.SetOperation] = [_one_set(select, select.group_by, group) for group in select.grouping]
    return reduce(lambda left, right: ast.SetOperation("UNION ALL", left, right, select.at), made)


def _one_set(select: ast.Select, every: list[ast.Expr], group: list[ast.Expr]) -> ast.Select:
    left_out = [expr for expr in every if not _among(expr, group)]
    items = [
        replace(item, expr=_without(item.expr, left_out, every)) if item.expr is not None else item for item in select.items
    ]
    having = None if select.having is None else _without(select.having, left_out, every)
    # GROUP BY () is one row even of nothing, but only when there are aggregates or HAVING: a constant group does both.
    return replace(select, items=items, having=having, group_by=group, grouping=None if group else [])


def _among(expr: ast.Expr, group: list[ast.Expr]) -> bool:
    return any(same(expr, one) for one in group)


def same(a: Any, b: Any) -> bool:
    """Whether two trees are equal but for their offsets and the quoting of names."""
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name not in ("at", "quoted"))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _without(node: Any, left_out: list[ast.Expr], every: list[ast.Expr]) -> Any:
    """A new tree with NULLs for the expressions left out and numbers for GROUPING; arguments of aggregates see the row as it is.
    Raises ORA-00979 for GROUPING of an expression that is not among `every`."""
    if isinstance(node, ast.Call):
        if node.name in ("GROUPING", "GROUPING_ID"):
            bits = [int(_among(arg, left_out)) for arg in node.args]
            if not all(_among(arg, every) for arg in node.args):
                raise OraError(979, "not a GROUP BY expression", node.at)
            return ast.Literal(ast.LiteralKind.NUMBER, str(int("".join(map(str, bits)) or "0", 2)), node.at)
        if is_aggregate(node):
            return node
    if is_dataclass(node) and not isinstance(node, type) and _among(cast("ast.Expr", node), left_out):
        return ast.Missing(cast("ast.Expr", node), getattr(node, "at", 0))
    if isinstance(node, (list, tuple)):
        return type(node)(_without(one, left_out, every) for one in node)
    if is_dataclass(node) and not isinstance(node, (ast.Query, type)):
        changed = {f.name: _without(getattr(node, f.name), left_out, every) for f in fields(node) if f.name != "at"}
        return replace(node, **changed)
    return node
