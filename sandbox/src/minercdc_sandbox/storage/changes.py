"""Changes of rows: insert, update, delete and lock, each with its undo and its redo.

scan -> Targets -> claim (wait, or start the statement over) -> new versions, undo entries, redo -> unique keys checked
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.partitioning import TablePartition
from minercdc_sandbox.records import RedoOp
from minercdc_sandbox.redo.batches import ChangedRow
from minercdc_sandbox.redo.large_values import Step
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.storage.locks import ROW_EXCLUSIVE, Client, Locks
from minercdc_sandbox.storage.store import LIVE, VERSION_BITS, VERSION_MASK, Segments
from minercdc_sandbox.storage.strands import STRAND_RECORDS, Strands
from minercdc_sandbox.storage.transactions import TENTATIVE, Transaction, Transactions, Undo, UndoKind
from minercdc_sandbox.tables import Constraint, Index, Table


@dataclass(slots=True)
class Target:
    """A row version that an UPDATE, DELETE or FOR UPDATE is to change or lock, with the vid, s, e, x that its scan saw (see
    `storage.store`), all columns before, and after an UPDATE; () for the others."""

    vid: int
    s: int
    e: int
    x: int
    before: tuple[Cell, ...]
    after: tuple[Cell, ...] = ()


class StatementRestart(Exception):
    """A row changed after the statement's snapshot: the caller undoes the statement and runs it again with a new one. Never seen
    by clients."""


class RowChanges:
    """Changes of rows by transactions: writes versions, undo entries and redo together. Every method is called with the storage
    locked; those that wait for another transaction release it meanwhile.

    :param begin: returns the client's transaction, a new one if the client has none.
    """

    def __init__(
        self,
        segments: Segments,
        locks: Locks,
        strands: Strands,
        transactions: Transactions,
        begin: Callable[[Client], Transaction],
    ) -> None:
        self._segments, self._locks = segments, locks
        self._strands, self._transactions = strands, transactions
        self._begin = begin

    def lock_for_dml(self, client: Client, table: Table, seconds: float | None = None) -> Transaction:
        """Lock the table in row exclusive mode (TM); returns the transaction, begun if there is none. Raises ORA-01456 in a read-only
        transaction, as `Storage.begin`, and as `Locks.lock_table` after `seconds`: None waits as long as it takes."""
        transaction = self._begin(client)
        if transaction.read_only:
            raise OraError(1456, "may not perform insert, delete, update operation inside a READ ONLY transaction")
        if self._locks.held(table, transaction) < ROW_EXCLUSIVE:
            before = self._locks.lock_table(client, table, ROW_EXCLUSIVE, seconds)
            transaction.undo.append(Undo(UndoKind.TABLE_LOCK, table, before))
        return transaction

    def insert(self, client: Client, table: Table, rows: Sequence[tuple[Cell, ...]]) -> tuple[int, OraError | None]:
        """Insert rows, with cells of all stored columns, up to the first that fails; returns how many were inserted, and the
        error of that row, None without one: ORA-00001 for a key that is taken, or an error of `Locks.wait` while it waits for the
        open transaction that holds the key. The inserted ones stay.

        A row whose key is taken leaves its insert and the undo of it in the redo. `next_rid` of the table or partition rises,
        `table.last_rid` is the number of the row inserted last. Raises ORA-14400 for a row without a partition, and as
        `lock_for_dml`.
        """
        transaction = self.lock_for_dml(client, table)
        unique = [index for index in table.indexes if index.unique]
        at = 0
        while at < len(rows):
            place = _place(table, rows[at])
            chunk = rows[at : at + rowid.ROWS_PER_BLOCK - place.next_rid % rowid.ROWS_PER_BLOCK]
            if table.partitioning is not None:
                chunk = _together(table, place, chunk)
            free = self._count_free(transaction, table, unique, chunk) if unique else len(chunk)
            if free:
                self._insert_chunk(client, transaction, table, place, chunk[:free])
                at += free
                continue
            try:
                self._await_key(client, transaction, table, unique, chunk[0])
            except OraError as error:
                return at, error
        return at, None

    def _insert_chunk(
        self,
        client: Client,
        transaction: Transaction,
        table: Table,
        place: Table | TablePartition,
        rows: Sequence[tuple[Cell, ...]],
    ) -> None:
        first, place.next_rid = place.next_rid, place.next_rid + len(rows)
        table.last_rid = place.next_rid - 1
        if len(rows) > 1:
            self._segments.insert(table, first, rows, transaction.stamp)
        else:
            self._segments.insert_version(table, first << VERSION_BITS, rows[0], transaction.stamp)
        vid = first << VERSION_BITS
        transaction.undo.append(Undo(UndoKind.INSERT, table, vid, len(rows)))
        prefix, start = rowid.prefix_of(table, first)
        logged: list[ChangedRow] = [(rowid.row_text(prefix, start + n), None, row) for n, row in enumerate(rows)]
        self._strands.log_rows(client, transaction, table, RedoOp.INSERT, logged, shared=len(rows) > 1)

    def _count_free(
        self, transaction: Transaction, table: Table, unique: list[Index], rows: Sequence[tuple[Cell, ...]]
    ) -> int:
        """How many rows from the first on have unique keys that neither a stored row nor a row before them holds; keys of NULLs
        only are always free."""
        free = len(rows)
        for index in unique:
            places = table.positions(index.columns)
            seen: set[tuple[Cell, ...]] = set()
            for n in range(free):
                key = tuple([rows[n][at] for at in places])
                if not any(key):
                    continue
                if key in seen or self._holder(transaction, table, index, key, None) is not None:
                    free = n
                    break
                seen.add(key)
        return free

    def _holder(
        self, transaction: Transaction, table: Table, index: Index, key: tuple[Cell, ...], own: int | None
    ) -> tuple[int, int, int] | None:
        """(vid, s, x) of a stored version other than `own` that keeps the key from this transaction: a committed one, or one that
        another open transaction made or ended; None when the key is free."""
        for vid, s, x in self._segments.holders(table, index, key):
            if x != transaction.stamp and vid != own:
                return vid, s, x
        return None

    def _await_key(
        self, client: Client, transaction: Transaction, table: Table, unique: list[Index], row: tuple[Cell, ...]
    ) -> None:
        """Wait for the open transaction that holds the first of the row's keys that is not free, then return: the key must be
        looked at again. Raises ORA-00001 when a committed row or an earlier one of the transaction holds it, after its failed
        insert was logged, and as `Locks.wait`."""
        for index in unique:
            key = tuple(row[at] for at in table.positions(index.columns))
            holder = self._holder(transaction, table, index, key, None) if any(key) else None
            if holder is None:
                continue
            blocker = self._open_holder(transaction, holder)
            if blocker is None:
                self._log_failed_insert(client, transaction, table, row)
                raise duplicate(table, index)
            self._locks.wait(client, blocker, None)
            return

    def _open_holder(self, transaction: Transaction, holder: tuple[int, int, int]) -> Transaction | None:
        _, s, x = holder
        for stamp in (x, s):
            if stamp >= TENTATIVE and stamp != transaction.stamp:
                return self._transactions.with_stamp(stamp)
        return None

    def _log_failed_insert(self, client: Client, transaction: Transaction, table: Table, row: tuple[Cell, ...]) -> None:
        """Log the insert and its undo of a row whose key is taken: Oracle writes the row before it finds the key taken in the
        index. Uses up the next row number of its segment."""
        place = _place(table, row)
        rid, place.next_rid = place.next_rid, place.next_rid + 1
        row_id = rowid.of_row(table, rid)
        self._strands.log_rows(client, transaction, table, RedoOp.INSERT, [(row_id, None, row)])
        self._strands.log_rows(client, transaction, table, RedoOp.DELETE, [(row_id, row, None)], undo=True)

    def claim(self, client: Client, table: Table, targets: Sequence[Target], seconds: float | None = None) -> None:
        """Check that no other transaction has changed or locked the rows since the statement's snapshot; it locks nothing. In
        order of `targets`, the first that is not free decides.

        Raises StatementRestart after waiting for a transaction, or at once when a change was committed (ORA-08177 in a
        serializable transaction, whose snapshot cannot move); while waiting ORA-00060, ORA-01013, and ORA-30006 after `seconds`:
        0 raises ORA-00054 at once, None waits as long as it takes. As `Storage.begin` for a client without a transaction.
        """
        transaction = self._begin(client)
        for target in targets:
            blocker = self.blocker(table, target, transaction)
            if blocker is not None:
                if seconds == 0:
                    raise OraError(54, "resource busy and acquire with NOWAIT specified or timeout expired")
                self._locks.wait(client, blocker, None if seconds is None else time.monotonic() + seconds)
                raise StatementRestart
            if target.e != LIVE:
                if transaction.snapshot is not None:
                    raise OraError(8177, "can't serialize access for this transaction")
                raise StatementRestart

    def blocker(self, table: Table, target: Target, transaction: Transaction) -> Transaction | None:
        """The other open transaction that had changed the row at its scan, or has locked it by FOR UPDATE now; else None."""
        if target.x and target.x != transaction.stamp:
            return self._transactions.with_stamp(target.x)
        locker = self._locks.row_locker(table.data_object_id, target.vid >> VERSION_BITS)
        return locker if locker is not transaction else None

    def lock_rows(self, client: Client, table: Table, targets: Sequence[Target]) -> None:
        """FOR UPDATE: lock rows that `claim` has checked, until the transaction ends or rolls back to before. Makes the
        transaction active; writes no redo of rows. Raises as `Storage.begin`."""
        transaction = self._begin(client)
        self._strands.start(client, transaction)
        for target in targets:
            rid = target.vid >> VERSION_BITS
            if target.s != transaction.stamp and self._locks.row_locker(table.data_object_id, rid) is None:
                self._locks.lock_row(table.data_object_id, rid, transaction)
                transaction.undo.append(Undo(UndoKind.ROW_LOCK, table, rid))

    def update(self, client: Client, table: Table, targets: Sequence[Target], changed: tuple[int, ...]) -> None:
        """Change claimed rows to `after`, in place or as new versions, by delete and insert where the partition changes; write
        redo, then check unique keys, and wait for open transactions that hold one. `changed`: positions of the assigned columns.
        A target whose row moved names its new version afterwards. Raises ORA-00001, ORA-14400 for a row without a partition,
        ORA-08103 for one whose partition was dropped, ORA-00600 for one with too many versions, and as `Locks.wait`: the caller
        then undoes the statement."""
        transaction = self._begin(client)
        moving = [target for target in targets if _moves(table, target, changed)] if table.partitioning is not None else []
        if moving:
            targets = [target for target in targets if not any(target is other for other in moving)]
            self.delete(client, table, moving)
        logged = self._new_versions(transaction, table, targets, changed)
        for at in range(0, len(logged), STRAND_RECORDS):
            some = logged[at : at + STRAND_RECORDS]
            self._strands.log_rows(client, transaction, table, RedoOp.UPDATE, some, changed=changed)
        for target in moving:
            self._move(client, transaction, table, target)
        self._check_updated_keys(client, transaction, table, targets, changed)

    def _move(self, client: Client, transaction: Transaction, table: Table, target: Target) -> None:
        """Insert a row, deleted before, into the partition of its new key; `target` then names its new version. Raises the error
        of the row, and as `insert`."""
        _, error = self.insert(client, table, [target.after])
        if error is not None:
            raise error
        target.vid, target.s = table.last_rid << VERSION_BITS, transaction.stamp

    def rewrite(self, client: Client, table: Table, target: Target, changed: tuple[int, ...], steps: Sequence[Step]) -> None:
        """Change one claimed row to `after` and log the redo `steps` of a LOB write through its locator; no keys are checked and
        no partition changes. Raises ORA-00600 as `update`."""
        transaction = self._begin(client)
        [(row_id, _, _)] = self._new_versions(transaction, table, [target], changed)
        self._strands.log_large(client, transaction, table, row_id, steps, undo=False)

    def _new_versions(
        self, transaction: Transaction, table: Table, targets: Sequence[Target], changed: tuple[int, ...]
    ) -> list[ChangedRow]:
        logged: list[ChangedRow] = []
        fresh = [target for target in targets if target.s != transaction.stamp]
        if any(target.vid & VERSION_MASK == VERSION_MASK for target in fresh):
            raise OraError(600, "row has too many versions for the sandbox")
        self._segments.mark_all(table, [target.vid for target in fresh], transaction.stamp)
        self._segments.insert_versions(table, [(target.vid + 1, target.after) for target in fresh], transaction.stamp)
        for target in targets:
            own = target.s == transaction.stamp
            if own:
                self._segments.overwrite(table, target.vid, target.after)
            transaction.undo.append(
                Undo(UndoKind.UPDATE, table, target.vid, 1, target.before, target.after, changed, in_place=own)
            )
            logged.append((rowid.of_row(table, target.vid >> VERSION_BITS), target.before, target.after))
        return logged

    def _check_updated_keys(
        self, client: Client, transaction: Transaction, table: Table, targets: Sequence[Target], changed: tuple[int, ...]
    ) -> None:
        for index in table.indexes:
            places = table.positions(index.columns)
            if not index.unique or not set(places).intersection(changed):
                continue
            for target in targets:
                key = tuple(target.after[at] for at in places)
                if key == tuple(target.before[at] for at in places) or not any(key):
                    continue
                own = target.vid if target.s == transaction.stamp else target.vid + 1
                while (holder := self._holder(transaction, table, index, key, own)) is not None:
                    blocker = self._open_holder(transaction, holder)
                    if blocker is None:
                        raise duplicate(table, index)
                    self._locks.wait(client, blocker, None)

    def delete(self, client: Client, table: Table, targets: Sequence[Target]) -> None:
        """Delete claimed rows and write their redo: versions that the transaction made itself go at once, others end with its
        COMMIT. Raises ORA-08103 for a row whose partition was dropped."""
        transaction = self._begin(client)
        logged: list[ChangedRow] = []
        for target in targets:
            own = target.s == transaction.stamp
            if own:
                self._segments.remove(table, target.vid)
            else:
                self._segments.mark(table, target.vid, transaction.stamp)
            transaction.undo.append(Undo(UndoKind.DELETE, table, target.vid, 1, target.before, in_place=own))
            logged.append((rowid.of_row(table, target.vid >> VERSION_BITS), target.before, None))
        for at in range(0, len(logged), STRAND_RECORDS):
            self._strands.log_rows(client, transaction, table, RedoOp.DELETE, logged[at : at + STRAND_RECORDS])


def _place(table: Table, row: tuple[Cell, ...]) -> Table | TablePartition:
    """The table or partition that numbers the rows where this one goes. Raises ORA-14400."""
    return table if table.partitioning is None else table.holding(row)


def _together(table: Table, place: Table | TablePartition, rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The rows from the first on that all go to `place`, up to the first that goes elsewhere. Raises ORA-14400."""
    return list(takewhile(lambda row: _place(table, row) is place, rows))


def _moves(table: Table, target: Target, changed: tuple[int, ...]) -> bool:
    """Whether the change takes a row of a partitioned table to another partition. Raises ORA-14400 when there is none for it."""
    assert table.partitioning is not None
    if set(changed).isdisjoint(table.positions(table.partitioning.key_columns)):
        return False
    return table.holding(target.after) is not table.partitioning.numbered(target.vid >> VERSION_BITS)


def duplicate(table: Table, index: Index) -> OraError:
    """The error ORA-00001 with the name of the constraint that the index enforces, else with that of the index; the caller raises it."""
    constraint: Constraint | None = next((c for c in table.constraints if c.index == index.name), None)
    name = constraint.name if constraint else index.name
    return OraError(1, f"unique constraint ({table.owner}.{name}) violated")
