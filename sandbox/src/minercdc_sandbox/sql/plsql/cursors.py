"""Explicit cursors and cursor variables: OPEN, FETCH, CLOSE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minercdc_sandbox.interfaces import OraError, OraType, Result
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.embedded import StaticSql
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler, integer_of
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.program import Compiled, DeclaredCursor, Target, assign_all, store_row, types_of
from minercdc_sandbox.sql.plsql.targets import TargetCompiler
from minercdc_sandbox.sql.plsql.variables import OpenCursor, Variable
from minercdc_sandbox.sql.tokens import TokenKind


class CursorStatements:
    """Compiles OPEN, FETCH and CLOSE of explicit cursors and cursor variables. Its methods raise PLS- errors within ORA-06550."""

    def __init__(self, block: Compilation, expressions: ExpressionCompiler, targets: TargetCompiler, sql: StaticSql) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._read = block.read
        self._expressions, self._targets, self._sql = expressions, targets, sql

    def open_cursor(self) -> Step:
        """Read and compile `OPEN c[(arguments)];`, `OPEN v FOR query;` or `OPEN v FOR 'text' [USING ..];`. Raises PLS-00306, and
        PLS-00382 for a target that is no cursor variable, and as `StaticSql.statement`.

        The step raises ORA-06511 for an explicit cursor that is open (a variable is opened again, and its query before is not
        closed), ORA-03001 for a text that is no query, after it has run, and what the query raises.
        """
        self._parser.need("OPEN")
        token = self._parser.token
        found = self._names.find(token.text) if token.is_name else None
        if isinstance(found, DeclaredCursor):
            self._parser.at += 1
            arguments = self.arguments(found, token.start)
            self._parser.need(";")
            return opening_of(found, arguments)
        target = self._targets.target()
        slot = target.place
        if slot is None or self._slots.types[slot].type is not OraType.CURSOR:
            raise self._parser.wrong(token.start, "PLS-00382: expression is of wrong type")
        self._parser.need("FOR")
        run = self._opened_query()
        self._parser.need(";")

        def step(frame: Frame) -> None:
            frame.cells[slot] = OpenCursor(run(frame))
            frame.assigned.add(slot)

        return step

    def _opened_query(self) -> Callable[[Frame], Result]:
        if self._parser.is_word("SELECT") or self._parser.is_word("WITH") or self._parser.token.text == "(":
            return self._sql.statement(into=False).run
        text = self._expressions.expression()
        using = self.using()

        def run(frame: Frame) -> Result:
            binds, types = using(frame)
            result = frame.session.statements.run_inner(str(text.value(frame) or ""), types, [binds])
            if result.rows is None:
                raise OraError(3001, "unimplemented feature: OPEN FOR what is no query")
            return result

        return run

    def using(self) -> Callable[[Frame], tuple[tuple[Any, ...], list[Any]]]:
        """Read `[USING [IN] a, [IN] b]`; a function that computes the values' cells and types each time it is called, both empty
        without USING. Raises as `ExpressionCompiler.expression`."""
        values = self._parser.listed(self._value) if self._parser.word("USING") else []
        return lambda frame: (tuple(v.value(frame) for v in values), [v.wire_type() for v in values])

    def _value(self) -> Compiled:
        self._parser.word("IN")
        return self._expressions.expression()

    def arguments(self, cursor: DeclaredCursor, at: int) -> list[tuple[Variable, Compiled]]:
        """Read `[(arguments)]`, by position; each parameter with its value or default, in the order of declaration. Raises
        PLS-00306 at the offset `at` for too few or too many, and as `ExpressionCompiler.compiled`."""
        given = [self._expressions.compiled(expr) for expr in self._parser.optional_arguments()]
        found = []
        for n, (parameter, default) in enumerate(cursor.parameters):
            value = given[n] if n < len(given) else default
            if value is None:
                raise self._parser.wrong(at, f"PLS-00306: wrong number or types of arguments in call to '{cursor.name}'")
            found.append((parameter, value))
        if len(given) > len(cursor.parameters):
            raise self._parser.wrong(at, f"PLS-00306: wrong number or types of arguments in call to '{cursor.name}'")
        return found

    def close_cursor(self) -> Step:
        """Read and compile `CLOSE c;`. Raises PLS-00201 for what is no cursor; the step raises ORA-01001 for one that is not open."""
        self._parser.need("CLOSE")
        slot = self._cursor()
        self._parser.need(";")

        def step(frame: Frame) -> None:
            frame.cursor(slot).result.rows.close()  # type: ignore[union-attr]
            frame.cells[slot] = None

        return step

    def _cursor(self) -> int:
        token = self._parser.take()
        if token.kind is TokenKind.BIND:
            index = self._parser.bind(token).index
            self._read.add(index)
            return index
        return self._names.cursor_slot(token.text, token.start)

    def fetch(self) -> Step:
        """Read and compile `FETCH c INTO ..;` or `FETCH c BULK COLLECT INTO .. [LIMIT n];`. Raises PLS-00201 for what is no
        cursor, as `TargetCompiler.target`, and for LIMIT as `ExpressionCompiler.expression`.

        Without a row FETCH leaves its targets as they are; BULK COLLECT replaces them, also by nothing. The step raises ORA-01001
        for a cursor that is not open, ORA-06504 for a row with another number of columns than the targets, ORA-06502 for a target
        of BULK COLLECT that is not a collection or a LIMIT that is not a number, and what the query and `Frame.store` raise.
        """
        self._parser.need("FETCH")
        slot = self._cursor()
        bulk = self._parser.word("BULK", "COLLECT")
        self._parser.need("INTO")
        targets = self._targets.targets()
        limit = integer_of(self._expressions.expression()) if self._parser.word("LIMIT") else None
        self._parser.need(";")

        def step(frame: Frame) -> None:
            cursor = frame.cursor(slot)
            count = (limit(frame) or 0) if limit is not None else (1 << 62 if bulk else 1)
            rows = cursor.fetch(count)
            cursor.fetched += len(rows)
            types = types_of(cursor.columns())
            cursor.found = bool(rows) if limit is None else len(rows) == count
            if rows:
                _check_width(targets, len(types))
            if bulk:
                assign_all(frame, targets, rows, types)
            elif rows:
                store_row(frame, targets, rows[0], types)

        return step


def _check_width(targets: Sequence[Target], columns: int) -> None:
    if sum(target.width for target in targets) != columns:
        raise OraError(6504, "PL/SQL: Return types of Result Set variables or query do not match")


def opening_of(cursor: DeclaredCursor, arguments: Sequence[tuple[Variable, Compiled]]) -> Step:
    """The step that assigns the `arguments` to an explicit cursor's parameters and opens it. The step raises ORA-06511 for one
    that is open, as `Frame.store` for the arguments, and what the query raises."""

    def step(frame: Frame) -> None:
        if isinstance(frame.cells[cursor.slot], OpenCursor):
            raise OraError(6511, "PL/SQL: cursor already open")
        for parameter, value in arguments:
            frame.store(parameter.slot, value.value(frame), value.type)
        frame.cells[cursor.slot] = OpenCursor(cursor.statement.run(frame), marked=cursor.marked)

    return step
