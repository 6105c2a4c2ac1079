"""A block or CALL from a client: compiled as a whole, then run; its OUT binds become the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minercdc_sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.errors import UserError
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.statements import Statements
from minercdc_sandbox.sql.plsql.variables import OpenCursor, Slots
from minercdc_sandbox.sql.tokens import TokenKind


def run(session: SqlSession, sql: str, bind_types: Sequence[BindType], binds: tuple[Any, ...]) -> Result:
    """Compile and run a block or CALL; the result has the binds that it assigned, and the queries of DBMS_SQL.RETURN_RESULT,
    which the caller closes. An error undoes the block's changes, after a COMMIT or ROLLBACK in it those since then. Call it
    without the storage lock.

    Raises ORA-06550 with PLS- or PL/SQL: ORA- text and ORA-01008 before anything has run, as `tokenize`; errors of running with
    lines of ORA-06512, among them ORA-06550 of packaged calls (PLS-00306), of dynamic SQL and of RAISE (PLS-00367); ORA-06510 for
    a user-defined exception without a number.
    """
    slots = Slots(list(bind_types[: len(binds)]))
    compilation = Compilation(sql, session, slots)
    step = _compiled(compilation)
    frame = Frame(session, slots, [*map(_opened, binds), *[None] * (len(slots.types) - len(binds))])
    with session.storage.lock:
        mark = session.transactions.mark()
        transaction = session.client.transaction
    try:
        step(frame)
    except Leave:  # by RETURN: all others end in the block
        pass
    except OraError as error:
        with session.storage.lock:
            # After a COMMIT in the block, what came after it is undone.
            same = session.client.transaction is transaction
            session.storage.undo_to(session.client, mark if same else 0)
        raise _stacked(error, frame) from error
    return _result(compilation, frame)


def _opened(cell: Any) -> Any:
    """The cell of a client's bind as variables have it: a cursor as an `OpenCursor`, an array as a collection with keys from 1,
    any other as it is."""
    if isinstance(cell, Result):
        return OpenCursor(cell)
    if isinstance(cell, tuple):
        return {n: (one,) for n, one in enumerate(cell, 1)}
    return cell


def _compiled(compilation: Compilation) -> Step:
    parser, statements = compilation.parser, Statements(compilation)
    if parser.word("CALL"):
        step = statements.calls.call(ends=False)
    else:
        label: str | None = None
        while parser.token.text == "<" and parser.peek().text == "<":
            label = parser.peek(2).text
            parser.at += 5
        if not parser.word("DECLARE") and not parser.is_word("BEGIN"):
            raise parser.unexpected("begin")
        step = compilation.finished(statements.block_of(Scope(None, label)))
        parser.op("/")
    if parser.token.kind is not TokenKind.END:
        raise parser.unexpected()
    return step


def _stacked(error: OraError, frame: Frame) -> OraError:
    stack = frame.stack(error)
    if isinstance(error, UserError):
        return OraError(6510, error.text + stack)
    position = error.position if error.number == 6550 else 0
    return OraError(error.number, error.text + stack, position)


def _result(compilation: Compilation, frame: Frame) -> Result:
    """Values of the binds that were assigned; those that the block never reads are pure OUT."""
    clients = frame.slots.clients
    out = [index for index in sorted(frame.assigned) if index < clients]
    values: dict[int, Cell | Result] = {index: _closed(frame.cells[index]) for index in out}
    return Result(out=values, out_only=frozenset(out) - compilation.read, implicit=frame.implicit)


def _closed(value: Any) -> Any:
    if isinstance(value, OpenCursor):
        return value.result
    if isinstance(value, dict):
        return tuple(cells[0] for _, cells in sorted(value.items()))
    return value
