"""Buffers open transactions: rows waiting for their COMMIT.

A transaction exists from its first captured row on, so that START rows which never end, and the countless transactions
that touch nothing captured, hold nothing back without `lob.enabled`. Rows that a savepoint, a failed statement or a rollback
undid are taken out as soon as their undo row is read; LogMiner prints undo newest first, so they are sought from the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from minercdc import native
from minercdc.capture.logminer.buffer.spill import SpillFile
from minercdc.capture.logminer.buffer.undo import undo_change
from minercdc.capture.logminer.buffer.undo_history import Unseen
from minercdc.capture.logminer.kept.files import KeptFile, KeptFiles
from minercdc.capture.logminer.position import KeptTransaction, RedoAddress
from minercdc.capture.logminer.session.row import LARGE_CODES, PARTIAL_XID, PLACEHOLDER_ROW_ID, ZERO_XID, LogMinerRow
from minercdc.stream.contracts import OpenTransaction

# XIDs are unique per container only (local undo).
TransactionKey: TypeAlias = tuple[int, bytes]


def mark_of(key: TransactionKey, several: bool) -> bytes:
    """How a transaction that is given up is named: its XID, and after it four bytes of CON_ID where several containers are
    captured."""
    return key[1] + key[0].to_bytes(4, "big") if several else key[1]


# What a row costs beside its text, about.
_ROW_BYTES = 700


class Start(NamedTuple):
    """What a START row, or a transaction's first row, says.

    :param order: place in the order of reading; 0 for a transaction that an earlier run kept.
    :param address: None when the row had none.
    :param start_scn: SCN of the START row, 0 when it was not read; `scn` is that of the row.
    :param time: by the database's host, without zone.
    :param user, client_id: of its session, None when not known.
    """

    order: int
    address: RedoAddress | None
    scn: int
    start_scn: int
    time: datetime
    user: str | None
    client_id: str | None
    thread: int


@dataclass(slots=True, eq=False)
class Transaction:
    """One open transaction's rows, oldest first; the older ones may be on disk. `TransactionBuffer` makes it; who takes it
    out of there calls `close`.

    :ivar rows: those in memory.
    :ivar spill: its older rows, on disk; None as long as none went there.
    :ivar bytes: memory that `rows` take, about.
    :ivar changes: captured rows it has had, undone ones too.
    :ivar is_large: it has had rows of large values, or with a placeholder for the ROWID, which belong together (`lobs.lob_rows`).
    :ivar without_address: `row_identity` of its rows without redo address.
    :ivar kept: what positions name of it, None while it is not kept over a restart (`kept/keeping.py`).
    """

    key: TransactionKey
    thread: int
    start: Start
    rows: list[LogMinerRow] = field(default_factory=list)
    spill: SpillFile | KeptFile | None = None
    bytes: int = 0
    changes: int = 0
    is_large: bool = False
    without_address: set[tuple[Any, ...]] = field(default_factory=set)
    kept: KeptTransaction | None = None

    def undo(self, row: LogMinerRow, unseen: Unseen) -> bool:
        """Take out what the undo row `row` cancels, as `undo_change`. False when it is not there. Raises as `row_before`."""
        return undo_change(self, row, unseen)

    def row_before(self, later: int) -> LogMinerRow | None:
        """The row that exactly `later` rows follow (0: the last one); None when there are not so many. Chunks come back from
        disk as far as needed: errors of `SpillFile.pop`, or `KeptFile.pop`, pass through."""
        while len(self.rows) <= later:
            if not self.spill:
                return None
            older = self.spill.pop()
            self.bytes += sum(map(_cost, older))
            self.rows[:0] = older
        return self.rows[-1 - later]

    def take_out(self, later: int) -> None:
        """Drop the row that `later` rows follow; `row_before` must have found it."""
        self.bytes -= _cost(self.rows.pop(-1 - later))

    def put_in_place(self, later: int, rows: tuple[LogMinerRow, ...]) -> None:
        """As `take_out`, and put others where the row was."""
        self.take_out(later)
        self.bytes += sum(map(_cost, rows))
        at = len(self.rows) - later
        self.rows[at:at] = rows

    def replay(self) -> Iterator[LogMinerRow]:
        """The rows that were not undone, oldest first. Errors of `SpillFile.read`, or `KeptFile.read`, pass through."""
        if self.spill:
            yield from self.spill.read()
        yield from self.rows

    def is_repeated(self, row: LogMinerRow) -> bool:
        """Whether a row without redo address was seen before, and note that it was; such rows cannot be distinguished by
        their place."""
        identity = row_identity(row)
        if identity in self.without_address:
            return True
        self.without_address.add(identity)
        return False

    def close(self) -> None:
        """Delete what is on disk, unless a position may name it (`KeptFile.close`). The transaction is of no use afterwards."""
        if self.spill is not None:
            self.spill.close()


def shown(transaction: Transaction, tx_id: str) -> OpenTransaction:
    """A transaction as a user sees it, with the id `tx_id`. It is no method, since transactions of the native path
    (`native/transaction.pxi`) are taken, too."""
    start = transaction.start
    return OpenTransaction(
        xid=tx_id,
        thread=transaction.thread,
        user=start.user or "",
        start_scn=start.start_scn or start.scn,
        start_time=str(start.time),
        changes=transaction.changes,
    )


def row_identity(row: LogMinerRow) -> tuple[Any, ...]:
    """What a row without redo address is recognized by when it comes again: its SCN, SSN, code, ROLLBACK, ROW_ID and SQL."""
    return row.scn, row.ssn, int(row.code), row.rollback, row.row_id, row.sql


def _cost(row: LogMinerRow) -> int:
    return _ROW_BYTES + len(row.sql or "")


def _key_of(mark: bytes, container: int) -> TransactionKey:
    """The key of which `mark_of` made `mark`; with `container` where `mark` has none."""
    return int.from_bytes(mark[8:], "big") if mark[8:] else container, mark[:8]


def transaction_buffer(
    memory_max: int, directory: Path, *, native_rows: bool, files: KeptFiles | None = None, several: bool = False
) -> TransactionBuffer:
    """A TransactionBuffer, or what takes its place on the native path; parameters as there.

    :param native_rows: rows are wanted as the native path scans them.
    """
    if not native_rows:
        return TransactionBuffer(memory_max, directory, files, several=several)
    assert native.rows is not None

    def start(order: int, address: tuple[str, int] | None, *rest: Any) -> Start:
        return Start(order, None if address is None else RedoAddress(*address), *rest)

    buffer: TransactionBuffer = native.rows.TransactionBuffer(
        memory_max,
        lambda: SpillFile(directory) if files is None else files.make(buffer.native_rows),
        LogMinerRow._make,
        start,
        undo_change,
    )
    return buffer


class TransactionBuffer:
    """Keeps all open transactions of one stream, for one thread; the assembly that owns it calls `close`.

    :param memory_max: bytes of rows in memory beyond which the largest transaction goes to disk.
    :param directory: for spill files.
    :param files: for those of transactions that may be kept over a restart; None: none are.
    :param several: rows are of several containers, where one XID may occur more than once.
    :ivar given_up: open transactions whose rows are dropped, up to their end, as `mark_of` names them. Oracle gives an XID to
        one transaction of a container only: its sequence number counts the uses of the slot.
    :ivar native_rows: converts rows of the native path's buffer for `KeptFile`; None here, on the Python path.
    """

    native_rows = None

    def __init__(self, memory_max: int, directory: Path, files: KeptFiles | None = None, *, several: bool = False) -> None:
        self._several = several
        self._memory_max = memory_max
        self._files = files
        self.given_up: set[bytes] = set()
        self._directory = directory
        self._open: dict[TransactionKey, Transaction] = {}
        self._starts: dict[TransactionKey, Start] = {}
        self._by_age: dict[int, list[tuple[int, TransactionKey]]] = {}
        self._order = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Remember a START row. One that comes after rows of its XID has no effect, nor one of the all-zero XID, which never
        ends, nor one of a transaction that is given up: a restart reads it again."""
        key = self._resolve(row)
        if row.xid == ZERO_XID or key in self._open or mark_of(key, self._several) in self.given_up:
            return
        self._starts[key] = self._start_of(row, address, row.scn)

    def append(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep a captured row, unless its transaction is given up, or it came before without address; raises as `write_out`."""
        if self.given_up and mark_of(self._resolve(row), self._several) in self.given_up:
            return
        transaction = self._transaction(row, address)
        if address is None and transaction.is_repeated(row):
            return
        if row.row_id == PLACEHOLDER_ROW_ID or row.code in LARGE_CODES:
            transaction.is_large = True
        transaction.changes += 1
        self._put(transaction, row)

    def end_statement(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep a row that ends a statement among those of its transaction, if that has captured rows; it is no change. Raises as
        `write_out`."""
        transaction = self._open.get(self._resolve(row))
        if transaction is None or (address is None and transaction.is_repeated(row)):
            return
        self._put(transaction, row)

    def undo(self, row: LogMinerRow, address: RedoAddress | None, unseen: Unseen) -> bool:
        """Take out what a row with ROLLBACK=1 undoes; `unseen` as for `undo_change`. False when that is not there, since it may
        lie before the first row mined, or when `row` has no address and came before. Raises as `Transaction.undo`."""
        transaction = self._open.get(self._resolve(row))
        if transaction is None or (address is None and transaction.is_repeated(row)):
            return False
        before = transaction.bytes
        undone = transaction.undo(row, unseen)
        self._bytes += transaction.bytes - before
        return undone

    def find(self, row: LogMinerRow) -> Transaction | None:
        """The open transaction of the row. None when no captured row of that transaction has come."""
        return self._open.get(self._resolve(row))

    def end(self, row: LogMinerRow) -> Transaction | None:
        """Take out the transaction that the COMMIT or ROLLBACK `row` ends, and its START; the caller has to close it. None
        when it has no captured row. It is not given up any more."""
        key = self._resolve(row)
        self._starts.pop(key, None)
        self.given_up.discard(mark_of(key, self._several))
        transaction = self._open.pop(key, None)
        if transaction is not None:
            self._bytes -= transaction.bytes
        return transaction

    def give_up(self, transaction: Transaction) -> None:
        """Forget an open transaction of this buffer, close it, and drop what may still come of it, up to its end; it is noted in
        `given_up`."""
        self._open.pop(transaction.key)
        self._bytes -= transaction.bytes
        self.given_up.add(mark_of(transaction.key, self._several))
        transaction.close()

    def open(self) -> list[Transaction]:
        """The open transactions that have captured rows."""
        return list(self._open.values())

    def oldest(self, thread: int) -> Start | None:
        """Start of a thread's oldest open transaction that has captured rows, is not kept, and whose START, or first row, had
        an address; None when there is none."""
        heap = self._by_age.get(thread, [])
        while heap:
            transaction = self._open.get(heap[0][1])
            if transaction is not None and transaction.start.order == heap[0][0] and transaction.kept is None:
                return transaction.start
            heapq.heappop(heap)
        return None

    def oldest_untouched(self, thread: int) -> Start | None:
        """Start of the oldest transaction of a thread that has a START but no captured row; None when there is none."""
        return next((start for start in self._starts.values() if start.thread == thread), None)

    def write_out(self, transaction: Transaction) -> None:
        """Move an open transaction's rows to disk. Raises StateDirectoryError when they cannot be written, and what
        `KeptFile.append` does."""
        if transaction.spill is None:
            transaction.spill = SpillFile(self._directory) if self._files is None else self._files.make(None)
        transaction.spill.append(transaction.rows)
        transaction.rows = []
        self._bytes -= transaction.bytes
        transaction.bytes = 0

    def restored(self, kept: KeptTransaction, start: Start, file: KeptFile) -> Transaction:
        """A Transaction for one that an earlier run kept; `adopt` puts it into the buffer."""
        return Transaction(
            kept.key,
            kept.thread,
            start,
            spill=file,
            changes=kept.changes,
            is_large=kept.is_large,
            without_address=file.seen,
            kept=kept,
        )

    def adopt(self, transaction: Transaction) -> None:
        """Take a restored transaction into the buffer: its rows may come from now on."""
        self._starts.pop(transaction.key, None)
        self._open[transaction.key] = transaction

    def watch(
        self,
        logs: Mapping[int, str],
        asleep: Mapping[int, tuple[str, frozenset[bytes]]],
        floors: Mapping[int, tuple[RedoAddress, int]],
    ) -> None:
        """Which rows the native path leaves to Python, and which resume points it does not pass; see `kept/keeping.py`. Does nothing
        here.

        :param logs: by thread, the log (first part of RS_ID) whose rows stay on the native path; rows of any other log go to
            Python.
        :param asleep: by thread, the record from which on all rows are, and the undo segments and slots whose rows are before it.
        :param floors: by thread, the record up to which the rows of kept transactions are in files, and its SCN.
        """

    def counted(self) -> list[tuple[tuple[str | None, str | None, int], int, int]]:
        """Redo that the native path counted since the last call: (owner, table, object id), rows, bytes. Empty here: on the
        Python path `Delivery` counts it."""
        return []

    def drop_untouched(self, before_scn: int) -> None:
        """Forget transactions without captured rows that began before an SCN; to be called when none of these is open any
        more."""
        for key in [key for key, start in self._starts.items() if start.scn < before_scn]:
            del self._starts[key]

    def close(self) -> None:
        """Forget all transactions, but not `given_up`, and close them. The buffer can be used again."""
        for transaction in self._open.values():
            transaction.close()
        self._open.clear()
        self._starts.clear()
        self._by_age.clear()
        self._bytes = 0

    def _transaction(self, row: LogMinerRow, address: RedoAddress | None) -> Transaction:
        key = self._resolve(row)
        transaction = self._open.get(key)
        if transaction is None:
            start = self._starts.pop(key, None) or self._start_of(row, address, 0)
            transaction = self._open[key] = Transaction(key, row.thread, start)
            if start.address is not None:
                heapq.heappush(self._by_age.setdefault(row.thread, []), (start.order, key))
        return transaction

    def _start_of(self, row: LogMinerRow, address: RedoAddress | None, start_scn: int) -> Start:
        self._order += 1
        return Start(self._order, address, row.scn, start_scn, row.timestamp, row.user, row.client_id, row.thread)

    def _resolve(self, row: LogMinerRow) -> TransactionKey:
        """The transaction's key; a partial XID stands for the one with the same undo segment and slot: an open one, or else one
        that is given up."""
        key = (row.con_id or 0, row.xid)
        if row.xid[4:] == PARTIAL_XID and key not in self._open:
            given_up = (_key_of(mark, key[0]) for mark in self.given_up)
            for known in (*self._open, *self._starts, *given_up):
                if known[0] == key[0] and known[1][:4] == row.xid[:4]:
                    return known
        return key

    def _put(self, transaction: Transaction, row: LogMinerRow) -> None:
        transaction.rows.append(row)
        cost = _cost(row)
        transaction.bytes += cost
        self._bytes += cost
        if self._bytes > self._memory_max:
            self._spill_largest()

    def _spill_largest(self) -> None:
        self.write_out(max(self._open.values(), key=lambda transaction: transaction.bytes))
