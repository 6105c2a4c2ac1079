"""Recursive descent over expressions and conditions.

expr   := or; or := and {OR and}; and := not {AND not}; not := [NOT] predicate
predicate := sum [= | IN | BETWEEN | LIKE | IS NULL ..]; sum := product {+ - ||}; product := unary {* /}
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.analytic import AnalyticClauses
from minercdc_sandbox.sql.parse.reserved import NOT_A_COLUMN
from minercdc_sandbox.sql.parse.types import TypeGrammar
from minercdc_sandbox.sql.tokens import Token, TokenKind

_OWN_GRAMMAR = frozenset(
    ("JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG", "JSON_TRANSFORM", "JSON_MERGEPATCH")
)
"""Functions with words between their arguments that this grammar does not read."""


class ExpressionGrammar(TypeGrammar):
    """Reads expressions.

    :ivar subquery: reads a query in parentheses; the grammar of queries sets it.
    """

    subquery: Callable[[], ast.Query]

    def __init__(self, sql: str, *, by_name: bool = False) -> None:
        super().__init__(sql, by_name=by_name)
        self.clauses = AnalyticClauses(self, self.expr)

    def expressions(self) -> list[ast.Expr]:
        """`expr, expr, ..`"""
        return self.listed(self.expr)

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
            query = self.subquery()
            self.expect_op(")")
            return ast.Exists(query, at)
        left = self.sum()
        op = self.op("=", "<>", "!=", "^=", "<", ">", "<=", ">=")
        if op:
            at = self.tokens[self.at - 1].start
            op = "<>" if op in ("!=", "^=") else op
            if self.token.text in ("ANY", "ALL", "SOME") and self.peek().text == "(":
                return self._quantified(op, left, at)
            return ast.Compare(op, left, self.sum(), at)
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

    def _quantified(self, op: str, left: ast.Expr, at: int) -> ast.Expr:
        every = self.take().text == "ALL"
        self.expect_op("(")
        items = self.subquery() if self.is_word("SELECT") or self.is_word("WITH") else self.expressions()
        self.expect_op(")")
        return ast.Quantified(op, left, every, items, at)

    def _in(self, left: ast.Expr, negated: bool, at: int) -> ast.Expr:
        if not self.op("("):
            return ast.InList(left, [self.sum()], negated, at)
        if self.is_word("SELECT") or self.is_word("WITH"):
            query = self.subquery()
            self.expect_op(")")
            return ast.InQuery(left, query, negated, at)
        items = self.listed(self.expr)
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
        if self.is_word("PRIOR") or self.is_word("CONNECT_BY_ROOT"):
            root = self.take().text == "CONNECT_BY_ROOT"
            return ast.Parent(self._unary(), root, at)
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
        if token.kind is TokenKind.NUMBER:
            self.at += 1
            return ast.Literal(ast.LiteralKind.NUMBER, token.text, token.start)
        if token.kind is TokenKind.STRING:
            self.at += 1
            return ast.Literal(
                ast.LiteralKind.NATIONAL if token.national else ast.LiteralKind.STRING, token.text, token.start
            )
        if token.kind is TokenKind.BIND:
            self.at += 1
            return self.bind(token)
        if self.op("("):
            return self._parenthesis(token.start)
        if token.kind is TokenKind.WORD:
            special = self._special(token)
            if special is not None:
                return special
            if token.text in NOT_A_COLUMN:
                raise OraError(936, "missing expression", token.start)
        if token.is_name:
            return self.named(token)
        raise OraError(936, "missing expression", token.start)

    def _parenthesis(self, at: int) -> ast.Expr:
        if self.is_word("SELECT") or self.is_word("WITH"):
            query = self.subquery()
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
            return ast.Literal(ast.LiteralKind.NULL, "", token.start)
        if word in ("DATE", "TIMESTAMP") and after.kind is TokenKind.STRING:
            self.at += 2
            return ast.Literal(ast.LiteralKind(word[0]), after.text, token.start)
        if word == "INTERVAL" and after.kind is TokenKind.STRING:
            return self.interval(token)
        if word == "CASE":
            return self._case(token)
        if word == "XMLSERIALIZE" and after.text == "(":
            return self._xml_serialize(token)
        if word == "CAST" and after.text == "(":
            self.at += 2
            if self.is_word("MULTISET"):
                raise OraError(3001, "unimplemented feature: MULTISET", self.token.start)
            operand = self.expr()
            self.expect_word("AS")
            target = self.type_name()
            self.expect_op(")")
            return ast.Cast(operand, target, token.start)
        if word in _OWN_GRAMMAR and after.text == "(":
            raise OraError(3001, f"unimplemented feature: {word}", token.start)
        if word in ("JSON_SERIALIZE", "FROM_VECTOR", "VECTOR_SERIALIZE") and after.text == "(":
            return self._serialized(token)
        if word in ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS") and after.text == "(":
            return self._json_path(token)
        if word == "TRIM" and after.text == "(":
            return self._trim(token)
        if word == "EXTRACT" and after.text == "(":
            self.at += 2
            part = self.name(904, "invalid identifier")
            self.expect_word("FROM")
            operand = self.expr()
            self.expect_op(")")
            return ast.Call("EXTRACT", [ast.Literal(ast.LiteralKind.STRING, part, token.start), operand], token.start)
        return None

    def _xml_serialize(self, token: Token) -> ast.Expr:
        """`XMLSERIALIZE(DOCUMENT | CONTENT xml [AS CLOB | VARCHAR2(n)])`."""
        self.at += 2
        if not self.any_word("DOCUMENT", "CONTENT"):
            raise OraError(905, "missing keyword", self.token.start)
        operand = self.expr()
        kind = "GETCLOBVAL"
        if self.word("AS"):
            target = self.type_name()
            if target.name not in ("CLOB", "VARCHAR2"):
                raise OraError(3001, f"unimplemented feature: XMLSERIALIZE AS {target.name}", target.at)
            kind = kind if target.name == "CLOB" else "GETSTRINGVAL"
        self.expect_op(")")
        return ast.Call(f"XMLTYPE.{kind}", [operand], token.start)

    def _serialized(self, token: Token) -> ast.Expr:
        """`JSON_SERIALIZE(json [RETURNING VARCHAR2[(n)] | CLOB | BLOB] [ERROR | NULL ON ERROR])`, FROM_VECTOR without ON ERROR."""
        self.at += 2
        args = [self.expr()]
        kind, size = "VARCHAR2", 0
        if self.word("RETURNING"):
            target = self.type_name()
            size = (target.numbers[0] or 0) if target.numbers else 0
            if target.name not in ("VARCHAR2", "CLOB", "BLOB"):
                raise OraError(3001, f"unimplemented feature: {token.text} RETURNING {target.name}", target.at)
            kind = target.name
        on_error = "ERROR"
        if token.text == "JSON_SERIALIZE":
            on_error = "NULL"
            if self.is_word("ERROR", "ON", "ERROR") or self.is_word("NULL", "ON", "ERROR"):
                on_error = self.take().text
                self.at += 2
        if self.token.text != ")":
            raise OraError(3001, f"unimplemented feature: {self.token.text} in {token.text}", self.token.start)
        self.at += 1
        return ast.Call(
            token.text,
            [*args, *(ast.Literal(ast.LiteralKind.STRING, text, token.start) for text in (kind, on_error, str(size)))],
            token.start,
        )

    def _json_path(self, token: Token) -> ast.Expr:
        """`JSON_VALUE(json [FORMAT JSON], 'path' [RETURNING type] [ERROR | NULL ON ERROR])`, and its like."""
        self.at += 2
        args = [self.expr()]
        self.word("FORMAT", "JSON")
        self.expect_op(",")
        if self.token.kind is not TokenKind.STRING:
            raise OraError(40454, "path expression not a literal", self.token.start)
        args.append(ast.Literal(ast.LiteralKind.STRING, self.take().text, token.start))
        kind = "T"
        if self.word("RETURNING"):
            target = self.type_name()
            if target.name not in ("VARCHAR2", "NUMBER") or (token.text != "JSON_VALUE" and target.name == "NUMBER"):
                raise OraError(3001, f"unimplemented feature: {token.text} RETURNING {target.name}", target.at)
            kind = target.name[0] if target.name == "NUMBER" else "T"
        on_error = "NULL"
        if token.text != "JSON_EXISTS" and (self.is_word("ERROR", "ON", "ERROR") or self.is_word("NULL", "ON", "ERROR")):
            on_error = self.take().text
            self.at += 2
        if self.token.text != ")":
            raise OraError(3001, f"unimplemented feature: {self.token.text} in {token.text}", self.token.start)
        self.at += 1
        options = [ast.Literal(ast.LiteralKind.STRING, kind, token.start)] if token.text == "JSON_VALUE" else []
        if token.text != "JSON_EXISTS":
            options.append(ast.Literal(ast.LiteralKind.STRING, on_error, token.start))
        return ast.Call(token.text, [*args, *options], token.start)

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

    def named(self, token: Token) -> ast.Expr:
        parts = [self.name(904, "invalid identifier")]
        while self.token.text == "." and self.token.kind is TokenKind.OPERATOR:
            self.at += 1
            parts.append(self.name(1747, "invalid user.table.column, table.column, or column specification"))
        if self.op("(+)"):
            return ast.Name(tuple(parts), token.start, token.kind is TokenKind.QUOTED, outer=True)
        if self.op("("):
            call = self._call(".".join(parts), token)
            while self.token.text == "." and self.token.kind is TokenKind.OPERATOR:
                self.at += 1
                method = self.name(904, "invalid identifier")
                self.expect_op("(")
                self.expect_op(")")
                call = ast.Call(f"XMLTYPE.{method}", [call], token.start)
            return call
        return ast.Name(tuple(parts), token.start, token.kind is TokenKind.QUOTED)

    def _call(self, name: str, token: Token) -> ast.Expr:
        call = ast.Call(name, [], token.start)
        if self.op("*"):
            call.star = True
        elif self.token.text != ")" or self.token.kind is TokenKind.STRING:
            call.distinct = self.any_word("DISTINCT", "UNIQUE", "ALL") in ("DISTINCT", "UNIQUE")
            call.args = self.expressions()
            if self.is_word("ON", "OVERFLOW"):
                self._overflow(name)
            if self.is_word("IGNORE", "NULLS") or self.is_word("RESPECT", "NULLS"):
                call.ignore_nulls = self.take().text == "IGNORE"
                self.take()
        self.expect_op(")")
        self.clauses.read_tail(call)
        return call

    def _overflow(self, name: str) -> None:
        """LISTAGG's ON OVERFLOW ERROR, which is what happens anyway."""
        at = self.token.start
        self.at += 2
        if name != "LISTAGG" or not self.word("ERROR"):
            raise OraError(3001, "unimplemented feature: LISTAGG .. ON OVERFLOW TRUNCATE", at)
