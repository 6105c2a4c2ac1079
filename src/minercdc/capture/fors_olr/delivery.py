"""Turns operations of FORS Oracle Logical Replicator into events.

    Begin                   a transaction, with its commit SCN
    Insert Delete Update    its changes, numbered; one with columns in pieces waits for them
    Chunk                   a piece
    Commit                  the changes held back; Progress, if something of the transaction was emitted

The time of the commit comes last: changes are held back until then, at most 1000 of them; a longer transaction is emitted as
it comes, and the time of its 1001st stands for that of the commit. A transaction that is delivered already, or part of the
snapshot, is passed over. Where operations are missing, an error ends the run; the next run requests them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from minercdc.capture.adapter import Reselect
from minercdc.capture.fors_olr.acknowledgement import Acknowledgement
from minercdc.capture.fors_olr.clock import Clock
from minercdc.capture.fors_olr.operations import Begin, Chunk, Commit, Image, Operation, RowChange
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.fors_olr.shapes import Shapes
from minercdc.capture.fors_olr.values import BLOB_TYPE, CLOB_TYPE, Pieces
from minercdc.capture.undecodable import suspended, undecodable
from minercdc.errors import DecodeError, SourceError, UnknownSourceError
from minercdc.schema.table import TableId
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Scn, TransactionInfo, UndecodableRow

_WAITING: Final = 1_000
_OPERATION_NAMES: Final = {Op.CREATE: "INSERT", Op.UPDATE: "UPDATE", Op.DELETE: "DELETE"}


@dataclass(slots=True)
class _Waiting:
    """A change whose columns come in pieces.

    :param pieces: by column; None for each column when the table is not captured, or the transaction is passed over.
    :param ended: columns whose last piece has come.
    """

    row: RowChange
    pieces: dict[str, Pieces | None]
    ended: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Transaction:
    """A transaction whose Commit has not come.

    :param skip: it is delivered already.
    :param held: events that wait for the time of the commit; None once there were too many, and they are emitted as they come.
    :param waiting: the change whose columns are coming in pieces; None while there is none.
    :param seq: `ChangeEvent.seq` of its last change, 0 for none; `operations` counts its operations after Begin.
    """

    info: TransactionInfo
    skip: bool
    held: list[Event] | None = field(default_factory=list)
    waiting: _Waiting | None = None
    seq: int = 0
    operations: int = 0


class Delivery:
    """Makes events of the operations of one connection, given to `take` in the order they come. It keeps the transaction that is
    under way; `position` moves on at the end of each that is not passed over.

    :param position: where it begins.
    :param lob_max: `minercdc.fors.lob.max.bytes`.
    :param on_failure: `event.processing.failure.handling.mode`.
    :param unread: names of suspended tables, whose rows in a transaction are not decoded.
    :ivar complete_scn: every commit at or below it is emitted.
    :ivar time_us: time of the last Commit that was not passed over, microseconds since the epoch in UTC; 0 while there was none.
    """

    def __init__(
        self,
        position: ForsPosition,
        shapes: Shapes,
        acknowledgement: Acknowledgement,
        clock: Clock,
        *,
        lob_max: int,
        on_failure: str,
        unread: Callable[[TransactionInfo], frozenset[str]],
        reselect: Reselect | None,
    ) -> None:
        self._position = position
        self._shapes = shapes
        self._acknowledgement = acknowledgement
        self._clock = clock
        self._lob_max = lob_max
        self._on_failure = on_failure
        self._unread = unread
        self._reselect = reselect
        self._transaction: _Transaction | None = None
        self._last_scn = 0  # commit SCN of the last transaction on this connection
        self.complete_scn = position.scn - 1
        self.time_us = 0

    @property
    def within(self) -> bool:
        """Whether a transaction has begun whose Commit has not come."""
        return self._transaction is not None

    @property
    def place(self) -> str:
        """Text for a message: what came last, such as `after commit SCN n`."""
        open_ = self._transaction
        if open_ is None:
            return f"after commit SCN {self._last_scn}" if self._last_scn else "at the beginning"
        return f"in transaction {open_.info.id} of commit SCN {open_.info.commit_scn} after {open_.operations} operations"

    def position(self, begun: int) -> ForsPosition:
        """The position up to which everything is emitted: as of the last transaction that ended.

        :param begun: every transaction that is not delivered began there or later.
        """
        return replace(self._position, begun=max(begun, self._position.begun))

    def take(self, operation: Operation, begun: int) -> Iterator[Event]:
        """The events that an operation makes ready, often none. The caller takes them all before the next call. The first
        operation of a transaction may compare the dictionary, and sleep up to a second before that (`Shapes.look`).

        :param begun: as the `begun` of `position`, for the Progress.
        :raises UnknownSourceError: operations are missing.
        :raises SourceError: transactions come out of order.
        :raises DecodeError: a row cannot be decoded, and `on_failure` is `fail`.
        :raises MinerCdcError: what `Reselect.complete`, the filter, and reading the clock and the dictionary raise.
        """
        if isinstance(operation, Begin):
            self._begin(operation)
            return
        transaction = self._transaction
        if transaction is None:
            raise self._lost("an operation outside of any transaction")
        head, info = operation.head, transaction.info
        if (head.xid, head.commit_scn) != (info.id, info.commit_scn):
            raise self._lost(f"an operation of transaction {head.xid}, commit SCN {head.commit_scn}")
        transaction.operations += 1
        if isinstance(operation, Commit):
            yield from self._commit(operation, transaction, begun)
        elif isinstance(operation, Chunk):
            yield from self._emitted(transaction, operation, self._piece(operation, transaction))
        else:
            yield from self._emitted(transaction, operation, self._row(operation, transaction))

    # ---- transactions ----

    def _begin(self, begin: Begin) -> None:
        if self._transaction is not None:
            raise self._lost(f"the Begin of transaction {begin.head.xid}")
        head = begin.head
        if head.commit_scn < self._last_scn:
            raise SourceError(
                f"transaction {head.xid} of commit SCN {head.commit_scn} arrived after one of SCN {self._last_scn}:"
                " the server must send transactions in commit order"
            )
        self._last_scn = head.commit_scn
        self.complete_scn = max(self.complete_scn, head.commit_scn - 1)
        begun_us = self._clock.us(head.timestamp)
        info = TransactionInfo(head.xid, Scn(head.scn), Scn(head.commit_scn), begun_us, begun_us, 0, None)
        self._transaction = _Transaction(info, self._position.includes(head.commit_scn, head.xid))
        if not self._transaction.skip:
            self._shapes.look(head.commit_scn)

    def _commit(self, commit: Commit, transaction: _Transaction, begun: int) -> Iterator[Event]:
        if transaction.waiting is not None:
            raise self._lost("the Commit before the last piece of a row")
        info = transaction.info
        info.commit_us = self._clock.us(commit.head.timestamp)
        yield from transaction.held or ()
        self._transaction = None
        self._acknowledgement.received(info.commit_scn, info.id)
        if transaction.skip:
            return
        position, scn = self._position, int(info.commit_scn)
        xids = position.xids | {info.id} if scn == position.scn else frozenset({info.id})
        self._position = replace(position, scn=scn, xids=xids)
        self.time_us = info.commit_us
        if transaction.held != []:
            committed = info if transaction.seq else None
            yield Progress(self.position(begun), Scn(self.complete_scn), info.commit_us, committed=committed)

    def _emitted(self, transaction: _Transaction, operation: Chunk | RowChange, events: Iterator[Event]) -> Iterator[Event]:
        """Hold events back until the Commit. From event number `_WAITING` + 1 on none is: that one sets the
        transaction's `commit_us` to the time of `operation`, and yields those that were held before it."""
        for event in events:
            held = transaction.held
            if held is not None and len(held) < _WAITING:
                held.append(event)
                continue
            if held is not None:
                transaction.info.commit_us = self._clock.us(operation.head.timestamp)
                transaction.held = None
                yield from held
            yield event

    # ---- rows ----

    def _row(self, row: RowChange, transaction: _Transaction) -> Iterator[Event]:
        if transaction.waiting is not None:
            raise self._lost("a row before the last piece of the one before")
        chunked = [name for name, value in (row.after or {}).items() if value.chunked]
        table = None if transaction.skip else self._shapes.captured(row)
        if not chunked:
            if table is not None:
                yield from self._events(row, {}, table, transaction)
            return
        pieces: dict[str, Pieces | None] = {}
        for name in chunked:
            pieces[name] = Pieces(0, bytearray()) if table is not None else None
        transaction.waiting = _Waiting(row, pieces)

    def _piece(self, chunk: Chunk, transaction: _Transaction) -> Iterator[Event]:
        waiting = transaction.waiting
        if waiting is None or chunk.column not in waiting.pieces or chunk.column in waiting.ended:
            raise self._lost(f"a piece of column {chunk.column}, which was not expected")
        if chunk.type not in (CLOB_TYPE, BLOB_TYPE):
            raise self._lost(f"a piece of column {chunk.column} with type {chunk.type}")
        pieces = waiting.pieces[chunk.column]
        if pieces is not None:
            if pieces.type not in (0, chunk.type):
                raise self._lost(f"a piece of column {chunk.column} with type {chunk.type} after one with {pieces.type}")
            pieces.type = chunk.type
            pieces.size += len(chunk.data)
            if pieces.size <= self._lob_max:
                pieces.data += chunk.data
            else:
                pieces.data.clear()
        if chunk.ends_value or chunk.ends_row:
            waiting.ended.add(chunk.column)
        if not chunk.ends_row:
            return
        if missing := sorted(waiting.pieces.keys() - waiting.ended):
            raise self._lost(f"the last piece of a row, without the last ones of {', '.join(missing)}")
        transaction.waiting = None
        table = None if transaction.skip else self._shapes.captured(waiting.row)
        if table is not None:
            whole = {name: found for name, found in waiting.pieces.items() if found is not None}
            yield from self._events(waiting.row, whole, table, transaction)

    def _events(
        self, row: RowChange, pieces: dict[str, Pieces], table: TableId, transaction: _Transaction
    ) -> Iterator[Event]:
        info, time_us = transaction.info, self._clock.us(row.head.timestamp)
        if self._shapes.name_of(table) in self._unread(info):
            transaction.seq += 1
            yield suspended(self._left_out(table, row, info, transaction.seq))
            return
        try:
            yield from self._shapes.renewed(table, row, time_us)
            reader = self._shapes.reader(table)
            before, after = reader.read(row, pieces)
        except DecodeError as error:
            where = f"SCN {row.head.scn}, XID {info.id}, {table}"
            yield undecodable(self._left_out(table, row, info, transaction.seq), error, where, self._on_failure)
            return
        transaction.seq += 1
        event = ChangeEvent(
            row.op, reader.schema, before, after, Scn(row.head.scn), time_us, info, transaction.seq, row.row_id
        )
        if self._reselect is not None and row.op is not Op.DELETE:
            self._reselect.complete(event)
        yield event

    def _left_out(self, table: TableId, row: RowChange, info: TransactionInfo, seq: int) -> UndecodableRow:
        images = json.dumps({"before": _shown(row.before), "after": _shown(row.after)})
        name, time_us = _OPERATION_NAMES[row.op], self._clock.us(row.head.timestamp)
        return UndecodableRow(table, name, "", images, Scn(row.head.scn), time_us, info, seq, row.row_id)

    def _lost(self, what: str) -> UnknownSourceError:
        return UnknownSourceError(
            f"operations of FORS Oracle Logical Replicator are missing: {what} arrived {self.place}",
            hint="The connector requests them again. If that does not help, see the server's log.",
        )


def _shown(image: Image | None) -> dict[str, str | None] | None:
    """Values of an image in hex digits, by column; None for NULL and for a value that comes in pieces. None without an image."""
    if image is None:
        return None
    return {name: None if value.value is None else value.value.hex() for name, value in image.items()}
