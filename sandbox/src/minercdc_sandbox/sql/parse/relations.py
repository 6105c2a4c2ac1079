"""Recursive descent over the relations of FROM.

joined   := relation {[NATURAL] [INNER | LEFT | RIGHT | FULL | CROSS] JOIN relation [ON .. | USING ..] | CROSS | OUTER APPLY (query)}
relation := [owner.]table [PARTITION ..] [VERSIONS ..] [AS OF ..] [alias] | [LATERAL] (query) [AS OF ..] [alias] | (joined),
            then {PIVOT (..) | UNPIVOT (..) [alias]}
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.expressions import ExpressionGrammar
from minercdc_sandbox.sql.parse.reserved import STOP_ALIAS
from minercdc_sandbox.sql.tokens import TokenKind, tokenize


class RelationGrammar(ExpressionGrammar):
    """Reads the relations of FROM and other places; the layer of `Parser` between expressions and queries."""

    def heading(self, start: int, end: int) -> str:
        """Heading of the expression between the offsets `start` and `end`, `end` excluded: its text without blanks and comments,
        in upper case outside quotes."""
        out = []
        for token in tokenize(self.sql[start:end]):
            raw = self.sql[start + token.start : start + token.end]
            out.append(raw if token.kind in "SQ" else raw.upper())
        return "".join(out)

    def joined(self) -> ast.Relation:
        """Read a relation and those joined to it, from left to right. Raises ORA-00905 for a missing word, ORA-56902 for PIVOT
        without an aggregate, ORA-03001 for forms that are not read here, and as `local_name`, `partition`, `query` and `expr`."""
        left = self._relation()
        while True:
            at = self.token.start
            natural = self.word("NATURAL")
            if self.is_word("CROSS", "APPLY") or self.is_word("OUTER", "APPLY"):
                left = self._applied(left, at)
                continue
            kind = self._join_kind()
            if kind is None:
                if natural:
                    raise OraError(905, "missing keyword", self.token.start)
                return left
            left = self._join(left, kind, natural, at)

    def _applied(self, left: ast.Relation, at: int) -> ast.Relation:
        kind = "CROSS" if self.take().text == "CROSS" else "LEFT"
        self.at += 1
        right = self._relation()
        if not isinstance(right, ast.Derived):
            raise OraError(3001, "unimplemented feature: APPLY of what is not a subquery", at)
        right.lateral = True
        return ast.Join(left, right, kind, None, [], at)

    def _join(self, left: ast.Relation, kind: str, natural: bool, at: int) -> ast.Relation:
        right = self._relation()
        join = ast.Join(left, right, kind, None, [], at, natural)
        if kind == "CROSS" or natural:
            return join
        if self.word("ON"):
            join.on = self.expr()
        elif self.word("USING"):
            join.using = self.enclosed(self.names)
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
        while self.is_any_word("PIVOT", "UNPIVOT") and self.peek().text in ("(", "XML", "INCLUDE", "EXCLUDE"):
            relation = self._pivot(relation) if self.is_word("PIVOT") else self._unpivot(relation)
        return relation

    def _plain_relation(self) -> ast.Relation:
        at = self.token.start
        lateral = self.is_word("LATERAL") and self.peek().text == "(" and self.word("LATERAL")
        if self.op("("):
            if not self._nested_query():
                return self.closed(self.joined)
            query, as_of = self.closed(self.query), self._as_of()
            return ast.Derived(query, self.table_alias(), at, as_of, lateral)
        if self.is_word("TABLE") or (self.token.text in ("XMLTABLE", "JSON_TABLE") and self.peek().text == "("):
            raise OraError(3001, f"unimplemented feature: {self.token.text} in FROM", at)
        if self.word("ONLY"):
            raise OraError(3001, "unimplemented feature: ONLY in FROM", at)
        owner, name = self.local_name()
        if self.is_word("SAMPLE") and self.peek().text in ("(", "BLOCK"):
            raise OraError(3001, "unimplemented feature: SAMPLE", self.token.start)
        partition = self.partition()
        versions = self._versions()
        as_of = self._as_of()
        if versions is not None and as_of is not None:
            raise OraError(3001, "unimplemented feature: VERSIONS BETWEEN with AS OF", at)
        return ast.TableRef(owner, name, self.table_alias(), at, as_of, partition, versions)

    def _versions(self) -> tuple[str, ast.Expr | None, ast.Expr | None] | None:
        """Read `VERSIONS BETWEEN SCN | TIMESTAMP low | MINVALUE AND high | MAXVALUE`: SCN or TIMESTAMP, and both bounds, None for
        MINVALUE and MAXVALUE. None, with nothing read, when it does not come next. Raises ORA-03001 for VERSIONS PERIOD,
        ORA-00905, and as `expr`."""
        if not self.is_word("VERSIONS") or self.peek().text not in ("BETWEEN", "PERIOD"):
            return None
        at = self.token.start
        self.at += 1
        if self.is_word("PERIOD"):
            raise OraError(3001, "unimplemented feature: VERSIONS PERIOD FOR", at)
        self.at += 1
        kind = self.one_of("SCN", "TIMESTAMP")
        low = None if self.word("MINVALUE") else self.sum()
        self.expect_word("AND")
        high = None if self.word("MAXVALUE") else self.sum()
        return kind, low, high

    def _nested_query(self) -> bool:
        """Whether SELECT or WITH comes next, after any number of left parentheses; reads nothing."""
        n = 0
        while self.peek(n).text == "(" and self.peek(n).kind is TokenKind.OPERATOR:
            n += 1
        return self.peek(n).kind is TokenKind.WORD and self.peek(n).text in ("SELECT", "WITH")

    def local_name(self) -> tuple[str | None, str]:
        """Read `[owner.]name`; the owner is None when it is not written. Raises ORA-02019 when a database link follows, and as
        `qualified`."""
        found = self.qualified()
        if self.token.text == "@":
            raise OraError(2019, "connection description for remote database not found", self.token.start)
        return found

    def partition(self) -> ast.Partition | None:
        """Read `[SUB]PARTITION (name)` or `[SUB]PARTITION FOR (value, ..)`; None, with nothing read, when neither comes next.
        Raises ORA-00903, ORA-00906, ORA-00907, and as `expr`."""
        if not self.is_any_word("PARTITION", "SUBPARTITION") or self.peek().text not in ("(", "FOR"):
            return None
        at, is_sub = self.token.start, self.take().text == "SUBPARTITION"
        if self.word("FOR"):
            return ast.Partition(None, self.enclosed(self.expressions), at, is_sub)
        return ast.Partition(self.enclosed(self.name), [], at, is_sub)

    def _pivot(self, source: ast.Relation) -> ast.Relation:
        at = self.token.start
        self.at += 1
        if self.is_word("XML"):
            raise OraError(3001, "unimplemented feature: PIVOT XML", at)
        self.expect_op("(")
        aggregates = self.listed(lambda: self._pivot_aggregate(at))
        self.expect_word("FOR")
        columns = self._pivot_columns()
        self.expect_word("IN")
        values = self.enclosed(lambda: self.listed(self._pivot_value))
        self.expect_op(")")
        return ast.Pivot(source, aggregates, columns, values, self.table_alias(), at)

    def _pivot_aggregate(self, at: int) -> tuple[ast.Call, str | None]:
        call = self.sum()
        if not isinstance(call, ast.Call):
            raise OraError(56902, "expect aggregate function inside pivot operation", at)
        return call, self._pivot_alias()

    def _pivot_value(self) -> tuple[list[ast.Expr], str]:
        start = self.token.start
        value = self.expr()
        text = self.heading(start, self.tokens[self.at - 1].end)
        return together(value), self._pivot_alias() or text

    def _pivot_alias(self) -> str | None:
        if self.word("AS") or (self.token.is_name and self.token.text not in ("FOR", "IN")):
            return self.name()
        return None

    def _pivot_columns(self) -> list[ast.Name]:
        """Read `name` or `(name, ..)`. Raises ORA-00904, ORA-00907, ORA-00972."""
        at = self.token.start
        names = self.closed(self.names) if self.op("(") else [self.name(904, "invalid identifier")]
        return [ast.Name((name,), at) for name in names]

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
        columns = self.enclosed(lambda: self.listed(self._unpivot_columns))
        self.expect_op(")")
        return ast.Unpivot(source, values, name, columns, include, self.table_alias(), at)

    def _unpivot_columns(self) -> tuple[list[ast.Name], ast.Expr | None]:
        return self._pivot_columns(), self.sum() if self.word("AS") else None

    def _as_of(self) -> tuple[str, ast.Expr] | None:
        return (self.one_of("SCN", "TIMESTAMP"), self.sum()) if self.word("AS", "OF") else None

    def is_alias(self) -> bool:
        """Whether the next word is an alias: a quoted name, or a word that is not in `STOP_ALIAS`; reads nothing."""
        return self.token.kind is TokenKind.QUOTED or (
            self.token.kind is TokenKind.WORD and self.token.text not in STOP_ALIAS
        )

    def table_alias(self) -> str | None:
        """Read an alias; None, with nothing read, if none comes next. Raises ORA-00972 for one beyond 128 bytes."""
        return self.name() if self.is_alias() else None


def together(expr: ast.Expr) -> list[ast.Expr]:
    """The items of a row, else the expression alone: `(a, b)` is one element of ROLLUP, CUBE, GROUPING SETS and PIVOT."""
    return expr.items if isinstance(expr, ast.Row) else [expr]
