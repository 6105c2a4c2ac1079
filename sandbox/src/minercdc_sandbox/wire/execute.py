"""Execute, execute again and fetch: the calls that run statements and return rows.

    execute (94)        SQL or cursor number, options, binds  -> describe, rows, out binds, RPA, OER
    execute again (4)   DML or block by number; (78) query by number
    fetch (5)           more rows
    describe (98)       columns of a statement that was not executed

An execute returns rows when the fetch option is set, the client has defined columns or its prefetch count is not zero (ojdbc,
go-ora; not with LONGs), LOB columns only once defined, never more than the client has room for. ORA-01403 follows the last rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minercdc_sandbox.interfaces import Cell, OraError, OraType, Result
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.binds import Oac, check_supported, check_values
from minercdc_sandbox.wire.conversation import Conversation, Cursor
from minercdc_sandbox.wire.execute_request import MAX_SQL, ExecuteOption, ExecuteRequest, read_execute, read_execute_again
from minercdc_sandbox.wire.lob_values import LOB_TYPES
from minercdc_sandbox.wire.negotiation import Ttc
from minercdc_sandbox.wire.packets import ProtocolError, ReplyWriter
from minercdc_sandbox.wire.primitives import NULL, sb, ub
from minercdc_sandbox.wire.redescribed import defines_again
from minercdc_sandbox.wire.rows import (
    Define,
    column_encoder,
    describe,
    describe_body,
    describe_columns,
    row_header,
    rows_encoder,
)
from minercdc_sandbox.wire.statements import StatementKind

_IN, _OUT, _IN_OUT = 0x20, 0x10, 0x30
_FETCH_STEP = 1000
"""Rows fetched from the session at a time, so that memory does not grow with the client's array size."""
_SHORT_INSTEAD = {OraType.LONG: OraType.VARCHAR2, OraType.LONG_RAW: OraType.RAW}
"""Encoders of OUT binds by type: LONG values of rows have two integers after them, those of binds do not."""
_LONGS = frozenset((OraType.LONG, OraType.LONG_RAW))
"""A prefetch count alone returns no rows with such columns (Call Interface Programmer's Guide, "Fetching Results")."""
_RUNNING = ExecuteOption.EXECUTE | ExecuteOption.FETCH | ExecuteOption.DEFINE
_BATCH_FAILED = OraError(24381, "error(s) in array DML")


def execute(talk: Conversation) -> None:
    """Function 94: read, run and answer the execution or description of a statement that is new or known by its cursor number.
    Raises as `read_execute`, and OraError of the statement or its binds; for the caller to send."""
    request = read_execute(talk)
    talk.cursor = request.cursor.number
    if request.refused:
        raise request.refused
    _run(talk, request)


def execute_again(talk: Conversation, *, and_fetch: bool) -> None:
    """Functions 4 and 78 (`and_fetch`): read, run and answer another execution of a known cursor. Raises as `read_execute_again`,
    and OraError as `execute`."""
    _run(talk, read_execute_again(talk, and_fetch=and_fetch))


def fetch(talk: Conversation) -> None:
    """Function 5: send more rows of a cursor, with ORA-01403 at their end or when it is not open. Raises ORA-01001 for an unknown
    one, ORA-01002 for one that was not described, ORA-01007 for another number of defines, and as `Rows.fetch` and `TtcReader`."""
    number, count = talk.reader.ub(), talk.reader.ub()
    cursor = talk.cursor_of(number)
    reply = talk.reply()
    _send_rows(talk, cursor, count, reply, parameters=b"")


def _run(talk: Conversation, request: ExecuteRequest) -> None:
    cursor = request.cursor
    check_supported(cursor.oacs, plsql=cursor.kind is StatementKind.PLSQL)
    if ExecuteOption.DESCRIBE in request.options or not request.options & _RUNNING:
        _describe_only(talk, cursor)
    elif cursor.kind is StatementKind.QUERY:
        _run_query(talk, request)
    elif cursor.kind is StatementKind.PLSQL:
        _run_block(talk, request)
    else:
        _run_statement(talk, request)


def _session_execute(talk: Conversation, request: ExecuteRequest, rows: Sequence[tuple[Cell, ...]]) -> Result:
    cursor = request.cursor
    if rows and len(rows[0]) != len(cursor.oacs):
        raise OraError(1008, "not all variables bound")
    check_values(cursor.oacs, rows)
    return talk.session.execute(
        cursor.sql,
        [oac.bind_type() for oac in cursor.oacs],
        rows,
        batch_errors=ExecuteOption.BATCH_ERRORS in request.options,
        row_counts=request.want_row_counts,
        commit=ExecuteOption.COMMIT in request.options,
    )


