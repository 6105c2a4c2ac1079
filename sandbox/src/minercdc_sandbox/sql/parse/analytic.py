"""Clauses after the parentheses of a function: WITHIN GROUP, KEEP, IGNORE NULLS and OVER (SQL Language Reference, Analytic Functions).

call  := name(..) [WITHIN GROUP (order)] [KEEP (DENSE_RANK FIRST|LAST order)] [RESPECT|IGNORE NULLS] [OVER (window)]
window := [PARTITION BY expr, ..] [order] [ROWS|RANGE bound | BETWEEN bound AND bound]
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.words import Words


class AnalyticClauses:
    """Reads ORDER BY lists and window specifications.

    :param expr: reads an expression in them.
    """

    def __init__(self, words: Words, expr: Callable[[], ast.Expr]) -> None:
        self._words, self._expr = words, expr

    def order_items(self) -> list[ast.OrderItem]:
        """The list after ORDER BY."""
        return self._words.listed(self._order_item)

    def _order_item(self) -> ast.OrderItem:
        expr = self._expr()
        descending = self._words.any_word("ASC", "DESC") == "DESC"
        nulls: bool | None = None
        if self._words.word("NULLS", "FIRST"):
            nulls = True
        elif self._words.word("NULLS", "LAST"):
            nulls = False
        return ast.OrderItem(expr, descending, nulls)

    def read_tail(self, call: ast.Call) -> None:
        """Read the clauses after a call into it."""
        if self._words.word("WITHIN", "GROUP"):
            self._words.expect_op("(")
            self._words.expect_word("ORDER", 924, "missing BY keyword")
            self._words.expect_word("BY", 924, "missing BY keyword")
            call.within = self.order_items()
            self._words.expect_op(")")
        if self._words.is_word("KEEP") and self._words.peek().text == "(":
            self._words.at += 2
            call.keep = self._keep()
        if self._words.is_word("IGNORE", "NULLS") or self._words.is_word("RESPECT", "NULLS"):
            call.ignore_nulls = self._words.take().text == "IGNORE"
            self._words.take()
        if self._words.is_word("OVER") and self._words.peek().text == "(":
            self._words.at += 2
            call.over = self._window()

    def _keep(self) -> ast.Keep:
        self._words.expect_word("DENSE_RANK", 2000, "missing DENSE_RANK keyword")
        side = self._words.any_word("FIRST", "LAST")
        if side is None:
            raise OraError(905, "missing keyword", self._words.token.start)
        self._words.expect_word("ORDER", 924, "missing BY keyword")
        self._words.expect_word("BY", 924, "missing BY keyword")
        keep = ast.Keep(side == "FIRST", self.order_items())
        self._words.expect_op(")")
        return keep

    def _window(self) -> ast.Window:
        window = ast.Window()
        if self._words.word("PARTITION", "BY"):
            parenthesis = self._words.token.text == "("
            window.partition = self._words.listed(self._expr)
            if parenthesis and len(window.partition) == 1 and isinstance(window.partition[0], ast.Row):
                window.partition = window.partition[0].items
        if self._words.word("ORDER", "BY"):
            window.order = self.order_items()
        mode = self._words.any_word("ROWS", "RANGE", "GROUPS")
        if mode is not None:
            window.frame = self._frame(mode)
        self._words.expect_op(")")
        return window

    def _frame(self, mode: str) -> ast.Frame:
        at = self._words.token.start
        if self._words.word("BETWEEN"):
            first = self._bound()
            self._words.expect_word("AND")
            return ast.Frame(mode, first, self._bound(), at)
        return ast.Frame(mode, self._bound(), ("CURRENT ROW", None), at)

    def _bound(self) -> ast.FrameBound:
        for words in (("CURRENT", "ROW"), ("UNBOUNDED", "PRECEDING"), ("UNBOUNDED", "FOLLOWING")):
            if self._words.word(*words):
                return " ".join(words), None
        amount = self._expr()
        side = self._words.any_word("PRECEDING", "FOLLOWING")
        if side is None:
            raise OraError(905, "missing keyword", self._words.token.start)
        return side, amount
