"""PL/SQL expressions: SQL's, over variables, with what only PL/SQL has put into places of the row beforehand.

n + t(i) * length(r.name)     place k := t(i);  select n + k * length(r.name), the names being places
a and b or not c              evaluated here, so that what need not be evaluated is not
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from minercdc.sandbox.interfaces import OraError, OraType
from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.sql.plsql import attributes
from minercdc.sandbox.sql.plsql.errors import located, message_of, place, sqlcode, sqlerrm, undeclared
from minercdc.sandbox.sql.plsql.frame import Frame, Step, Value
from minercdc.sandbox.sql.plsql.session import BlockSession
from minercdc.sandbox.sql.plsql.variables import (
    BOOLEAN,
    NUMBER,
    TEXT,
    Collection,
    Names,
    Record,
    RefCursor,
    Scalar,
    Slots,
    Variable,
)
from minercdc.sandbox.sql.tokens import Token
from minercdc.sandbox.sql.translate.environment import Environment
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import BOOLEAN as BOOLEAN_TYPE
from minercdc.sandbox.sql.types import NULL, Family, SqlType, bind_type, column_type
from minercdc.sandbox.sql.types import NUMBER as NUMBER_TYPE

_CONDITIONS = (
    *(ast.Logic, ast.Compare, ast.Between, ast.InList, ast.InQuery, ast.Like, ast.IsNull, ast.IsBinary),
    *(ast.Exists, ast.Quantified),
)
TRUTH = {True: b"\x01", False: b"\x00", None: None}


@dataclass(slots=True)
class Compiled:
    """An expression ready to run. `slot`: it is nothing but that place; `constant`: nothing but a constant."""

    value: Value
    type: SqlType
    slot: int | None = None
    variable: Variable | None = None


class Blocks(Parser):
    """Reads what is common to all of PL/SQL: names and expressions. `visible` is what they mean where the parser is."""

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

    # ---- compiling ----

    def expression(self) -> Compiled:
        """Read and compile a value."""
        return self.compiled(self._read())

    def condition(self) -> Callable[[Frame], bool | None]:
        """Read and compile a condition."""
        return self.truth(self._read())

    def _read(self) -> ast.Expr:
        at = self.token.start
        try:
            return self.expr()
        except OraError as error:
            if error.number in (6550, 1008):
                raise
            self.at = next((n for n, t in enumerate(self.tokens) if t.start >= (error.position or at)), self.at)
            raise self.unexpected() from None

    def compiled(self, expr: ast.Expr) -> Compiled:
        """Raises PLS-00201 and others within ORA-06550."""
        if isinstance(expr, _CONDITIONS):
            truth = self.truth(expr)
            return Compiled(lambda frame: TRUTH[truth(frame)], BOOLEAN_TYPE)
        if isinstance(expr, ast.Name) and expr.parts in (("TRUE",), ("FALSE",)) and self.visible.find(expr.parts[0]) is None:
            cell = TRUTH[expr.parts == ("TRUE",)]
            return Compiled(lambda frame: cell, BOOLEAN_TYPE)
        if isinstance(expr, ast.Literal) and expr.kind == "0":
            return Compiled(lambda frame: None, NULL)
        if isinstance(expr, ast.Name):
            variable, rest = self.variable_of(expr.parts)
            if variable is not None and not rest and isinstance(variable.type, Record | Collection | RefCursor):
                slot = variable.slot
                return Compiled(lambda frame: frame.cells[slot], NULL, slot, variable)
        prelude: list[Step] = []
        resolved = expr if isinstance(expr, ast.Bind) else self._resolved(expr, prelude)
        if isinstance(resolved, ast.Bind):
            at = resolved.index
            if at < self.slots.clients:
                self.read.add(at)
            return Compiled(_after(prelude, lambda frame: frame.cells[at]), self._type_of(at), at)
        return self._translated(resolved, prelude)

    def _type_of(self, slot: int) -> SqlType:
        scalar = self.slots.scalars[slot]
        if scalar is not None:
            return column_type(scalar.column)
        if self.slots.types[slot].type is OraType.CURSOR:
            return NULL
        return bind_type(self.slots.types[slot])

    def _translated(self, expr: ast.Expr, prelude: list[Step]) -> Compiled:
        x = Expressions(self.environment, self.slots.types)
        typed = self._checked(lambda: x.value(expr, None))
        if typed.literal is not None and not prelude:
            text = typed.literal
            return Compiled(lambda frame: text, typed.type)
        sql, parameters = typed.sql, x.parameters

        def value(frame: Frame) -> Any:
            return frame.session.evaluate(sql, parameters, frame.session.run(frame.cells))

        return Compiled(_after(prelude, value), typed.type)

    def truth(self, expr: ast.Expr) -> Callable[[Frame], bool | None]:
        """Three truth values; AND and OR stop as soon as they know."""
        if isinstance(expr, ast.Logic):
            parts = [self.truth(operand) for operand in expr.operands]
            return _negated(parts[0]) if expr.op == "NOT" else _joined(parts, stop=expr.op == "OR")
        if isinstance(expr, _CONDITIONS):
            if isinstance(expr, ast.InQuery | ast.Exists):
                raise located(self.sql, expr.at, "PLS-00405: subquery not allowed in this context")
            boolean = self._boolean_test(expr)
            if boolean is not None:
                return boolean
            return self._test(expr)
        if isinstance(expr, ast.Call) and expr.name in ("REGEXP_LIKE", "LNNVL"):
            return self._test(expr)
        value = self.compiled(expr)
        if value.type.family not in (Family.BOOLEAN, Family.NULL):
            raise located(self.sql, expr.at, "PLS-00382: expression is of wrong type")
        return lambda frame: None if (cell := value.value(frame)) is None else cell != b"\x00"

    def _boolean_test(self, expr: ast.Expr) -> Callable[[Frame], bool | None] | None:
        """`flag IS NULL`, `flag = TRUE`: what SQL of older releases has no type for."""
        if isinstance(expr, ast.IsNull):
            operand, negated = self.compiled(expr.operand), expr.negated
            return lambda frame: (operand.value(frame) is None) is not negated
        if isinstance(expr, ast.Compare) and expr.op in ("=", "<>"):
            words = (("TRUE",), ("FALSE",))
            if any(isinstance(side, ast.Name) and side.parts in words for side in (expr.left, expr.right)):
                left, right, same = self.truth(expr.left), self.truth(expr.right), expr.op == "="

                def test(frame: Frame) -> bool | None:
                    a, b = left(frame), right(frame)
                    return None if a is None or b is None else (a is b) is same

                return test
        return None

    def _test(self, expr: ast.Expr) -> Callable[[Frame], bool | None]:
        prelude: list[Step] = []
        resolved = self._resolved(expr, prelude)
        x = Expressions(self.environment, self.slots.types)
        sql, parameters = self._checked(lambda: x.condition(resolved, None)), x.parameters

        def value(frame: Frame) -> bool | None:
            found = frame.session.evaluate(sql, parameters, frame.session.run(frame.cells))
            return None if found is None else bool(found)

        return _after(prelude, value)

    def _checked(self, make: Callable[[], Any]) -> Any:
        """Errors of translation are PL/SQL's."""
        try:
            return make()
        except OraError as error:
            if error.number == 6550:
                raise
            if error.number == 904:
                name = error.text.partition(":")[0].replace('"', "")
                raise undeclared(self.sql, error.position, name) from None
            if error.number == 932:
                raise located(self.sql, error.position, "PLS-00382: expression is of wrong type") from None
            raise located(self.sql, error.position, f"PL/SQL: {error}") from None

    def _resolved(self, node: Any, prelude: list[Step]) -> Any:
        """The tree with places instead of names; what fills the places that need it goes to `prelude`."""
        if isinstance(node, list | tuple):
            return type(node)(self._resolved(one, prelude) for one in node)
        if isinstance(node, ast.Query):
            raise located(self.sql, node.at, "PLS-00405: subquery not allowed in this context")
        if isinstance(node, ast.Name):
            return self._resolved_name(node, prelude)
        if isinstance(node, ast.Call) and node.name.startswith("%"):
            return self._computed(node, prelude)
        if isinstance(node, ast.Call) and node.name == "SQLERRM" and node.args:
            code = self.compiled(node.args[0]).value
            return self._place(TEXT, lambda frame: message_of(number.to_int(code(frame))), prelude, node.at)
        if isinstance(node, ast.Bind) and node.index < self.slots.clients:
            if self.slots.types[node.index].elements:
                raise located(self.sql, node.at, "PLS-00382: expression is of wrong type")
            self.read.add(node.index)
        if not is_dataclass(node) or isinstance(node, type):
            return node
        changed = {part.name: self._resolved(getattr(node, part.name), prelude) for part in fields(node)}
        return replace(cast(Any, node), **changed)

    def _resolved_name(self, node: ast.Name, prelude: list[Step]) -> ast.Expr:
        slot = self.slot_of(node.parts, node.at)
        if slot is not None:
            return ast.Bind(slot, node.parts[-1], node.at)
        if node.parts == ("SQLCODE",):
            return self._place(NUMBER, lambda frame: number.encode(sqlcode(frame.error)), prelude, node.at)
        if node.parts == ("SQLERRM",):
            return self._place(TEXT, lambda frame: sqlerrm(frame.error), prelude, node.at)
        parts = node.parts[1:] if node.parts[0] == "SYS" else node.parts
        if parts == ("DBMS_UTILITY", "FORMAT_ERROR_STACK"):
            return self._place(TEXT, lambda frame: frame.error and str(frame.error), prelude, node.at)
        if parts == ("DBMS_UTILITY", "FORMAT_ERROR_BACKTRACE"):
            return self._place(TEXT, lambda frame: (frame.error and frame.stack(frame.error)[1:]) or None, prelude, node.at)
        constant = self.session.database.constants.get(".".join(parts))
        if constant is not None:
            return ast.Literal("N", str(constant), node.at)
        if node.parts in (("TRUE",), ("FALSE",)):
            cell = TRUTH[node.parts == ("TRUE",)]
            return self._place(BOOLEAN, lambda frame: cell, prelude, node.at)
        return node

    def _computed(self, node: ast.Call, prelude: list[Step]) -> ast.Expr:
        """Elements, attributes and calls of local functions."""
        if node.name == "%CALL":
            owner = node.args[0]
            assert isinstance(owner, ast.Name)
            subprogram = self.subprogram(owner.parts[0])
            if subprogram.returns is None:
                raise located(self.sql, node.at, f"PLS-00222: no function with name '{owner.parts[0]}' exists in this scope")
            return self._place(subprogram.returns, subprogram.call(self, node.args[1:], node.at), prelude, node.at)
        kind, value = attributes.compiled(self, node)
        return self._place(kind, value, prelude, node.at)

    def _place(self, kind: Scalar, value: Value, prelude: list[Step], at: int) -> ast.Bind:
        slot = self.slots.take(kind)

        def fill(frame: Frame) -> None:
            frame.cells[slot] = value(frame)

        prelude.append(fill)
        return ast.Bind(slot, "", at)


