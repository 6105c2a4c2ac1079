"""Blocks, their exception handlers, and the statements that control their flow: IF, CASE, EXIT, RETURN, RAISE, GOTO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql.calls import Calls
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.cursors import CursorStatements
from minercdc_sandbox.sql.plsql.declarations import Declarations
from minercdc_sandbox.sql.plsql.dynamic import DynamicSql
from minercdc_sandbox.sql.plsql.embedded import StaticSql
from minercdc_sandbox.sql.plsql.errors import MESSAGES, UNTRAPPED, NamedException, UserError, undeclared
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step, Test
from minercdc_sandbox.sql.plsql.loops import SQL_WORDS, Loops
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.targets import TargetCompiler
from minercdc_sandbox.sql.tokens import TokenKind

_REFUSED = frozenset(("PIPE",))


@dataclass(slots=True)
class _Handler:
    """One `WHEN exceptions THEN body`; `exceptions` empty: OTHERS."""

    exceptions: list[NamedException]
    body: Step

    def catches(self, error: OraError) -> bool:
        return not self.exceptions or any(one.catches(error) for one in self.exceptions)


class Statements:
    """Compiles blocks and statements, each by the compiler of its first word. Its methods raise PLS- and SQL errors within
    ORA-06550; the steps they return raise what the statements do, and `Leave` for EXIT, CONTINUE, GOTO and RETURN.

    :ivar calls: compiles calls of procedures.
    :ivar declarations: compiles DECLARE sections.
    :ivar expressions: compiles expressions and conditions.
    """

    def __init__(self, block: Compilation) -> None:
        self._block, self._parser, self._names = block, block.parser, block.names
        self.expressions = self._expressions = expressions = ExpressionCompiler(block)
        self._targets = targets = TargetCompiler(block, expressions)
        self._sql = sql = StaticSql(block, expressions, targets)
        self.declarations = Declarations(block, expressions, targets, sql, self.block_of)
        self.calls = Calls(block, expressions)
        cursors = CursorStatements(block, expressions, targets, sql)
        self._loops = loops = Loops(block, expressions, sql, cursors, self.statements)
        self._compilers: dict[str, Callable[[], Step]] = {
            "NULL": self._null,
            "IF": self._if,
            "CASE": self._case_statement,
            "EXIT": self._leave,
            "CONTINUE": self._leave,
            "RETURN": self._return,
            "RAISE": self._raise,
            "FORALL": loops.forall,
            "GOTO": self._goto,
            "SELECT": sql.select_into,
            "WITH": sql.select_into,
            "OPEN": cursors.open_cursor,
            "FETCH": cursors.fetch,
            "CLOSE": cursors.close_cursor,
            "EXECUTE": DynamicSql(block, expressions, targets).execute_immediate,
        }

    def block_of(self, scope: Scope) -> Step:
        """Read and compile `[declarations] BEGIN .. [EXCEPTION ..] END [name];`, whose names go into `scope`; DECLARE, if it
        stands there, has been read. Raises PLS-00113 for another name after END than the label of the scope, PLS-00103, and as
        `Declarations.read` and `body`."""
        with self._names.inside(scope):
            entering = self.declarations.read()
            body = self.body()
            end = self._parser.token
            if end.is_name:
                if scope.label is not None and end.text != scope.label:
                    raise self._parser.wrong(end.start, f"PLS-00113: END identifier '{end.text}' must match '{scope.label}'")
                self._parser.take()
            self._parser.need(";")
        return _entered(entering, body)

    def body(self) -> Step:
        """Read and compile `BEGIN .. [EXCEPTION ..] END`. Handlers run with the changes that the body has made. Raises PLS-00103,
        and as `statements`."""
        self._parser.need("BEGIN")
        body = self.statements("EXCEPTION", "END")
        handlers = self._handlers() if self._parser.word("EXCEPTION") else []
        self._parser.need("END")
        return _handled(body, handlers)

    def statements(self, *ends: str) -> Step:
        """Read and compile one or more statements up to one of the words `ends`, which is left unread. The step notes the line of
        a statement that raises an error. Raises PLS-00103 without a statement, and what the compilers of the statements raise."""
        steps: list[Step] = []
        labels: dict[str, int] = {}
        outer, self._block.unit.gotos = self._block.unit.gotos, []
        while not (self._parser.token.kind is TokenKind.WORD and self._parser.token.text in ends):
            line = self._parser.line()
            label: str | None = None
            while self._parser.token.text == "<" and self._parser.peek().text == "<":
                label = self._label()
                labels[label] = len(steps)
            if self._parser.token.kind is TokenKind.WORD and self._parser.token.text in ends:
                raise self._parser.unexpected("a statement")  # a label stands before a statement, NULL if need be
            steps.append(_traced(self._statement(label), line))
        if not steps:
            raise self._parser.unexpected("a statement")
        outer += [goto for goto in self._block.unit.gotos if goto[0] not in labels]
        self._block.unit.gotos = outer
        return _jumping(steps, labels) if labels else _sequence(steps)

    def _label(self) -> str:
        self._parser.at += 2
        label = self._parser.take().text
        self._parser.need(">")
        self._parser.need(">")
        return label

    def _goto(self) -> Step:
        """Read and compile `GOTO label;`: of a statement in this sequence or in one around it, which `Compilation.finished`
        checks. The step raises `Leave`, and ORA-01013 on cancel. Raises PLS-00103."""
        self._parser.need("GOTO")
        token = self._parser.take()
        self._parser.need(";")
        self._block.unit.gotos.append((token.text, token.start))

        def step(frame: Frame) -> None:
            frame.session.client.check()
            raise Leave("GOTO", token.text)

        return step

    def _statement(self, label: str | None) -> Step:
        token = self._parser.token
        if token.kind is TokenKind.BIND:
            return self._targets.assignment()
        if not token.is_name:
            raise self._parser.unexpected()
        word = token.text if token.kind is TokenKind.WORD else ""
        if word in self._compilers:
            return self._compilers[word]()
        if word in ("LOOP", "WHILE", "FOR"):
            self._block.unit.loops.append(label)
            step = self._loops.loop(word, label)
            self._block.unit.loops.pop()
            return step
        if word == "BEGIN" or word == "DECLARE":
            self._parser.word("DECLARE")
            return self.block_of(Scope(self._names.scope, label))
        if word in SQL_WORDS and self._parser.peek().text != ":=":
            return self._sql.sql_statement()
        if word in _REFUSED:
            raise self._parser.refused(word, token.start)
        return self._targets.assignment() if self._assigns() else self.calls.call()

    def _assigns(self) -> bool:
        rest = self._parser.tokens[self._parser.at :]
        first = next((t.text for t in rest if t.kind is TokenKind.OPERATOR and t.text in (";", ":=")), "")
        return first == ":="

    def _null(self) -> Step:
        self._parser.need("NULL")
        self._parser.need(";")
        return lambda frame: None

    def _if(self) -> Step:
        branches: list[tuple[Test, Step]] = []
        otherwise: Step | None = None
        self._parser.need("IF")
        while True:
            test = self._expressions.condition()
            self._parser.need("THEN")
            branches.append((test, self.statements("ELSIF", "ELSE", "END")))
            if not self._parser.word("ELSIF"):
                break
        if self._parser.word("ELSE"):
            otherwise = self.statements("END")
        self._parser.need("END")
        self._parser.need("IF")
        self._parser.need(";")
        return _choice(branches, otherwise)

    def _case_statement(self) -> Step:
        """Read and compile a CASE statement. Raises PLS-00103, and as `ExpressionCompiler.truth` and `statements`; the step
        raises ORA-06592 when nothing matches and there is no ELSE."""
        self._parser.need("CASE")
        operand = None if self._parser.is_word("WHEN") else self._parser.expression_tree()
        branches: list[tuple[Test, Step]] = []
        while self._parser.word("WHEN"):
            at = self._parser.token.start
            test = (
                self._expressions.condition()
                if operand is None
                else self._expressions.truth(ast.Compare("=", operand, self._parser.expression_tree(), at))
            )
            self._parser.need("THEN")
            branches.append((test, self.statements("WHEN", "ELSE", "END")))
        otherwise = self.statements("END") if self._parser.word("ELSE") else _no_case
        self._parser.need("END")
        self._parser.need("CASE")
        if self._parser.token.is_name:
            self._parser.take()
        self._parser.need(";")
        return _choice(branches, otherwise)

    def _leave(self) -> Step:
        """Read and compile `EXIT [label] [WHEN condition];`, CONTINUE alike. Raises PLS-00376 outside a loop, PLS-00201 for a
        label that no loop around has; the step raises `Leave`."""
        at, kind, loops = self._parser.token.start, self._parser.take().text, self._block.unit.loops
        if not loops:
            raise self._parser.wrong(at, "PLS-00376: illegal EXIT/CONTINUE statement; it must appear inside a loop")
        label = self._parser.take().text if self._parser.token.is_name and not self._parser.is_word("WHEN") else None
        if label is not None and label not in loops:
            raise undeclared(self._parser.sql, at, label)
        test = self._expressions.condition() if self._parser.word("WHEN") else None
        self._parser.need(";")

        def step(frame: Frame) -> None:
            if test is None or test(frame):
                raise Leave(kind, label)

        return step

    def _return(self) -> Step:
        self._parser.need("RETURN")
        subprogram = self._block.unit.subprogram
        store: Step | None = None
        if self._parser.token.text != ";":
            if subprogram is None or subprogram.returns is None:
                text = "PLS-00372: In a procedure, RETURN statement cannot contain an expression"
                raise self._parser.wrong(self._parser.token.start, text)
            value, kind, slot = self._expressions.expression(), subprogram.returns, subprogram.result

            def store(frame: Frame) -> None:
                frame.cells[slot] = frame.fitted(kind, value.value(frame), value.type)

        elif subprogram is not None and subprogram.returns is not None:
            text = "PLS-00503: RETURN <value> statement required for this return from function"
            raise self._parser.wrong(self._parser.token.start, text)
        self._parser.need(";")

        def step(frame: Frame) -> None:
            if store is not None:
                store(frame)
            raise Leave("RETURN", "")

        return step

    def _exception(self) -> NamedException:
        token = self._parser.take()
        if self._parser.op("."):
            scope = self._names.labelled(token.text)
            token = self._parser.take()
            found = scope.known.get(token.text) if scope is not None else None
        else:
            found = self._names.find(token.text)
        if not isinstance(found, NamedException):
            raise undeclared(self._parser.sql, token.start, token.text)
        return found

    def _handlers(self) -> list[_Handler]:
        handlers: list[_Handler] = []
        while self._parser.word("WHEN"):
            caught: list[NamedException] = []
            if not self._parser.word("OTHERS"):
                caught.append(self._exception())
                while self._parser.word("OR"):
                    caught.append(self._exception())
            self._parser.need("THEN")
            handlers.append(_Handler(caught, self.statements("WHEN", "END")))
        if not handlers:
            raise self._parser.unexpected("when")
        return handlers

    def _raise(self) -> Step:
        self._parser.need("RAISE")
        if self._parser.op(";"):
            return _again
        exception = self._exception()
        self._parser.need(";")

        def step(frame: Frame) -> None:
            if exception.code is None:
                raise UserError(exception)
            raise OraError(exception.code, MESSAGES.get(exception.code, ""))

        return step


def _again(frame: Frame) -> None:
    """RAISE without a name: raise the error that is being handled. Raises ORA-06550 with PLS-00367 outside a handler."""
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
    """A sequence that GOTO may enter at a label; `labels`: the index of the step after each. A GOTO to another label leaves the
    sequence."""

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


def _entered(entering: Sequence[Step], body: Step) -> Step:
    def step(frame: Frame) -> None:
        for enter in entering:
            enter(frame)
        body(frame)

    return step


def _handled(body: Step, handlers: Sequence[_Handler]) -> Step:
    def step(frame: Frame) -> None:
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
