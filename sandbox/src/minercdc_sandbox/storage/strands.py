"""Redo of open transactions: records collected in private strands, bound to the log when a strand is full, its transaction ends
or the log switches.

A strand reaches the log late, with the SCNs of its changes (docs/reference/logminer-facts.md#d-7).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.records import RedoOp
from minercdc_sandbox.redo.batches import ChangedRow, RedoBatch
from minercdc_sandbox.redo.large_values import LargeColumns, Step, insert_steps, large_columns, undo_step, update_steps
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.redo.supplemental import logged_positions
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.storage.transactions import Transaction, Transactions
from minercdc_sandbox.tables import Table

STRAND_RECORDS = 64
STRAND_BYTES = 128 << 10


class Strands:
    """Writes the redo of all transactions: collects it in the strand of each, and binds that to the log. Every method is called
    with the storage locked.

    :ivar holding: users whose redo stays in its private strand, however much it is, until their transaction ends or a `flush`.
    :ivar starting_late: users in whose next transaction START follows the first change (DBZ-3978).
    """

    def __init__(self, clock: ScnClock, redo: RedoLog, catalog: Catalog, transactions: Transactions) -> None:
        self.clock, self.redo, self.catalog, self.transactions = clock, redo, catalog, transactions
        self.holding: set[str] = set()
        self.starting_late: set[str] = set()

    def mark(self, op: RedoOp, client: Client, transaction: Transaction, scn: int) -> RedoBatch:
        """A new batch of the transaction at `scn` and the present time, without rows, for the caller to fill and give to `log`."""
        return RedoBatch(
            op,
            scn,
            transaction.xid,
            int(self.clock.now()),
            transaction.container,
            transaction.start_scn,
            user=client.user,
            session={**client.details, "client_id": client.client_id} if client.client_id else client.details,
        )

    def log(self, client: Client, transaction: Transaction, batch: RedoBatch) -> None:
        """Put a batch into the transaction's strand, and write the strand to the log when it is full, unless `holding` keeps it."""
        transaction.strand.append(batch)
        transaction.strand_records += batch.records()
        transaction.strand_bytes += batch.bytes()
        self._bind_full(client, transaction)

    def _bind_full(self, client: Client, transaction: Transaction) -> None:
        if client.user in self.holding and not transaction.ended:
            return
        if transaction.strand_records >= STRAND_RECORDS or transaction.strand_bytes >= STRAND_BYTES:
            self.bind(transaction)

    def start(self, client: Client, transaction: Transaction) -> None:
        """Make a transaction active, with START at a new SCN in its strand; nothing for one that is active."""
        if not transaction.active:
            transaction.active = True
            transaction.start_scn, transaction.start_time = self.clock.advance(), self.clock.now()
            start = self.mark(RedoOp.START, client, transaction, transaction.start_scn)
            start.statement = transaction.name
            transaction.strand.append(start)

    def start_phantom(self, client: Client) -> None:
        """Write a START without a transaction to the log: its XID is all zero and nothing ends it (dbz#2683)."""
        scn = self.clock.advance()
        batch = RedoBatch(RedoOp.START, scn, (0, 0, 0), int(self.clock.now()), client.container, scn)
        self.redo.write(client.thread, [batch])

    def log_rows(
        self,
        client: Client,
        transaction: Transaction,
        table: Table,
        op: RedoOp,
        rows: list[ChangedRow],
        *,
        changed: tuple[int, ...] = (),
        undo: bool = False,
        shared: bool = False,
    ) -> None:
        """Log changes of one table's rows, which makes the transaction active; takes an SCN for each record. Nothing for no rows.
        Rows of several partitions are split.

        :param rows: (ROWID, before, after) with cells of all stored columns; None before an INSERT and after a DELETE. The list
            may be kept and extended.
        :param changed: positions of the columns that an UPDATE assigns.
        :param undo: they take earlier changes back.
        :param shared: the rows share one record, as of an array insert; not of several partitions or with large values.
        """
        if not rows:
            return
        if table.partitioning is not None and len({row_id[:6] for row_id, _, _ in rows if row_id}) > 1:
            for _, some in groupby(rows, key=lambda row: (row[0] or "")[:6]):
                self.log_rows(client, transaction, table, op, list(some), changed=changed, undo=undo)
            return
        large = large_columns(table.columns, json=self.catalog.goldengate)
        if large:
            for row in rows:
                self.log_large(client, transaction, table, row[0], self._steps(large, op, row, changed, undo), undo)
            return
        if op is RedoOp.UPDATE and not undo and self.catalog.since_23:
            changed = _all_at_the_end(rows, changed)
        self.start(client, transaction)
        scn = self.clock.advance(1 if shared else len(rows))
        if not shared and self._extends(transaction, table, rows[0][0], op, scn, changed, undo):
            self._extend(client, transaction, rows)
            return
        batch = self.mark(op, client, transaction, scn)
        batch.rows, batch.shared = rows, shared
        self._log_change(client, transaction, table, batch, changed, undo)

    def _extends(
        self,
        transaction: Transaction,
        table: Table,
        row_id: str | None,
        op: RedoOp,
        scn: int,
        changed: tuple[int, ...],
        undo: bool,
    ) -> bool:
        """Whether a change at `scn` can be the next rows of the strand's last batch: single-row statements that follow each
        other, alike in all but their rows."""
        last = transaction.strand[-1] if transaction.strand else None
        return (
            last is not None
            and last.op is op
            and not last.shared
            and last.scn + len(last.rows) == scn
            and last.data_obj_d == rowid.segment_of(table, row_id)[1]
            and last.data_obj_v == table.version
            and (last.owner, last.table) == (table.owner, table.name)
            and last.changed == changed
            and last.undo == undo
            and last.logged == self._logged(table, op, changed, undo)
            and last.time == int(self.clock.now())
        )

    def _extend(self, client: Client, transaction: Transaction, rows: list[ChangedRow]) -> None:
        transaction.strand_bytes += transaction.strand[-1].extend(rows)
        transaction.strand_records += len(rows)
        self._bind_full(client, transaction)

    def _logged(
        self, table: Table, op: RedoOp, changed: tuple[int, ...], undo: bool, whole_row: bool = False
    ) -> tuple[int, ...] | None:
        """Positions of the old values that go into the record, as `RedoRecord.logged`; None for all: of inserts, deletes and with
        `whole_row`."""
        if op in (RedoOp.INSERT, RedoOp.DELETE) or whole_row:
            return None
        # Undo is logged without supplemental data (MOS 462948.1).
        return changed if undo else logged_positions(table, self.catalog.logging, changed)

    def log_large(
        self, client: Client, transaction: Transaction, table: Table, row_id: str | None, steps: Sequence[Step], undo: bool
    ) -> None:
        """Log the steps of one row's change, a record and an SCN each, which makes the transaction active. With `undo` they take
        an earlier change back."""
        self.start(client, transaction)
        is_insert = any(step.op is RedoOp.INSERT for step in steps)
        for n, step in enumerate(steps):
            batch = self.mark(step.op, client, transaction, self.clock.advance())
            batch.rows = [(row_id, step.before, step.after)]
            batch.lob, batch.placeholder, batch.continued = step.lob, step.placeholder, n > 0
            # What an insert consists of is found by the row's own values, whatever is logged supplementally.
            self._log_change(client, transaction, table, batch, step.changed, undo, whole_row=is_insert)

    def _log_change(
        self,
        client: Client,
        transaction: Transaction,
        table: Table,
        batch: RedoBatch,
        changed: tuple[int, ...],
        undo: bool,
        *,
        whole_row: bool = False,
    ) -> None:
        batch.changed, batch.undo = changed, undo
        batch.owner, batch.table = table.owner, table.name
        batch.data_obj, batch.data_obj_d = rowid.segment_of(table, batch.rows[0][0])
        batch.data_obj_v = table.version
        transaction.segments.add(table.data_object_id)
        batch.logged = self._logged(table, batch.op, changed, undo, whole_row)
        self.log(client, transaction, batch)

    def _steps(
        self, large: LargeColumns, op: RedoOp, row: ChangedRow, changed: tuple[int, ...], undo: bool
    ) -> Sequence[Step]:
        """The redo records of one row's change, in a table with large values, in their order."""
        _, before, after = row
        if undo:
            return [undo_step(large, op, before, after, changed)]
        if op is RedoOp.INSERT:
            assert after is not None
            return insert_steps(large, after)
        if op is RedoOp.UPDATE:
            assert before is not None
            assert after is not None
            return update_steps(large, before, after, changed, since_23=self.catalog.since_23)
        return [Step(op, before, after)]

    def bind(self, transaction: Transaction, *, may_switch: bool = True) -> None:
        """Write the transaction's strand to the log of its thread, which switches when it is then full and `may_switch`; nothing
        for an empty strand. The strand is empty then; the first one that is written sets `logged_from`."""
        strand, transaction.strand = transaction.strand, []
        transaction.strand_records = transaction.strand_bytes = 0
        if strand:
            if transaction.logged_from is None:
                transaction.logged_from = self.redo.threads[transaction.thread].current.sequence
                if transaction.user in self.starting_late and len(strand) > 1:
                    self.starting_late.discard(transaction.user)
                    _start_late(transaction, strand)
            self.redo.write(transaction.thread, strand, may_switch=may_switch)

    def flush(self) -> None:
        """Write the strands of all open transactions to the log, also those that `holding` keeps, as before a switch; no log switches."""
        for transaction in self.transactions.all_open():
            self.bind(transaction, may_switch=False)

    def release(self, user: str) -> None:
        """End the `holding` of a user's strands, and write the strands of all users to the log."""
        self.holding.discard(user)
        self.flush()


def _start_late(transaction: Transaction, strand: list[RedoBatch]) -> None:
    """Let START follow the first change in the strand, at the SCN of that change, which becomes the transaction's `start_scn`."""
    start, first = strand[:2]
    start.scn = first.scn
    transaction.start_scn = start.start_scn = first.start_scn = first.scn
    strand[:2] = [first, start]


def _all_at_the_end(rows: list[ChangedRow], changed: tuple[int, ...]) -> tuple[int, ...]:
    """The columns that an UPDATE's record assigns: all, when it sets to NULL nothing but NULLs at the end of each row, which are not
    stored; else those at `changed`."""
    first = min(changed, default=0)
    for _, before, after in rows:
        if before is None or after is None or any(cell is not None for cell in (*before[first:], *after[first:])):
            return changed
    return tuple(range(len(rows[0][1] or ())))
