"""Blocks and the statements that steer them: IF, CASE, loops, EXIT, RAISE, exception handlers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.plsql import attributes
from minercdc.sandbox.sql.plsql.cursors import DeclaredCursor, turn
from minercdc.sandbox.sql.plsql.declarations import Declarations
from minercdc.sandbox.sql.plsql.embedded import returned
from minercdc.sandbox.sql.plsql.errors import MESSAGES, UNTRAPPED, NamedException, UserError, located, undeclared
from minercdc.sandbox.sql.plsql.expressions import integer_of
from minercdc.sandbox.sql.plsql.frame import Frame, Leave, Step
from minercdc.sandbox.sql.plsql.variables import INTEGER, Collection, Names, Variable

_SQL = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "LOCK", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET"))
_REFUSED = frozenset(("PIPE",))
Test: TypeAlias = Callable[[Frame], "bool | None"]


@dataclass(slots=True)
class _Handler:
    """`exceptions` empty: OTHERS."""

    exceptions: list[NamedException]
    body: Step

    def catches(self, error: OraError) -> bool:
        return not self.exceptions or any(one.catches(error) for one in self.exceptions)


class Statements(Declarations):
    """Reads whole blocks."""

    def block_of(self, names: Names) -> Step:
        """`[declarations] BEGIN .. [EXCEPTION ..] END [name];`"""
        outer, self.visible = self.visible, names
        entering = self.declarations()
        self.need("BEGIN")
        body = self.statements("EXCEPTION", "END")
        handlers = self._handlers() if self.word("EXCEPTION") else []
        self.need("END")
        if self.token.kind in "WQ":
            if names.label is not None and self.token.text != names.label:
                text = f"PLS-00113: END identifier '{self.token.text}' must match '{names.label}'"
                raise located(self.sql, self.token.start, text)
            self.take()
        self.need(";")
        self.visible = outer
        return _block(entering, body, handlers)

    def statements(self, *ends: str) -> Step:
        """One or more statements up to one of these words."""
        steps: list[Step] = []
        labels: dict[str, int] = {}
        outer, self.gotos = self.gotos, []
        while not (self.token.kind == "W" and self.token.text in ends):
            line = self.line()
            label: str | None = None
            while self.token.text == "<" and self.peek().text == "<":
                label = self._label()
                labels[label] = len(steps)
            if self.token.kind == "W" and self.token.text in ends:
                raise self.unexpected("a statement")  # a label stands before a statement, NULL if need be
            steps.append(_traced(self._statement(label), line))
        if not steps:
            raise self.unexpected("a statement")
        outer += [goto for goto in self.gotos if goto[0] not in labels]
        self.gotos = outer
        return _jumping(steps, labels) if labels else _sequence(steps)

    def _label(self) -> str:
        self.at += 2
        label = self.take().text
        self.need(">")
        self.need(">")
        return label

    def _goto(self) -> Step:
        """`GOTO label;`: of a statement in this sequence or in one around it."""
        self.need("GOTO")
        token = self.take()
        self.need(";")
        self.gotos.append((token.text, token.start))

        def step(frame: Frame) -> None:
            frame.session.client.check()
            raise Leave("GOTO", token.text)

        return step

    def _statement(self, label: str | None) -> Step:
        token = self.token
        if token.kind == "B":
            return self.assignment()
        if token.kind not in "WQ":
            raise self.unexpected()
        word = token.text if token.kind == "W" else ""
        read = self._readers().get(word)
        if read is not None:
            return read()
        if word in ("LOOP", "WHILE", "FOR"):
            return self._loop(word, label)
        if word == "BEGIN" or word == "DECLARE":
            self.word("DECLARE")
            return self.block_of(Names(self.visible, label))
        if word in _SQL and self.peek().text != ":=":
            return self.sql_statement()
        if word in _REFUSED:
            raise self.refused(word, token.start)
        return self.assignment() if self._assigns() else self.call()

    def _readers(self) -> dict[str, Callable[[], Step]]:
        return {
            "NULL": self._null,
            "IF": self._if,
            "CASE": self._case_statement,
            "EXIT": self._leave,
            "CONTINUE": self._leave,
            "RETURN": self._return,
            "RAISE": self._raise,
            "FORALL": self._forall,
            "GOTO": self._goto,
            "SELECT": self.select_into,
            "WITH": self.select_into,
            "OPEN": self.open_cursor,
            "FETCH": self.fetch,
            "CLOSE": self.close_cursor,
            "EXECUTE": self.execute_immediate,
        }

    def _assigns(self) -> bool:
        n = 0
        while self.peek(n).kind != "E" and not (self.peek(n).kind == "O" and self.peek(n).text == ";"):
            if self.peek(n).kind == "O" and self.peek(n).text == ":=":
                return True
            n += 1
        return False

    def _null(self) -> Step:
        self.need("NULL")
        self.need(";")
        return lambda frame: None

    def _if(self) -> Step:
        branches: list[tuple[Test, Step]] = []
        otherwise: Step | None = None
        self.need("IF")
        while True:
            test = self.condition()
            self.need("THEN")
            branches.append((test, self.statements("ELSIF", "ELSE", "END")))
            if not self.word("ELSIF"):
                break
        if self.word("ELSE"):
            otherwise = self.statements("END")
        self.need("END")
        self.need("IF")
        self.need(";")
        return _choice(branches, otherwise)

    def _case_statement(self) -> Step:
        """Raises ORA-06592 when nothing matches and there is no ELSE."""
        self.need("CASE")
        operand = None if self.is_word("WHEN") else self._read()
        branches: list[tuple[Test, Step]] = []
        while self.word("WHEN"):
            at = self.token.start
            test = self.condition() if operand is None else self.truth(ast.Compare("=", operand, self._read(), at))
            self.need("THEN")
            branches.append((test, self.statements("WHEN", "ELSE", "END")))
        otherwise = self.statements("END") if self.word("ELSE") else _no_case
        self.need("END")
        self.need("CASE")
        if self.token.kind in "WQ":
            self.take()
        self.need(";")
        return _choice(branches, otherwise)

    # ---- loops ----

    def _loop(self, word: str, label: str | None) -> Step:
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

    def _forall(self) -> Step:
        """`FORALL i IN low .. high | INDICES OF t | VALUES OF t [SAVE EXCEPTIONS] statement;`"""
        self.need("FORALL")
        name = self.take().text
        self.need("IN")
        keys = self._forall_keys()
        saving = self.word("SAVE", "EXCEPTIONS")
        index = Variable(name, INTEGER, self.slots.take(INTEGER), constant=True)
        outer, self.visible = self.visible, Names(self.visible, None, {name: index})
        at = self.token.start
        if self.token.text not in _SQL:
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

    def _leave(self) -> Step:
        """`EXIT [label] [WHEN condition];`, CONTINUE alike."""
        kind = self.take().text
        label = self.take().text if self.token.kind in "WQ" and not self.is_word("WHEN") else None
        test = self.condition() if self.word("WHEN") else None
        self.need(";")

        def step(frame: Frame) -> None:
            if test is None or test(frame):
                raise Leave(kind, label)

        return step

    def _return(self) -> Step:
        self.need("RETURN")
        subprogram = self.within
        store: Step | None = None
        if self.token.text != ";":
            if subprogram is None or subprogram.returns is None:
                text = "PLS-00372: In a procedure, RETURN statement cannot contain an expression"
                raise located(self.sql, self.token.start, text)
            value, kind, slot = self.expression(), subprogram.returns, subprogram.result

            def store(frame: Frame) -> None:
                frame.cells[slot] = frame.fitted(kind, value.value(frame), value.type)

        elif subprogram is not None and subprogram.returns is not None:
            raise located(
                self.sql, self.token.start, "PLS-00503: RETURN <value> statement required for this return from function"
            )
        self.need(";")

        def step(frame: Frame) -> None:
            if store is not None:
                store(frame)
            raise Leave("RETURN", "")

        return step

    # ---- exceptions ----

    def _exception(self) -> NamedException:
        token = self.take()
        if self.op("."):
            scope = self.visible.labelled(token.text)
            token = self.take()
            found = scope.known.get(token.text) if scope is not None else None
        else:
            found = self.visible.find(token.text)
        if not isinstance(found, NamedException):
            raise undeclared(self.sql, token.start, token.text)
        return found

    def _handlers(self) -> list[_Handler]:
        handlers: list[_Handler] = []
        while self.word("WHEN"):
            caught: list[NamedException] = []
            if not self.word("OTHERS"):
                caught.append(self._exception())
                while self.word("OR"):
                    caught.append(self._exception())
            self.need("THEN")
            handlers.append(_Handler(caught, self.statements("WHEN", "END")))
        if not handlers:
            raise self.unexpected("when")
        return handlers

    def _raise(self) -> Step:
        self.need("RAISE")
        if self.op(";"):
            return _again
        exception = self._exception()
        self.need(";")

        def step(frame: Frame) -> None:
            if exception.code is None:
                raise UserError(exception)
            raise OraError(exception.code, MESSAGES.get(exception.code, ""))

        return step


def _again(frame: Frame) -> None:
    """RAISE without a name."""
    if frame.error is None:
        raise OraError(6550, "PLS-00367: a RAISE statement with no exception name must be inside an exception handler")
    raise frame.error


def _no_case(frame: Frame) -> None:
    raise OraError(6592, MESSAGES[6592])


def _choice(branches: Sequence[tuple[Test, Step]], otherwise: Step | None) -> Step:
    def step(frame: Frame) -> None:
        for test, body in branches:
            if test(frame):
                body(frame)
                return
        if otherwise is not None:
            otherwise(frame)

    return step


def _sequence(steps: Sequence[Step]) -> Step:
    every = tuple(steps)

    def step(frame: Frame) -> None:
        for one in every:
            one(frame)

    return step


def _jumping(steps: Sequence[Step], labels: dict[str, int]) -> Step:
    """A sequence that GOTO may enter anywhere."""

    def step(frame: Frame) -> None:
        at = 0
        while at < len(steps):
            try:
                steps[at](frame)
                at += 1
            except Leave as leave:
                if leave.kind != "GOTO" or leave.label not in labels:
                    raise
                at = labels[leave.label]

    return step


def _traced(inner: Step, line: int) -> Step:
    def step(frame: Frame) -> None:
        try:
            inner(frame)
        except OraError as error:
            frame.note(error, line)
            raise

    return step


def _block(entering: Sequence[Step], body: Step, handlers: Sequence[_Handler]) -> Step:
    def step(frame: Frame) -> None:
        for enter in entering:
            enter(frame)
        try:
            body(frame)
        except OraError as error:
            handler = next((one for one in handlers if one.catches(error)), None)
            if handler is None or error.number in UNTRAPPED:
                raise
            outer, frame.error = frame.error, error
            try:
                handler.body(frame)
            finally:
                frame.error = outer

    return step
