"""Recursive descent over expressions and conditions.

expr   := or; or := and {OR and}; and := not {AND not}; not := NOT not | predicate
predicate := sum [= | IN | BETWEEN | LIKE | IS NULL ..]; sum := product {+ - || product}; product := unary {* / unary}
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.analytic import AnalyticGrammar
from minercdc_sandbox.sql.parse.reserved import NOT_A_COLUMN
from minercdc_sandbox.sql.tokens import Token, TokenKind

_OWN_GRAMMAR = frozenset(
    ("JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG", "JSON_TRANSFORM", "JSON_MERGEPATCH")
)
"""Functions with words between their arguments that this grammar does not read."""


_MORE_OF_IS_JSON = (
    "WITH",
    "WITHOUT",
    "ALLOW",
    "DISALLOW",
    "VALIDATE",
    "VALUE",
    "OBJECT",
    "ARRAY",
    "SCALAR",
    "CAST",
    "USING",
)


def _text(text: str, at: int) -> ast.Literal:
    return ast.Literal(ast.LiteralKind.STRING, text, at)


class ExpressionGrammar(AnalyticGrammar):
    """Reads expressions and conditions; the layer of `Parser` between the clauses of calls and relations.

    :ivar query: reads a query; a method of `QueryGrammar`.
    """

    query: Callable[[], ast.Query]

    def expressions(self) -> list[ast.Expr]:
        """Read `expr, expr, ..`, at least one. Raises as `expr`."""
        return self.listed(self.expr)

    def expr(self) -> ast.Expr:
        """Read an expression or condition, and no further than it goes. Raises ORA-00936 for a word that begins none, ORA-00905
        to ORA-00908 for missing words, ORA-03001 for syntax of Oracle that is not read here, and as `query`, `named`, `type_name`
        and `interval`."""
        return self._logic("OR", lambda: self._logic("AND", self._not))

    def source_text(self) -> str:
        """Read an expression or condition; its text as the statement has it, from its first to its last word. Raises as `expr`."""
        start = self.token.start
        self.expr()
        return self.sql[start : self.tokens[self.at - 1].end]

    def _logic(self, word: str, read: Callable[[], ast.Expr]) -> ast.Expr:
        left = read()
        if not self.is_word(word):
            return left
        at, found = self.token.start, [left]
        while self.word(word):
            found.append(read())
        return ast.Logic(word, found, at)

    def _not(self) -> ast.Expr:
        at = self.token.start
        if self.word("NOT"):
            return ast.Logic("NOT", [self._not()], at)
        return self._predicate()

    def _predicate(self) -> ast.Expr:
        at = self.token.start
        if self.is_word("EXISTS") and self.peek().text == "(":
            self.at += 2
            return ast.Exists(self.closed(self.query), at)
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
            if self.word("JSON"):
                return self._is_json(left, negated, at)
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

    def _is_json(self, value: ast.Expr, negated: bool, at: int) -> ast.Expr:
        """Read `[FORMAT JSON] [STRICT | LAX]`, the last in parentheses or not, after `value IS [NOT] JSON` (SQL Language Reference, "IS
        JSON Condition"); the call's arguments are those of `json_texts.is_json`. Raises ORA-03001 for other clauses."""
        self.word("FORMAT", "JSON")
        enclosed = self.op("(")
        wanted = self.any_word("STRICT", "LAX")
        if self.is_any_word(*_MORE_OF_IS_JSON):
            raise OraError(3001, f"unimplemented feature: IS JSON {self.token.text}", self.token.start)
        if enclosed:
            self.expect_op(")")
        wanted = wanted or "LAX"
        call = ast.Call("IS JSON", [value, _text(wanted, at)], at)
        return ast.Logic("NOT", [call], at) if negated else call

    def _quantified(self, op: str, left: ast.Expr, at: int) -> ast.Expr:
        every = self.take().text == "ALL"
        return ast.Quantified(op, left, every, self.enclosed(self._query_or_list), at)

    def _query_or_list(self) -> ast.Query | list[ast.Expr]:
        return self.query() if self.is_any_word("SELECT", "WITH") else self.expressions()

    def _in(self, left: ast.Expr, negated: bool, at: int) -> ast.Expr:
        items = self.closed(self._query_or_list) if self.op("(") else [self.sum()]
        if isinstance(items, list) and len(items) > 1000 and not isinstance(left, ast.Row):
            raise OraError(1795, "maximum number of expressions in a list is 1000", at)
        return ast.In(left, items, negated, at)

    def sum(self) -> ast.Expr:
        """Read a value without comparisons and conditions around it. Raises as `expr`."""
        return self._chain(self._product, "+", "-", "||")

    def _product(self) -> ast.Expr:
        return self._chain(self._unary, "*", "/")

    def _chain(self, read: Callable[[], ast.Expr], *ops: str) -> ast.Expr:
        left = read()
        while True:
            at = self.token.start
            op = self.op(*ops)
            if not op:
                return left
            left = ast.Binary(op, left, read(), at)

    def _unary(self) -> ast.Expr:
        at = self.token.start
        if self.is_any_word("PRIOR", "CONNECT_BY_ROOT"):
            root = self.take().text == "CONNECT_BY_ROOT"
            return ast.Parent(self._unary(), root, at)
        if self.op("-"):
            return ast.Negative(self._unary(), at)
        if self.op("+"):
            return self._unary()
        return self._zoned(self._primary())

    def _zoned(self, operand: ast.Expr) -> ast.Expr:
        """Read `AT LOCAL` and `AT TIME ZONE zone` after an operand, each of the one before; the operand itself when none comes next."""
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
        if token.kind in (TokenKind.NUMBER, TokenKind.STRING):
            self.at += 1
            kind = ast.LiteralKind.NATIONAL if token.national else ast.LiteralKind(token.kind.value)
            return ast.Literal(kind, token.text, token.start)
        if token.kind is TokenKind.BIND:
            self.at += 1
            return self.row_field(token) or self.bind(token)
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
        found = self.closed(self._query_or_list)
        if not isinstance(found, list):
            return ast.Scalar(found, at)
        return found[0] if len(found) == 1 else ast.Row(found, at)

    def _special(self, token: Token) -> ast.Expr | None:
        """Read NULL, a literal with a type, CASE, or a function with a syntax of its own; `token` is the next word. None, with
        nothing read, for any other. Raises ORA-03001 for a function in `_OWN_GRAMMAR`, and as its parts."""
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
        if after.text != "(":
            return None
        if word in _OWN_GRAMMAR:
            raise OraError(3001, f"unimplemented feature: {word}", token.start)
        read = {
            "XMLSERIALIZE": self._xml_serialize,
            "CAST": self._cast,
            **dict.fromkeys(("JSON_SERIALIZE", "FROM_VECTOR", "VECTOR_SERIALIZE"), self._serialized),
            **dict.fromkeys(("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"), self._json_path),
            "TRIM": self._trim,
            "EXTRACT": self._extract,
        }.get(word)
        if read is None:
            return None
        self.at += 2
        return self.closed(lambda: read(token))

    def _cast(self, token: Token) -> ast.Expr:
        if self.is_word("MULTISET"):
            raise OraError(3001, "unimplemented feature: MULTISET", self.token.start)
        operand = self.expr()
        self.expect_word("AS")
        return ast.Cast(operand, self.type_name(), token.start)

    def _extract(self, token: Token) -> ast.Expr:
        part = self.name(904, "invalid identifier")
        self.expect_word("FROM")
        return ast.Call("EXTRACT", [_text(part, token.start), self.expr()], token.start)

    def _xml_serialize(self, token: Token) -> ast.Expr:
        """Read `DOCUMENT | CONTENT xml [AS CLOB | VARCHAR2(n)]`, up to the right parenthesis of XMLSERIALIZE, as a call of a
        method of XMLTYPE. Raises ORA-03001 for another type, ORA-00905, and as `expr`."""
        self.one_of("DOCUMENT", "CONTENT")
        operand = self.expr()
        target = self.type_name() if self.word("AS") else None
        if target is not None and target.name not in ("CLOB", "VARCHAR2"):
            raise OraError(3001, f"unimplemented feature: XMLSERIALIZE AS {target.name}", target.at)
        method = "GETCLOBVAL" if target is None or target.name == "CLOB" else "GETSTRINGVAL"
        return ast.Call(f"XMLTYPE.{method}", [operand], token.start)

    def _returned(self, token: Token, *names: str) -> ast.TypeName:
        target = self.type_name()
        if target.name not in names:
            raise OraError(3001, f"unimplemented feature: {token.text} RETURNING {target.name}", target.at)
        return target

    def _on_error(self, otherwise: str) -> str:
        """Read `ERROR | NULL ON ERROR`: its first word, or `otherwise`, with nothing read, when neither comes next."""
        if not self.is_word("ERROR", "ON", "ERROR") and not self.is_word("NULL", "ON", "ERROR"):
            return otherwise
        self.at += 3
        return self.tokens[self.at - 3].text

    def _no_more(self, token: Token) -> None:
        if self.token.text != ")":
            raise OraError(3001, f"unimplemented feature: {self.token.text} in {token.text}", self.token.start)

    def _serialized(self, token: Token) -> ast.Expr:
        """Read `json [RETURNING VARCHAR2[(n)] | CLOB | BLOB] [ERROR | NULL ON ERROR]`, up to the right parenthesis of the
        function `token`; only JSON_SERIALIZE has ON ERROR. The call's arguments are those of `functions.lobs.text_of`. Raises
        ORA-03001 for other clauses, and as `expr`."""
        value = self.expr()
        kind, size = "VARCHAR2", 0
        if self.word("RETURNING"):
            target = self._returned(token, "VARCHAR2", "CLOB", "BLOB")
            kind, size = target.name, (target.numbers[0] or 0) if target.numbers else 0
        on_error = self._on_error("NULL") if token.text == "JSON_SERIALIZE" else "ERROR"
        self._no_more(token)
        return ast.Call(
            token.text, [value, *(_text(text, token.start) for text in (kind, on_error, str(size)))], token.start
        )

    def _json_path(self, token: Token) -> ast.Expr:
        """Read `json [FORMAT JSON], 'path' [RETURNING type] [ERROR | NULL ON ERROR]`, up to the right parenthesis of JSON_VALUE,
        JSON_QUERY or JSON_EXISTS, which is `token` and has no ON ERROR in the last. The call's arguments are those of
        `functions.lobs.json_value` and `json_query`. Raises ORA-40454 for a path that is no literal, ORA-03001 for other clauses,
        and as `expr`."""
        value = self.expr()
        self.word("FORMAT", "JSON")
        self.expect_op(",")
        if self.token.kind is not TokenKind.STRING:
            raise OraError(40454, "path expression not a literal", self.token.start)
        options = [self.take().text]
        known = ("VARCHAR2", "NUMBER") if token.text == "JSON_VALUE" else ("VARCHAR2",)
        numeric = self.word("RETURNING") and self._returned(token, *known).name == "NUMBER"
        if token.text == "JSON_VALUE":
            options.append("N" if numeric else "T")
        if token.text != "JSON_EXISTS":
            options.append(self._on_error("NULL"))
        self._no_more(token)
        return ast.Call(token.text, [value, *(_text(option, token.start) for option in options)], token.start)

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
        side = self.any_word("LEADING", "TRAILING", "BOTH")
        args = [] if self.is_word("FROM") else [self.expr()]
        if self.word("FROM"):
            args.insert(0, self.expr())
        return ast.Call({"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side or "", "TRIM"), args, token.start)

    def named(self, token: Token) -> ast.Expr:
        """Read a name, with `(+)` after it, or a call of a function or of methods of an XMLTYPE; `token` is the next word. Raises
        ORA-00904 and ORA-01747 for words that are no names, ORA-00972 for a long name, ORA-00907, and as `expr` and `read_tail`."""
        parts = [self.name(904, "invalid identifier")]
        while self.op("."):
            parts.append(self.name(1747, "invalid user.table.column, table.column, or column specification"))
        if self.op("("):
            call = self._call(".".join(parts), token)
            while self.op("."):
                method = self.name(904, "invalid identifier")
                self.expect_op("(")
                self.expect_op(")")
                call = ast.Call(f"XMLTYPE.{method}", [call], token.start)
            return call
        return ast.Name(tuple(parts), token.start, token.kind is TokenKind.QUOTED, outer=self.op("(+)") is not None)

    def _call(self, name: str, token: Token) -> ast.Expr:
        call = ast.Call(name, [], token.start)
        if self.op("*"):
            call.star = True
        elif self.token.text != ")" or self.token.kind is TokenKind.STRING:
            call.distinct = self.any_word("DISTINCT", "UNIQUE", "ALL") in ("DISTINCT", "UNIQUE")
            call.args = self.expressions()
            if name == "TRANSLATE" and len(call.args) == 1 and self.word("USING"):
                call.name = {"CHAR_CS": "TO_CHAR", "NCHAR_CS": "TO_NCHAR"}[self.one_of("CHAR_CS", "NCHAR_CS")]
            if self.is_word("ON", "OVERFLOW"):
                call.truncates = self._truncates(name)
            self.read_nulls(call)
        self.expect_op(")")
        self.read_tail(call)
        return call

    def _truncates(self, name: str) -> bool:
        """Read LISTAGG's `ON OVERFLOW ERROR | TRUNCATE ['text'] [WITH | WITHOUT COUNT]`; whether it is TRUNCATE. Raises ORA-03001
        for another function than LISTAGG, ORA-00905."""
        at = self.token.start
        self.at += 2
        if name != "LISTAGG":
            raise OraError(3001, f"unimplemented feature: {name} .. ON OVERFLOW", at)
        if self.one_of("ERROR", "TRUNCATE") == "ERROR":
            return False
        if self.token.kind is TokenKind.STRING:
            self.take()
        if self.any_word("WITH", "WITHOUT"):
            self.expect_word("COUNT")
        return True
