"""How names are read in blocks, and what they mean where the parser is: variables, fields, elements, attributes, subprograms."""

from __future__ import annotations

from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql.errors import located, place
from minercdc_sandbox.sql.plsql.session import BlockSession
from minercdc_sandbox.sql.plsql.variables import Collection, Names, Record, Slots, Variable
from minercdc_sandbox.sql.tokens import Token
from minercdc_sandbox.sql.translate.environment import Environment


class BlockGrammar(Parser):
    """Reads names and their arguments. `visible` is what they mean where the parser is."""

    def __init__(self, sql: str, session: BlockSession, slots: Slots, binds: list[str]) -> None:
        super().__init__(sql, by_name=True)
        self.session, self.slots = session, slots
        self.binds = binds
        self.visible = Names()
        self.read: set[int] = set()
        """Client binds that are read, not only assigned."""
        self.gotos: list[tuple[str, int]] = []
        """Labels that GOTO named, and where, which no sequence around it has had so far."""

    @property
    def environment(self) -> Environment:
        return self.session.environment

    def bind(self, token: Token) -> ast.Bind:
        """Raises ORA-01008 for a bind the client has not given."""
        bind = super().bind(token)
        if bind.index >= self.slots.clients:
            raise OraError(1008, "not all variables bound", token.start)
        return bind

    # ---- errors ----

    def unexpected(self, expected: str = "") -> OraError:
        """PLS-00103 at the next word."""
        token = self.token
        shown = "end-of-file" if token.kind == "E" else token.text
        wanted = f" when expecting {expected}" if expected else ""
        return located(self.sql, token.start, f'PLS-00103: Encountered the symbol "{shown}"{wanted}')

    def refused(self, what: str, at: int) -> OraError:
        return located(self.sql, at, f"PLS-00103: the sandbox does not run {what} in PL/SQL")

    def check_gotos(self) -> None:
        """At the end of a block or subprogram. Raises PLS-00375 for a label that GOTO cannot reach."""
        for label, at in self.gotos:
            raise located(self.sql, at, f"PLS-00375: illegal GOTO statement; this GOTO cannot branch to label '{label}'")

    def need(self, text: str) -> None:
        """Read this operator or word."""
        if self.token.kind in "WO" and self.token.text == text:
            self.at += 1
            return
        raise self.unexpected(f'"{text}"' if not text[0].isalpha() else text)

    def line(self) -> int:
        return place(self.sql, self.token.start)[0]

    # ---- reading ----

    def _named(self, token: Any) -> ast.Expr:
        """Names with attributes and elements of collections, besides SQL's."""
        start = self.at
        parts = [self.take().text]
        while self.token.text == "." and self.token.kind == "O" and self.peek().kind in "WQ":
            self.at += 1
            parts.append(self.take().text)
        if self.token.text == "%" and self.peek().kind == "W":
            self.at += 1
            return self._attribute(parts, token.start)
        variable, rest = self.variable_of(parts)
        if variable is not None and isinstance(variable.type, Collection):
            return self._element(variable, rest, token.start)
        if self.subprogram(parts[0]) is not None and len(parts) == 1:
            arguments = self.call_arguments() if self.token.text == "(" else []
            return ast.Call("%CALL", [ast.Name((parts[0],), token.start), *arguments], token.start)
        self.at = start
        return super()._named(token)

    def call_arguments(self) -> list[ast.Expr]:
        """`(a, b)`; of local functions by position only."""
        self.need("(")
        found: list[ast.Expr] = []
        while self.token.text != ")":
            found.append(self.expr())
            if not self.op(","):
                break
        self.need(")")
        return found

    def _attribute(self, parts: list[str], at: int) -> ast.Expr:
        name = self.take().text
        if name == "BULK_EXCEPTIONS":
            return self._bulk_exception(parts, at)
        if name == "BULK_ROWCOUNT":
            self.need("(")
            index = self.expr()
            self.need(")")
            return ast.Call(f"%{name}", [ast.Name(tuple(parts), at), index], at)
        return ast.Call(f"%{name}", [ast.Name(tuple(parts), at)], at)

    def _bulk_exception(self, parts: list[str], at: int) -> ast.Expr:
        """`SQL%BULK_EXCEPTIONS.COUNT`, `SQL%BULK_EXCEPTIONS(i).ERROR_INDEX | ERROR_CODE`."""
        owner = ast.Name(tuple(parts), at)
        if self.op("."):
            return ast.Call(f"%BULK_EXCEPTIONS.{self.take().text}", [owner], at)
        self.need("(")
        index = self.expr()
        self.need(")")
        self.need(".")
        return ast.Call(f"%BULK_EXCEPTIONS.{self.take().text}", [owner, index], at)

    def _element(self, variable: Variable, rest: list[str], at: int) -> ast.Expr:
        """`t(i)`, `t(i).field`, `t.COUNT`, `t.NEXT(i)`, or `t` itself."""
        name = ast.Name((variable.name,), at)
        index: list[ast.Expr] = []
        if self.op("("):
            index = [self.expr()]
            self.need(")")
        if rest:
            return ast.Call(f"%{rest[0]}", [name, *index], at)
        if not index:
            return name
        if self.token.text == "." and self.peek().kind in "WQ":
            self.at += 1
            return ast.Call("%ELEMENT", [name, index[0], ast.Literal("S", self.take().text, at)], at)
        return ast.Call("%ELEMENT", [name, index[0]], at)

    # ---- meaning ----

    def variable_of(self, parts: list[str] | tuple[str, ...]) -> tuple[Variable | None, list[str]]:
        """The variable that a name begins with, and what follows: `label.v`, `v`, `r.field`."""
        scope = self.visible.labelled(parts[0]) if len(parts) > 1 else None
        if scope is not None and isinstance(found := scope.known.get(parts[1]), Variable):
            return found, list(parts[2:])
        found = self.visible.find(parts[0])
        return (found, list(parts[1:])) if isinstance(found, Variable) else (None, list(parts))

    def subprogram(self, name: str) -> Any:
        """A local function or procedure of that name."""
        found = self.visible.find(name)
        return found if hasattr(found, "parameters") and hasattr(found, "body") else None

    def slot_of(self, parts: tuple[str, ...], at: int) -> int | None:
        """The place of a scalar, field or cursor variable. Raises PLS-00302 for no field."""
        variable, rest = self.variable_of(parts)
        if variable is None:
            return None
        if isinstance(variable.type, Record) and rest:
            for n, (name, _) in enumerate(variable.type.fields):
                if name == rest[0] and len(rest) == 1:
                    return variable.slot + n
            raise located(self.sql, at, f"PLS-00302: component '{rest[0]}' must be declared")
        if rest or isinstance(variable.type, Record | Collection):
            raise located(self.sql, at, "PLS-00382: expression is of wrong type")
        return variable.slot
