"""Questions about syntax trees of queries: aggregates, ROWNUM, what lies below a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.aggregates import AGGREGATES


def children(node: object) -> Iterator[ast.Expr]:
    """Expressions directly below; subqueries are a world of their own."""
    if not is_dataclass(node) or isinstance(node, ast.Query):
        return
    for part in fields(node):
        value = getattr(node, part.name)
        for item in value if isinstance(value, list) else [value]:
            for one in item if isinstance(item, tuple) else (item,):
                if is_dataclass(one) and not isinstance(one, (ast.Query, ast.TypeName)):
                    yield one  # type: ignore[misc]


def nests_aggregates(node: object, inside: bool = False) -> bool:
    """MAX(COUNT(*)): an aggregate over the groups' aggregates."""
    if isinstance(node, list):
        return any(nests_aggregates(item, inside) for item in node)
    if isinstance(node, ast.Call) and node.name in AGGREGATES and node.over is None:
        if inside:
            return True
        inside = True
    return any(nests_aggregates(child, inside) for child in children(node))


def unnested(select: ast.Select, order: list[ast.OrderItem]) -> ast.Select:
    """The groups as a subquery, and one row over it. Every item must be an aggregate (ORA-00937), no ORDER BY."""
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
    return isinstance(expr, ast.Name) and expr.parts == ("ROWNUM",) and not expr.quoted


def uses_rownum(node: object) -> bool:
    if isinstance(node, list):
        return any(uses_rownum(item) for item in node)
    return is_rownum(node) or any(uses_rownum(child) for child in children(node))


def aggregated(select: ast.Select, order: list[ast.OrderItem]) -> bool:
    return any(has_aggregate(item) for item in [*select.items, *order])


def has_aggregate(node: object) -> bool:
    if isinstance(node, ast.Call) and node.name in AGGREGATES and node.over is None:
        return True
    return any(has_aggregate(child) for child in children(node))


def conjuncts(condition: ast.Expr | None) -> list[ast.Expr]:
    """The terms of an AND."""
    if condition is None:
        return []
    return condition.operands if isinstance(condition, ast.Logic) and condition.op == "AND" else [condition]


def conjunction(terms: list[ast.Expr]) -> ast.Expr | None:
    """The AND of some terms."""
    if len(terms) < 2:
        return terms[0] if terms else None
    return ast.Logic("AND", terms, terms[0].at)


def descendants(node: object) -> Iterator[ast.Expr]:
    """All expressions below a node and itself, but not those of subqueries."""
    for item in node if isinstance(node, list) else [node]:
        if is_dataclass(item) and not isinstance(item, ast.Query):
            yield item  # type: ignore[misc]
            for child in children(item):
                yield from descendants(child)
