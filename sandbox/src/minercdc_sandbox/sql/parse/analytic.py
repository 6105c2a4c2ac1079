"""ORDER BY lists, and the clauses after the arguments of a function (SQL Language Reference, Analytic Functions).

tail   := [WITHIN GROUP (order)] [KEEP (DENSE_RANK FIRST|LAST order)] [RESPECT|IGNORE NULLS] [OVER (window)]
window := [PARTITION BY expr, ..] [order] [ROWS|RANGE|GROUPS bound | BETWEEN bound AND bound]
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.types import TypeGrammar


class AnalyticGrammar(TypeGrammar):
    """Reads ORDER BY lists and the clauses after the arguments of a function; the layer of `Parser` between types and
    expressions. Errors are those of missing words, and as `expr`.

    :ivar expr: reads an expression; a method of `ExpressionGrammar`.
    """

    expr: Callable[[], ast.Expr]

    def order_items(self) -> list[ast.OrderItem]:
        """Read the list after ORDER BY. NULLs come first with NULLS FIRST, and with DESC without NULLS LAST. Raises as `expr`."""
        return self.listed(self._order_item)

    def _order_item(self) -> ast.OrderItem:
        expr = self.expr()
        descending = self.any_word("ASC", "DESC") == "DESC"
        nulls_first = self.word("NULLS", "FIRST") or (descending and not self.word("NULLS", "LAST"))
        self.word("NULLS", "LAST")
        return ast.OrderItem(expr, descending, nulls_first)

    def _order_by(self) -> list[ast.OrderItem]:
        self.expect_word("ORDER", 924, "missing BY keyword")
        self.expect_word("BY", 924, "missing BY keyword")
        return self.order_items()

    def read_tail(self, call: ast.Call) -> None:
        """Read the clauses WITHIN GROUP, KEEP, IGNORE NULLS and OVER, in this order, that come after the right parenthesis of a
        call into it. Raises ORA-00905 to ORA-00907, ORA-00924 and ORA-02000 for missing words, and as `expr`."""
        if self.word("WITHIN", "GROUP"):
            call.within = self.enclosed(self._order_by)
        if self.is_word("KEEP") and self.peek().text == "(":
            self.at += 2
            call.keep = self.closed(self._keep)
        self.read_nulls(call)
        if self.is_word("OVER") and self.peek().text == "(":
            self.at += 2
            call.over = self.closed(self._window)

    def read_nulls(self, call: ast.Call) -> None:
        """Read IGNORE NULLS or RESPECT NULLS into a call, if one of them comes next; else leave it."""
        if self.is_word("IGNORE", "NULLS") or self.is_word("RESPECT", "NULLS"):
            call.ignore_nulls = self.take().text == "IGNORE"
            self.take()

    def _keep(self) -> ast.Keep:
        self.expect_word("DENSE_RANK", 2000, "missing DENSE_RANK keyword")
        return ast.Keep(self.one_of("FIRST", "LAST") == "FIRST", self._order_by())

    def _window(self) -> ast.Window:
        window = ast.Window()
        if self.word("PARTITION", "BY"):
            parenthesis = self.token.text == "("
            window.partition = self.listed(self.expr)
            if parenthesis and len(window.partition) == 1 and isinstance(window.partition[0], ast.Row):
                window.partition = window.partition[0].items
        if self.word("ORDER", "BY"):
            window.order = self.order_items()
        mode = self.any_word("ROWS", "RANGE", "GROUPS")
        if mode is not None:
            window.frame = self._frame(mode)
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
        return self.one_of("PRECEDING", "FOLLOWING"), amount
