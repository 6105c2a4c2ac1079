"""Turns messages of OpenLogReplicator into events.

    begin    a transaction; if the message has its commit SCN (e_scn), changes are emitted as they come, else at the commit
    c u d    its changes, numbered
    ddl      SchemaChange, in its place among them; outside of a transaction, with a Progress of its own
    commit   Progress, if something of the transaction was emitted
    chkpt    no event; it says how far the server has read

A transaction that is delivered already, or part of the snapshot, is passed over: the server sends more than is needed. Where
messages are missing, an error ends the run; the next run requests them again, since nothing of that transaction was confirmed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from minercdc.capture.adapter import Reselect
from minercdc.capture.olr.confirmation import Confirmations
from minercdc.capture.olr.message import Message, Operation, Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.olr.shapes import Shapes
from minercdc.capture.undecodable import suspended, undecodable
from minercdc.errors import DecodeError, SourceError, UnknownSourceError
from minercdc.schema.table import TableId
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    Op,
    Progress,
    SchemaChange,
    Scn,
    TransactionInfo,
    UndecodableRow,
)

_log = logging.getLogger(__name__)

_OPERATION_NAMES = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}


@dataclass(slots=True)
class _Transaction:
    """A transaction whose commit has not come.

    :param info: None until its commit SCN is known.
    :param waiting: what came of it before `info` was known.
    :param place: highest place of its messages; `last` that of the latest one.
    :param skip: it is delivered already.
    :param seq: `ChangeEvent.seq` of its last change that was emitted, 0 for none.
    :param number: `num` of its last operation, None when none had one.
    :param changed: something of it was emitted.
    :param begin_scn: `b_scn` of its first message that came; `is_exact` then. Else that message's `scn`, by which it may have begun
        already, with changes that the server does not send; None when it has neither.
    """

    xid: str
    begin_scn: int | None
    begin_us: int
    place: Place
    last: Place
    info: TransactionInfo | None = None
    skip: bool = False
    waiting: list[tuple[Operation, Message]] = field(default_factory=list)
    seq: int = 0
    number: int | None = None
    changed: bool = False
    is_exact: bool = False


class Delivery:
    """Makes events of the messages of one connection, given to `take` in the order they come. It keeps the transaction that is
    under way; `position` moves on at the end of each of which something was emitted.

    :param position: where it begins.
    :param on_failure: `event.processing.failure.handling.mode`.
    :param unread: names of suspended tables, whose rows in a transaction are not decoded.
    :ivar complete_scn: every commit at or below it is emitted.
    :ivar time_us: time of the source up to which every commit is emitted, as the last checkpoint says, in microseconds since the
        epoch in UTC; 0 until one has come.
    """

    def __init__(
        self,
        position: OlrPosition,
        shapes: Shapes,
        confirmations: Confirmations,
        *,
        on_failure: str,
        unread: Callable[[TransactionInfo], frozenset[str]],
        reselect: Reselect | None,
    ) -> None:
        self._position = position
        self._shapes = shapes
        self._confirmations = confirmations
        self._on_failure = on_failure
        self._unread = unread
        self._reselect = reselect
        self._transaction: _Transaction | None = None
        self._begins = False  # the server sends `begin`
        self._advanced = False  # a transaction was emitted on this connection
        self._checkpoints = True  # their SCNs can be relied on
        self.complete_scn = position.scn - 1
        self.time_us = 0

    @property
    def within(self) -> bool:
        """Whether a transaction has begun whose commit has not come."""
        return self._transaction is not None

    @property
    def open_messages(self) -> str:
        """Text for a message: the transaction that has not ended, and how many changes of it came."""
        open_ = self._transaction
        return (
            f"transaction {open_.xid} after {0 if open_.number is None else open_.number + 1} changes"
            if open_
            else "no transaction"
        )

    def position(self, begun: int) -> OlrPosition:
        """The position up to which everything is emitted: as of the last Progress, with `seen` as of now.

        :param begun: every transaction that is not delivered began there or later.
        """
        return replace(self._position, begun=max(begun, self._position.begun), seen=self._confirmations.seen)

    def take(self, message: Message, begun: int) -> Iterator[Event]:
        """The events that a message makes ready, often none. The caller takes them all before the next call.

        :param begun: as the `begun` of `position`, for the Progress.
        :raises UnknownSourceError: messages are missing.
        :raises SourceError: the server's settings leave out what is needed, or transactions come out of order.
        :raises DecodeError: a row cannot be decoded, and `on_failure` is `fail`.
        :raises MinerCdcError: what `Reselect.complete`, the filter, and reading a shape from the dictionary raise.
        """
        self._confirmations.note(message.place, checkpoint=message.is_checkpoint)
        if self._transaction is not None:
            last = self._transaction.last
            if last.scn == message.place.scn and last.idx + 1 != message.place.idx:
                raise _lost(message, f"c_idx {last.idx} came before it")
            self._transaction.last = message.place
            self._transaction.place = max(self._transaction.place, message.place)
        for operation in message.operations:
            if operation.op == "begin":
                self._begin(message)
                self._begins = True
            elif operation.op == "commit":
                yield from self._commit(message, begun)
            elif operation.op == "chkpt":
                self._checkpoint(message)
            elif operation.op == "ddl" and self._transaction is None:
                yield from self._lone_ddl(operation, message, begun)
            else:
                yield from self._change(operation, message)

    # ---- transactions ----

    def _begin(self, message: Message) -> _Transaction:
        if self._transaction is not None:
            raise _lost(message, f"it begins a transaction before the commit of {self._transaction.xid}")
        if message.xid is None:
            raise SourceError(
                "OpenLogReplicator's messages have no xid", hint="Configure its format to include the xid in each message."
            )
        begin_scn = message.begin_scn if message.begin_scn is not None else message.scn
        begun = _Transaction(message.xid, begin_scn, message.begin_us or message.time_us or 0, message.place, message.place)
        begun.is_exact = message.begin_scn is not None
        if message.commit_scn is not None:
            self._know(begun, message, message.commit_scn)
        self._transaction = begun
        return begun

    def _know(self, transaction: _Transaction, message: Message, commit_scn: int) -> TransactionInfo:
        """Set the transaction's `info`, which is returned, and `skip`: whether it is delivered already, by commit SCN
        and XID."""
        position = self._position
        transaction.skip = position.includes(commit_scn, transaction.xid)
        if transaction.skip and self._advanced and commit_scn < position.scn:
            raise SourceError(
                f"transaction {transaction.xid} of commit SCN {commit_scn} arrived after one of SCN"
                f" {position.scn}: OpenLogReplicator must send transactions in commit order",
            )
        info = transaction.info = TransactionInfo(
            transaction.xid,
            Scn(transaction.begin_scn or 0),
            Scn(commit_scn),
            transaction.begin_us,
            message.commit_us or message.time_us or 0,
            message.thread,
            message.user,
        )
        return info

    def _change(self, operation: Operation, message: Message) -> Iterator[Event]:
        transaction = self._transaction
        if transaction is None:
            if self._begins:
                raise _lost(message, "it is a change outside of any transaction")
            transaction = self._begin(message)
        elif message.xid is not None and message.xid != transaction.xid:
            raise _lost(message, f"it is a change of {message.xid} within {transaction.xid}")
        number = operation.number
        if number is not None:
            wanted = 0 if transaction.number is None else transaction.number + 1
            if number != wanted:
                raise _lost(message, f"it is change {number} of transaction {transaction.xid}, but {wanted} was expected")
            transaction.number = number
        if transaction.info is None:
            transaction.waiting.append((operation, message))
        elif not transaction.skip:
            yield from self._events(operation, message, transaction, transaction.info)

    def _commit(self, message: Message, begun: int) -> Iterator[Event]:
        transaction = self._transaction
        if transaction is None or (message.xid is not None and message.xid != transaction.xid):
            raise _lost(message, "it commits a transaction that has not begun")
        info = transaction.info
        if info is None:
            commit_scn = message.commit_scn
            if commit_scn is None and message.scn is not None and not any(one.op == "begin" for one in message.operations):
                commit_scn = message.scn
            if commit_scn is None:
                raise SourceError(
                    f"the messages of transaction {transaction.xid} do not have its commit SCN",
                    hint="Set 8 (and 2) in format.scn-type of OpenLogReplicator's configuration.",
                )
            info = self._know(transaction, message, commit_scn)
        elif not info.commit_us:
            info.commit_us = message.commit_us or message.time_us or 0
        if not transaction.skip:
            for operation, earlier in transaction.waiting:
                yield from self._events(operation, earlier, transaction, info)
        if transaction.number is not None:
            begin_scn = transaction.begin_scn if transaction.is_exact else None
            self._confirmations.judge(message.place.scn, begin_scn, info.commit_scn)
        self._transaction = None
        self._confirmations.end(transaction.place)
        if not transaction.skip:
            self._reach(info.commit_scn)
        if transaction.changed:
            yield self._ended(info.commit_scn, transaction.xid, info if transaction.seq else None, info.commit_us, begun)

    def _lone_ddl(self, operation: Operation, message: Message, begun: int) -> Iterator[Event]:
        """Events of a statement that comes without `begin` and `commit`: SchemaChanges and one Progress; none when no
        captured table changes, or it is delivered already."""
        scn, xid = message.commit_scn or message.scn, message.xid or "0" * 16
        if scn is None:
            raise SourceError(
                "a DDL message has no SCN",
                hint="Set 4 in format.scn-type of OpenLogReplicator's configuration: SCN in every message.",
            )
        changes: list[SchemaChange] = []
        if not self._position.includes(scn, xid):
            changes += self._shapes.follow(operation, message, message.time_us or 0)
            self._reach(scn)
        yield from changes
        self._confirmations.end(message.place)
        if changes:
            yield self._ended(scn, xid, None, message.time_us or 0, begun)

    def _ended(self, scn: int, xid: str, info: TransactionInfo | None, time_us: int, begun: int) -> Progress:
        position = self._position
        xids = position.xids | {xid} if scn == position.scn else frozenset({xid})
        self._position = replace(position, scn=scn, xids=xids)
        self._advanced = True
        emitted = self.position(begun)
        self._confirmations.issue(emitted)
        return Progress(emitted, Scn(self.complete_scn), time_us, committed=info)

    def _checkpoint(self, message: Message) -> None:
        if self._transaction is not None:
            return
        self._confirmations.end(message.place)
        if message.scn is not None and self._checkpoints and message.scn > self.complete_scn:
            self.complete_scn = message.scn - 1
            self.time_us = message.time_us or 0

    def _reach(self, commit_scn: int) -> None:
        """Note that a transaction came which is not delivered already: every commit below its SCN is there, but another one
        may have the same SCN. Logs a warning when a checkpoint had said otherwise; checkpoints do not count from then on."""
        if commit_scn <= self.complete_scn and self._checkpoints:
            self._checkpoints = False
            _log.warning(
                "a checkpoint said that SCN %d is complete, but a commit of SCN %d arrived later: the connector no longer"
                " relies on checkpoints",
                self.complete_scn,
                commit_scn,
            )
        self.complete_scn = max(self.complete_scn, commit_scn - 1)

    # ---- changes ----

    def _events(
        self, operation: Operation, message: Message, transaction: _Transaction, info: TransactionInfo
    ) -> Iterator[Event]:
        time_us = message.time_us or info.commit_us
        if operation.op == "ddl":
            for change in self._shapes.follow(operation, message, time_us):
                transaction.changed = True
                yield change
            return
        table = self._shapes.captured(operation)
        if table is None:
            return
        transaction.changed = True
        if self._shapes.name_of(table) in self._unread(info):
            transaction.seq += 1
            yield suspended(self._left_out(table, operation, message, info, transaction.seq))
            return
        yield from self._shapes.renewed(table, operation, message, time_us)
        try:
            event = self._decoded(table, operation, message, info, transaction.seq + 1)
        except DecodeError as error:
            place = message.place
            where = f"SCN {message.scn}, c_scn {place.scn}, c_idx {place.idx}, XID {info.id}, {table}"
            row = self._left_out(table, operation, message, info, transaction.seq)
            yield undecodable(row, error, where, self._on_failure)
            return
        transaction.seq += 1
        yield event

    def _decoded(
        self, table: TableId, operation: Operation, message: Message, info: TransactionInfo, seq: int
    ) -> ChangeEvent:
        reader = self._shapes.reader(table)
        op, before, after = reader.read(operation)
        event = ChangeEvent(
            op,
            reader.schema,
            before,
            after,
            Scn(message.scn if message.scn is not None else info.commit_scn),
            message.time_us or info.commit_us,
            info,
            seq,
            operation.row_id,
        )
        if self._reselect is not None and op is not Op.DELETE:
            self._reselect.complete(event)
        return event

    def _left_out(
        self, table: TableId, operation: Operation, message: Message, info: TransactionInfo, seq: int
    ) -> UndecodableRow:
        images = json.dumps({"before": operation.before, "after": operation.after}, default=repr)
        scn = message.scn if message.scn is not None else info.commit_scn
        time_us = message.time_us or info.commit_us
        name = _OPERATION_NAMES[operation.op]
        return UndecodableRow(table, name, "", images, Scn(scn), time_us, info, seq, operation.row_id)


def _lost(message: Message, what: str) -> UnknownSourceError:
    place = message.place
    return UnknownSourceError(
        f"messages of OpenLogReplicator are missing before c_scn {place.scn}, c_idx {place.idx}: {what}",
        hint="The connector requests them again. If that does not help, see OpenLogReplicator's log; its settings flags and message must not"
        " omit begin and commit.",
    )
