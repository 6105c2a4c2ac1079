"""Bounds of redo addresses in a WHERE clause: the first record of one log whose rows can fulfil it.

    THREAD# NOT IN (1) OR THREAD# IS NULL OR RS_ID = ' 0x000000..' OR (THREAD# = 1 AND RS_ID >= :mark)     log of thread 1: from :mark on

AND takes the later bound, OR the earlier one. A condition that is not read here is no bound, so the bound may come too early
but never too late. The condition itself is still evaluated on every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from minercdc_sandbox.sql import ast

Known: TypeAlias = "Callable[[ast.Expr], str | int | None]"
"""Value of a literal or bind, None for anything else and for NULL."""

NOTHING: Final = "\U0010ffff"
"""Above every RS_ID: no row of the log can fulfil the condition."""


def first_record(where: ast.Expr | None, known: Known, thread: int, low: str, high: str) -> str:
    """A bound below which no row of one log fulfils `where`: an RS_ID, '' for no bound, NOTHING when no row of the log can fulfil
    it. `where` None is true for all rows.

    :param known: gives the values of literals and binds.
    :param low, high: the first and the last RS_ID that the log of `thread` can have.
    """
    if isinstance(where, ast.Logic) and where.op in ("AND", "OR"):
        bounds = [first_record(term, known, thread, low, high) for term in where.operands]
        return max(bounds) if where.op == "AND" else min(bounds)
    if isinstance(where, ast.Compare):
        return _compared(where, known, thread, low, high)
    if isinstance(where, ast.IsNull) and _column(where.operand) == "THREAD#":
        return "" if where.negated else NOTHING  # each row of a log has its thread
    if isinstance(where, ast.In) and isinstance(where.items, list) and _column(where.operand) == "THREAD#":
        values = [known(item) for item in where.items]
        if all(isinstance(value, int) for value in values):
            return "" if (thread in values) is not where.negated else NOTHING
    return ""


def _compared(where: ast.Compare, known: Known, thread: int, low: str, high: str) -> str:
    left, right, op = where.left, where.right, where.op
    if _column(right):
        left, right, op = right, left, ast.FLIPPED[op]
    column, value = _column(left), known(right)
    if column == "THREAD#" and op == "=" and isinstance(value, int):
        return "" if value == thread else NOTHING
    if column == "RS_ID" and isinstance(value, str):
        if op in (">", ">="):
            return value if value <= high else NOTHING
        if op == "=":
            return value if low <= value <= high else NOTHING
    return ""


def _column(expr: ast.Expr) -> str:
    return expr.parts[-1] if isinstance(expr, ast.Name) else ""