def _describe_only(talk: Conversation, cursor: Cursor) -> None:
    columns = talk.session.describe(cursor.sql)
    reply = talk.reply()
    if columns is not None:
        reply.add(describe(columns, talk.agreed))
    talk.finish(reply, _parameters(talk, cursor), replies.error(talk.call_end()))


def describe_text(talk: Conversation) -> None:
    """Function 98: columns of a query, none of another statement; ojdbc's PreparedStatement.getMetaData before the first execute.
    Reply: 08, column count, columns. Raises ProtocolError for a text that is too long, ORA-01001 for an unknown cursor, OraError
    of the statement, and as `TtcReader`."""
    r = talk.reader
    r.u8()
    number, has_sql, sql_size = r.ub(), r.u8(), r.ub()
    r.ub()
    r.raw(2)
    if sql_size > MAX_SQL:
        raise ProtocolError(f"a statement of {sql_size} bytes to describe")
    sql = talk.text(sql_size) if has_sql else talk.cursor_of(number).sql
    columns = talk.session.describe(sql) or ()
    body = describe_columns(columns, talk.agreed)
    talk.finish(talk.reply(), bytes((Ttc.PARAMETER,)) + ub(len(columns)), body, replies.error(talk.call_end()))


def _parameters(talk: Conversation, cursor: Cursor, row_counts: Sequence[int] | None = None) -> bytes:
    return replies.execute_parameters(cursor.number, row_counts, talk.changed_schema())


def _run_query(talk: Conversation, request: ExecuteRequest) -> None:
    cursor, again = request.cursor, False
    if ExecuteOption.EXECUTE in request.options:
        cursor.close_rows()
        if cursor.sql:  # a REF CURSOR has none: it is open already
            result = _session_execute(talk, request, request.bind_rows)
            if result.columns is None or result.rows is None:
                raise OraError(600, "internal error code: a query without columns")
            if cursor.columns is not None and result.columns != cursor.columns:
                cursor.defines = defines_again(cursor.columns, cursor.defines, result.columns, talk.agreed)
                again = True
            if result.columns != cursor.columns:
                cursor.encode = None
            cursor.columns, cursor.rows, cursor.fetched = result.columns, result.rows, 0
    if cursor.columns is None:
        raise OraError(1002, "fetch out of sequence")
    if request.new and cursor.defines and len(cursor.defines) != len(cursor.columns):
        # ojdbc parses again after an error and sends the defines it made before DDL.
        cursor.defines = defines_again((), cursor.defines, cursor.columns, talk.agreed)
    reply = talk.reply()
    if request.new or again:
        reply.add(describe(cursor.columns, talk.agreed))
    undefined_lobs = cursor.defines is None and any(column.type in LOB_TYPES for column in cursor.columns)
    prefetched = request.rows_wanted and not any(column.type in _LONGS for column in cursor.columns)
    rows_due = ExecuteOption.FETCH in request.options or cursor.defines is not None or prefetched
    if undefined_lobs or not rows_due:  # the client defines LOB columns first, then executes again
        talk.finish(reply, _parameters(talk, cursor), replies.error(talk.call_end()))
        return
    _send_rows(talk, cursor, request.rows_wanted, reply, _parameters(talk, cursor))


def _send_rows(talk: Conversation, cursor: Cursor, count: int, reply: ReplyWriter, parameters: bytes) -> None:
    if cursor.columns is None:
        raise OraError(1002, "fetch out of sequence")
    if cursor.encode is None:
        if cursor.defines and len(cursor.defines) != len(cursor.columns):
            raise OraError(1007, "variable not in select list")
        defines = [Define(oac.kind, oac.prefetch) for oac in cursor.defines] if cursor.defines else None
        cursor.encode = rows_encoder(talk.session, cursor.columns, defines)
    reply.add(row_header(len(cursor.columns)))
    left = count
    while left > 0 and cursor.rows is not None:
        step = min(left, _FETCH_STEP)
        rows = cursor.rows.fetch(step)
        reply.add(cursor.encode(rows))
        cursor.fetched += len(rows)
        left -= len(rows)
        if len(rows) < step:
            cursor.close_rows()
    over = cursor.rows is None
    end = talk.call_end(rows=cursor.fetched)
    talk.finish(reply, parameters, replies.error(end, replies.NO_DATA_FOUND if over else None))


