"""PL/SQL expressions: those of SQL over variables; what only PL/SQL has is computed before them, into places of the row.

n + t(i) * length(r.name)     place k := t(i);  select n + k * length(r.name), the names being places
a and b or not c              evaluated here, so that what need not be evaluated is not
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.plsql.attributes import Attributes
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.errors import message_of, sqlcode, sqlerrm, undeclared
from minercdc_sandbox.sql.plsql.frame import Frame, Step, Test, Value
from minercdc_sandbox.sql.plsql.program import Compiled, Parameter, Subprogram
from minercdc_sandbox.sql.plsql.variables import BOOLEAN, NUMBER, TEXT, Collection, Record, RefCursor, Scalar
from minercdc_sandbox.sql.runtime import begin_run, evaluate
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import BOOLEAN as BOOLEAN_TYPE
from minercdc_sandbox.sql.types import NULL, Family, SqlType, bind_type, column_type
from minercdc_sandbox.sql.types import NUMBER as NUMBER_TYPE

_CONDITIONS = (
    *(ast.Logic, ast.Compare, ast.Between, ast.In, ast.Like, ast.IsNull, ast.IsBinary),
    *(ast.Exists, ast.Quantified),
)
ASSIGNED = ":ASSIGNED"
"""The hidden variable of a trigger that holds the names of the columns that its statement assigns."""
TRUTH = {True: b"\x01", False: b"\x00", None: None}
"""BOOLEAN cells of truth values."""
_COMPUTED: dict[str, tuple[Scalar, Value]] = {
    "SQLCODE": (NUMBER, lambda frame: number.encode(sqlcode(frame.error))),
    "SQLERRM": (TEXT, lambda frame: sqlerrm(frame.error)),
    "DBMS_UTILITY.FORMAT_ERROR_STACK": (TEXT, lambda frame: frame.error and str(frame.error)),
    "DBMS_UTILITY.FORMAT_ERROR_BACKTRACE": (TEXT, lambda frame: (frame.error and frame.stack(frame.error)[1:]) or None),
    "TRUE": (BOOLEAN, lambda frame: TRUTH[True]),
    "FALSE": (BOOLEAN, lambda frame: TRUTH[False]),
}
"""Names that are no variables and have a value: the type, and the function that computes the value."""


class ExpressionCompiler:
    """Compiles expressions and conditions to functions of a frame. Its methods raise PLS- errors within ORA-06550.

    :ivar attributes: compiles elements and methods of collections and attributes of cursors.
    """

    def __init__(self, block: Compilation) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._session, self._read = block.session, block.read
        self.attributes = Attributes(block.parser.sql, block.names, self.compiled)

    def expression(self) -> Compiled:
        """Read and compile a value. Raises as `BlockParser.expression_tree` and `compiled`."""
        return self.compiled(self._parser.expression_tree())

    def condition(self) -> Test:
        """Read and compile a condition. Raises as `BlockParser.expression_tree` and `truth`."""
        return self.truth(self._parser.expression_tree())

    def compiled(self, expr: ast.Expr, *, whole: bool = False) -> Compiled:
        """Compile a value. Raises PLS-00201 for an unknown name, PLS-00382 for types that do not match, and for a record, a
        collection or a cursor unless it may be `whole`, PLS-00405 for a subquery, other errors of translation with PL/SQL: before
        them; all within ORA-06550."""
        if isinstance(expr, _CONDITIONS):
            truth = self.truth(expr)
            return Compiled(lambda frame: TRUTH[truth(frame)], BOOLEAN_TYPE)
        if isinstance(expr, ast.Name) and expr.parts in (("TRUE",), ("FALSE",)) and self._names.find(expr.parts[0]) is None:
            cell = TRUTH[expr.parts == ("TRUE",)]
            return Compiled(lambda frame: cell, BOOLEAN_TYPE)
        if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.NULL:
            return Compiled(lambda frame: None, NULL)
        if isinstance(expr, ast.Name):
            variable, rest = self._names.variable_of(expr.parts)
            if variable is not None and not rest and isinstance(variable.type, Record | Collection | RefCursor):
                if not whole:
                    raise self._parser.wrong(expr.at, "PLS-00382: expression is of wrong type")
                slot = variable.slot
                return Compiled(lambda frame: frame.cells[slot], NULL, slot, variable)
        prelude: list[Step] = []
        resolved = expr if isinstance(expr, ast.Bind) else self._resolved(expr, prelude)
        if isinstance(resolved, ast.Bind):
            at = resolved.index
            if at < self._slots.clients:
                self._read.add(at)
            if not whole and (self._slots.types[at].elements or self._slots.types[at].type is OraType.CURSOR):
                raise self._parser.wrong(expr.at, "PLS-00382: expression is of wrong type")
            return Compiled(_after(prelude, lambda frame: frame.cells[at]), self.type_of(at), at)
        return self._translated(resolved, prelude)

    def type_of(self, slot: int) -> SqlType:
        """Type of the value in a place; NULL's type for a cursor and a collection."""
        scalar = self._slots.scalars[slot]
        if scalar is not None:
            return column_type(scalar.column)
        if self._slots.types[slot].type is OraType.CURSOR:
            return NULL
        return bind_type(self._slots.types[slot])

    def _translated(self, expr: ast.Expr, prelude: list[Step]) -> Compiled:
        x = Expressions(self._session.environment, self._slots.types)
        typed = self._checked(lambda: x.value(expr, None))
        if typed.literal is not None and not prelude:
            text = typed.literal
            return Compiled(lambda frame: text, typed.type)
        sql, parameters = typed.sql, x.parameters

        def value(frame: Frame) -> Any:
            return evaluate(sql, parameters, begin_run(frame.session, frame.cells))

        return Compiled(_after(prelude, value), typed.type)

    def truth(self, expr: ast.Expr) -> Test:
        """Compile a condition to a function that computes True, False or None for unknown; AND and OR stop at the first operand
        that decides. Raises PLS-00405 for subqueries, PLS-00382 for a value that is no BOOLEAN, and as `compiled`."""
        if isinstance(expr, ast.Logic):
            parts = [self.truth(operand) for operand in expr.operands]
            return _negated(parts[0]) if expr.op == "NOT" else _joined(parts, stop=expr.op == "OR")
        if isinstance(expr, _CONDITIONS):
            if isinstance(expr, ast.Exists) or (isinstance(expr, ast.In) and isinstance(expr.items, ast.Query)):
                raise self._parser.wrong(expr.at, "PLS-00405: subquery not allowed in this context")
            boolean = self._boolean_test(expr)
            if boolean is not None:
                return boolean
            return self._test(expr)
        if isinstance(expr, ast.Call) and expr.name in ("REGEXP_LIKE", "LNNVL"):
            return self._test(expr)
        if isinstance(expr, ast.Call) and expr.name == "UPDATING" and self._parser.rows:
            return self._updating(expr)
        value = self.compiled(expr)
        if value.type.family not in (Family.BOOLEAN, Family.NULL):
            raise self._parser.wrong(expr.at, "PLS-00382: expression is of wrong type")
        return lambda frame: None if (cell := value.value(frame)) is None else cell != b"\x00"

    def _updating(self, expr: ast.Call) -> Test:
        """Compile UPDATING('COLUMN') of a trigger: whether the statement assigns that column, in any case. Raises PLS-00306 for
        more arguments."""
        if len(expr.args) != 1:
            raise self._parser.wrong(expr.at, "PLS-00306: wrong number or types of arguments in call to 'UPDATING'")
        name = self.compiled(expr.args[0])
        slot = self._names.slot_of((ASSIGNED,), expr.at)
        assert slot is not None
        return lambda frame: str(name.value(frame) or "").upper() in (frame.cells[slot] or ())

    def _boolean_test(self, expr: ast.Expr) -> Test | None:
        """Compile `value IS NULL` or `flag = TRUE`, since SQL of older releases has no BOOLEAN; None for any other condition.
        Raises PLS-00306 for IS NULL of a record, and as `truth`."""
        if isinstance(expr, ast.IsNull):
            operand, negated = self.compiled(expr.operand, whole=True), expr.negated
            if operand.variable is not None and isinstance(operand.variable.type, Record):
                raise self._parser.wrong(expr.at, "PLS-00306: wrong number or types of arguments in call to 'IS NULL'")
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

    def _test(self, expr: ast.Expr) -> Test:
        prelude: list[Step] = []
        resolved = self._resolved(expr, prelude)
        x = Expressions(self._session.environment, self._slots.types)
        sql, parameters = self._checked(lambda: x.condition(resolved, None)), x.parameters

        def value(frame: Frame) -> bool | None:
            found = evaluate(sql, parameters, begin_run(frame.session, frame.cells))
            return None if found is None else bool(found)

        return _after(prelude, value)

    def _checked(self, make: Callable[[], Any]) -> Any:
        """The result of `make`, which translates; SQL's errors become PL/SQL's within ORA-06550: PLS-00201 for ORA-00904,
        PLS-00382 for ORA-00932, all others with their own text. Raises these."""
        try:
            return make()
        except OraError as error:
            if error.number == 6550:
                raise
            if error.number == 904:
                name = error.text.partition(":")[0].replace('"', "")
                raise undeclared(self._parser.sql, error.position, name) from None
            if error.number == 932:
                raise self._parser.wrong(error.position, "PLS-00382: expression is of wrong type") from None
            raise self._parser.wrong(error.position, f"PL/SQL: {error}") from None

    def _resolved(self, node: Any, prelude: list[Step]) -> Any:
        """The tree with places instead of names; steps that fill the places that need it are added to `prelude`. Raises PLS-00405
        for a query, PLS-00382 for a client's array, and as `_computed`."""
        if isinstance(node, list | tuple):
            return type(node)(self._resolved(one, prelude) for one in node)
        if isinstance(node, ast.Query):
            raise self._parser.wrong(node.at, "PLS-00405: subquery not allowed in this context")
        if isinstance(node, ast.Name):
            return self._resolved_name(node, prelude)
        if isinstance(node, ast.Call) and node.name.startswith("%"):
            return self._computed(node, prelude)
        if isinstance(node, ast.Call) and node.name == "SQLERRM" and node.args:
            return self._place(TEXT, _message(integer_of(self.compiled(node.args[0]))), prelude, node.at)
        if isinstance(node, ast.Bind) and node.index < self._slots.clients:
            if self._slots.types[node.index].elements:
                raise self._parser.wrong(node.at, "PLS-00382: expression is of wrong type")
            self._read.add(node.index)
        if not is_dataclass(node) or isinstance(node, type):
            return node
        changed = {part.name: self._resolved(getattr(node, part.name), prelude) for part in fields(node)}
        return replace(cast(Any, node), **changed)

    def _resolved_name(self, node: ast.Name, prelude: list[Step]) -> ast.Expr:
        slot = self._names.slot_of(node.parts, node.at)
        if slot is not None:
            return ast.Bind(slot, node.parts[-1], node.at)
        name = ".".join(node.parts[1:] if node.parts[0] == "SYS" else node.parts)
        if name in _COMPUTED and ("." in name or node.parts == (name,)):
            return self._place(*_COMPUTED[name], prelude, node.at)
        packaged = self._session.programs.variable(node.parts) if len(node.parts) > 1 else None
        if packaged is not None:
            return self._place(packaged.scalar, packaged.value, prelude, node.at)
        constant = self._session.database.constants.get(name)
        return node if constant is None else ast.Literal(ast.LiteralKind.NUMBER, str(constant), node.at)

    def _computed(self, node: ast.Call, prelude: list[Step]) -> ast.Expr:
        """A place for an element, an attribute, or the call of a local or stored function; the step that fills it is added to
        `prelude`. Raises PLS-00222 for what is no function, and as `call` and `Attributes.compiled`."""
        if node.name == "%CALL":
            owner = node.args[0]
            assert isinstance(owner, ast.Name)
            subprogram = self._names.called(owner.parts)
            if subprogram is None or subprogram.returns is None:
                raise self._parser.wrong(
                    node.at, f"PLS-00222: no function with name '{owner.parts[-1]}' exists in this scope"
                )
            return self._place(subprogram.returns, self.call(subprogram, node.args[1:], node.at), prelude, node.at)
        kind, value = self.attributes.compiled(node)
        return self._place(kind, value, prelude, node.at)

    def _place(self, kind: Scalar, value: Value, prelude: list[Step], at: int) -> ast.Bind:
        slot = self._slots.take(kind)

        def fill(frame: Frame) -> None:
            frame.cells[slot] = value(frame)

        prelude.append(fill)
        return ast.Bind(slot, "", at)

    def call(self, subprogram: Subprogram, given: Sequence[ast.Expr], at: int) -> Value:
        """Compile a call of a subprogram with arguments by position and name; the function it returns makes the call and raises
        as `Subprogram.run`. Raises PLS-00306 for arguments that do not match the parameters, PLS-00363, at the argument, for an
        OUT parameter that gets no variable, and as `compiled`."""
        incoming: list[tuple[Parameter, Compiled | None]] = []
        outgoing: list[tuple[Parameter, int]] = []
        for parameter, expr in self._matched(subprogram, given, at):
            if expr is None:
                incoming.append((parameter, None))
                continue
            value = self.compiled(expr)
            if "OUT" in parameter.mode:
                if value.slot is None:
                    raise self._parser.wrong(expr.at, "PLS-00363: expression cannot be used as an assignment target")
                outgoing.append((parameter, value.slot))
            incoming.append((parameter, value))
        return lambda frame: subprogram.run(frame, incoming, outgoing)

    def _matched(
        self, subprogram: Subprogram, given: Sequence[ast.Expr], at: int
    ) -> list[tuple[Parameter, ast.Expr | None]]:
        """Each parameter, in the order of declaration, with its argument, by position or name; None for its default. Raises
        PLS-00306, at the offset `at`, for missing, unknown and too many arguments."""
        wrong = self._parser.wrong(at, f"PLS-00306: wrong number or types of arguments in call to '{subprogram.name}'")
        named: dict[str, ast.Expr] = {}
        positional: list[ast.Expr] = []
        for expr in given:
            if isinstance(expr, ast.Call) and expr.name == "%NAMED":
                literal = expr.args[0]
                assert isinstance(literal, ast.Literal)
                named[literal.text] = expr.args[1]
            else:
                positional.append(expr)
        found: list[tuple[Parameter, ast.Expr | None]] = []
        for n, parameter in enumerate(subprogram.parameters):
            argument = positional[n] if n < len(positional) else named.pop(parameter.variable.name, None)
            if argument is None and parameter.default is None:
                raise wrong
            found.append((parameter, argument))
        if named or len(positional) > len(subprogram.parameters):
            raise wrong
        return found


def _message(code: Callable[[Frame], int | None]) -> Value:
    return lambda frame: None if (found := code(frame)) is None else message_of(found)


def _after(prelude: list[Step], value: Value) -> Value:
    if not prelude:
        return value
    steps = tuple(prelude)

    def both(frame: Frame) -> Any:
        for step in steps:
            step(frame)
        return value(frame)

    return both


def _negated(part: Test) -> Test:
    return lambda frame: None if (found := part(frame)) is None else not found


def _joined(parts: list[Test], *, stop: bool) -> Test:
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
    """A function that computes the value rounded to a whole number, half away from zero, None for NULL. The function raises
    ORA-06502 for a value that is no number."""
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
