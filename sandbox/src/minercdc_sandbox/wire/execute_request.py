"""Execute calls read from the wire: options, the cursor that they name or open, and rows of bind values.

The names of fields are those of python-oracledb's thin driver (`impl/thin/messages/execute.pyx`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from minercdc_sandbox.interfaces import Cell, OraError, OraType, Result
from minercdc_sandbox.wire.binds import BindReader, CursorNumber, read_oacs
from minercdc_sandbox.wire.conversation import Conversation, Cursor
from minercdc_sandbox.wire.negotiation import FIELD_VERSION_12_2, FIELD_VERSION_12_2_EXT1
from minercdc_sandbox.wire.packets import ProtocolError, UnreadCall
from minercdc_sandbox.wire.statements import StatementKind, repeated_binds, return_binds, statement_kind


class ExecuteOption(IntFlag):
    """Bits of the options of an execute, which say what the call does. UNKNOWN_DIRECTIONS: the client does not know which binds
    are OUT and sends values for all: PL/SQL, and ojdbc's and go-ora's RETURNING INTO."""

    BIND = 0x08
    DEFINE = 0x10
    EXECUTE = 0x20
    FETCH = 0x40
    COMMIT = 0x100
    UNKNOWN_DIRECTIONS = 0x400
    DESCRIBE = 0x20000
    BATCH_ERRORS = 0x80000


_EXECUTION_COUNT, _EXECUTE_FLAGS = 1, 9
"""Places in al8i4."""
_SCROLLABLE = 0x02
_COMMIT_AFTER = 0x01
_MAX_OPTIONS = 64
MAX_SQL = 16 << 20


@dataclass(slots=True)
class ExecuteRequest:
    """An execute call, wholly read.

    :param new: it has the statement's text.
    :param rows_wanted: rows the client has room for; 0 when it wants none yet.
    :param bind_rows: the values of each iteration, at least one row; an empty row without binds.
    :param want_row_counts: the reply is to have the rows of each iteration.
    :param refused: the error that the call fails with, found while the call was read; None without one.
    """

    cursor: Cursor
    options: ExecuteOption
    new: bool
    rows_wanted: int
    bind_rows: Sequence[tuple[Cell, ...]]
    want_row_counts: bool = False
    refused: OraError | None = None


def read_execute(talk: Conversation) -> ExecuteRequest:
    """Read function 94 to its end; a text opens a cursor, or replaces that of the number sent, whose rows are closed. Raises
    UnreadCall for an unknown cursor or a bind type that cannot be read, ProtocolError, and as `TtcReader`; errors of other kinds
    are in `refused`. The message's pointers are 1 when the thing they point to follows."""
    r = talk.reader
    options, number = r.ub(), r.ub()  # execute options, cursor id
    has_sql, sql_size = r.u8(), r.ub()
    r.u8()  # pointer (al8i4)
    option_count = r.ub()  # al8i4 array length
    r.raw(2)  # pointers (al8o4, al8o4l)
    r.ub()  # prefetch buffer size
    prefetch_rows = r.ub()
    r.ub()  # maximum long size
    has_binds, bind_count = r.u8(), r.ub()
    r.raw(5)  # pointers (al8app, al8txn, al8txl, al8kv, al8kvl)
    has_defines, define_count = r.u8(), r.ub()
    r.ub()  # registration id
    r.raw(3)  # pointers (al8objlist, al8objlen, al8blv)
    r.ub()  # al8blvl
    r.u8()  # pointer (al8dnam)
    r.ub()  # al8dnaml
    r.ub()  # al8regid_msb
    want_row_counts = r.u8()  # pointer (al8pidmlrc)
    r.ub()  # al8pidmlrcbl
    r.u8()  # pointer (al8pidmlrcl)
    _skip_newer(talk)
    if option_count > _MAX_OPTIONS or sql_size > MAX_SQL:
        raise ProtocolError(f"execute with {option_count} options and a statement of {sql_size} bytes")
    sql = talk.text(sql_size) if has_sql else None
    al8i4 = [r.ub() for _ in range(option_count)]
    iterations = al8i4[_EXECUTION_COUNT] if len(al8i4) > _EXECUTION_COUNT else 1
    cursor, refused = _cursor_for(talk, number, sql)
    if len(al8i4) > _EXECUTE_FLAGS and al8i4[_EXECUTE_FLAGS] & _SCROLLABLE:
        refused = OraError(3001, "unimplemented feature: scrollable cursors")
    if has_binds and bind_count:
        cursor.oacs = read_oacs(r, bind_count, talk.agreed)
        cursor.out_only = frozenset()
    if has_defines and define_count:  # ojdbc sends both when it parses a described query again
        cursor.defines = read_oacs(r, define_count, talk.agreed)
        cursor.encode = None
    request = ExecuteRequest(
        cursor, ExecuteOption(options), sql is not None, prefetch_rows, ((),), bool(want_row_counts), refused
    )
    _read_rows(talk, request, iterations, bool(has_binds) and ExecuteOption.BIND in request.options)
    return request