def _after(prelude: list[Step], value: Value) -> Value:
    if not prelude:
        return value
    steps = tuple(prelude)

    def both(frame: Frame) -> Any:
        for step in steps:
            step(frame)
        return value(frame)

    return both


def _negated(part: Callable[[Frame], bool | None]) -> Callable[[Frame], bool | None]:
    return lambda frame: None if (found := part(frame)) is None else not found


def _joined(parts: list[Callable[[Frame], bool | None]], *, stop: bool) -> Callable[[Frame], bool | None]:
    def joined(frame: Frame) -> bool | None:
        unknown = False
        for part in parts:
            found = part(frame)
            if found is stop:
                return stop
            unknown = unknown or found is None
        return None if unknown else not stop

    return joined


def integer_of(value: Compiled) -> Callable[[Frame], int | None]:
    """A whole number, as loops and indexes want it; NULL is None. Raises ORA-06502."""
    kind = NUMBER_TYPE

    def whole(frame: Frame) -> int | None:
        cell = value.value(frame)
        if cell is None:
            return None
        if isinstance(cell, str):
            cell = frame.fitted(NUMBER, cell, value.type)
        if value.type.family is not kind.family and not isinstance(cell, bytes):
            raise OraError(6502, "PL/SQL: numeric or value error")
        return int(number.rounded(number.decode(cell), 0))

    return whole
