"""Questions about syntax trees of queries: aggregates, ROWNUM, the terms of a conjunction."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.aggregates import AGGREGATES


def is_aggregate(node: object) -> bool:
    """Whether a node is the call of an aggregate without OVER."""
    return isinstance(node, ast.Call) and node.name in AGGREGATES and node.over is None


def nests_aggregates(items: list[ast.Item]) -> bool:
    """Whether an aggregate has another among its arguments, as in MAX(COUNT(*))."""
    outer = [node for node in ast.descendants(items) if is_aggregate(node)]
    return any(is_aggregate(node) for call in outer for child in ast.children(call) for node in ast.descendants(child))


def unnested(select: ast.Select, order: list[ast.OrderItem]) -> ast.Select:
    """A SELECT of nested aggregates as one row over a subquery, which computes the inner ones for each group; `order` is its
    ORDER BY.

    Raises ORA-00978 without GROUP BY and with ORDER BY or DISTINCT, ORA-00937 for an item that is not an aggregate of one
    argument.
    """
    if not select.group_by or order or select.distinct:
        raise OraError(978, "nested group function without GROUP BY", select.at)
    inner: list[ast.Item] = []
    outer: list[ast.Item] = []
    for item in select.items:
        call = item.expr
        if not isinstance(call, ast.Call) or call.name not in AGGREGATES or call.over or len(call.args) != 1:
            raise OraError(937, "not a single-group group function", item.at)
        name = f"G{len(inner)}"
        inner.append(ast.Item(call.args[0], name, name, at=item.at))
        outer.append(ast.Item(replace(call, args=[ast.Name((name,), call.at)]), item.alias, item.heading, at=item.at))
    groups = replace(select, items=inner)
    return ast.Select(outer, [ast.Derived(ast.Query(groups, at=select.at), None, select.at)], at=select.at)


def is_rownum(expr: object) -> bool:
    """Whether a node is ROWNUM, not in quotes."""
    return isinstance(expr, ast.Name) and expr.parts == ("ROWNUM",) and not expr.quoted


def uses_rownum(node: object) -> bool:
    """Whether ROWNUM is in a tree, or in one of a list; subqueries are not looked at."""
    return any(is_rownum(one) for one in ast.descendants(node))


def aggregated(select: ast.Select, order: list[ast.OrderItem]) -> bool:
    """Whether a select list or an ORDER BY has an aggregate without OVER."""
    return has_aggregate([*select.items, *order])


def has_aggregate(node: object) -> bool:
    """Whether an aggregate without OVER is in a tree, or in one of a list; subqueries are not looked at."""
    return any(is_aggregate(one) for one in ast.descendants(node))


def conjuncts(condition: ast.Expr | None) -> list[ast.Expr]:
    """The terms of an AND, at its top level only; a condition of any other kind is the only term, and None has none."""
    if condition is None:
        return []
    return condition.operands if isinstance(condition, ast.Logic) and condition.op == "AND" else [condition]


def conjunction(terms: list[ast.Expr]) -> ast.Expr | None:
    """The AND of some terms; None of none."""
    if len(terms) < 2:
        return terms[0] if terms else None
    return ast.Logic("AND", terms, terms[0].at)
