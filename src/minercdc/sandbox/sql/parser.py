"""Recursive descent over expressions, queries and DML; whatever is left unread is an error, so nothing is dropped silently.

query  := [WITH ..] body {UNION [ALL] | INTERSECT | MINUS body} [ORDER BY ..] [OFFSET ..] [FETCH ..] [FOR UPDATE ..]
expr   := or; or := and {OR and}; and := not {AND not}; not := [NOT] predicate
predicate := sum [= | IN | BETWEEN | LIKE | IS NULL ..]; sum := product {+ - ||}; product := unary {* /}
"""

from __future__ import annotations

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.tokens import Token, tokenize

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
_NOT_A_COLUMN = frozenset(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "ORDER",
        "BY",
        "HAVING",
        "UNION",
        "INTERSECT",
        "MINUS",
        "ON",
        "AND",
        "OR",
        "IN",
        "IS",
        "LIKE",
        "BETWEEN",
        "THEN",
        "ELSE",
        "WHEN",
        "AS",
        "SET",
        "VALUES",
        "INTO",
        "TABLE",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "DROP",
        "ALTER",
        "DISTINCT",
    ]
)
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


class Parser:
    """A cursor over the words of one statement. SQL numbers binds by occurrence, PL/SQL by name (`by_name`)."""

    def __init__(self, sql: str, *, by_name: bool = False) -> None:
        self.sql = sql
        self.tokens = tokenize(sql)
        self.at = 0
        self.binds: list[str] = []
        self._by_name = by_name

    # ---- words ----

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "E":
            self.at += 1
        return token

    def is_word(self, *words: str) -> bool:
        """Whether the next words are these, in this order."""
        return all(self.peek(n).kind == "W" and self.peek(n).text == word for n, word in enumerate(words))

    def word(self, *words: str) -> bool:
        """Read these words if they come next."""
        if self.is_word(*words):
            self.at += len(words)
            return True
        return False

    def any_word(self, *words: str) -> str | None:
        if self.token.kind == "W" and self.token.text in words:
            return self.take().text
        return None

    def op(self, *ops: str) -> str | None:
        if self.token.kind == "O" and self.token.text in ops:
            return self.take().text
        return None

    def expect_word(self, word: str, number: int = 905, text: str = "missing keyword") -> None:
        if not self.word(word):
            raise OraError(number, text, self.token.start)

    def expect_op(self, op: str) -> None:
        if not self.op(op):
            known = {"(": (906, "missing left parenthesis"), ")": (907, "missing right parenthesis")}
            number, text = known.get(
                op, (936 if op != "=" else 927, "missing expression" if op != "=" else "missing equal sign")
            )
            raise OraError(number, text, self.token.start)

    def name(self, number: int = 903, text: str = "invalid table name") -> str:
        """An identifier. Raises the given error."""
        token = self.token
        if token.kind == "Q" or (token.kind == "W" and token.text not in _NOT_A_COLUMN):
            self.at += 1
            if len(token.text.encode()) > 128:
                raise OraError(972, "identifier is too long", token.start)
            return token.text
        raise OraError(number, text, token.start)

    def qualified(self) -> tuple[str | None, str]:
        """[owner.]name."""
        first = self.name()
        if self.op("."):
            return first, self.name()
        return None, first

    def end(self) -> None:
        """Nothing but an optional `;` may be left. Raises ORA-00933."""
        if self.token.kind != "E":
            if self.token.text == ";" and self.peek().kind == "E":
                raise OraError(933, "SQL command not properly ended", self.token.start)
            raise OraError(933, "SQL command not properly ended", self.token.start)

    def integer(self) -> int:
        token = self.take()
        if token.kind != "N" or not token.text.isdigit():
            raise OraError(2017, "integer value required", token.start)
        return int(token.text)

    def bind(self, token: Token) -> ast.Bind:
        if self._by_name and token.text in self.binds:
            return ast.Bind(self.binds.index(token.text), token.text, token.start)
        self.binds.append(token.text)
        return ast.Bind(len(self.binds) - 1, token.text, token.start)

    # ---- queries ----

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

    def names(self) -> list[str]:
        found = [self.name(904, "invalid identifier")]
        while self.op(","):
            found.append(self.name(904, "invalid identifier"))
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

    # ---- expressions ----

    def expr(self) -> ast.Expr:
        left = self._and()
        if not self.is_word("OR"):
            return left
        at, found = self.token.start, [left]
        while self.word("OR"):
            found.append(self._and())
        return ast.Logic("OR", found, at)

    def _and(self) -> ast.Expr:
        left = self._not()
        if not self.is_word("AND"):
            return left
        at, found = self.token.start, [left]
        while self.word("AND"):
            found.append(self._not())
        return ast.Logic("AND", found, at)

    def _not(self) -> ast.Expr:
        at = self.token.start
        if self.word("NOT"):
            return ast.Logic("NOT", [self._not()], at)
        return self._predicate()

    def _predicate(self) -> ast.Expr:
        at = self.token.start
        if self.is_word("EXISTS") and self.peek().text == "(":
            self.at += 2
            query = self.query()
            self.expect_op(")")
            return ast.Exists(query, at)
        left = self.sum()
        op = self.op("=", "<>", "!=", "^=", "<", ">", "<=", ">=")
        if op:
            at = self.tokens[self.at - 1].start
            if self.is_word("ANY") or self.is_word("ALL") or self.is_word("SOME"):
                raise OraError(3001, f"unimplemented feature: comparison with {self.token.text}", self.token.start)
            return ast.Compare("<>" if op in ("!=", "^=") else op, left, self.sum(), at)
        at = self.token.start
        if self.word("IS"):
            negated = self.word("NOT")
            what = self.any_word("NAN", "INFINITE")
            if what is not None:
                return ast.IsBinary(left, what, negated, at)
            if not self.word("NULL"):
                raise OraError(908, "missing NULL keyword", self.token.start)
            return ast.IsNull(left, negated, at)
        negated = self.is_word("NOT") and self.peek().text in ("IN", "BETWEEN", "LIKE") and self.word("NOT")
        if self.word("BETWEEN"):
            low = self.sum()
            self.expect_word("AND")
            return ast.Between(left, low, self.sum(), negated, at)
        if self.word("LIKE"):
            pattern = self.sum()
            return ast.Like(left, pattern, self.sum() if self.word("ESCAPE") else None, negated, at)
        if self.word("IN"):
            return self._in(left, negated, at)
        return left

    def _in(self, left: ast.Expr, negated: bool, at: int) -> ast.Expr:
        if not self.op("("):
            return ast.InList(left, [self.sum()], negated, at)
        if self.is_word("SELECT") or self.is_word("WITH"):
            query = self.query()
            self.expect_op(")")
            return ast.InQuery(left, query, negated, at)
        items = [self.expr()]
        while self.op(","):
            items.append(self.expr())
        self.expect_op(")")
        if len(items) > 1000 and not isinstance(left, ast.Row):
            raise OraError(1795, "maximum number of expressions in a list is 1000", at)
        return ast.InList(left, items, negated, at)

    def sum(self) -> ast.Expr:
        left = self._product()
        while True:
            at = self.token.start
            op = self.op("+", "-", "||")
            if not op:
                return left
            left = ast.Binary(op, left, self._product(), at)

    def _product(self) -> ast.Expr:
        left = self._unary()
        while True:
            at = self.token.start
            op = self.op("*", "/")
            if not op:
                return left
            left = ast.Binary(op, left, self._unary(), at)

    def _unary(self) -> ast.Expr:
        at = self.token.start
        if self.op("-"):
            return ast.Unary("-", self._unary(), at)
        if self.op("+"):
            return self._unary()
        return self._zoned(self._primary())

    def _zoned(self, operand: ast.Expr) -> ast.Expr:
        """`AT LOCAL`, `AT TIME ZONE zone`."""
        while self.is_word("AT", "LOCAL") or self.is_word("AT", "TIME", "ZONE"):
            at = self.token.start
            if self.word("AT", "LOCAL"):
                operand = ast.AtZone(operand, None, at)
            else:
                self.at += 3
                operand = ast.AtZone(operand, self._primary(), at)
        return operand

    def _primary(self) -> ast.Expr:
        token = self.token
        if token.kind == "N":
            self.at += 1
            return ast.Literal("N", token.text, token.start)
        if token.kind == "S":
            self.at += 1
            return ast.Literal("U" if token.national else "S", token.text, token.start)
        if token.kind == "B":
            self.at += 1
            return self.bind(token)
        if self.op("("):
            return self._parenthesis(token.start)
        if token.kind == "W":
            special = self._special(token)
            if special is not None:
                return special
            if token.text in _NOT_A_COLUMN:
                raise OraError(936, "missing expression", token.start)
        if token.kind in "WQ":
            return self._named(token)
        raise OraError(936, "missing expression", token.start)

    def _parenthesis(self, at: int) -> ast.Expr:
        if self.is_word("SELECT") or self.is_word("WITH"):
            query = self.query()
            self.expect_op(")")
            return ast.Scalar(query, at)
        first = self.expr()
        if self.op(","):
            items = [first, self.expr()]
            while self.op(","):
                items.append(self.expr())
            self.expect_op(")")
            return ast.Row(items, at)
        self.expect_op(")")
        return first

    def _special(self, token: Token) -> ast.Expr | None:
        """Words with a syntax of their own."""
        word, after = token.text, self.peek()
        if word == "NULL":
            self.at += 1
            return ast.Literal("0", "", token.start)
        if word in ("DATE", "TIMESTAMP") and after.kind == "S":
            self.at += 2
            return ast.Literal(word[0], after.text, token.start)
        if word == "INTERVAL" and after.kind == "S":
            return self._interval(token)
        if word == "CASE":
            return self._case(token)
        if word == "CAST" and after.text == "(":
            self.at += 2
            operand = self.expr()
            self.expect_word("AS")
            target = self.type_name()
            self.expect_op(")")
            return ast.Cast(operand, target, token.start)
        if word == "TRIM" and after.text == "(":
            return self._trim(token)
        if word == "EXTRACT" and after.text == "(":
            self.at += 2
            part = self.name(904, "invalid identifier")
            self.expect_word("FROM")
            operand = self.expr()
            self.expect_op(")")
            return ast.Call("EXTRACT", [ast.Literal("S", part, token.start), operand], token.start)
        return None

    def _interval(self, token: Token) -> ast.Expr:
        self.at += 1
        text = self.take().text
        first = self.any_word("YEAR", "MONTH", *_UNITS)
        if first is None:
            raise OraError(30089, "missing or invalid <datetime field>", self.token.start)
        lead, digits = self._interval_digits(first == "SECOND")
        last = first
        if self.word("TO"):
            after = ("MONTH",) if first == "YEAR" else _UNITS[_UNITS.index(first) + 1 :] if first in _UNITS else ()
            found = self.any_word(*after)
            if found is None:
                raise OraError(30089, "missing or invalid <datetime field>", self.token.start)
            last = found
            if last == "SECOND" and self.op("("):
                digits = self.integer()
                self.expect_op(")")
        if lead > 9 or digits > 9:
            raise OraError(30088, "datetime/interval precision is out of range", token.start)
        return ast.IntervalLiteral(text, first, last, lead, digits, token.start)

    def _interval_digits(self, seconds: bool) -> tuple[int, int]:
        """`(lead)`, of SECOND `(lead, digits)`; 2 and 6 when left out."""
        lead, digits = 2, 6
        if self.op("("):
            lead = self.integer()
            if seconds and self.op(","):
                digits = self.integer()
            self.expect_op(")")
        return lead, digits

    def _interval_type(self, at: int) -> ast.TypeName:
        """`INTERVAL YEAR [(p)] TO MONTH`, `INTERVAL DAY [(p)] TO SECOND [(f)]`."""
        months = self.word("YEAR")
        if not months:
            self.expect_word("DAY")
        lead, digits = self._interval_digits(False)
        self.expect_word("TO")
        self.expect_word("MONTH" if months else "SECOND")
        if not months and self.op("("):
            digits = self.integer()
            self.expect_op(")")
        if months:
            return ast.TypeName("INTERVAL YEAR TO MONTH", [lead], None, at)
        return ast.TypeName("INTERVAL DAY TO SECOND", [lead, digits], None, at)

    def _case(self, token: Token) -> ast.Expr:
        self.at += 1
        operand = None if self.is_word("WHEN") else self.expr()
        branches = []
        while self.word("WHEN"):
            condition = self.expr()
            self.expect_word("THEN")
            branches.append((condition, self.expr()))
        otherwise = self.expr() if self.word("ELSE") else None
        self.expect_word("END")
        if not branches:
            raise OraError(905, "missing keyword", token.start)
        return ast.Case(operand, branches, otherwise, token.start)

    def _trim(self, token: Token) -> ast.Expr:
        self.at += 2
        side = self.any_word("LEADING", "TRAILING", "BOTH")
        first: ast.Expr | None = None if self.is_word("FROM") else self.expr()
        name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side or "", "TRIM")
        if self.word("FROM"):
            args = [self.expr()] + ([first] if first is not None else [])
        else:
            assert first is not None
            args = [first]
        self.expect_op(")")
        return ast.Call(name, args, token.start)

    def _named(self, token: Token) -> ast.Expr:
        parts = [self.name(904, "invalid identifier")]
        while self.token.text == "." and self.token.kind == "O":
            self.at += 1
            parts.append(self.name(1747, "invalid user.table.column, table.column, or column specification"))
        if self.token.kind == "O" and self.token.text == "(+)":
            raise OraError(3001, "unimplemented feature: outer join operator (+)", self.token.start)
        if self.op("("):
            return self._call(".".join(parts), token)
        return ast.Name(tuple(parts), token.start, token.kind == "Q")

    def _call(self, name: str, token: Token) -> ast.Expr:
        call = ast.Call(name, [], token.start)
        if self.op("*"):
            call.star = True
        elif self.token.text != ")" or self.token.kind == "S":
            call.distinct = self.any_word("DISTINCT", "UNIQUE", "ALL") in ("DISTINCT", "UNIQUE")
            call.args.append(self.expr())
            while self.op(","):
                call.args.append(self.expr())
        self.expect_op(")")
        if self.is_word("OVER") or self.is_word("WITHIN", "GROUP") or self.is_word("KEEP"):
            raise OraError(3001, f"unimplemented feature: {name} {self.token.text}", self.token.start)
        return call

    def type_name(self) -> ast.TypeName:
        """A declared type. The name joins the words: `TIMESTAMP WITH TIME ZONE`."""
        at = self.token.start
        name = self.name(902, "invalid datatype")
        if name == "DOUBLE" and self.word("PRECISION"):
            name = "DOUBLE PRECISION"
        if name in ("CHARACTER", "CHAR") and self.word("VARYING"):
            name = "VARCHAR2"
        if name == "LONG" and self.word("RAW"):
            name = "LONG RAW"
        if name == "INTERVAL":
            return self._interval_type(at)
        if name == "NATIONAL":
            if not self.any_word("CHAR", "CHARACTER"):
                raise OraError(902, "invalid datatype", at)
            name = "NVARCHAR2" if self.word("VARYING") else "NCHAR"
        if name == "NCHAR" and self.word("VARYING"):
            name = "NVARCHAR2"
        numbers: list[int | None] = []
        unit = None
        if self.op("("):
            while True:
                if self.op("*"):
                    numbers.append(None)
                else:
                    negative = bool(self.op("-"))
                    numbers.append(-self.integer() if negative else self.integer())
                if not self.op(","):
                    break
            unit = self.any_word("BYTE", "CHAR")
            self.expect_op(")")
        if name == "TIMESTAMP" and self.word("WITH"):
            local = self.word("LOCAL")
            self.expect_word("TIME")
            self.expect_word("ZONE")
            name = "TIMESTAMP WITH LOCAL TIME ZONE" if local else "TIMESTAMP WITH TIME ZONE"
        return ast.TypeName(name, numbers, unit, at)

    # ---- DML ----

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
