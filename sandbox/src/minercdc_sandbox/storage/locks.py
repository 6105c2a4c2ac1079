"""Table locks, rows locked by FOR UPDATE, and waiting for a transaction to end, with deadlock detection.

Rows that were changed need no entry here: the stamp on their version is the lock.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.storage.transactions import Transaction, UndoKind
from minercdc_sandbox.tables import Table

ROW_SHARE, ROW_EXCLUSIVE, SHARE, SHARE_ROW_EXCLUSIVE, EXCLUSIVE = 2, 3, 4, 5, 6

_COMPATIBLE = {
    ROW_SHARE: {2, 3, 4, 5},
    ROW_EXCLUSIVE: {2, 3},
    SHARE: {2, 4},
    SHARE_ROW_EXCLUSIVE: {2},
    EXCLUSIVE: set[int](),
}
_JOINED = {(3, 4): 5, (4, 3): 5}

BUSY = "resource busy and acquire with NOWAIT specified or timeout expired"


@dataclass(slots=True, eq=False)
class Client:
    """A session as the storage knows it; made and owned by the session.

    :param thread: the redo thread of its instance.
    :param details: program, machine, osuser, .. from the client, with sid and serial; they go into the redo.
    :param client_id: CLIENT_IDENTIFIER; it goes into the redo too; None without one.
    :param transaction: the open one; None without one.
    :param cancelled: a cancel that `check` has not raised yet; `killed`: another session has ended this one, which stays so.
    :param serializable: transactions that begin from now on are serializable.
    :param running: a call of the session is running.
    """

    sid: int
    serial: int
    user: str
    container: int
    details: dict[str, str] = field(default_factory=dict)
    thread: int = 1
    transaction: Transaction | None = None
    cancelled: bool = False
    killed: bool = False
    serializable: bool = False
    running: bool = False
    client_id: str | None = None

    def check(self) -> None:
        """Raises ORA-01013 once after a cancel; else does nothing."""
        if self.cancelled:
            self.cancelled = False
            raise OraError(1013, "user requested cancel of current operation")


class Locks:
    """Locks of tables and rows, and waits for transactions; used under the one storage lock, which waiting releases.

    :param condition: the storage lock.
    """

    def __init__(self, condition: threading.Condition) -> None:
        self._condition = condition
        self._tables: dict[int, dict[Transaction, int]] = defaultdict(dict)
        self._rows: dict[tuple[int, int], Transaction] = {}
        self._waiting: dict[Transaction, Transaction] = {}

    def wait(
        self, client: Client, blocker: Transaction, deadline: float | None, blocked: Callable[[], bool] = lambda: True
    ) -> None:
        """Wait until `blocker` ends or `blocked` is false, looked at when a lock is given back and once a second. Waits for rows
        have no `blocked`: as in Oracle, a rollback to a savepoint that frees the row does not end them.

        Raises ORA-01591 when `blocker` is in doubt, ORA-00060 when `blocker` waits for this client, directly or through others, ORA-01013 on cancel, ORA-30006 at the
        deadline; the caller then undoes what it must.

        :param deadline: a value of `time.monotonic()`; None: wait without end.
        """
        mine = client.transaction
        if mine is not None:
            other: Transaction | None = blocker
            while other is not None:
                if other is mine:
                    raise OraError(60, "deadlock detected while waiting for resource")
                other = self._waiting.get(other)
            self._waiting[mine] = blocker
        try:
            while not blocker.ended and blocked():
                client.check()
                if blocker.in_doubt:
                    raise OraError(1591, f"lock held by in-doubt distributed transaction {blocker.local_id}")
                left = 1.0 if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise OraError(30006, "resource busy; acquire with WAIT timeout expired")
                self._condition.wait(min(left, 1.0))
        finally:
            if mine is not None:
                self._waiting.pop(mine, None)

    def waiting(self) -> list[tuple[Transaction, Transaction]]:
        """A new list of (waiter, blocker) pairs, for V$LOCK; a client without a transaction is not among them."""
        return list(self._waiting.items())

    # ---- tables ----

    def all_held(self) -> list[tuple[int, Transaction, int]]:
        """OBJECT_ID, transaction and mode (2 to 6, see ROW_SHARE and others) of each table lock, for V$LOCK."""
        return [(object_id, *lock) for object_id, locks in self._tables.items() for lock in locks.items()]

    def held(self, table: Table, transaction: Transaction) -> int:
        """Mode of the transaction's lock on the table, one of ROW_SHARE to EXCLUSIVE; 0 without one."""
        return self._tables[table.object_id].get(transaction, 0)

    def table_blocker(self, table: Table, transaction: Transaction | None, mode: int) -> Transaction | None:
        """Another transaction whose lock on the table does not go with `mode`, else None."""
        for other, held in self._tables[table.object_id].items():
            if other is not transaction and held not in _COMPATIBLE[mode]:
                return other
        return None

    def lock_table(self, client: Client, table: Table, mode: int, seconds: float | None) -> int:
        """Raise the lock of the client's transaction, which there must be, to `mode`, joined with what it holds; returns the mode
        before, 0 without one. The caller appends the undo entry. Raises ORA-00054 after `seconds` (0: at once, None: never),
        ORA-00060 and ORA-01013."""
        transaction = client.transaction
        assert transaction is not None
        before = self.held(table, transaction)
        wanted = _JOINED.get((before, mode), max(before, mode))
        if wanted == before:
            return before
        deadline = None if seconds is None else time.monotonic() + seconds
        while (blocker := self.table_blocker(table, transaction, wanted)) is not None:
            if seconds == 0:
                raise OraError(54, BUSY)
            try:
                self.wait(client, blocker, deadline, lambda: self.table_blocker(table, transaction, wanted) is not None)
            except OraError as error:
                raise OraError(54, BUSY) if error.number == 30006 else error from None
        self._tables[table.object_id][transaction] = wanted
        return before

    def lower_table(self, table: Table, transaction: Transaction, mode: int) -> None:
        """Set the transaction's lock back to `mode`, 0 for none, and wake the threads that wait."""
        if mode:
            self._tables[table.object_id][transaction] = mode
        else:
            self._tables[table.object_id].pop(transaction, None)
        self._condition.notify_all()

    # ---- rows ----

    def row_locker(self, data_object_id: int, rid: int) -> Transaction | None:
        """The open transaction that locked the row by FOR UPDATE without changing it, else None; `rid` is its row number."""
        return self._rows.get((data_object_id, rid)) if self._rows else None

    def lock_row(self, data_object_id: int, rid: int, transaction: Transaction) -> None:
        """Note that the transaction has locked the row, which no transaction may have locked. The caller appends the undo entry."""
        self._rows[data_object_id, rid] = transaction

    def unlock_row(self, data_object_id: int, rid: int) -> None:
        """Take back a lock of a row, and wake the threads that wait. Under the storage lock."""
        self._rows.pop((data_object_id, rid), None)
        self._condition.notify_all()

    def release(self, transaction: Transaction) -> None:
        """Release all locks of a transaction that ends, and wake the threads that wait."""
        for undo in transaction.undo:
            if undo.op is UndoKind.TABLE_LOCK:
                self._tables[undo.table.object_id].pop(transaction, None)
            elif undo.op is UndoKind.ROW_LOCK:
                self._rows.pop((undo.table.data_object_id, undo.first), None)
        self._condition.notify_all()