def _run_statement(talk: Conversation, request: ExecuteRequest) -> None:
    cursor = request.cursor
    result = _session_execute(talk, request, request.bind_rows)
    counts = result.row_counts if request.want_row_counts else None
    end = talk.call_end(rows=result.row_count, batch_errors=result.batch_errors, row_id=result.last_row_id)
    failure = _BATCH_FAILED if result.batch_errors else None
    reply = talk.reply()
    if result.return_binds:
        reply.add(_io_vector(len(cursor.oacs), Result(out_only=frozenset(result.return_binds))))
        for rows in result.returned:
            reply.add(bytes((Ttc.ROW_DATA,)), *_returned(talk, cursor, result.return_binds, rows))
    talk.finish(reply, _parameters(talk, cursor, counts), replies.error(end, failure))


def _returned(
    talk: Conversation, cursor: Cursor, positions: Sequence[int], rows: Sequence[tuple[Cell, ...]]
) -> Iterator[bytes]:
    """The values of RETURNING of one iteration: for each bind, by position, the number of rows, then its values."""
    order = sorted(range(len(positions)), key=lambda n: positions[n])
    for n in order:
        yield ub(len(rows))
        for row in rows:
            yield _out_value(talk, cursor.oacs[positions[n]], row[n])


def _run_block(talk: Conversation, request: ExecuteRequest) -> None:
    cursor = request.cursor
    results: list[Result] = []
    for row in request.bind_rows:
        try:
            results.append(_session_execute(talk, request, (row,)))
        except OraError as error:
            error.rows_done = len(results)  # where executemany failed
            raise
    reply = talk.reply()
    if cursor.oacs:
        out = results[-1]
        cursor.out_only = out.out_only
        reply.add(_io_vector(len(cursor.oacs), out))
        for result in results:
            if result.out:
                reply.add(
                    bytes((Ttc.ROW_DATA,)), *(_out_value(talk, cursor.oacs[i], result.out[i]) for i in sorted(out.out))
                )
    reply.add(_implicit_results(talk, results[-1].implicit))
    # A block has no row count of its own; clients show what they find here.
    talk.finish(reply, _parameters(talk, cursor), replies.error(talk.call_end(rows=results[-1].row_count)))


def _io_vector(count: int, result: Result) -> bytes:
    directions = bytes(_OUT if i in result.out_only else _IN_OUT if i in result.out else _IN for i in range(count))
    return bytes((Ttc.IO_VECTOR, 0)) + ub(count % 256) + ub(count // 256) + ub(1) + b"\0\0\0" + directions


def _out_value(talk: Conversation, oac: Oac, value: Cell | Result) -> bytes:
    if isinstance(value, Result):
        return b"\1" + _open_result(talk, value) + sb(0)
    if isinstance(value, tuple):
        single = oac._replace(flags=0)
        return ub(len(value)) + b"".join(_out_value(talk, single, one) for one in value)
    if oac.is_array:
        return ub(0)
    if value is None:
        return NULL + sb(0)
    kind = _SHORT_INSTEAD.get(oac.type, oac.type)
    try:
        return column_encoder(talk.session, kind, Define(oac.kind, oac.prefetch), oac.charset_form == 2)([value])[0] + sb(0)
    except (TypeError, AttributeError):
        raise OraError(6502, "PL/SQL: numeric or value error: OUT bind of another type") from None


def _open_result(talk: Conversation, result: Result) -> bytes:
    """Description and cursor number of an open query (a REF CURSOR) that the client is given, in a new cursor. Raises ORA-06504
    for a result that is no query, ORA-01000."""
    if result.columns is None:
        raise OraError(6504, "PL/SQL: Return types of Result Set variables or query do not match")
    cursor = talk.open_cursor("", StatementKind.QUERY)
    cursor.columns, cursor.rows = result.columns, result.rows
    return describe_body(result.columns, talk.agreed) + ub(cursor.number)


def _implicit_results(talk: Conversation, results: Sequence[Result]) -> bytes:
    """The message of a block's implicit results, each in a new cursor: 1B, count, before each a byte that no client looks at; b''
    for none. Raises as `_open_result`."""
    if not results:
        return b""
    opened = b"".join(b"\0" + _open_result(talk, result) for result in results)
    return bytes((Ttc.IMPLICIT_RESULTS,)) + ub(len(results)) + opened
