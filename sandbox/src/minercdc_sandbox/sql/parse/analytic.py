"""Clauses after the parentheses of a function: WITHIN GROUP, KEEP, IGNORE NULLS and OVER (SQL Language Reference, Analytic Functions).

call  := name(..) [WITHIN GROUP (order)] [KEEP (DENSE_RANK FIRST|LAST order)] [RESPECT|IGNORE NULLS] [OVER (window)]
window := [PARTITION BY expr, ..] [order] [ROWS|RANGE bound | BETWEEN bound AND bound]
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.words import Words


class AnalyticGrammar(Words):
    """Reads ORDER BY lists and window specifications; expressions in them are read by the grammar above."""

    def expr(self) -> ast.Expr:
        """An expression, which the next grammar knows."""
        raise NotImplementedError

    def expressions(self) -> list[ast.Expr]:
        """`expr, expr, ..`"""
        return self.listed(self.expr)

    def order_items(self) -> list[ast.OrderItem]:
        """The list after ORDER BY."""
        return self.listed(self._order_item)

    def _order_item(self) -> ast.OrderItem:
        expr = self.expr()
        descending = self.any_word("ASC", "DESC") == "DESC"
        nulls: bool | None = None
        if self.word("NULLS", "FIRST"):
            nulls = True
        elif self.word("NULLS", "LAST"):
            nulls = False
        return ast.OrderItem(expr, descending, nulls)

    def call_tail(self, call: ast.Call) -> None:
        """Read the clauses after a call into it."""
        if self.word("WITHIN", "GROUP"):
            self.expect_op("(")
            self.expect_word("ORDER", 924, "missing BY keyword")
            self.expect_word("BY", 924, "missing BY keyword")
            call.within = self.order_items()
            self.expect_op(")")
        if self.is_word("KEEP") and self.peek().text == "(":
            self.at += 2
            call.keep = self._keep()
        if self.is_word("IGNORE", "NULLS") or self.is_word("RESPECT", "NULLS"):
            call.ignore_nulls = self.take().text == "IGNORE"
            self.take()
        if self.is_word("OVER") and self.peek().text == "(":
            self.at += 2
            call.over = self._window()

    def _keep(self) -> ast.Keep:
        self.expect_word("DENSE_RANK", 2000, "missing DENSE_RANK keyword")
        side = self.any_word("FIRST", "LAST")
        if side is None:
            raise OraError(905, "missing keyword", self.token.start)
        self.expect_word("ORDER", 924, "missing BY keyword")
        self.expect_word("BY", 924, "missing BY keyword")
        keep = ast.Keep(side == "FIRST", self.order_items())
        self.expect_op(")")
        return keep

    def _window(self) -> ast.Window:
        window = ast.Window()
        if self.word("PARTITION", "BY"):
            parenthesis = self.token.text == "("
            window.partition = self.expressions()
            if parenthesis and len(window.partition) == 1 and isinstance(window.partition[0], ast.Row):
                window.partition = window.partition[0].items
        if self.word("ORDER", "BY"):
            window.order = self.order_items()
        mode = self.any_word("ROWS", "RANGE", "GROUPS")
        if mode is not None:
            window.frame = self._frame(mode)
        self.expect_op(")")
        return window

    def _frame(self, mode: str) -> ast.Frame:
        at = self.token.start
        if self.word("BETWEEN"):
            first = self._bound()
            self.expect_word("AND")
            return ast.Frame(mode, first, self._bound(), at)
        return ast.Frame(mode, self._bound(), ("CURRENT ROW", None), at)

    def _bound(self) -> ast.FrameBound:
        for words in (("CURRENT", "ROW"), ("UNBOUNDED", "PRECEDING"), ("UNBOUNDED", "FOLLOWING")):
            if self.word(*words):
                return " ".join(words), None
        amount = self.expr()
        side = self.any_word("PRECEDING", "FOLLOWING")
        if side is None:
            raise OraError(905, "missing keyword", self.token.start)
        return side, amount
