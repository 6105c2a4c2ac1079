"""Explicit cursors, cursor variables and cursor FOR loops: OPEN, FETCH, CLOSE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minercdc_sandbox.interfaces import BindType, ColumnDescription, OraError, OraType, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.declare import declared_like
from minercdc_sandbox.sql.plsql.attributes import cursor_slot
from minercdc_sandbox.sql.plsql.embedded import Embedded, Static, types_of
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.expressions import Compiled, integer_of
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step
from minercdc_sandbox.sql.plsql.targets import Target, assign_all
from minercdc_sandbox.sql.plsql.variables import Names, OpenCursor, Record, RefCursor, Scalar, Variable
from minercdc_sandbox.sql.translate.environment import VariableNames
from minercdc_sandbox.sql.types import type_of_wire

_AHEAD = 100
"""Rows a cursor FOR loop reads at once, as PL/SQL does since 10g."""


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredCursor:
    """`CURSOR name(parameters) IS query`; `marked` when its rows can be named by CURRENT OF."""

    name: str
    slot: int
    statement: Embedded
    parameters: tuple[tuple[Variable, Compiled | None], ...]

    @property
    def marked(self) -> bool:
        return self.statement.marked

    @property
    def columns(self) -> tuple[ColumnDescription, ...]:
        columns = self.statement.columns or ()
        return columns[:-1] if self.marked else columns


def record_of(columns: Sequence[ColumnDescription]) -> Record:
    """%ROWTYPE of a query."""
    fields = []
    for column in columns:
        kind = type_of_wire(column.type, column.precision, column.scale, column.size, column.national)
        fields.append((column.name, Scalar(declared_like(column.name, kind))))
    return Record(tuple(fields))


class Cursors(Static):
    """Reads and runs what works on cursors."""

    def statements(self, *ends: str) -> Step:
        """Statements up to one of these words, which the next grammar knows."""
        raise NotImplementedError

    def open_cursor(self) -> Step:
        """`OPEN c[(arguments)];`, `OPEN v FOR query;`, `OPEN v FOR 'text' [USING ..];`"""
        self.need("OPEN")
        token = self.token
        found = self.visible.find(token.text) if token.kind in "WQ" else None
        if isinstance(found, DeclaredCursor):
            self.at += 1
            arguments = self._arguments(found, token.start)
            self.need(";")
            return _opening(found, arguments)
        target = self.target()
        slot = target.variable.slot if target.variable is not None else target.slot
        if slot is None or self.slots.types[slot].type is not OraType.CURSOR:
            raise located(self.sql, token.start, "PLS-00382: expression is of wrong type")
        self.need("FOR")
        run = self._opened_query()
        self.need(";")

        def step(frame: Frame) -> None:
            frame.cells[slot] = OpenCursor(run(frame))
            frame.assigned.add(slot)

        return step

    def _opened_query(self) -> Callable[[Frame], Result]:
        if self.is_word("SELECT") or self.is_word("WITH") or self.token.text == "(":
            statement = self.embedded(into=False)
            return statement.run
        text = self.expression()
        using = self.using()

        def run(frame: Frame) -> Result:
            binds, types = using(frame)
            result = frame.session.run_statement(str(text.value(frame) or ""), types, [binds], VariableNames())
            if result.rows is None:
                raise OraError(3001, "unimplemented feature: OPEN FOR what is no query")
            return result

        return run

    def using(self) -> Callable[[Frame], tuple[tuple[Any, ...], list[Any]]]:
        """`USING a, b`, of values alone."""
        values = []
        if self.word("USING"):
            self.word("IN")
            values.append(self.expression())
            while self.op(","):
                self.word("IN")
                values.append(self.expression())
        return lambda frame: (tuple(v.value(frame) for v in values), [wire_type(v) for v in values])

    def _arguments(self, cursor: DeclaredCursor, at: int) -> list[tuple[Variable, Compiled]]:
        given = [self.compiled(expr) for expr in self.call_arguments()] if self.token.text == "(" else []
        found = []
        for n, (parameter, default) in enumerate(cursor.parameters):
            value = given[n] if n < len(given) else default
            if value is None:
                raise located(self.sql, at, f"PLS-00306: wrong number or types of arguments in call to '{cursor.name}'")
            found.append((parameter, value))
        if len(given) > len(cursor.parameters):
            raise located(self.sql, at, f"PLS-00306: wrong number or types of arguments in call to '{cursor.name}'")
        return found

    def close_cursor(self) -> Step:
        """`CLOSE c;`"""
        self.need("CLOSE")
        slot = self._cursor()
        self.need(";")

        def step(frame: Frame) -> None:
            _opened(frame, slot).result.rows.close()  # type: ignore[union-attr]
            frame.cells[slot] = None

        return step

    def _cursor(self) -> int:
        token = self.take()
        if token.kind == "B":
            index = self.bind(token).index
            self.read.add(index)
            return index
        return cursor_slot(self, ast.Name((token.text,), token.start))

    def fetch(self) -> Step:
        """`FETCH c INTO ..;`, `FETCH c BULK COLLECT INTO .. [LIMIT n];`"""
        self.need("FETCH")
        slot = self._cursor()
        bulk = self.word("BULK", "COLLECT")
        self.need("INTO")
        targets = self.targets()
        limit = integer_of(self.expression()) if self.word("LIMIT") else None
        self.need(";")

        def step(frame: Frame) -> None:
            cursor = _opened(frame, slot)
            count = (limit(frame) or 0) if limit is not None else (1 << 62 if bulk else 1)
            rows = cursor.fetch(count)
            cursor.fetched += len(rows)
            types = types_of(cursor.columns())
            cursor.found = bool(rows) if limit is None else len(rows) == count
            if bulk:
                assign_all(frame, targets, rows, types)
            elif rows:
                _check_width(targets, len(types))
                at = 0
                for target in targets:
                    target.store(frame, rows[0][at : at + target.width], types[at : at + target.width])
                    at += target.width

        return step

    def cursor_loop(self, name: str, label: str | None) -> Step:
        """`FOR record IN c | (query) LOOP .. END LOOP;`, after IN."""
        token = self.token
        found = self.visible.find(token.text) if token.kind in "WQ" else None
        opening: Step | None = None
        if isinstance(found, DeclaredCursor):
            self.at += 1
            opening = _opening(found, self._arguments(found, token.start))
            slot, columns = found.slot, found.columns
        else:
            self.need("(")
            statement = self.embedded(end=")", into=False)
            self.need(")")
            slot, columns = self.slots.take(RefCursor()), statement.columns or ()

            def opening(frame: Frame) -> None:
                frame.cells[slot] = OpenCursor(statement.run(frame))

        kind = record_of(columns)
        record = Variable(name, kind, self.slots.take(kind))
        outer, self.visible = self.visible, Names(self.visible, None, {name: record})
        body = self.loop_body(label)
        self.visible = outer
        return _looping(opening, slot, record, body, label)

    def loop_body(self, label: str | None) -> Step:
        """`LOOP statements END LOOP [label];`"""
        self.need("LOOP")
        body = self.statements("END")
        self.need("END")
        self.need("LOOP")
        if self.token.kind in "WQ":
            if self.token.text != label:
                text = f"PLS-00373: END identifier '{self.token.text}' must match '{label or ''}'"
                raise located(self.sql, self.token.start, text)
            self.at += 1
        self.need(";")
        return body


def wire_type(value: Compiled) -> Any:
    """What a value is bound as."""
    described = value.type.describe("")
    return BindType(described.type, max(described.size, 4000), described.national)


def _check_width(targets: Sequence[Target], columns: int) -> None:
    if sum(target.width for target in targets) != columns:
        raise OraError(6504, "PL/SQL: Return types of Result Set variables or query do not match")


def _opened(frame: Frame, slot: int) -> OpenCursor:
    cursor = frame.cells[slot]
    if not isinstance(cursor, OpenCursor):
        raise OraError(1001, "invalid cursor")
    return cursor


def _opening(cursor: DeclaredCursor, arguments: Sequence[tuple[Variable, Compiled]]) -> Step:
    def step(frame: Frame) -> None:
        if isinstance(frame.cells[cursor.slot], OpenCursor):
            raise OraError(6511, "PL/SQL: cursor already open")
        for parameter, value in arguments:
            frame.store(parameter.slot, value.value(frame), value.type)
        frame.cells[cursor.slot] = OpenCursor(cursor.statement.run(frame), marked=cursor.marked)

    return step


def _looping(opening: Step, slot: int, record: Variable, body: Step, label: str | None) -> Step:
    def step(frame: Frame) -> None:
        opening(frame)
        cursor = _opened(frame, slot)
        types = types_of(cursor.columns())
        # Read ahead, but for a cursor whose current row counts.
        ahead = 1 if cursor.marked else _AHEAD
        try:
            while batch := cursor.fetch(ahead):
                for row in batch:
                    cursor.fetched, cursor.found = cursor.fetched + 1, True
                    for n, cell in enumerate(row):
                        frame.store(record.slot + n, cell, types[n])
                    if not turn(frame, body, label):
                        return
                if len(batch) < ahead:
                    break
        finally:
            cursor.result.rows.close()  # type: ignore[union-attr]
            frame.cells[slot] = None

    return step


def turn(frame: Frame, body: Step, label: str | None) -> bool:
    """One turn of a loop; False when it was left by EXIT."""
    try:
        body(frame)
    except Leave as leave:
        if leave.kind in ("RETURN", "GOTO") or leave.label not in (None, label):
            raise
        return leave.kind == "CONTINUE"
    return True
