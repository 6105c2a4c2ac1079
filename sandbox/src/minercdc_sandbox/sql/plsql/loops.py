"""Loops: LOOP, WHILE, FOR over numbers and cursors, and FORALL, which runs one DML statement for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.cursors import CursorStatements, opening_of
from minercdc_sandbox.sql.plsql.embedded import StaticSql
from minercdc_sandbox.sql.plsql.errors import UNTRAPPED, undeclared
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler, integer_of
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step, Test
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.program import DeclaredCursor, StaticStatement, record_of, store_returned, types_of
from minercdc_sandbox.sql.plsql.variables import INTEGER, Collection, OpenCursor, RefCursor, Variable

SQL_WORDS = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "LOCK", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET"))
"""First words of SQL statements other than queries."""
_BULK_WORDS = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE"))
"""First words of statements that FORALL may run."""
_AHEAD = 100
"""Rows that a cursor FOR loop reads at once, as PL/SQL does since 10g."""


class Loops:
    """Compiles loops and FORALL. Its methods raise PLS- errors within ORA-06550; steps of loops pass on `Leave` of other loops
    and of RETURN and GOTO.

    :param statements: compiles statements up to one of the words given.
    """

    def __init__(
        self,
        block: Compilation,
        expressions: ExpressionCompiler,
        sql: StaticSql,
        cursors: CursorStatements,
        statements: Callable[..., Step],
    ) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._expressions, self._sql, self._cursors, self._statements = expressions, sql, cursors, statements

    def loop(self, word: str, label: str | None) -> Step:
        """Read and compile the loop that begins with `word`: LOOP, WHILE or FOR; `label` stands before it, None without one.
        Raises PLS-00103, PLS-00373 for another label after END LOOP, and as `ExpressionCompiler.condition`, `StaticSql.statement`
        and `Statements.statements`.

        The step closes the query of a cursor loop. It raises ORA-01013 on cancel, ORA-06502 for a NULL bound, and what the query
        and the statements of the loop raise.
        """
        if word == "FOR":
            return self._for(label)
        test: Test | None = None
        if self._parser.word("WHILE"):
            test = self._expressions.condition()
        body = self._loop_body(label)

        def step(frame: Frame) -> None:
            while test is None or test(frame):
                frame.session.client.check()
                if not _turn(frame, body, label):
                    return

        return step

    def _for(self, label: str | None) -> Step:
        self._parser.need("FOR")
        name = self._parser.take().text
        self._parser.need("IN")
        reverse = self._parser.word("REVERSE")
        declared = self._names.find(self._parser.token.text) if self._parser.token.is_name else None
        query = self._parser.token.text == "(" and self._parser.peek().text in ("SELECT", "WITH", "(")
        if not reverse and (query or isinstance(declared, DeclaredCursor)):
            return self._cursor_loop(name, label)
        bounds = self._bounds()
        index = Variable(name, INTEGER, self._slots.take(INTEGER), constant=True)
        with self._names.inside(Scope(self._names.scope, None, {name: index})):
            body = self._loop_body(label)

        def step(frame: Frame) -> None:
            every = bounds(frame)
            for n in reversed(every) if reverse else every:
                frame.session.client.check()
                frame.cells[index.slot] = number.encode(n)
                if not _turn(frame, body, label):
                    return

        return step

    def forall(self) -> Step:
        """Read and compile `FORALL i IN low .. high | INDICES OF t [SAVE EXCEPTIONS] statement;`. Raises PLS-00103 for VALUES OF
        and EXECUTE IMMEDIATE, PLS-00201 for what is no collection, PLS-00438 for another statement than DML, PLS-00435 for one
        without an element of a collection, and as `StaticSql.statement`.

        The step sets SQL%ROWCOUNT, SQL%BULK_ROWCOUNT and SQL%BULK_EXCEPTIONS. It raises ORA-24381 at its end when SAVE EXCEPTIONS
        saved some, else what the statement raises, ORA-06502 for a NULL bound, ORA-06531 for a collection that is null.
        """
        self._parser.need("FORALL")
        name = self._parser.take().text
        self._parser.need("IN")
        keys = self._forall_keys()
        saving = self._parser.word("SAVE", "EXCEPTIONS")
        index = Variable(name, INTEGER, self._slots.take(INTEGER), constant=True)
        with self._names.inside(Scope(self._names.scope, None, {name: index})):
            statement = self._bulk_statement()

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
                store_returned(frame, statement.targets, rows, bulk=statement.bulk)
            if failed:
                raise OraError(24381, "error(s) in array DML")

        return step

    def _bulk_statement(self) -> StaticStatement:
        at, first = self._parser.token.start, self._parser.at
        if self._parser.token.text not in _BULK_WORDS:
            raise self._parser.wrong(at, "PLS-00438: value LIMIT or a DML statement is expected in FORALL")
        if self._parser.token.text == "EXECUTE":
            raise self._parser.refused("FORALL .. EXECUTE IMMEDIATE", at)
        statement = self._sql.statement()
        if not any(self._is_element(n) for n in range(first, self._parser.at)):
            raise self._parser.wrong(at, "PLS-00435: DML statement without BULK In-BIND cannot be used inside FORALL")
        self._parser.need(";")
        return statement

    def _is_element(self, at: int) -> bool:
        """Whether an element of a collection stands at the word `at`, an index in `tokens`."""
        token, after = self._parser.tokens[at : at + 2]
        variable = self._names.variable_of((token.text,))[0] if token.is_name and after.text == "(" else None
        return variable is not None and isinstance(variable.type, Collection)

    def _forall_keys(self) -> Callable[[Frame], Sequence[int]]:
        if self._parser.is_word("INDICES", "OF") or self._parser.is_word("VALUES", "OF"):
            values = self._parser.take().text == "VALUES"
            self._parser.need("OF")
            token = self._parser.take()
            variable, _ = self._names.variable_of((token.text,))
            if variable is None or not isinstance(variable.type, Collection):
                raise undeclared(self._parser.sql, token.start, token.text)
            if values:
                raise self._parser.refused("FORALL .. VALUES OF", token.start)
            slot = variable.slot
            return lambda frame: sorted(frame.elements(slot))
        return self._bounds()

    def _bounds(self) -> Callable[[Frame], range]:
        """Read `low .. high`; a function that computes the range, both included, empty when `high` is below `low`. Raises
        PLS-00103, and as `ExpressionCompiler.compiled`; the function raises ORA-06502 for NULL and for what is no number."""
        low = integer_of(self._expressions.compiled(self._parser.sum()))
        self._parser.need("..")
        high = integer_of(self._expressions.compiled(self._parser.sum()))

        def bounds(frame: Frame) -> range:
            first, last = low(frame), high(frame)
            if first is None or last is None:
                raise OraError(6502, "PL/SQL: numeric or value error")
            return range(first, last + 1)

        return bounds

    def _cursor_loop(self, name: str, label: str | None) -> Step:
        """Read `c | (query) LOOP .. END LOOP;`, after `FOR record IN`; `name`: of the record. The step opens the cursor, and
        closes it however the loop ends. Raises as `CursorStatements.arguments`, `StaticSql.statement` and `_loop_body`."""
        token = self._parser.token
        found = self._names.find(token.text) if token.is_name else None
        opening: Step | None = None
        if isinstance(found, DeclaredCursor):
            self._parser.at += 1
            opening = opening_of(found, self._cursors.arguments(found, token.start))
            slot, columns = found.slot, found.columns
        else:
            self._parser.need("(")
            statement = self._sql.statement(end=")", into=False)
            self._parser.need(")")
            slot, columns = self._slots.take(RefCursor()), statement.columns or ()

            def opening(frame: Frame) -> None:
                frame.cells[slot] = OpenCursor(statement.run(frame))

        kind = record_of(columns)
        record = Variable(name, kind, self._slots.take(kind))
        with self._names.inside(Scope(self._names.scope, None, {name: record})):
            body = self._loop_body(label)
        return _looping(opening, slot, record, body, label)

    def _loop_body(self, label: str | None) -> Step:
        """Read and compile `LOOP statements END LOOP [label];`. Raises as `loop`."""
        self._parser.need("LOOP")
        body = self._statements("END")
        self._parser.need("END")
        self._parser.need("LOOP")
        if self._parser.token.is_name:
            if self._parser.token.text != label:
                text = f"PLS-00373: END identifier '{self._parser.token.text}' must match '{label or ''}'"
                raise self._parser.wrong(self._parser.token.start, text)
            self._parser.at += 1
        self._parser.need(";")
        return body


def _looping(opening: Step, slot: int, record: Variable, body: Step, label: str | None) -> Step:
    def step(frame: Frame) -> None:
        opening(frame)
        cursor = frame.cursor(slot)
        types = types_of(cursor.columns())
        # Read ahead, but for a cursor whose current row counts.
        ahead = 1 if cursor.marked else _AHEAD
        try:
            while batch := cursor.fetch(ahead):
                for row in batch:
                    cursor.fetched, cursor.found = cursor.fetched + 1, True
                    for n, cell in enumerate(row):
                        frame.store(record.slot + n, cell, types[n])
                    if not _turn(frame, body, label):
                        return
                if len(batch) < ahead:
                    break
        finally:
            cursor.result.rows.close()  # type: ignore[union-attr]
            frame.cells[slot] = None

    return step


def _turn(frame: Frame, body: Step, label: str | None) -> bool:
    """Run one turn of the loop `label`; False when EXIT left it. `Leave` of RETURN, GOTO and other loops passes."""
    try:
        body(frame)
    except Leave as leave:
        if leave.kind in ("RETURN", "GOTO") or leave.label not in (None, label):
            raise
        return leave.kind == "CONTINUE"
    return True