def _skip_newer(talk: Conversation) -> None:
    """Read past the fields that only clients of 12.2 and later send. Raises as `TtcReader`."""
    r = talk.reader
    if talk.agreed.field_version >= FIELD_VERSION_12_2:
        r.u8()  # pointer (al8sqlsig)
        r.ub()  # SQL signature length
        r.u8()  # pointer (SQL ID)
        r.ub()  # allocated size of SQL ID
        r.u8()  # pointer (length of SQL ID)
        if talk.agreed.field_version >= FIELD_VERSION_12_2_EXT1:
            r.u8()  # pointer (chunk ids)
            r.ub()  # number of chunk ids


def _read_rows(talk: Conversation, request: ExecuteRequest, iterations: int, bound: bool) -> None:
    """Read the bind values at the end of the message into `bind_rows`, and set `rows_wanted` of a query to its iterations.
    `bound`: descriptions of binds came. Raises as `TtcReader` and `BindReader.read`."""
    cursor, options = request.cursor, request.options
    query = cursor.kind is StatementKind.QUERY
    # ojdbc runs a cursor again by its number: no descriptions come, the values do, and those of OUT binds too.
    again = not request.new and ExecuteOption.EXECUTE in options
    if cursor.oacs and (bound or again):
        sent = range(len(cursor.oacs)) if ExecuteOption.UNKNOWN_DIRECTIONS in options else _sent(cursor)
        request.bind_rows = _read_binds(talk, cursor, 1 if query else max(1, iterations), sent)
    elif not query and iterations > 1:
        request.bind_rows = BindReader([], plsql=True).read(talk.reader, iterations)
    if query:
        request.rows_wanted = iterations or request.rows_wanted


def _cursor_for(talk: Conversation, number: int, sql: str | None) -> tuple[Cursor, OraError | None]:
    """The cursor an execute is about, and what is wrong with it, None for nothing: that is reported once the message is read.
    Raises UnreadCall for the number of an unknown cursor without a text."""
    if sql is None:
        known = talk.cursors.get(number)
        if known is None:
            raise UnreadCall(1001, "invalid cursor")
        return known, None
    kind = statement_kind(sql)
    known = talk.cursors.get(number)
    if known is not None:
        known.close_rows()
        fresh = Cursor(number, sql, kind)
        if sql == known.sql:
            # The client knows the columns: ojdbc keeps them when it parses again after an error.
            fresh.columns = known.columns
        talk.cursors[number] = fresh
        return fresh, None
    try:
        return talk.open_cursor(sql, kind), None
    except OraError as error:
        return Cursor(0, sql, kind), error


def _sent(cursor: Cursor) -> list[int]:
    """Positions of the binds whose values the client sends, ascending: not those of RETURNING INTO, nor a block's OUT binds again."""
    left_out = cursor.out_only
    if cursor.kind is StatementKind.OTHER:
        left_out = return_binds(cursor.sql)
    return [i for i in range(len(cursor.oacs)) if i not in left_out]


def _read_binds(talk: Conversation, cursor: Cursor, count: int, sent: Sequence[int]) -> Sequence[tuple[Cell, ...]]:
    plsql = cursor.kind is StatementKind.PLSQL
    repeated = repeated_binds(cursor.sql) if any(oac.is_repeated for oac in cursor.oacs) else {}
    sent = [at for at in sent if not cursor.oacs[at].is_repeated or at not in repeated]
    rows = BindReader(cursor.oacs, plsql=plsql, sent=sent).read(talk.reader, count)
    if repeated:
        rows = [tuple(row[repeated.get(at, at)] for at in range(len(row))) for row in rows]
    if not any(oac.kind == OraType.CURSOR for oac in cursor.oacs):
        return rows
    return [tuple([_bound_cursor(talk, cell) for cell in row]) for row in rows]


def _bound_cursor(talk: Conversation, cell: Any) -> Any:
    """Of a REF CURSOR that the client hands back: the open query of that number, None when it is not open; its rows go on where
    the client has left them. Any other value as it is."""
    if not isinstance(cell, CursorNumber):
        return cell
    known = talk.cursors.get(cell)
    return Result(known.columns, known.rows) if known is not None and known.rows is not None else None


def read_execute_again(talk: Conversation, *, and_fetch: bool) -> ExecuteRequest:
    """Read functions 4 and 78 (`and_fetch`): execute a known cursor again; makes it the running call's cursor. Raises UnreadCall
    for an unknown cursor or a bind type that cannot be read, ProtocolError, and as `TtcReader`."""
    r = talk.reader
    number, count = r.ub(), r.ub()  # cursor id, number of iterations
    r.ub()  # execute flags 1
    flags = r.ub()  # execute flags 2
    cursor = talk.cursors.get(number)
    if cursor is None:
        raise UnreadCall(1001, "invalid cursor")
    talk.cursor = number
    iterations = 1 if and_fetch else max(1, count)
    rows: Sequence[tuple[Cell, ...]] = ((),)
    if cursor.oacs:
        rows = _read_binds(talk, cursor, iterations, _sent(cursor))
    elif iterations > 1:
        rows = BindReader([], plsql=True).read(r, iterations)
    options = ExecuteOption.EXECUTE
    if and_fetch:
        options |= ExecuteOption.FETCH
    if flags & _COMMIT_AFTER:
        options |= ExecuteOption.COMMIT
    return ExecuteRequest(cursor, options, new=False, rows_wanted=count, bind_rows=rows)
