"""Walks over syntax trees. None of them enters a subquery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from minercdc_sandbox.sql.ast.leaves import TypeName
from minercdc_sandbox.sql.ast.trees import Expr, Query


def children(node: object) -> Iterator[Expr]:
    """Nodes directly below a node, in the order of its fields, but for type names and queries."""
    if not is_dataclass(node) or isinstance(node, Query):
        return
    for part in fields(node):
        value = getattr(node, part.name)
        for item in value if isinstance(value, list) else [value]:
            for one in item if isinstance(item, tuple) else (item,):
                if is_dataclass(one) and not isinstance(one, (Query, TypeName)):
                    yield one  # type: ignore[misc]


def descendants(node: object) -> Iterator[Expr]:
    """A node and all nodes below it, a node before those below it; of lists and tuples, those of each element. Nothing for a
    query and for None."""
    if isinstance(node, (list, tuple)):
        for one in node:
            yield from descendants(one)
    elif is_dataclass(node) and not isinstance(node, Query):
        yield node  # type: ignore[misc]
        for child in children(node):
            yield from descendants(child)
