"""Blocks and the statements that steer them: IF, CASE, loops, EXIT, RAISE, exception handlers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql.errors import MESSAGES, UNTRAPPED, NamedException, UserError, located, undeclared
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step
from minercdc_sandbox.sql.plsql.loops import SQL_WORDS, Loops, Test
from minercdc_sandbox.sql.plsql.variables import Names

_REFUSED = frozenset(("PIPE",))


@dataclass(slots=True)
class _Handler:
    """`exceptions` empty: OTHERS."""

    exceptions: list[NamedException]
    body: Step

    def catches(self, error: OraError) -> bool:
        return not self.exceptions or any(one.catches(error) for one in self.exceptions)


class Statements(Loops):
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
            return self.loop(word, label)
        if word == "BEGIN" or word == "DECLARE":
            self.word("DECLARE")
            return self.block_of(Names(self.visible, label))
        if word in SQL_WORDS and self.peek().text != ":=":
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
            "FORALL": self.forall,
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

    # ---- leaving ----

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
