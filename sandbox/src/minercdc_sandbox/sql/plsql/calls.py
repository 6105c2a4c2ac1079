"""Calls of procedures: local and stored ones, those of the sandbox's own packages, and methods of collections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from minercdc_sandbox.interfaces import Argument, OraError, OraType, Result
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.functions.environment import PACKAGED
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.errors import located, undeclared
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler, integer_of
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.variables import Collection, OpenCursor, Record, Scalar, Variable
from minercdc_sandbox.sql.privileges import may_execute
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.sql.types import Family, type_of_wire

_METHODS = frozenset(("DELETE", "EXTEND", "TRIM"))


@dataclass(slots=True)
class _Given:
    """One argument of a packaged procedure: `value` computes it; `slot` is the place that an OUT parameter is assigned to, None
    for an expression; `variable` is the whole collection or cursor variable that it is, else None."""

    value: Callable[[Frame], Argument]
    slot: int | None
    variable: Variable | None


class Calls:
    """Compiles statements that call a procedure or a method of a collection. Its methods raise PLS- errors within ORA-06550."""

    def __init__(self, block: Compilation, expressions: ExpressionCompiler) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._session, self._expressions = block.session, expressions

    def call(self, *, ends: bool = True) -> Step:
        """Read and compile `procedure[(arguments)];`, `package.procedure..`, `collection.method..`. Raises PLS-00103, PLS-00201
        for an unknown procedure and a package that the user may not execute, PLS-00221 for a function, PLS-00306 and PLS-00312
        for arguments, and as `ExpressionCompiler.compiled`; the step raises what the procedure raises, and PLS-00363 for an
        expression given for an OUT parameter of a package of the sandbox.

        :param ends: False for CALL, whose semicolon may be missing.
        """
        start = self._parser.token
        parts = [self._parser.take().text]
        while self._parser.op("."):
            parts.append(self._parser.take().text)
        variable, rest = self._names.variable_of(parts)
        if variable is not None and isinstance(variable.type, Collection) and rest and rest[0] in _METHODS:
            return self._method(variable, variable.type, rest[0])
        local = self._names.called(parts) if variable is None else None
        if local is not None:
            run = self._expressions.call(local, self._parser.optional_arguments(), start.start)
            if local.returns is not None:
                raise self._parser.wrong(start.start, f"PLS-00221: '{parts[-1]}' is not a procedure or is undefined")
            if ends or self._parser.token.kind is not TokenKind.END:
                self._parser.need(";")
            return cast(Step, run)
        name = ".".join(parts[1:] if parts[0] == "SYS" and len(parts) > 1 else parts)
        if name == "RAISE_APPLICATION_ERROR" or name == "DBMS_STANDARD.RAISE_APPLICATION_ERROR":
            return self._application_error()
        if name == "DBMS_SQL.RETURN_RESULT":
            return self._return_result()
        return self._packaged(name, parts, start.start, ends=ends)

    def _packaged(self, name: str, parts: list[str], at: int, *, ends: bool) -> Step:
        positional: list[_Given] = []
        named: dict[str, _Given] = {}
        if self._parser.op("("):
            while not self._parser.op(")"):
                self._argument(positional, named)
                if self._parser.token.text != ")":
                    self._parser.expect_op(",")
        if self._parser.token.text == ":=":
            raise undeclared(self._parser.sql, at, ".".join(parts))
        if ends or self._parser.token.kind is not TokenKind.END:
            self._parser.need(";")
        session = self._session
        procedure = session.database.procedures.get(name)
        package = parts[1 if parts[0] == "SYS" and len(parts) > 1 else 0]
        user, direct = session.programs.rights()
        if procedure is None or not may_execute(session.catalog, session.container, user, package, direct=direct):
            raise undeclared(self._parser.sql, at, ".".join(parts))
        places: dict[int | str, _Given] = dict(enumerate(positional))
        places.update(named)

        def step(frame: Frame) -> None:
            given = [one.value(frame) for one in positional]
            by_name = {key: one.value(frame) for key, one in named.items()}
            for place, argument in (procedure(frame.session, given, by_name) or {}).items():
                _assign(frame, places.get(place), argument, place, self._parser.sql, at)

        return step

    def _argument(self, positional: list[_Given], named: dict[str, _Given]) -> None:
        if self._parser.token.is_name and self._parser.peek().text == "=>":
            name = self._parser.take().text
            self._parser.at += 1
            named[name] = self._given()
        elif named:
            text = "PLS-00312: a positional parameter association may not follow a named association"
            raise self._parser.wrong(self._parser.token.start, text)
        else:
            positional.append(self._given())

    def _given(self) -> _Given:
        at = self._parser.token.start
        expr = self._parser.expression_tree()
        if isinstance(expr, ast.Name) and len(expr.parts) > 1 and self._unknown(expr):
            raise undeclared(self._parser.sql, at, ".".join(expr.parts))
        value = self._expressions.compiled(expr, whole=True)
        if value.variable is not None and isinstance(value.variable.type, Record):
            raise self._parser.wrong(at, "PLS-00306: wrong number or types of arguments in call to a packaged procedure")
        slot, type_ = value.slot, value.type
        wire = self._slots.types[slot].type if slot is not None else type_.describe("").type
        if type_.family is Family.BOOLEAN:
            # Packages take BOOLEAN arguments as 0 and 1.
            def truth(frame: Frame) -> Argument:
                cell = value.value(frame)
                return Argument(None if cell is None else number.integer(int(cell != b"\x00")), OraType.NUMBER)

            return _Given(truth, slot, value.variable)
        return _Given(lambda frame: Argument(value.value(frame), wire), slot, value.variable)

    def _unknown(self, expr: ast.Name) -> bool:
        variable, _ = self._names.variable_of(expr.parts)
        parts = expr.parts[1:] if expr.parts[0] == "SYS" else expr.parts
        known = ".".join(parts) in self._session.database.constants
        return (
            variable is None
            and not known
            and self._session.programs.variable(expr.parts) is None
            and expr.parts[-1] not in ("NEXTVAL", "CURRVAL")
            and ".".join(parts) not in PACKAGED
        )

    def _application_error(self) -> Step:
        """Read and compile `(number, text [, keep the stack]);` of RAISE_APPLICATION_ERROR; the third argument has no effect.
        Raises PLS-00306 for another number of arguments; the step raises that error, or ORA-21000 for a number out of range."""
        arguments = [self._expressions.compiled(expr) for expr in self._parser.call_arguments()]
        self._parser.need(";")
        if len(arguments) not in (2, 3):
            text = "PLS-00306: wrong number or types of arguments in call to 'RAISE_APPLICATION_ERROR'"
            raise self._parser.wrong(self._parser.token.start, text)
        code, text_ = integer_of(arguments[0]), arguments[1]

        def step(frame: Frame) -> None:
            raised = code(frame)
            if raised is None or not -20999 <= raised <= -20000:
                shown = "NULL" if raised is None else str(raised)
                raise OraError(21000, f"error number argument to raise_application_error of {shown} is out of range")
            shown = text_.value(frame)
            raise OraError(-raised, str(shown or ""))

        return step

    def _return_result(self) -> Step:
        """Read and compile `(cursor);` of DBMS_SQL.RETURN_RESULT: an implicit result for the client, which closes it (PL/SQL
        Packages and Types Reference). Raises PLS-00306 for what is no cursor; the step raises ORA-01001 for one that is not open."""
        self._parser.need("(")
        at = self._parser.token.start
        cursor = self._expressions.compiled(self._parser.expression_tree(), whole=True)
        if cursor.slot is None or self._slots.types[cursor.slot].type is not OraType.CURSOR:
            raise self._parser.wrong(at, "PLS-00306: wrong number or types of arguments in call to 'RETURN_RESULT'")
        if self._parser.token.text != ")":
            raise self._parser.refused("RETURN_RESULT to another client", self._parser.token.start)
        self._parser.need(")")
        self._parser.need(";")
        slot = cursor.slot

        def step(frame: Frame) -> None:
            frame.implicit.append(frame.cursor(slot).result)

        return step

    def _method(self, variable: Variable, kind: Collection, name: str) -> Step:
        """Read and compile the arguments of DELETE, EXTEND or TRIM, which is `name`, of a collection. Raises PLS-00306 for EXTEND
        and TRIM of an associative array; the step raises ORA-06531 for a collection that is null, ORA-06502 for a NULL argument,
        ORA-06533 for TRIM beyond its elements, ORA-06532 for EXTEND beyond a VARRAY's limit, ORA-04030 for too many elements."""
        given = self._parser.optional_arguments()
        self._parser.need(";")
        slot = variable.slot
        index = [self._expressions.attributes.index_of(kind, expr) for expr in given]
        if name != "DELETE" and kind.indexed:
            text = f"PLS-00306: wrong number or types of arguments in call to '{name}'"
            raise self._parser.wrong(self._parser.token.start, text)

        def step(frame: Frame) -> None:
            found = frame.elements(slot)
            keys = [one(frame) for one in index]
            if name == "DELETE":
                _delete(found, keys)
            elif name == "TRIM":
                count = keys[0] if keys else 1
                if count > len(found):
                    raise OraError(6533, "Subscript beyond count")
                for key in sorted(found)[len(found) - max(0, count) :]:
                    del found[key]
            else:
                _extend(found, kind, keys)

        return step


