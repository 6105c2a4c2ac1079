"""The state of one connection between its calls: agreed capabilities, session, open cursors, the running call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from minercdc_sandbox.interfaces import BatchError, ColumnDescription, Database, OraError, Rows, Session
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.binds import Oac
from minercdc_sandbox.wire.negotiation import Negotiated, Ttc
from minercdc_sandbox.wire.packets import PacketStream, ReplyWriter, TtcReader
from minercdc_sandbox.wire.primitives import ub
from minercdc_sandbox.wire.rows import RowsEncoder
from minercdc_sandbox.wire.statements import StatementKind

MAX_OPEN_CURSORS = 1000
_END = bytes((Ttc.END_OF_RESPONSE,))


@dataclass(slots=True)
class Cursor:
    """A statement that the client may execute again by its number, from `open_cursor` to `close_cursor`.

    :param oacs: the binds of the last execute that described them.
    :param out_only: bind positions the client does not send when it runs a PL/SQL block again.
    :param defines: the forms in which the client wants the columns, by column; None before it has defined them.
    :param columns, rows: of a query; `rows` is None when it is not open.
    :param encode: encoder of the rows; None when it must be made for new columns or defines.
    :param sql: '' of a REF CURSOR, which is open already and cannot be executed.
    :param fetched: rows sent since the last execute.
    """

    number: int
    sql: str
    kind: StatementKind
    oacs: list[Oac] = field(default_factory=list)
    out_only: frozenset[int] = frozenset()
    defines: list[Oac] | None = None
    columns: tuple[ColumnDescription, ...] | None = None
    rows: Rows | None = None
    encode: RowsEncoder | None = None
    fetched: int = 0

    def close_rows(self) -> None:
        """Close the open result, if there is one; the statement and its columns stay."""
        rows, self.rows = self.rows, None
        if rows is not None:
            rows.close()


class Conversation:
    """State of one connection from ACCEPT to `close`: what was agreed, the session, its cursors, and the running call with its
    response. Used by its own thread, but for `interrupt_if_requested`, `logged_on` and `session`.

    :ivar agreed: changed by the first messages, settled before logon.
    :ivar peer: the client's address for log lines.
    :ivar cursors: by number.
    :ivar call: sequence byte of the running call; `token`: that of a pipelined one, else 0.
    :ivar ended: the client has logged off.
    """

    def __init__(self, stream: PacketStream, database: Database, agreed: Negotiated, peer: str) -> None:
        self.stream = stream
        self.reader = TtcReader(stream)
        self.database = database
        self.agreed = agreed
        self.peer = peer
        self.cursors: dict[int, Cursor] = {}
        self.cursor = 0
        """Number of the cursor the running call works on; an error carries it so that the client drops it."""
        self.call = 0
        self.token = 0
        self.ended = False
        self.deferred: OraError | None = None
        """The error of a piggyback: the call after it fails with it."""
        self._reply: ReplyWriter | None = None
        self._session: Session | None = None
        self._schema = ""
        self._sequence = 0
        self._last_cursor = 0
        self._running = Lock()
        self._in_call = False

    @property
    def session(self) -> Session:
        """The logged-on session. Raises ORA-01012 before logon."""
        if self._session is None:
            raise OraError(1012, "not logged on")
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session
        self._schema = session.schema

    def changed_schema(self) -> str | None:
        """The session's current schema when it is another than at the last call of this, or at logon; else None. Raises as `session`."""
        known, self._schema = self._schema, self.session.schema
        return self._schema if self._schema != known else None

    @property
    def logged_on(self) -> bool:
        """Whether the client has proved its password and has a session."""
        return self._session is not None

    def close(self) -> None:
        """Close all cursors and the session, which rolls back. The socket stays open."""
        for cursor in self.cursors.values():
            cursor.close_rows()
        self.cursors.clear()
        if self._session is not None:
            self._session.close()

    def begin_call(self) -> None:
        """From here to `end_call` another thread may interrupt the session; nothing before logon."""
        with self._running:
            self._in_call = self._session is not None

    def end_call(self) -> None:
        """After the call, also a failed one: another thread no longer interrupts the session."""
        with self._running:
            self._in_call = False

    def interrupt_if_requested(self) -> None:
        """From another thread: cancel the running call, if there is one, when the client has sent a MARKER or gone away."""
        if not self._in_call:
            return
        with self._running:
            if self._in_call and self._session is not None and self.stream.pending_marker():
                self._session.cancel()

    def open_cursor(self, sql: str, kind: StatementKind) -> Cursor:
        """A new cursor with the next number, in `cursors`. Raises ORA-01000 when 1000 are open."""
        if len(self.cursors) >= MAX_OPEN_CURSORS:
            raise OraError(1000, "maximum open cursors exceeded")
        self._last_cursor += 1
        cursor = Cursor(self._last_cursor, sql, kind)
        self.cursors[cursor.number] = cursor
        return cursor

    def cursor_of(self, number: int) -> Cursor:
        """The cursor with this number, which becomes that of the running call. Raises ORA-01001 when there is none."""
        cursor = self.cursors.get(number)
        if cursor is None:
            raise OraError(1001, "invalid cursor")
        self.cursor = number
        return cursor

    def close_cursor(self, number: int) -> None:
        """Forget a cursor and close its rows; unknown numbers are ignored."""
        cursor = self.cursors.pop(number, None)
        if cursor is not None:
            cursor.close_rows()

    def text(self, size: int) -> str:
        """Read a text whose length in bytes, `size`, was sent earlier; bytes that are no UTF-8 become U+FFFD. Raises as `TtcReader`."""
        raw = (self.reader.clr() or b"") if self.agreed.prefixed_text else self.reader.raw(size)
        return raw.decode("utf-8", "replace")

    def reply(self) -> ReplyWriter:
        """Begin the response to the running call; a pipelined call's token comes first. Add to it, then `finish` it."""
        prefix = bytes((Ttc.TOKEN,)) + ub(self.token) if self.token else b""
        self.token = 0
        self._reply = ReplyWriter(self.stream, self.agreed.end_of_response, prefix)
        return self._reply

    def finish(self, reply: ReplyWriter, *pieces: bytes) -> None:
        """Add these bytes and send the rest of a response, which ends it. Raises OSError."""
        reply.add(*pieces)
        reply.finish(_END)
        self._reply = None

    def call_end(self, rows: int = 0, batch_errors: Sequence[BatchError] = (), row_id: str | None = None) -> replies.CallEnd:
        """The facts for the end of the running call; each use counts a reply in `sequence`. `rows`: row count; `row_id`: of the
        last row changed, None for none."""
        self._sequence += 1
        open_transaction = self._session is not None and self._session.in_transaction()
        return replies.CallEnd(
            call=self.call,
            sequence=self._sequence,
            in_transaction=open_transaction,
            field_version=self.agreed.field_version,
            cursor=self.cursor,
            rows=rows,
            batch_errors=batch_errors,
            row_id=row_id,
        )

    def send_status(self) -> None:
        """Answer a call that returns nothing: a whole response. Raises OSError."""
        self.finish(self.reply(), replies.status(self.call_end()))

    def send_error(self, error: OraError) -> None:
        """Answer the running call with an error: a whole response, or the end of the one begun. Its cursor stays until the client
        closes it, without its rows. Raises OSError.

        When rows of this response were sent already, the error follows them: they may end in the middle of a row.
        """
        end = self.call_end(rows=error.rows_done)
        if failed := self.cursors.get(self.cursor):
            failed.close_rows()
        begun = self._reply if self._reply is not None and self._reply.begun else None
        # ojdbc and python-oracledb want the counts of the rows before the one that failed, too.
        counts = replies.execute_parameters(end.cursor, error.row_counts) if error.row_counts is not None else b""
        self.finish(begun or self.reply(), counts, replies.error(end, error))

    def drop_reply(self) -> None:
        """Forget the response begun, of which no more is sent: a client that sends a break drops it too."""
        self._reply = None
