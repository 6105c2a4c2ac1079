"""Keeps the rows of open transactions over restarts, so that the redo of their beginning is not needed any more.

    keep      at the beginning of a redo record: all rows of the records before it are on disk then (`files.py`), and a restart
              mines from there, or from the oldest transaction that is not kept
    asleep    after a restart, until that record comes again: rows of a kept transaction that come before it are in its files. Nothing
              else has them: other transactions had the same undo slot before
    awake     open like any other

All kept transactions of a thread are kept up to the same record (`ThreadMark.kept_to`). What a restart mines again begins there
or earlier, so nothing is missing between the files and the redo.

Large values are left out: LogMiner shows them only of transactions it reads from their start, so with `lob.enabled` none is kept.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from minercdc.capture.logminer.buffer.transactions import (
    Start,
    Transaction,
    TransactionBuffer,
    TransactionKey,
    mark_of,
    row_identity,
)
from minercdc.capture.logminer.kept.files import KeptFile, KeptFiles
from minercdc.capture.logminer.position import KeptTransaction, LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.query import ContainerNames
from minercdc.capture.logminer.session.row import PARTIAL_XID, LogMinerRow
from minercdc.errors import TransientSourceError
from minercdc.schema.table_filter import TableFilter

_log = logging.getLogger(__name__)

MOST_KEPT = 200
"""How many transactions are kept at a time, at most: each is part of every offset that is stored."""

Lost: TypeAlias = tuple[KeptTransaction, str]


def captured_tables(tables: TableFilter, container: ContainerNames, others: Iterable[TableFilter] = ()) -> str:
    """16 hex digits that differ with the filter and the container: rows kept under other digits may not be all that is
    captured.

    :param others: filters of further pluggable databases, whose lists are the same; the signal table may be in any.
    """
    lists = tables.schema_include, tables.schema_exclude, tables.table_include, tables.table_exclude
    also = sorted({name for one in (tables, *others) for name in one.also})
    text = repr((*(sorted(names) for names in lists), also, sorted(tables.never), container))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeepingRules:
    """Which open transactions are kept.

    :param after: age from which on a transaction is kept; None: no further ones. With zero, all are kept that are open when a
        pass begins, without waiting for a log switch.
    :param tables: `captured_tables`.
    """

    after: timedelta | None
    tables: str


def unusable(position: LogMinerPosition, files: KeptFiles, rules: KeepingRules | None) -> dict[TransactionKey, Lost]:
    """Kept transactions of a position whose files cannot be used, with the reasons; {} when all can be. It looks at names and
    lengths of files, not at their content, and where one is missing at which copies Kafka has. Raises as `KeptFiles.has_copy`.

    :param rules: None: no files can be used, since this way of mining needs each transaction from its start.
    """
    found: dict[TransactionKey, Lost] = {}
    for kept in position.kept:
        mark = position.threads.get(kept.thread)
        if rules is None:
            reason = "logminer_unbuffered and lob.enabled must read each transaction from its start"
        elif kept.tables != rules.tables:
            reason = "the captured tables have changed since its rows were kept"
        elif mark is None or mark.kept_to is None:
            reason = "the offset does not say up to where its rows are kept"
        else:
            reason = files.lacks(kept)
        if reason:
            found[kept.key] = kept, reason
    return found


@dataclass(frozen=True, slots=True)
class Loaded:
    """What `load` made of the kept transactions of a position.

    :param position: to begin at, without the lost ones: they are mined from their start.
    :param transactions: those whose rows are there, with them.
    :param lost: those whose rows are not usable, with the reasons.
    """

    position: LogMinerPosition
    transactions: tuple[tuple[KeptTransaction, KeptFile], ...]
    lost: tuple[Lost, ...]


def load(position: LogMinerPosition, files: KeptFiles, rules: KeepingRules | None, buffer: TransactionBuffer) -> Loaded:
    """Check and read the kept transactions of a position. Missing or damaged files are made again from copies in Kafka. A
    transaction whose rows are lost is logged as a warning and in `Loaded.lost`, and raises nothing.

    :param buffer: its path, native or not, is that of the rows; nothing is put into it.
    :raises DeliveryError, SinkError: copies of files are needed, and cannot be read.
    :raises StateDirectoryError: the files cannot be made again from them.
    """
    lost = unusable(position, files, rules)
    files.fetch([kept for kept in position.kept if kept.key not in lost])
    transactions: list[tuple[KeptTransaction, KeptFile]] = []
    for kept in position.kept:
        if kept.key in lost:
            continue
        try:
            transactions.append((kept, files.load(kept, buffer.native_rows)))
        except TransientSourceError as error:
            lost[kept.key] = kept, error.message
    for kept, reason in lost.values():
        _log.warning("%s is mined again from its start: %s", kept, reason)
    return Loaded(position.mined_again(lambda kept: kept.key in lost), tuple(transactions), tuple(lost.values()))


class Keeping:
    """Keeps the transactions of one `stream` of the capture, for one thread; its owner calls `close` at the end.

    :param files: where the rows are; not closed here.
    :param buffer: has the transactions that are awake.
    :param loaded: transactions to go on with; its `position` is where the capture begins.
    :param is_held: whether a COMMIT or DDL of a thread was read and waits for other threads.
    :ivar kept: what the next position names as kept, asleep or awake.
    :ivar floors: by thread, `ThreadMark.kept_to` and its SCN; without threads that have no kept transaction.
    """

    def __init__(
        self,
        files: KeptFiles,
        rules: KeepingRules,
        buffer: TransactionBuffer,
        loaded: Loaded,
        is_held: Callable[[int], bool],
    ) -> None:
        self._files, self._rules, self._buffer, self._is_held = files, rules, buffer, is_held
        self._several = bool(loaded.position.pdbs)
        self.kept: dict[TransactionKey, KeptTransaction] = {}
        self.floors: dict[int, tuple[RedoAddress, int]] = {}
        self._asleep: dict[
            int, dict[tuple[int, bytes], list[Transaction]]
        ] = {}  # by thread; container, undo segment and slot
        self._waiting: dict[int, list[LogMinerRow]] = {}  # by thread of the transaction, while it is asleep
        self._early: list[LogMinerRow] = []  # of those that are awake now
        self._switched_at: dict[int, str] = {}
        self._has_warned = False
        for kept, file in loaded.transactions:
            self._put_to_sleep(kept, file)
        for thread, mark in loaded.position.threads.items():
            if mark.kept_to is not None and thread in self._asleep:
                self.floors[thread] = mark.kept_to, mark.kept_to_scn
                if mark.kept_to.rs_id <= mark.resume.rs_id:
                    self._wake(thread)
        self._show_buffer()

    @property
    def version(self) -> int:
        """The `LogMinerPosition.kept_version` of positions made now."""
        return self._files.version

    def begin_pass(self) -> None:
        """Note that a pass begins: with an age of zero, transactions are kept again at each thread's next record."""
        if self._rules.after == timedelta(0):
            self._switched_at.clear()
            self._show_buffer()

    def meet(self, row: LogMinerRow, rs_id: str) -> None:
        """To be called for the first row of each redo record, before it is taken: all records before it are read whole. Wakes the
        thread's transactions whose files end here. In each log, and with an age of zero in each pass, it then writes out the
        transactions that are kept or due, once, as soon as no COMMIT or DDL of the thread is held.

        :param rs_id: of the row, without blanks.
        :raises StateDirectoryError: rows cannot be written.
        :raises TransientSourceError: a file is damaged, or was removed.
        :raises DeliveryError, SinkError: rows cannot be copied to Kafka.
        """
        thread, log = row.thread, rs_id.partition(".")[0]
        if thread in self._asleep and (thread not in self.floors or rs_id >= self.floors[thread][0].rs_id):
            self._wake(thread)
            self._switched_at.pop(thread, None)
            self._show_buffer()
        if self._switched_at.get(thread) == log or self._is_held(thread):
            return
        if thread not in self._asleep:
            self._keep(row, RedoAddress(rs_id))
        self._switched_at[thread] = log
        self._show_buffer()

    def passes_over(self, row: LogMinerRow, address: RedoAddress | None) -> bool:
        """Whether the row belongs to a transaction that is asleep, so that the caller leaves it out: the files have the row.
        A row without address that they do not have is put aside for `waiting`, and left out now, too."""
        for thread in (row.thread,) if address is not None else tuple(self._asleep):
            for found in self._asleep.get(thread, {}).get((row.con_id or 0, row.xid[:4]), ()):
                is_its_own, is_partial = row.xid == found.key[1], row.xid[4:] == PARTIAL_XID
                if address is None and (is_its_own or (is_partial and row.scn >= found.start.scn)):
                    # Which of these its files have is known by their content.
                    if row_identity(row) not in found.without_address:
                        self._waiting.setdefault(thread, []).append(row)
                    return True
                # Before its start, the slot was another transaction's.
                start = found.start.address
                if address is not None and (
                    is_its_own or (is_partial and start is not None and address.rs_id >= start.rs_id)
                ):
                    return True
        return False

    def waiting(self) -> list[LogMinerRow]:
        """Take out the rows that `passes_over` put aside for transactions that are awake now; [] for none. The caller reads
        them now."""
        if not self._early:
            return []
        found, self._early = self._early, []
        return found

    def open(self) -> list[Transaction]:
        """The transactions that are asleep; those that are awake are in the buffer."""
        return [one for slots in self._asleep.values() for found in slots.values() for one in found]

    def end(self, transaction: Transaction) -> None:
        """Note that a transaction has ended: positions that are made from now on do not name it. No effect for one that is
        not kept. Its file is not touched here."""
        if transaction.kept is not None and self.kept.pop(transaction.key, None) is not None:
            self._files.version += 1
            if not any(kept.thread == transaction.thread for kept in self.kept.values()):
                self.floors.pop(transaction.thread, None)
            self._show_buffer()

    def give_up(self, transaction: Transaction) -> bool:
        """Forget a transaction that is asleep, close it, and note it in the buffer as given up; False, without effect, when
        it is not asleep."""
        for slots in self._asleep.values():
            for found in slots.values():
                if transaction in found:
                    found.remove(transaction)
                    self._buffer.given_up.add(mark_of(transaction.key, self._several))
                    self.end(transaction)
                    transaction.close()
                    return True
        return False

    def close(self) -> None:
        """End the run: from now on closing a transaction leaves its files, which the stored offset may name. To be called
        before the buffer is closed."""
        self._files.closing = True
        for transaction in self.open():
            transaction.close()
        self._asleep.clear()

    def _keep(self, row: LogMinerRow, boundary: RedoAddress) -> None:
        thread = row.thread
        for transaction in self._buffer.open():
            if transaction.thread == thread and (transaction.kept is not None or self._is_due(transaction, row, boundary)):
                self._buffer.write_out(transaction)
                self.kept[transaction.key] = transaction.kept = self._named(transaction)
        if any(kept.thread == thread for kept in self.kept.values()):
            self.floors[thread] = boundary, row.scn

    def _is_due(self, transaction: Transaction, row: LogMinerRow, boundary: RedoAddress) -> bool:
        after, start = self._rules.after, transaction.start
        if after is None or start.address is None or start.thread != transaction.thread:
            return False
        if after and (row.timestamp - start.time < after or start.address.sequence >= boundary.sequence):
            return False
        if len(self.kept) < MOST_KEPT:
            return True
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "%d open transactions are kept, which is the maximum: other transactions need their redo after a restart",
                MOST_KEPT,
            )
        return False

    def _named(self, transaction: Transaction) -> KeptTransaction:
        start, file = transaction.start, transaction.spill
        assert isinstance(file, KeptFile)
        assert start.address is not None
        parts = file.seal(transaction.without_address)
        return KeptTransaction(
            transaction.key[0],
            transaction.key[1].hex(),
            transaction.thread,
            start.address,
            start.scn,
            start.start_scn,
            start.time.isoformat(),
            start.user,
            start.client_id,
            file.rows,
            transaction.changes,
            transaction.is_large,
            self._rules.tables,
            parts,
        )

    def _put_to_sleep(self, kept: KeptTransaction, file: KeptFile) -> None:
        time = datetime.fromisoformat(kept.time)
        start = Start(0, kept.start, kept.scn, kept.start_scn, time, kept.user, kept.client_id, kept.thread)
        transaction = self._buffer.restored(kept, start, file)
        self.kept[kept.key] = kept
        self._asleep.setdefault(kept.thread, {}).setdefault((kept.container, kept.key[1][:4]), []).append(transaction)

    def _wake(self, thread: int) -> None:
        for found in self._asleep.pop(thread).values():
            for transaction in found:
                self._buffer.adopt(transaction)
        self._early += self._waiting.pop(thread, ())

    def _show_buffer(self) -> None:
        """Give the buffer what the native path has to know to leave rows of records that begin, and of sleeping transactions, to
        Python."""
        self._buffer.watch(
            self._switched_at,
            {
                thread: (self.floors[thread][0].rs_id, frozenset(slot for _, slot in slots))
                for thread, slots in self._asleep.items()
                if thread in self.floors
            },
            self.floors,
        )