def _delete(found: dict[Any, Any], keys: list[Any]) -> None:
    if not keys:
        found.clear()
    elif len(keys) == 1:
        found.pop(keys[0], None)
    else:
        for key in [k for k in found if keys[0] <= k <= keys[1]]:
            del found[key]


_MOST_ELEMENTS = 1 << 22


def _extend(found: dict[Any, Any], kind: Collection, keys: list[Any]) -> None:
    count = keys[0] if keys else 1
    width = 1 if isinstance(kind.element, Scalar) else len(kind.element.fields)
    source = found.get(keys[1]) if len(keys) > 1 else (None,) * width
    last = max(found, default=0)
    if kind.limit is not None and last + count > kind.limit:
        raise OraError(6532, "Subscript outside of limit")
    if count > _MOST_ELEMENTS:
        raise OraError(4030, f"out of process memory when trying to allocate {count} elements")
    for n in range(count):
        found[last + 1 + n] = source


def _assign(frame: Frame, given: _Given | None, argument: Argument, place: int | str, sql: str, at: int) -> None:
    """Assign an OUT parameter's value to its variable; a cursor and an array replace it as they are. Raises PLS-00363, at the
    offset `at`, for an argument that is no variable, and as `Frame.store`."""
    if given is None or given.slot is None:
        raise located(sql, at, f"PLS-00363: expression '{place}' cannot be used as an assignment target")
    value: Any = argument.value
    if isinstance(value, Result | tuple):
        found: Any = OpenCursor(value) if isinstance(value, Result) else {n: (cell,) for n, cell in enumerate(value, 1)}
        frame.cells[given.slot] = found
        frame.assigned.add(given.slot)
    else:
        frame.store(given.slot, value, type_of_wire(argument.type, 0, -127, 4000))
