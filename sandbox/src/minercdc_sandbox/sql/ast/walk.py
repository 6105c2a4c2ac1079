"""Walks over syntax trees. None of them enters a subquery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from minercdc_sandbox.sql.ast.leaves import TypeName
from minercdc_sandbox.sql.ast.trees import Expr, Query


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """Names of the fields of a class of nodes; None for a query, and what is no node."""
    if not is_dataclass(kind) or issubclass(kind, Query):
        return None
    return tuple(one.name for one in fields(kind))


@cache
def _is_below(kind: type) -> bool:
    return is_dataclass(kind) and not issubclass(kind, (Query, TypeName))


def children(node: Any) -> Iterator[Expr]:
    """Nodes directly below a node, in the order of its fields, but for type names and queries."""
    kind: Any = type(node)
    for name in _fields(kind) or ():
        value = getattr(node, name)
        for item in value if isinstance(value, list) else [value]:
            for one in item if isinstance(item, tuple) else (item,):
                below: Any = type(one)
                if _is_below(below):
                    yield one


def descendants(node: Any) -> Iterator[Expr]:
    """A node and all nodes below it, a node before those below it; of lists and tuples, those of each element. Nothing for a
    query and for None."""
    kind: Any = type(node)
    if isinstance(node, (list, tuple)):
        for one in node:
            yield from descendants(one)
    elif _fields(kind) is not None:
        yield node
        for child in children(node):
            yield from descendants(child)
