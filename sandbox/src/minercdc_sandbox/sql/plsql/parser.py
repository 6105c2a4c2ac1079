"""Reads the words of a block: SQL's grammar, with PL/SQL's names, attributes, elements and errors."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql.errors import located, place
from minercdc_sandbox.sql.plsql.names import NameResolver
from minercdc_sandbox.sql.plsql.variables import Collection, Record, Variable
from minercdc_sandbox.sql.tokens import Token, TokenKind


class BlockParser(Parser):
    """The parser of one block or stored text: SQL's grammar, with PL/SQL's names, attributes and elements. Its own methods raise
    ORA-06550 with PLS-00103 for a word that may not come next; inherited ones raise SQL's errors. Creating one raises as
    `tokenize`.

    :param clients: how many binds the client has given.
    :ivar rows: of a trigger, the names after a colon that are its rows, with the records they are.
    """

    def __init__(self, sql: str, names: NameResolver, clients: int) -> None:
        super().__init__(sql, by_name=True)
        self._names, self._clients = names, clients
        self.rows: dict[str, Variable] = {}

    def row_field(self, token: Token) -> ast.Name | None:
        """After a bind, which is `token`: the column of a trigger's row that `:new.column` names, read to its end; None, with
        nothing read, for a bind that is no row. Raises PLS-00049 for an unknown column, PLS-00103 without a column and for a LOB
        or LONG."""
        row = self.rows.get(token.text)
        if row is None:
            return None
        self.need(".")
        column = self.take()
        assert isinstance(row.type, Record)
        if f" {column.text}" in {name for name, _ in row.type.fields}:
            raise self.refused(f"the LOB or LONG column {column.text} of a trigger's row", token.start)
        if column.text not in {name for name, _ in row.type.fields}:
            raise self.wrong(token.start, f"PLS-00049: bad bind variable '{token.text}.{column.text}'")
        return ast.Name((row.name, column.text), token.start)

    def bind(self, token: Token) -> ast.Bind:
        """The bind that the token names. Raises ORA-01008 for one that the client has not given."""
        bind = super().bind(token)
        if bind.index >= self._clients:
            raise OraError(1008, "not all variables bound", token.start)
        return bind

    def unexpected(self, expected: str = "") -> OraError:
        """The error PLS-00103 for the next word, which the caller raises.

        :param expected: the words that may stand there, '' for none to name.
        """
        token = self.token
        shown = "end-of-file" if token.kind is TokenKind.END else token.text
        wanted = f" when expecting {expected}" if expected else ""
        return located(self.sql, token.start, f'PLS-00103: Encountered the symbol "{shown}"{wanted}')

    def wrong(self, at: int, text: str) -> OraError:
        """The error ORA-06550 with PL/SQL's own error `text` at the offset `at`, which the caller raises."""
        return located(self.sql, at, text)

    def refused(self, what: str, at: int) -> OraError:
        """The error PLS-00103 at the offset `at`, which the caller raises, for `what`, which the sandbox does not have."""
        return self.wrong(at, f"PLS-00103: the sandbox does not run {what} in PL/SQL")

    def need(self, text: str) -> None:
        """Read the operator or word `text`. Raises PLS-00103 when another comes next."""
        if self.token.kind in "WO" and self.token.text == text:
            self.at += 1
            return
        raise self.unexpected(f'"{text}"' if not text[0].isalpha() else text)

    def line(self) -> int:
        """Line of the next word, from 1."""
        return place(self.sql, self.token.start)[0]

    def named(self, token: Token) -> ast.Expr:
        """Read the expression that begins with a name, `token`: SQL's, or an `ast.Call` named `%..` for an attribute of a cursor,
        an element or method of a collection, or a call of a local or stored function. Raises as `Parser.named` and `expr`."""
        start = self.at
        parts = [self.take().text]
        while self.token.text == "." and self.token.kind is TokenKind.OPERATOR and self.peek().is_name:
            self.at += 1
            parts.append(self.take().text)
        if self.token.text == "%" and self.peek().kind is TokenKind.WORD:
            self.at += 1
            return self._attribute(parts, token.start)
        variable, rest = self._names.variable_of(parts)
        if variable is not None and isinstance(variable.type, Collection):
            return self._element(variable, rest, token.start)
        if variable is None and self._names.called(parts) is not None:
            return ast.Call("%CALL", [ast.Name(tuple(parts), token.start), *self.optional_arguments()], token.start)
        self.at = start
        return super().named(token)

    def call_arguments(self) -> list[ast.Expr]:
        """Read `(a, name => b)`: arguments in this order, each named one an `ast.Call` `%NAMED` of the name and the value. Raises
        PLS-00103 for a missing parenthesis, and as `expr`."""
        self.need("(")
        found: list[ast.Expr] = []
        while self.token.text != ")":
            if self.token.is_name and self.peek().text == "=>":
                name = self.take()
                self.at += 1
                literal = ast.Literal(ast.LiteralKind.STRING, name.text, name.start)
                found.append(ast.Call("%NAMED", [literal, self.expr()], name.start))
            else:
                found.append(self.expr())
            if not self.op(","):
                break
        self.need(")")
        return found

    def optional_arguments(self) -> list[ast.Expr]:
        """Read `[(a, b)]`; empty, with nothing read, without a parenthesis. Raises as `call_arguments`."""
        return self.call_arguments() if self.token.text == "(" else []

    def _attribute(self, parts: list[str], at: int) -> ast.Expr:
        name = self.take().text
        if name == "BULK_EXCEPTIONS":
            return self._bulk_exception(parts, at)
        index = [self._index()] if name == "BULK_ROWCOUNT" else []
        return ast.Call(f"%{name}", [ast.Name(tuple(parts), at), *index], at)

    def _index(self) -> ast.Expr:
        self.need("(")
        index = self.expr()
        self.need(")")
        return index

    def _bulk_exception(self, parts: list[str], at: int) -> ast.Expr:
        """Read `.COUNT`, or `(i).ERROR_INDEX | ERROR_CODE`, after SQL%BULK_EXCEPTIONS; `parts`: the name before `%`. Raises
        PLS-00103 for anything else."""
        owner = ast.Name(tuple(parts), at)
        if self.op("."):
            return ast.Call(f"%BULK_EXCEPTIONS.{self.take().text}", [owner], at)
        index = self._index()
        self.need(".")
        return ast.Call(f"%BULK_EXCEPTIONS.{self.take().text}", [owner, index], at)

    def _element(self, variable: Variable, rest: list[str], at: int) -> ast.Expr:
        """Read, after the name of a collection, `(i)`, `(i).field`, or the arguments of a method, which is `rest`: `t(i)`,
        `t(i).field`, `t.COUNT`, `t.NEXT(i)`, or `t` itself."""
        name = ast.Name((variable.name,), at)
        index = [self._index()] if self.token.text == "(" and self.token.kind is TokenKind.OPERATOR else []
        if rest:
            return ast.Call(f"%{rest[0]}", [name, *index], at)
        if not index:
            return name
        if self.token.text == "." and self.peek().is_name:
            self.at += 1
            return ast.Call("%ELEMENT", [name, index[0], ast.Literal(ast.LiteralKind.STRING, self.take().text, at)], at)
        return ast.Call("%ELEMENT", [name, index[0]], at)

    def expression_tree(self) -> ast.Expr:
        """Read an expression or condition. Syntax errors become PLS-00103; raises ORA-01008 for a bind that the client has not given."""
        at = self.token.start
        try:
            return self.expr()
        except OraError as error:
            if error.number in (6550, 1008):
                raise
            self.at = next((n for n, t in enumerate(self.tokens) if t.start >= (error.position or at)), self.at)
            raise self.unexpected() from None
