"""Loops: LOOP, WHILE, FOR over numbers, and FORALL, which runs one DML statement for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.plsql import attributes
from minercdc_sandbox.sql.plsql.cursors import DeclaredCursor, turn
from minercdc_sandbox.sql.plsql.declarations import Declarations
from minercdc_sandbox.sql.plsql.embedded import returned
from minercdc_sandbox.sql.plsql.errors import UNTRAPPED, located, undeclared
from minercdc_sandbox.sql.plsql.expressions import integer_of
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.variables import INTEGER, Collection, Names, Variable

SQL_WORDS = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "LOCK", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET"))
"""What statements of SQL begin with, but for queries."""
Test: TypeAlias = Callable[[Frame], "bool | None"]


class Loops(Declarations):
    """Reads loops."""

    def loop(self, word: str, label: str | None) -> Step:
        if word == "FOR":
            return self._for(label)
        test: Test | None = None
        if self.word("WHILE"):
            test = self.condition()
        body = self.loop_body(label)

        def step(frame: Frame) -> None:
            while test is None or test(frame):
                frame.session.client.check()
                if not turn(frame, body, label):
                    return

        return step

    def _for(self, label: str | None) -> Step:
        self.need("FOR")
        name = self.take().text
        self.need("IN")
        reverse = self.word("REVERSE")
        declared = self.visible.find(self.token.text) if self.token.kind in "WQ" else None
        query = self.token.text == "(" and self.peek().text in ("SELECT", "WITH", "(")
        if not reverse and (query or isinstance(declared, DeclaredCursor)):
            return self.cursor_loop(name, label)
        low = integer_of(self.compiled(self.sum()))
        self.need("..")
        high = integer_of(self.compiled(self.sum()))
        index = Variable(name, INTEGER, self.slots.take(INTEGER), constant=True)
        outer, self.visible = self.visible, Names(self.visible, None, {name: index})
        body = self.loop_body(label)
        self.visible = outer

        def step(frame: Frame) -> None:
            first, last = low(frame), high(frame)
            if first is None or last is None:
                raise OraError(6502, "PL/SQL: numeric or value error")
            every = range(first, last + 1)
            for n in reversed(every) if reverse else every:
                frame.session.client.check()
                frame.cells[index.slot] = number.encode(n)
                if not turn(frame, body, label):
                    return

        return step

    def forall(self) -> Step:
        """`FORALL i IN low .. high | INDICES OF t | VALUES OF t [SAVE EXCEPTIONS] statement;`"""
        self.need("FORALL")
        name = self.take().text
        self.need("IN")
        keys = self._forall_keys()
        saving = self.word("SAVE", "EXCEPTIONS")
        index = Variable(name, INTEGER, self.slots.take(INTEGER), constant=True)
        outer, self.visible = self.visible, Names(self.visible, None, {name: index})
        at = self.token.start
        if self.token.text not in SQL_WORDS:
            raise located(self.sql, at, "PLS-00438: value LIMIT or a DML statement is expected in FORALL")
        statement = self.embedded()
        self.need(";")
        self.visible = outer

        def step(frame: Frame) -> None:
            counts: list[int] = []
            rows: list[tuple[Any, ...]] = []
            failed: list[tuple[int, int]] = []
            for turn_, key in enumerate(keys(frame), 1):
                frame.cells[index.slot] = number.encode(key)
                try:
                    result = statement.run(frame)
                except OraError as error:
                    if not saving or error.number in UNTRAPPED:
                        raise
                    failed.append((turn_, error.number))
                    counts.append(0)
                    continue
                counts.append(result.row_count)
                rows += result.returned[0] if result.return_binds and result.returned else []
            frame.row_count, frame.bulk = sum(counts), counts
            frame.bulk_errors = failed
            if statement.targets:
                returned(frame, statement, rows)
            if failed:
                raise OraError(24381, "error(s) in array DML")

        return step

    def _forall_keys(self) -> Callable[[Frame], Sequence[int]]:
        if self.is_word("INDICES", "OF") or self.is_word("VALUES", "OF"):
            values = self.take().text == "VALUES"
            self.need("OF")
            token = self.take()
            variable, _ = self.variable_of((token.text,))
            if variable is None or not isinstance(variable.type, Collection):
                raise undeclared(self.sql, token.start, token.text)
            if values:
                raise self.refused("FORALL .. VALUES OF", token.start)
            slot = variable.slot
            return lambda frame: sorted(attributes.elements(frame, slot))
        low = integer_of(self.compiled(self.sum()))
        self.need("..")
        high = integer_of(self.compiled(self.sum()))

        def keys(frame: Frame) -> Sequence[int]:
            first, last = low(frame), high(frame)
            if first is None or last is None:
                raise OraError(6502, "PL/SQL: numeric or value error")
            return range(first, last + 1)

        return keys
