"""The forms in which the translations of SQL functions are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import SqlType

Translate: TypeAlias = Callable[[Conditions, ast.Call, list[Typed]], Typed]
"""Translates a call, given its translated arguments."""

Rule: TypeAlias = tuple[Translate, int, int | None]
"""A translation, and how many arguments it takes at least and at most; None: any number."""

Plain: TypeAlias = tuple[str, str, int, SqlType]
"""A call of SQLite's `o_<name>`: name, a letter of `registry.FAMILIES` per argument, number of required ones, result."""


def converted(kind: SqlType, result: SqlType | None = None) -> Rule:
    """The rule of a function of one argument that only converts it to the family of `kind`; of type `result`, or `kind` when that
    is None. Translating raises as `Conditions.to`."""
    return lambda x, expr, args: Typed(x.to(args[0], kind.family, expr.at), result or kind), 1, 1
