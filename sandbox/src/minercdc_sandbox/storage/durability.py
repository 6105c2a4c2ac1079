"""The order in which changes of a database become durable, and how a server goes on with the database of an earlier one.

    redo is written -> journal frames -> rows.db commits (rows, dictionary, where the journal ends) -> readers see the redo

So after a kill at any moment rows, dictionary and redo are of one and the same moment, with all that was acknowledged to a client as
committed or that LogMiner has shown. Transactions that were open then are rolled back as by Oracle's instance recovery: their rows are
removed, and if their redo had reached the log, its undo and a ROLLBACK are logged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.records import RedoOp, RedoRecord
from minercdc_sandbox.redo.batches import RedoBatch
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.redo.threads import RedoState
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.home import FORMAT, DataDirectory
from minercdc_sandbox.storage.transactions import Transaction, Transactions

_UNDONE_BY = {
    RedoOp.INSERT: RedoOp.DELETE,
    RedoOp.UPDATE: RedoOp.UPDATE,
    RedoOp.DELETE: RedoOp.INSERT,
    **dict.fromkeys((RedoOp.LOB_LOCATOR, RedoOp.XML_BEGIN, RedoOp.LONG_BEGIN), RedoOp.UPDATE),
}
"""The operation that undoes a change, by the operation of its first record."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The facts of an open transaction that recovery after a crash needs, saved with each `Moment`. Fields as in `Transaction`."""

    xid: tuple[int, int, int]
    stamp: int
    thread: int
    container: int
    start_scn: int
    logged_from: int | None
    segments: frozenset[int]


@dataclass(frozen=True, slots=True)
class Moment:
    """The saved state that changes with every write, pickled in the data directory.

    :param journal_end: bytes of the journal that belong to the database.
    :param begun, turns: as in `Transactions`.
    :param open: the active transactions that have not ended.
    """

    journal_end: int
    begun: int
    turns: dict[int, int]
    open: tuple[OpenTransaction, ...]


