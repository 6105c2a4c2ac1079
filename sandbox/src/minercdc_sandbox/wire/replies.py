"""Messages that end a call: error/return status (OER), plain status, the execute's parameters (RPA)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import BatchError, OraError
from minercdc_sandbox.wire.negotiation import FIELD_VERSION_20_1, Ttc
from minercdc_sandbox.wire.primitives import clr, dalc, sb, ub
from minercdc_sandbox.wire.row_ids import oer_row_id

NO_DATA_FOUND = OraError(1403, "no data found")
_IN_TRANSACTION = 0x02


@dataclass(slots=True)
class CallEnd:
    """The facts at the end of a call, besides the error.

    :param call: the request's sequence byte; ojdbc refuses an error that names another call.
    :param sequence: counts the replies of the connection.
    :param in_transaction: the session has a transaction open.
    :param field_version: TTC field version that was agreed.
    :param cursor: number of the call's cursor; 0 for none.
    :param rows: row count.
    :param row_id: ROWID of the last row changed; None for none.
    """

    call: int
    sequence: int
    in_transaction: bool
    field_version: int
    cursor: int = 0
    rows: int = 0
    batch_errors: Sequence[BatchError] = ()
    row_id: str | None = None


def message(error: OraError) -> bytes:
    """The text a client shows for an error, `ORA-nnnnn: ..` with a newline, in UTF-8."""
    return f"ORA-{error.number:05d}: {error.text}\n".encode()


def call_status(end: CallEnd) -> bytes:
    """Field of a call's end, as `ub`: bit 0 is always set, bit 1 while a transaction is open."""
    return ub(1 | (_IN_TRANSACTION if end.in_transaction else 0))


def status(end: CallEnd) -> bytes:
    """The message STATUS: the end of calls that return nothing."""
    return bytes((Ttc.STATUS,)) + call_status(end) + ub(end.sequence & 0xFFFF)


def _batch(errors: Sequence[BatchError]) -> bytes:
    if not errors:
        return b"\0\0\0"
    count = ub(len(errors)) + b"\0"
    texts = [message(e.error) for e in errors]
    return (
        count
        + b"".join(ub(e.error.number) for e in errors)
        + count
        + b"".join(ub(e.offset) for e in errors)
        + count
        + b"".join(ub(len(text)) + clr(text) + b"\0\0" for text in texts)
    )


def error(end: CallEnd, failure: OraError | None = None) -> bytes:
    """The message OER: the end of every other call, also of those that succeed: `failure` is then None."""
    number = failure.number if failure else 0
    position = failure.position if failure else 0
    pieces = [bytes((Ttc.ERROR,)), call_status(end), ub(end.sequence & 0xFFFF), ub(end.rows & 0xFFFFFFFF)]
    pieces += [ub(min(number, 0xFFFF)), b"\0\0", ub(end.cursor), sb(position)]  # array element errors; error position
    pieces.append(bytes(6))  # sql type, fatal, flags, user cursor options, UPI parameter, warning flags
    pieces += [oer_row_id(end.row_id), b"\0\0"]  # OS error, statement number
    pieces += [bytes((end.call,)), b"\0\0", dalc(b"")]  # call number, padding, successful iterations; OERRDD
    pieces += [_batch(end.batch_errors), ub(number), ub(end.rows)]  # extended error number and row count
    if end.field_version >= FIELD_VERSION_20_1:
        pieces.append(b"\0\0")  # SQL type, checksum
    if failure:
        pieces.append(clr(message(failure)))
    return b"".join(pieces)


_CURRENT_SCHEMA = 168


def execute_parameters(cursor: int, row_counts: Sequence[int] | None, schema: str | None = None) -> bytes:
    """The message RPA after an execute; `cursor` is the number of its cursor.

    :param row_counts: rows of each iteration; None when the request does not want them.
    :param schema: the session's current one when the call changed it, else None.
    """
    pieces = [bytes((Ttc.PARAMETER,)), ub(6), b"\0\0", ub(cursor), bytes(4)]
    pieces.append(b"\1\1" + dalc(schema.encode()) + b"\0" + ub(_CURRENT_SCHEMA) if schema else b"\0")
    pieces.append(b"\0")
    if row_counts is not None:
        pieces += [ub(len(row_counts)), *map(ub, row_counts)]
    return b"".join(pieces)
