"""Recursive descent over DML; whatever is left unread is an error, so nothing is dropped silently."""

from __future__ import annotations

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.parse.queries import QueryGrammar


class Parser(QueryGrammar):
    """Reads one statement: queries and DML here, DDL and commands by the modules that run them."""

    def insert(self) -> ast.Insert:
        at = self.token.start
        self.expect_word("INSERT")
        self.expect_word("INTO", 925, "missing INTO keyword")
        owner, table = self.qualified()
        columns: list[tuple[str, int]] = []
        if self.token.text == "(" and self.peek().text not in ("SELECT", "WITH", "("):
            self.at += 1
            while True:
                columns.append((self._last_part(), self.tokens[self.at - 1].start))
                if not self.op(","):
                    break
            self.expect_op(")")
        if self.word("VALUES"):
            self.expect_op("(")
            values = [self._value()]
            while self.op(","):
                values.append(self._value())
            self.expect_op(")")
            if self.op(","):
                raise OraError(3001, "unimplemented feature: VALUES with several rows", self.token.start)
            insert = ast.Insert(owner, table, columns, values, None, at)
        elif self.is_word("SELECT") or self.is_word("WITH") or self.token.text == "(":
            insert = ast.Insert(owner, table, columns, None, self.query(), at)
        else:
            raise OraError(926, "missing VALUES keyword", self.token.start)
        insert.returning = self._returning()
        return insert

    def _value(self) -> ast.Expr:
        token = self.token
        if self.word("DEFAULT"):
            return ast.Literal("P", "", token.start)
        return self.expr()

    def _last_part(self) -> str:
        name = self.name(904, "invalid identifier")
        while self.op("."):
            name = self.name(904, "invalid identifier")
        return name

    def _target(self) -> ast.TableRef:
        at = self.token.start
        owner, name = self.qualified()
        return ast.TableRef(owner, name, self._table_alias(), at)

    def update(self) -> ast.Update:
        at = self.token.start
        self.expect_word("UPDATE")
        target = self._target()
        self.expect_word("SET", 971, "missing SET keyword")
        assignments: list[tuple[str, ast.Expr, int]] = []
        while True:
            if self.token.text == "(":
                raise OraError(3001, "unimplemented feature: SET (..) = (subquery)", self.token.start)
            start = self.token.start
            name = self._last_part()
            self.expect_op("=")
            assignments.append((name, self._value(), start))
            if not self.op(","):
                break
        where = self.expr() if self.word("WHERE") else None
        return ast.Update(target, assignments, where, at, self._returning())

    def delete(self) -> ast.Delete:
        at = self.token.start
        self.expect_word("DELETE")
        self.word("FROM")
        target = self._target()
        where = self.expr() if self.word("WHERE") else None
        return ast.Delete(target, where, at, self._returning())

    def _returning(self) -> ast.Returning | None:
        at = self.token.start
        if not self.any_word("RETURNING", "RETURN"):
            return None
        items = [self.expr()]
        while self.op(","):
            items.append(self.expr())
        self.expect_word("INTO", 925, "missing INTO keyword")
        binds: list[int] = []
        while not binds or self.op(","):
            token = self.take()
            if token.kind != "B":
                raise OraError(1745 if token.kind == "E" else 936, "missing expression", token.start)
            binds.append(self.bind(token).index)
        if len(binds) != len(items):
            few = len(items) < len(binds)
            raise OraError(947 if few else 913, "not enough values" if few else "too many values", at)
        return ast.Returning(items, binds, at)