class Durability:
    """Keeps a database in its directory; with `home` None it only lets readers see the redo. Else `create` or `restore` is called
    once, before other threads use the storage. Under the storage lock.

    :ivar horizon: SCN before which row versions may be gone; kept, as a restart does not bring them back.
    :ivar undo_seconds: UNDO_RETENTION of ALTER SYSTEM in seconds; None until it is set.
    """

    def __init__(
        self, home: DataDirectory | None, clock: ScnClock, redo: RedoLog, catalog: Catalog, transactions: Transactions
    ) -> None:
        self._home, self._clock, self._redo, self._catalog, self._transactions = home, clock, redo, catalog, transactions
        self._held = False
        self._dictionary = self._threads = -1
        self._slots = 0
        self.horizon, self.undo_seconds = 0, cast("int | None", None)
        self._undo = (self.horizon, self.undo_seconds)

    @contextmanager
    def held(self) -> Iterator[None]:
        """With a directory, `harden` does nothing until the context ends: for DDL, which is logged before the dictionary is
        changed. Do not nest; it does not harden at its end."""
        self._held = self._home is not None
        try:
            yield
        finally:
            self._held = False

    def harden(self) -> None:
        """Make everything up to here durable, if there is a directory, and its redo visible to readers; nothing while `held`. The
        RedoLog calls it as its `harden`, too."""
        if self._held:
            return
        if self._home is not None:
            self._save(self._home, self._redo.write_journal())
        self._redo.publish()

    def settle(self) -> None:
        """After a statement: `harden` when the dictionary or the threads have changed since the last time, or when there is redo
        that readers do not see. Nothing without a directory."""
        if self._home is not None and (
            self._catalog.stamp != self._dictionary or self._redo.changes != self._threads or self._redo.unpublished
        ):
            self.harden()

    def _save(self, home: DataDirectory, journal_end: int) -> None:
        if self._catalog.stamp != self._dictionary:
            self._dictionary = self._catalog.stamp
            home.save("catalog", self._catalog)
        if self._redo.changes != self._threads:
            self._threads = self._redo.changes
            home.save("redo", self._redo.state())
        if self._undo != (self.horizon, self.undo_seconds):
            self._undo = (self.horizon, self.undo_seconds)
            home.save("undo", self._undo)
        if new := self._clock.slots_since(self._slots):
            home.db.executemany("insert into scn_time values (?, ?)", new)
            self._slots += len(new)
        opened = tuple(_described(transaction) for transaction in self._transactions.open() if not transaction.ended)
        home.save("moment", Moment(journal_end, self._transactions.begun, dict(self._transactions.turns), opened))
        home.commit()

    def create(self) -> None:
        """Save the new database in a new directory; once, instead of `restore`."""
        assert self._home is not None
        self._home.db.execute("create table scn_time(second integer, scn integer)")
        self._home.save("format", FORMAT)
        self.harden()

    def restore(self) -> None:
        """Go on with the redo, the clock's map and the XIDs of an earlier server, and roll back its open transactions: their row
        versions go, and their undo and ROLLBACK are logged where their redo is in a log. The logs of all threads switch if there
        were any. Once, before the first transaction; hardens."""
        assert self._home is not None
        moment: Moment = self._home.load("moment")
        state: RedoState = self._home.load("redo")
        self.horizon, self.undo_seconds = self._undo = self._home.load("undo") or self._undo
        self._redo.recover(state, moment.journal_end)
        found = self._home.db.execute("select second, scn from scn_time order by scn").fetchall()
        slots = cast(list[tuple[int, int]], found)
        self._clock.remember(slots)
        self._slots = len(slots)
        self._transactions.begun, self._transactions.turns = moment.begun, dict(moment.turns)
        for transaction in moment.open:
            self._forget_rows(transaction)
        for transaction in moment.open:
            if transaction.logged_from is not None:
                self._log_recovery(transaction)
        if moment.open:
            for number in state.threads:
                self._redo.switch(number)
        self.harden()

    def _forget_rows(self, transaction: OpenTransaction) -> None:
        assert self._home is not None
        for data_object_id in transaction.segments:
            name = f"seg_{data_object_id}"
            if self._home.db.execute("select 1 from sqlite_master where name=?", (name,)).fetchone():
                self._home.db.execute(f"delete from {name} where s={transaction.stamp}")
                self._home.db.execute(f"update {name} set x=0 where x={transaction.stamp}")

    def _log_recovery(self, transaction: OpenTransaction) -> None:
        changes: list[RedoRecord] = []
        assert transaction.logged_from is not None
        last = self._redo.threads[transaction.thread].current.sequence
        for sequence in range(transaction.logged_from, last + 1):
            for record in self._redo.records(transaction.thread, sequence):
                own = (record.xid, record.container) == (transaction.xid, transaction.container)
                if own and record.op in _UNDONE_BY and not record.continued:
                    if record.undo:
                        changes.pop()
                    else:
                        changes.append(record)
        batches = [self._undoing(record) for record in reversed(changes)]
        batches.append(self._batch(RedoOp.ROLLBACK, transaction.xid, transaction.container, transaction.start_scn))
        self._redo.write(transaction.thread, batches)

    def _batch(self, op: RedoOp, xid: tuple[int, int, int], container: int, start_scn: int) -> RedoBatch:
        return RedoBatch(op, self._clock.advance(), xid, int(self._clock.now()), container, start_scn)

    def _undoing(self, record: RedoRecord) -> RedoBatch:
        batch = self._batch(_UNDONE_BY[record.op], record.xid, record.container, record.start_scn)
        batch.rows = [(record.row_id, record.after, record.before)]
        batch.owner, batch.table = record.owner, record.table
        batch.data_obj, batch.data_obj_d, batch.data_obj_v = record.data_obj, record.data_obj_d, record.data_obj_v
        batch.changed = batch.logged = record.changed
        batch.undo = True
        return batch


def _described(transaction: Transaction) -> OpenTransaction:
    return OpenTransaction(
        transaction.xid,
        transaction.stamp,
        transaction.thread,
        transaction.container,
        transaction.start_scn,
        transaction.logged_from,
        frozenset(transaction.segments),
    )
