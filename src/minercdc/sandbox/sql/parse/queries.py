"""Recursive descent over queries.

query  := [WITH ..] body {UNION [ALL] | INTERSECT | MINUS body} [ORDER BY ..] [OFFSET ..] [FETCH ..] [FOR UPDATE ..]
"""

from __future__ import annotations

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.parse.expressions import ExpressionGrammar
from minercdc.sandbox.sql.tokens import tokenize

_STOP_ALIAS = frozenset(
    [
        "FROM",
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "UNION",
        "INTERSECT",
        "MINUS",
        "ON",
        "USING",
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "FULL",
        "CROSS",
        "NATURAL",
        "FETCH",
        "OFFSET",
        "FOR",
        "AS",
        "SET",
        "CONNECT",
        "START",
        "WITH",
        "VALUES",
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "LIKE",
        "BETWEEN",
        "THEN",
        "ELSE",
        "END",
        "WHEN",
        "RETURNING",
        "LOG",
        "VERSIONS",
        "PARTITION",
        "SUBPARTITION",
        "SAMPLE",
        "PIVOT",
        "UNPIVOT",
        "MODEL",
        "SELECT",
        "INTO",
    ]
)


class QueryGrammar(ExpressionGrammar):
    """Reads queries and what only queries have: relations, set operations, ORDER BY, FETCH, FOR UPDATE."""

    def query(self) -> ast.Query:
        at = self.token.start
        with_ = self._with() if self.word("WITH") else []
        query = ast.Query(self._set_operation(), with_, at=at)
        if self.word("ORDER", "BY"):
            query.order_by.append(self._order_item())
            while self.op(","):
                query.order_by.append(self._order_item())
        if self.word("OFFSET"):
            query.offset = self.sum()
            if not self.any_word("ROW", "ROWS"):
                raise OraError(905, "missing keyword", self.token.start)
        if self.word("FETCH"):
            query.fetch = self._fetch()
        if self.word("FOR", "UPDATE"):
            query.for_update = self._for_update()
        return query

    def _with(self) -> list[tuple[str, list[str], ast.Query]]:
        found = []
        while True:
            name, columns = self.name(), []
            if self.op("("):
                columns = self.names()
                self.expect_op(")")
            self.expect_word("AS")
            self.expect_op("(")
            found.append((name, columns, self.query()))
            self.expect_op(")")
            if not self.op(","):
                return found

    def _order_item(self) -> ast.OrderItem:
        expr = self.expr()
        descending = self.any_word("ASC", "DESC") == "DESC"
        nulls: bool | None = None
        if self.word("NULLS", "FIRST"):
            nulls = True
        elif self.word("NULLS", "LAST"):
            nulls = False
        return ast.OrderItem(expr, descending, nulls)

    def _fetch(self) -> ast.Expr:
        if not self.any_word("FIRST", "NEXT"):
            raise OraError(905, "missing keyword", self.token.start)
        count: ast.Expr
        count = ast.Literal("N", "1", self.token.start) if self.any_word("ROW", "ROWS") else self._fetch_count()
        self.expect_word("ONLY")
        return count

    def _fetch_count(self) -> ast.Expr:
        count = self.sum()
        if self.is_word("PERCENT"):
            raise OraError(3001, "unimplemented feature: FETCH .. PERCENT", self.token.start)
        if not self.any_word("ROW", "ROWS"):
            raise OraError(905, "missing keyword", self.token.start)
        return count

    def _for_update(self) -> ast.LockWait:
        if self.word("OF"):
            self._column_name()
            while self.op(","):
                self._column_name()
        return self.lock_wait()

    def _column_name(self) -> None:
        self.name(904, "invalid identifier")
        while self.op("."):
            self.name(904, "invalid identifier")

    def lock_wait(self) -> ast.LockWait:
        if self.word("NOWAIT"):
            return ast.LockWait(0.0)
        if self.word("WAIT"):
            return ast.LockWait(float(self.integer()))
        if self.word("SKIP", "LOCKED"):
            return ast.LockWait(0.0, skip_locked=True)
        return ast.LockWait()

    def _set_operation(self) -> ast.Select | ast.SetOperation | ast.Query:
        left: ast.Select | ast.SetOperation | ast.Query = self._select_core()
        while True:
            at = self.token.start
            op = self.any_word("UNION", "INTERSECT", "MINUS", "EXCEPT")
            if op is None:
                return left
            op = "MINUS" if op == "EXCEPT" else op
            if op == "UNION" and self.word("ALL"):
                op = "UNION ALL"
            left = ast.SetOperation(op, left, self._select_core(), at)

    def _select_core(self) -> ast.Select | ast.Query:
        if self.op("("):
            query = self.query()
            self.expect_op(")")
            return query
        at = self.token.start
        self.expect_word("SELECT", 900, "invalid SQL statement")
        distinct = self.any_word("DISTINCT", "UNIQUE", "ALL") in ("DISTINCT", "UNIQUE")
        items = [self._item()]
        while self.op(","):
            items.append(self._item())
        self.expect_word("FROM", 923, "FROM keyword not found where expected")
        relations = [self._joined()]
        while self.op(","):
            relations.append(self._joined())
        select = ast.Select(items, relations, distinct=distinct, at=at)
        if self.word("WHERE"):
            select.where = self.expr()
        if self.is_word("CONNECT") or self.is_word("START", "WITH"):
            raise OraError(3001, "unimplemented feature: CONNECT BY", self.token.start)
        if self.word("GROUP", "BY"):
            select.group_by.append(self.expr())
            while self.op(","):
                select.group_by.append(self.expr())
        if self.word("HAVING"):
            select.having = self.expr()
        return select

    def _item(self) -> ast.Item:
        start = self.token
        if self.op("*"):
            return ast.Item(None, None, "*", at=start.start)
        star = self._qualified_star()
        if star:
            return ast.Item(None, None, "*", star, start.start)
        expr = self.expr()
        heading = self._heading(start.start, self.tokens[self.at - 1].end)
        alias = None
        if self.word("AS") or self.token.kind == "Q" or (self.token.kind == "W" and self.token.text not in _STOP_ALIAS):
            alias = self.name(923, "FROM keyword not found where expected")
        return ast.Item(expr, alias, heading, at=start.start)

    def _qualified_star(self) -> tuple[str, ...]:
        parts, n = [], 0
        while self.peek(n).kind in "WQ" and self.peek(n + 1).text == ".":
            parts.append(self.peek(n).text)
            n += 2
            if self.peek(n).kind == "O" and self.peek(n).text == "*":
                self.at += n + 1
                return tuple(parts)
        return ()

    def _heading(self, start: int, end: int) -> str:
        """Column heading of an expression: its text in upper case without blanks, strings as they are."""
        out = []
        for token in tokenize(self.sql[start:end]):
            raw = self.sql[start + token.start : start + token.end]
            out.append(raw if token.kind in "SQ" else raw.upper())
        return "".join(out)

    def _joined(self) -> ast.Relation:
        left = self._relation()
        while True:
            at = self.token.start
            kind = self._join_kind()
            if kind is None:
                return left
            right = self._relation()
            on: ast.Expr | None = None
            using: list[str] = []
            if kind == "CROSS":
                pass
            elif self.word("ON"):
                on = self.expr()
            elif self.word("USING"):
                self.expect_op("(")
                using = self.names()
                self.expect_op(")")
            else:
                raise OraError(905, "missing keyword", self.token.start)
            left = ast.Join(left, right, kind, on, using, at)

    def _join_kind(self) -> str | None:
        if self.is_word("NATURAL"):
            raise OraError(3001, "unimplemented feature: NATURAL JOIN", self.token.start)
        if self.word("JOIN") or self.word("INNER", "JOIN"):
            return "INNER"
        if self.word("CROSS", "JOIN"):
            return "CROSS"
        for kind in ("LEFT", "RIGHT", "FULL"):
            if self.word(kind, "OUTER", "JOIN") or self.word(kind, "JOIN"):
                return kind
        return None

    def _relation(self) -> ast.Relation:
        at = self.token.start
        if self.op("("):
            if self.is_word("SELECT") or self.is_word("WITH") or self.token.text == "(":
                query = self.query()
                self.expect_op(")")
                as_of = self._as_of()
                return ast.Derived(query, self._table_alias(), at, as_of)
            inner = self._joined()
            self.expect_op(")")
            return inner
        if self.is_word("TABLE") or self.is_word("LATERAL"):
            raise OraError(3001, f"unimplemented feature: {self.token.text} in FROM", at)
        owner, name = self.qualified()
        if self.token.text == "@":
            raise OraError(2019, "connection description for remote database not found", self.token.start)
        for word in ("VERSIONS", "PARTITION", "SAMPLE"):
            if self.is_word(word) and self.peek().text in ("BETWEEN", "(", "BLOCK"):
                raise OraError(3001, f"unimplemented feature: {word}", self.token.start)
        as_of = self._as_of()
        return ast.TableRef(owner, name, self._table_alias(), at, as_of)

    def _as_of(self) -> tuple[str, ast.Expr] | None:
        if self.is_word("AS", "OF"):
            self.at += 2
            kind = self.any_word("SCN", "TIMESTAMP")
            if kind is None:
                raise OraError(905, "missing keyword", self.token.start)
            return kind, self.sum()
        return None

    def _table_alias(self) -> str | None:
        token = self.token
        if token.kind == "Q" or (token.kind == "W" and token.text not in _STOP_ALIAS):
            return self.name()
        return None
