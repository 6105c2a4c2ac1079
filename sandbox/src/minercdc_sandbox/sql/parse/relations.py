"""Recursive descent over what stands in FROM.

joined   := relation {[NATURAL] [INNER | LEFT | RIGHT | FULL | CROSS] JOIN relation [ON .. | USING ..] | CROSS | OUTER APPLY (query)}
relation := [owner.]table [PARTITION ..] [AS OF ..] | [LATERAL] (query) | (joined), then {PIVOT (..) | UNPIVOT (..)} [alias]
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.expressions import ExpressionGrammar
from minercdc_sandbox.sql.parse.reserved import STOP_ALIAS
from minercdc_sandbox.sql.tokens import TokenKind, tokenize


class RelationGrammar(ExpressionGrammar):
    """Reads relations."""

    def heading(self, start: int, end: int) -> str:
        """Column heading of an expression: its text in upper case without blanks, strings as they are."""
        out = []
        for token in tokenize(self.sql[start:end]):
            raw = self.sql[start + token.start : start + token.end]
            out.append(raw if token.kind in "SQ" else raw.upper())
        return "".join(out)

    def joined(self) -> ast.Relation:
        left = self._relation()
        while True:
            at = self.token.start
            natural = self.word("NATURAL")
            applied = self._apply()
            if applied is not None:
                right = self._relation()
                if not isinstance(right, ast.Derived):
                    raise OraError(3001, "unimplemented feature: APPLY of what is not a subquery", at)
                right.lateral = True
                left = ast.Join(left, right, applied, None, [], at)
                continue
            kind = self._join_kind()
            if kind is None:
                if natural:
                    raise OraError(905, "missing keyword", self.token.start)
                return left
            left = self._join(left, kind, natural, at)

    def _apply(self) -> str | None:
        if self.word("CROSS", "APPLY"):
            return "CROSS"
        return "LEFT" if self.word("OUTER", "APPLY") else None

    def _join(self, left: ast.Relation, kind: str, natural: bool, at: int) -> ast.Relation:
        right = self._relation()
        join = ast.Join(left, right, kind, None, [], at, natural)
        if kind == "CROSS" or natural:
            return join
        if self.word("ON"):
            join.on = self.expr()
        elif self.word("USING"):
            self.expect_op("(")
            join.using = self.names()
            self.expect_op(")")
        else:
            raise OraError(905, "missing keyword", self.token.start)
        return join

    def _join_kind(self) -> str | None:
        if self.word("JOIN") or self.word("INNER", "JOIN"):
            return "INNER"
        if self.word("CROSS", "JOIN"):
            return "CROSS"
        for kind in ("LEFT", "RIGHT", "FULL"):
            if self.word(kind, "OUTER", "JOIN") or self.word(kind, "JOIN"):
                return kind
        return None

    def _relation(self) -> ast.Relation:
        relation = self._plain_relation()
        while self.is_word("PIVOT") or self.is_word("UNPIVOT"):
            if self.peek().text not in ("(", "XML", "INCLUDE", "EXCLUDE"):
                break
            relation = self._pivot(relation) if self.is_word("PIVOT") else self._unpivot(relation)
        return relation

    def _plain_relation(self) -> ast.Relation:
        at = self.token.start
        lateral = self.is_word("LATERAL") and self.peek().text == "(" and self.word("LATERAL")
        if self.op("("):
            if self.is_word("SELECT") or self.is_word("WITH") or (self.token.text == "(" and self._nested_query()):
                query = self.subquery()
                self.expect_op(")")
                as_of = self._as_of()
                return ast.Derived(query, self.table_alias(), at, as_of, lateral)
            inner = self.joined()
            self.expect_op(")")
            return inner
        if self.is_word("TABLE") or (self.token.text in ("XMLTABLE", "JSON_TABLE") and self.peek().text == "("):
            raise OraError(3001, f"unimplemented feature: {self.token.text} in FROM", at)
        if self.word("ONLY"):
            raise OraError(3001, "unimplemented feature: ONLY in FROM", at)
        owner, name = self.qualified()
        if self.token.text == "@":
            raise OraError(2019, "connection description for remote database not found", self.token.start)
        if self.is_word("SAMPLE") and self.peek().text in ("(", "BLOCK"):
            raise OraError(3001, "unimplemented feature: SAMPLE", self.token.start)
        partition = self.partition()
        versions = self._versions()
        as_of = self._as_of()
        if versions is not None and as_of is not None:
            raise OraError(3001, "unimplemented feature: VERSIONS BETWEEN with AS OF", at)
        return ast.TableRef(owner, name, self.table_alias(), at, as_of, partition, versions)

    def _versions(self) -> tuple[str, ast.Expr | None, ast.Expr | None] | None:
        """`VERSIONS BETWEEN SCN | TIMESTAMP low | MINVALUE AND high | MAXVALUE`."""
        if not self.is_word("VERSIONS") or self.peek().text not in ("BETWEEN", "PERIOD"):
            return None
        at = self.token.start
        self.at += 1
        if self.is_word("PERIOD"):
            raise OraError(3001, "unimplemented feature: VERSIONS PERIOD FOR", at)
        self.at += 1
        kind = self.any_word("SCN", "TIMESTAMP")
        if kind is None:
            raise OraError(905, "missing keyword", self.token.start)
        low = None if self.word("MINVALUE") else self.sum()
        self.expect_word("AND", 905, "missing keyword")
        high = None if self.word("MAXVALUE") else self.sum()
        return kind, low, high

    def _nested_query(self) -> bool:
        """Whether the parentheses that open here hold a query in the end."""
        n = 0
        while self.peek(n).text == "(" and self.peek(n).kind is TokenKind.OPERATOR:
            n += 1
        return self.peek(n).kind is TokenKind.WORD and self.peek(n).text in ("SELECT", "WITH")

    def partition(self) -> ast.Partition | None:
        """`PARTITION (name)`, `PARTITION FOR (value, ..)`."""
        if self.is_word("SUBPARTITION") and self.peek().text in ("(", "FOR"):
            raise OraError(3001, "unimplemented feature: SUBPARTITION", self.token.start)
        if not self.is_word("PARTITION") or self.peek().text not in ("(", "FOR"):
            return None
        at = self.token.start
        self.at += 1
        if self.word("FOR"):
            self.expect_op("(")
            values = self.expressions()
            self.expect_op(")")
            return ast.Partition(None, values, at)
        self.expect_op("(")
        name = self.name()
        self.expect_op(")")
        return ast.Partition(name, [], at)

    def _pivot(self, source: ast.Relation) -> ast.Relation:
        at = self.token.start
        self.at += 1
        if self.is_word("XML"):
            raise OraError(3001, "unimplemented feature: PIVOT XML", at)
        self.expect_op("(")
        aggregates: list[tuple[ast.Call, str | None]] = []
        while not aggregates or self.op(","):
            call = self.sum()
            if not isinstance(call, ast.Call):
                raise OraError(56902, "expect aggregate function inside pivot operation", at)
            aggregates.append((call, self._pivot_alias()))
        self.expect_word("FOR")
        columns = self._pivot_columns()
        self.expect_word("IN")
        self.expect_op("(")
        values: list[tuple[list[ast.Expr], str]] = []
        while not values or self.op(","):
            start = self.token.start
            value = self.expr()
            text = self.heading(start, self.tokens[self.at - 1].end)
            values.append((together(value), self._pivot_alias() or text))
        self.expect_op(")")
        self.expect_op(")")
        return ast.Pivot(source, aggregates, columns, values, self.table_alias(), at)

    def _pivot_alias(self) -> str | None:
        if self.word("AS") or (self.token.is_name and self.token.text not in ("FOR", "IN")):
            return self.name()
        return None

    def _pivot_columns(self) -> list[ast.Name]:
        """`name` or `(name, ..)`."""
        at = self.token.start
        if not self.op("("):
            return [ast.Name((self.name(904, "invalid identifier"),), at)]
        names = [ast.Name((name,), at) for name in self.names()]
        self.expect_op(")")
        return names

    def _unpivot(self, source: ast.Relation) -> ast.Relation:
        at = self.token.start
        self.at += 1
        include = self.word("INCLUDE", "NULLS")
        self.word("EXCLUDE", "NULLS")
        self.expect_op("(")
        values = [column.parts[0] for column in self._pivot_columns()]
        self.expect_word("FOR")
        name = self.name(904, "invalid identifier")
        self.expect_word("IN")
        self.expect_op("(")
        columns: list[tuple[list[ast.Name], ast.Expr | None]] = []
        while not columns or self.op(","):
            named = self._pivot_columns()
            columns.append((named, self.sum() if self.word("AS") else None))
        self.expect_op(")")
        self.expect_op(")")
        return ast.Unpivot(source, values, name, columns, include, self.table_alias(), at)

    def _as_of(self) -> tuple[str, ast.Expr] | None:
        if self.is_word("AS", "OF"):
            self.at += 2
            kind = self.any_word("SCN", "TIMESTAMP")
            if kind is None:
                raise OraError(905, "missing keyword", self.token.start)
            return kind, self.sum()
        return None

    def table_alias(self) -> str | None:
        token = self.token
        if token.kind is TokenKind.QUOTED or (token.kind is TokenKind.WORD and token.text not in STOP_ALIAS):
            return self.name()
        return None


def together(expr: ast.Expr) -> list[ast.Expr]:
    """`(a, b)` counts as one in ROLLUP, CUBE, GROUPING SETS and PIVOT."""
    return expr.items if isinstance(expr, ast.Row) else [expr]
