"""Recursive descent over INSERT, UPDATE, DELETE and MERGE."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.queries import QueryGrammar
from minercdc_sandbox.sql.tokens import TokenKind


class Parser(QueryGrammar):
    """Reads the words of one statement into syntax trees: queries and DML by its methods; other modules read DDL and commands
    with it. Creating one raises as `tokenize`.

    Each method begins at the next word and stops after the last one that it understands; callers raise ORA-00933 for more with
    `end`.
    """

    def insert(self) -> ast.Insert | ast.InsertMany:
        """Read INSERT of one table, INSERT ALL or INSERT FIRST. Raises ORA-00905, ORA-00925, ORA-00926, ORA-00928 for missing
        words, ORA-00913 and ORA-00947 for RETURNING with more or fewer values than binds, ORA-00936 and ORA-01745 for what is no
        bind after its INTO, ORA-02017 for a REJECT LIMIT that is no integer, ORA-03001 for LOG ERRORS of INSERT ALL, and as
        `query`, `expr`, `local_name` and `partition`."""
        at = self.token.start
        self.expect_word("INSERT")
        if self.is_any_word("ALL", "FIRST"):
            return self._insert_many(at)
        self.expect_word("INTO", 925, "missing INTO keyword")
        start = self.token.start
        target = self._target()
        columns = self._insert_columns()
        insert = ast.Insert(target, columns, None, None, at)
        if self.word("VALUES"):
            insert.values, *insert.more = self.listed(self._values)
        elif self._begins_query():
            insert.query = self.query()
        else:
            raise OraError(
                926, "missing VALUES keyword", self.token.start if columns or self.token.kind is not TokenKind.END else start
            )
        insert.returning = self._returning()
        insert.errors = self._error_log()
        return insert

    def _error_log(self) -> ast.ErrorLog | None:
        """Read `LOG ERRORS [INTO t] [(tag)] [REJECT LIMIT n | UNLIMITED]`; None, with nothing read, when it does not come next.
        The limit is 0 when left out, None for UNLIMITED. Raises ORA-02017 for a limit that is no integer, and as `qualified` and
        `expr`."""
        at = self.token.start
        if not self.word("LOG", "ERRORS"):
            return None
        owner, name = self.qualified() if self.word("INTO") else (None, None)
        tag = self.closed(self.expr) if self.op("(") else None
        limit: int | None = 0
        if self.word("REJECT", "LIMIT"):
            limit = None if self.word("UNLIMITED") else self.integer()
        return ast.ErrorLog(owner, name, tag, limit, at)

    def _begins_query(self) -> bool:
        return self.is_any_word("SELECT", "WITH") or self.token.text == "("

    def _insert_columns(self) -> list[tuple[str, int]]:
        if self.token.text != "(" or self.peek().text in ("SELECT", "WITH", "("):
            return []
        return self.enclosed(lambda: self.listed(lambda: (self._last_part(), self.tokens[self.at - 1].start)))

    def _values(self) -> list[ast.Expr]:
        """Read `(value, ..)`, after VALUES; DEFAULT is a literal. Raises ORA-00906, ORA-00907, and as `expr`."""
        return self.enclosed(lambda: self.listed(self._value))

    def _insert_many(self, at: int) -> ast.InsertMany:
        """Read what follows INSERT: `ALL | FIRST {WHEN condition THEN into ..} [ELSE into ..] query` or `ALL into .. query`;
        `at`: offset of INSERT. Raises as `insert`."""
        first = self.take().text == "FIRST"
        branches: list[tuple[ast.Expr | None, list[ast.InsertInto]]] = []
        otherwise: list[ast.InsertInto] = []
        if self.is_word("INTO") and not first:
            branches.append((None, self._intos()))
        while self.word("WHEN"):
            condition = self.expr()
            self.expect_word("THEN")
            branches.append((condition, self._intos()))
        if self.word("ELSE"):
            otherwise = self._intos()
        if not branches:
            raise OraError(905, "missing keyword", self.token.start)
        if not self._begins_query():
            raise OraError(928, "missing SELECT keyword", self.token.start)
        query = self.query()
        self._no_error_log("INSERT ALL")
        return ast.InsertMany(first, branches, otherwise, query, at)

    def _no_error_log(self, kind: str) -> None:
        if self.is_word("LOG", "ERRORS"):
            raise OraError(3001, f"unimplemented feature: LOG ERRORS of {kind}", self.token.start)

    def _intos(self) -> list[ast.InsertInto]:
        found: list[ast.InsertInto] = []
        while self.word("INTO"):
            at = self.token.start
            owner, name = self.qualified()
            columns = self._insert_columns()
            values = self._values() if self.word("VALUES") else None
            found.append(ast.InsertInto(ast.TableRef(owner, name, None, at), columns, values))
        if not found:
            raise OraError(925, "missing INTO keyword", self.token.start)
        return found

    def merge(self) -> ast.Merge:
        """Read MERGE. Raises ORA-00933 for a second WHEN clause of one kind, ORA-00905 without any, ORA-03001 for LOG ERRORS,
        ORA-00905, ORA-00925, ORA-00926, ORA-00969 and ORA-00971 for missing words, and as `joined`, `expr`, `local_name` and
        `partition`."""
        at = self.token.start
        self.expect_word("MERGE")
        self.expect_word("INTO", 925, "missing INTO keyword")
        target = self._target()
        self.expect_word("USING")
        source = self.joined()
        self.expect_word("ON", 969, "missing ON keyword")
        merge = ast.Merge(target, source, self.enclosed(self.expr), at)
        while self.is_word("WHEN"):
            start = self.token.start
            self.at += 1
            insert = self.word("NOT")
            self.expect_word("MATCHED")
            self.expect_word("THEN")
            if (merge.insert if insert else merge.update) is not None:
                raise OraError(933, "SQL command not properly ended", start)
            if insert:
                merge.insert = self._merge_insert()
            else:
                merge.update = self._merge_update()
        if merge.update is None and merge.insert is None:
            raise OraError(905, "missing keyword", self.token.start)
        self._no_error_log("MERGE")
        return merge

    def _merge_update(self) -> tuple[list[ast.Assignment], ast.Expr | None, ast.Expr | None]:
        self.expect_word("UPDATE")
        self.expect_word("SET", 971, "missing SET keyword")
        assignments = self._assignments()
        where = self.expr() if self.word("WHERE") else None
        delete: ast.Expr | None = None
        if self.word("DELETE"):
            self.expect_word("WHERE")
            delete = self.expr()
        return assignments, where, delete

    def _merge_insert(self) -> tuple[list[tuple[str, int]], list[ast.Expr], ast.Expr | None]:
        self.expect_word("INSERT")
        columns = self._insert_columns()
        self.expect_word("VALUES", 926, "missing VALUES keyword")
        values = self._values()
        return columns, values, self.expr() if self.word("WHERE") else None

    def _value(self) -> ast.Expr:
        token = self.token
        if self.word("DEFAULT"):
            return ast.Literal(ast.LiteralKind.DEFAULT, "", token.start)
        return self.expr()

    def _last_part(self) -> str:
        name = self.name(904, "invalid identifier")
        while self.op("."):
            name = self.name(904, "invalid identifier")
        return name

    def _target(self) -> ast.TableRef:
        at = self.token.start
        if self.op("("):
            inline = self.closed(self.query)
            return ast.TableRef(None, "", self.table_alias(), at, inline=inline)
        owner, name = self.local_name()
        partition = self.partition()
        return ast.TableRef(owner, name, self.table_alias(), at, partition=partition)

    def update(self) -> ast.Update:
        """Read UPDATE. Raises ORA-00971 without SET, ORA-00927 without `=`, ORA-01767 for `(columns) = (what is no query)`, of
        RETURNING and of names as `insert`, and as `query` and `expr`."""
        at = self.token.start
        self.expect_word("UPDATE")
        target = self._target()
        self.expect_word("SET", 971, "missing SET keyword")
        assignments = self._assignments()
        where = self.expr() if self.word("WHERE") else None
        return ast.Update(target, assignments, where, at, self._returning(), self._error_log())

    def _assignments(self) -> list[ast.Assignment]:
        """Read `column = value, (columns) = (query), ..`, with an assignment for each column in this order. Raises as `update`."""
        return [one for assigned in self.listed(self._assignment) for one in assigned]

    def _assignment(self) -> list[ast.Assignment]:
        start = self.token.start
        if self.op("("):
            return self._from_query()
        name = self._last_part()
        self.expect_op("=")
        return [(name, self._value(), start)]

    def _from_query(self) -> list[ast.Assignment]:
        """Read `a, b, ..) = (query)`, after the first parenthesis; an assignment for each column, all with the same query. Raises
        ORA-01767 for what is no query, and as `update`."""
        places = self.closed(lambda: self.listed(lambda: (self.token.start, self._last_part())))
        self.expect_op("=")
        at = self.token.start
        self.expect_op("(")
        if not self._begins_query():
            raise OraError(1767, "UPDATE ... SET expression must be a subquery", at)
        query = self.closed(self.query)
        return [(name, ast.Scalar(query, at, n, len(places)), start) for n, (start, name) in enumerate(places)]

    def delete(self) -> ast.Delete:
        """Read DELETE, whose FROM may be left out. Raises of RETURNING and of names as `insert`, and as `expr`."""
        at = self.token.start
        self.expect_word("DELETE")
        self.word("FROM")
        target = self._target()
        where = self.expr() if self.word("WHERE") else None
        return ast.Delete(target, where, at, self._returning(), self._error_log())

    def _returning(self) -> ast.Returning | None:
        at = self.token.start
        if not self.any_word("RETURNING", "RETURN"):
            return None
        items = self.listed(self.expr)
        self.expect_word("INTO", 925, "missing INTO keyword")
        binds = self.listed(self._out_bind)
        if len(binds) != len(items):
            few = len(items) < len(binds)
            raise OraError(947 if few else 913, "not enough values" if few else "too many values", at)
        return ast.Returning(items, binds, at)

    def _out_bind(self) -> int:
        token = self.take()
        if token.kind is not TokenKind.BIND:
            raise OraError(1745 if token.kind is TokenKind.END else 936, "missing expression", token.start)
        return self.bind(token).index
