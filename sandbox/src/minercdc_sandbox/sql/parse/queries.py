"""Recursive descent over queries.

query  := [WITH ..] body {UNION | INTERSECT | MINUS | EXCEPT [ALL] body} [ORDER BY ..] [OFFSET ..] [FETCH ..] [FOR UPDATE ..]
"""

from __future__ import annotations

from itertools import product

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.relations import RelationGrammar, together
from minercdc_sandbox.sql.tokens import TokenKind


class QueryGrammar(RelationGrammar):
    """Reads queries and the clauses that only they have: WITH, set operations, ORDER BY, OFFSET, FETCH, FOR UPDATE. The layer of
    `Parser` between relations and DML."""

    def query(self) -> ast.Query:
        """Read a query, and no further than it goes. Raises ORA-00900, ORA-00905, ORA-00923, ORA-00924 for missing words,
        ORA-01788 and ORA-30929 of CONNECT BY, ORA-03001 for FUNCTION and PROCEDURE in WITH, and as `expr`, `joined` and
        `lock_wait`."""
        at = self.token.start
        with_ = self._with() if self.word("WITH") else []
        query = ast.Query(self._set_operation(), with_, at=at)
        self._order(query)
        if self.word("OFFSET"):
            query.offset = self.sum()
            self.one_of("ROW", "ROWS")
        if self.word("FETCH"):
            self._fetch(query)
        if self.word("FOR", "UPDATE"):
            query.for_update = self._for_update()
        return query

    def _with(self) -> list[tuple[str, list[str], ast.Query]]:
        if self.token.text in ("FUNCTION", "PROCEDURE") and self.peek().text not in ("AS", "("):
            raise OraError(3001, f"unimplemented feature: {self.token.text} in WITH", self.token.start)
        return self.listed(self._named_query)

    def _named_query(self) -> tuple[str, list[str], ast.Query]:
        name = self.name()
        columns = self.closed(self.names) if self.op("(") else []
        self.expect_word("AS")
        return name, columns, self.enclosed(self.query)

    def _order(self, query: ast.Query) -> None:
        """Read ORDER BY into the query, or ORDER SIBLINGS BY into the hierarchy of its SELECT; nothing if neither comes next.
        Raises ORA-30929 for SIBLINGS without a hierarchy, ORA-00924, and as `expr`."""
        at = self.token.start
        if self.word("ORDER", "SIBLINGS", "BY"):
            if not isinstance(query.body, ast.Select) or query.body.hierarchy is None:
                raise OraError(30929, "ORDER SIBLINGS BY clause not allowed here", at)
            query.body.hierarchy.siblings = self.order_items()
        elif self.word("ORDER"):
            self.expect_word("BY", 924, "missing BY keyword")
            query.order_by = self.order_items()

    def _fetch(self, query: ast.Query) -> None:
        """Read `FIRST | NEXT [n [PERCENT]] ROW | ROWS ONLY | WITH TIES` into the query; n is 1 when left out. Raises ORA-00905,
        and as `expr`."""
        self.one_of("FIRST", "NEXT")
        query.fetch = ast.Literal(ast.LiteralKind.NUMBER, "1", self.token.start)
        if self.token.text not in ("ROW", "ROWS"):
            query.fetch = self.sum()
            query.percent = self.word("PERCENT")
        self.one_of("ROW", "ROWS")
        query.ties = self.word("WITH", "TIES")
        if not query.ties:
            self.expect_word("ONLY")

    def _for_update(self) -> ast.LockWait:
        columns = self.listed(self._column_name) if self.word("OF") else []
        wait = self.lock_wait()
        wait.of = columns
        return wait

    def _column_name(self) -> ast.Name:
        at = self.token.start
        parts = [self.name(904, "invalid identifier")]
        while self.op("."):
            parts.append(self.name(904, "invalid identifier"))
        return ast.Name(tuple(parts), at)

    def lock_wait(self) -> ast.LockWait:
        """Read `NOWAIT`, `WAIT seconds` or `SKIP LOCKED`; without any the wait has no limit. Raises ORA-02017 for WAIT without
        whole seconds."""
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
            if (op == "UNION" or self.is_word("ALL")) and self.word("ALL"):
                op = f"{op} ALL"
            left = ast.SetOperation(op, left, self._select_core(), at)

    def _select_core(self) -> ast.Select | ast.Query:
        if self.op("("):
            return self.closed(self.query)
        at = self.token.start
        self.expect_word("SELECT", 900, "invalid SQL statement")
        distinct = self.any_word("DISTINCT", "UNIQUE", "ALL") in ("DISTINCT", "UNIQUE")
        items = self.listed(self._item)
        self.expect_word("FROM", 923, "FROM keyword not found where expected")
        relations = self.listed(self.joined)
        select = ast.Select(items, relations, distinct=distinct, at=at)
        if self.word("WHERE"):
            select.where = self.expr()
        if self.is_word("CONNECT", "BY") or self.is_word("START", "WITH"):
            select.hierarchy = self._hierarchy()
        if self.word("GROUP"):
            self.expect_word("BY", 924, "missing BY keyword")
            self._group_by(select)
        if self.word("HAVING"):
            select.having = self.expr()
            if self.is_word("GROUP", "BY") and not select.group_by:
                self.at += 2
                self._group_by(select)
        return select

    def _hierarchy(self) -> ast.Hierarchy:
        """Read START WITH and CONNECT BY, in either order. Raises ORA-01788 without CONNECT BY, and as `expr`."""
        at = self.token.start
        start = self.expr() if self.word("START", "WITH") else None
        if not self.word("CONNECT", "BY"):
            raise OraError(1788, "CONNECT BY clause required in this query block", at)
        nocycle = self.word("NOCYCLE")
        connect = self.expr()
        if start is None and self.word("START", "WITH"):
            start = self.expr()
        return ast.Hierarchy(start, connect, nocycle, at)

    def _group_by(self, select: ast.Select) -> None:
        """Read the list after GROUP BY into the SELECT. Its grouping sets are all combinations of those of its elements; a single
        one becomes `group_by` alone, several become `grouping`, and `group_by` has each of their expressions once. Raises as
        `expr`."""
        sets = [[e for part in parts for e in part] for parts in product(*self.listed(self._grouping))]
        if len(sets) == 1:
            select.group_by = sets[0]
            return
        select.grouping = sets
        select.group_by = list({self.sql[e.at : e.at + 1] + repr(e): e for one in sets for e in one}.values())

    def _grouping(self) -> list[list[ast.Expr]]:
        """Read one element of GROUP BY: its grouping sets, in the order in which ROLLUP, CUBE or GROUPING SETS has them; one set
        for an expression. Raises as `expr`."""
        if self.token.text in ("ROLLUP", "CUBE") and self.peek().text == "(":
            cube = self.take().text == "CUBE"
            parts = [together(expr) for expr in self.enclosed(self.expressions)]
            if cube:
                masks = range((1 << len(parts)) - 1, -1, -1)
                width = len(parts)
                return [[e for n, p in enumerate(parts) if mask >> (width - 1 - n) & 1 for e in p] for mask in masks]
            return [[e for part in parts[:n] for e in part] for n in range(len(parts), -1, -1)]
        if self.word("GROUPING", "SETS"):
            return [one for sets in self.enclosed(lambda: self.listed(self._grouping)) for one in sets]
        if self.token.text == "(" and self.peek().text == ")":
            self.at += 2
            return [[]]
        return [together(self.expr())]

    def _item(self) -> ast.Item:
        start = self.token
        if self.op("*"):
            return ast.Item(None, None, "*", at=start.start)
        star = self._qualified_star()
        if star:
            return ast.Item(None, None, "*", star, start.start)
        expr = self.expr()
        heading = self.heading(start.start, self.tokens[self.at - 1].end)
        alias = None
        if self.word("AS") or self.is_alias():
            alias = self.name(923, "FROM keyword not found where expected")
        return ast.Item(expr, alias, heading, at=start.start)

    def _qualified_star(self) -> tuple[str, ...]:
        parts, n = [], 0
        while self.peek(n).is_name and self.peek(n + 1).text == ".":
            parts.append(self.peek(n).text)
            n += 2
            if self.peek(n).kind is TokenKind.OPERATOR and self.peek(n).text == "*":
                self.at += n + 1
                return tuple(parts)
        return ()
