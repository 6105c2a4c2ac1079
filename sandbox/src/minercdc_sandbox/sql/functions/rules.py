"""How the translation of a SQL function is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import SqlType

Rule: TypeAlias = Callable[[Conditions, ast.Call, list[Typed]], Typed]
"""Translates a call, given its translated arguments."""

Plain: TypeAlias = tuple[str, str, int, SqlType]
"""SQLite function, argument families (N number, T text, R raw, D date), how many are required, result."""
