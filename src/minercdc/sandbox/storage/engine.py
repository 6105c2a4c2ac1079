"""Transactions over segments: insert, update, delete, lock, undo, commit, each with its redo.

One lock guards everything. A session that waits for another's transaction releases it, and starts its statement over.
Redo of an open transaction sits in its private strand and reaches the log late, with the SCN of the change.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

import apsw

from minercdc.sandbox.catalog import Catalog, Constraint, Index, Table
from minercdc.sandbox.interfaces import Cell, OraError, RedoOp
from minercdc.sandbox.lobs.values import LobStore
from minercdc.sandbox.partitioning import ROW_BITS, TablePartition
from minercdc.sandbox.redo.large_values import Step
from minercdc.sandbox.redo.log import ChangedRow, RedoLog
from minercdc.sandbox.storage import rowid
from minercdc.sandbox.storage.clock import ScnClock
from minercdc.sandbox.storage.durability import Durability
from minercdc.sandbox.storage.history import History
from minercdc.sandbox.storage.home import DataDirectory
from minercdc.sandbox.storage.locks import ROW_EXCLUSIVE, Client, Locks
from minercdc.sandbox.storage.store import LIVE, VERSION_BITS, VERSION_MASK, Segments, history, open_store, segment
from minercdc.sandbox.storage.strands import STRAND_RECORDS, Strands
from minercdc.sandbox.storage.transactions import TENTATIVE, Transaction, Transactions, Undo


@dataclass(slots=True)
class Target:
    """A row version an UPDATE or DELETE wants, as its scan saw it."""

    vid: int
    s: int
    e: int
    x: int
    before: tuple[Cell, ...]
    after: tuple[Cell, ...] = ()


class StatementRestart(Exception):
    """The statement met a row that changed after its snapshot: run it again with a new one."""


class Storage:
    """The transactional store. Every method is called with `lock` held.

    :param undo_retention: how many SCNs back a snapshot surely reaches; None keeps every version.
    :param home: where the rows live; None for a database that ends with the process.
    """

    def __init__(
        self,
        clock: ScnClock,
        redo: RedoLog,
        catalog: Catalog,
        undo_retention: int | None = None,
        home: DataDirectory | None = None,
    ) -> None:
        self.lock = threading.Condition(threading.RLock())
        self.clock, self.redo, self.catalog = clock, redo, catalog
        self.transactions = Transactions()
        self._changed_tables: tuple[Table, ...] = ()
        self.locks = Locks(self.lock)
        self.db: apsw.Connection = open_store() if home is None else home.db
        self.segments = Segments(self.db)
        self.history = History(self.segments, catalog, self.transactions)
        self.db.execute("create table if not exists commits(scn integer primary key,xid)")
        self.lobs = LobStore(self.db, self.lock)
        self.horizon = 0
        self.strands = Strands(clock, redo, catalog, self.transactions)
        self._retention = undo_retention
        self._retention_seconds: int | None = None
        self._purge_due = 0.0
        self._purged_at = clock.current
        redo.flush_strands = self.strands.flush
        self.durability = Durability(home, clock, redo, catalog, self.transactions)
        redo.harden = self.durability.harden

    # ---- transactions ----

    def begin(self, client: Client) -> Transaction:
        """The client's transaction, begun if there is none; a serializable one sees the database as of now to its end."""
        if client.transaction is None:
            snapshot = self.clock.current if client.serializable else None
            client.transaction = self.transactions.begin(
                scn=self.clock.advance(),
                time=self.clock.now(),
                container=client.container,
                sid=client.sid,
                serial=client.serial,
                user=client.user,
                thread=client.thread,
            )
            client.transaction.snapshot = snapshot
        return client.transaction

    def commit(self, client: Client) -> int | None:
        """Make the changes visible at one SCN, and return it; None when nothing was changed."""
        transaction = client.transaction
        if transaction is None:
            return None
        scn = None
        if transaction.active:
            scn = self.clock.advance()
            self._stamp(transaction, scn)
            self.db.execute("insert into commits values(?,?)", (scn, transaction.xid_bytes))
            transaction.ended = True
            self.strands.log(client, transaction, self.strands.mark(RedoOp.COMMIT, client, transaction, scn))
            self.strands.bind(transaction)
        self._end(client, transaction)
        if scn is not None and self._changed_tables:
            self.history.move(self._changed_tables, scn)
            self._changed_tables = ()
        self._purge_old_versions()
        return scn

    def keep_undo_for(self, seconds: int) -> None:
        """UNDO_RETENTION, as if undo had no room for more: versions that ended longer ago are forgotten."""
        self._retention_seconds = seconds

    def _purge_old_versions(self) -> None:
        """With a retention, forget versions that ended before it; snapshots older than `horizon` then get ORA-01555."""
        horizon = 0
        if self._retention is not None and self.clock.current - self._purged_at >= self._retention:
            self._purged_at = self.clock.current
            horizon = self._purged_at - self._retention
        if self._retention_seconds is not None and self.clock.now() >= self._purge_due:
            self._purge_due = self.clock.now() + 1
            with suppress(OraError):  # ORA-08180: the database is younger than that
                horizon = max(horizon, self.clock.scn_at(self.clock.now() - self._retention_seconds))
        if horizon <= self.horizon:
            return
        self.horizon = horizon
        for table in self.catalog.tables():
            self.segments.purge(table, horizon)
        self.db.execute("delete from commits where scn<=?", (horizon,))

    def check_snapshot(self, scn: int) -> None:
        """Raises ORA-01555 when versions of that time may be gone."""
        if scn < self.horizon:
            raise OraError(1555, 'snapshot too old: rollback segment number with name "" too small')

    def rollback(self, client: Client) -> None:
        transaction = client.transaction
        if transaction is None:
            return
        self.undo_to(client, 0)
        transaction.ended = True
        if transaction.active:
            self.strands.log(
                client, transaction, self.strands.mark(RedoOp.ROLLBACK, client, transaction, self.clock.advance())
            )
            self.strands.bind(transaction)
        self._end(client, transaction)

    def _end(self, client: Client, transaction: Transaction) -> None:
        client.transaction = None
        self.transactions.end(transaction)
        self.locks.release(transaction)
        self.segments.bury()

    def _stamp(self, transaction: Transaction, scn: int) -> None:
        new: dict[str, list[tuple[int, int]]] = defaultdict(list)
        ended: dict[str, list[int]] = defaultdict(list)
        tables: dict[str, Table] = {}
        for undo in transaction.undo:
            name = segment(undo.table)
            tables[name] = undo.table
            if undo.op == "I":
                new[name].append((undo.first, undo.first + ((undo.count - 1) << VERSION_BITS)))
            elif undo.op in "UD" and not undo.in_place:
                ended[name].append(undo.first)
                if undo.op == "U":
                    new[name].append((undo.first + 1, undo.first + 1))
        for name, ranges in new.items():
            self.segments.stamp_new(name, ranges, transaction.stamp, scn)
        for name, vids in ended.items():
            self.segments.stamp_ended(name, vids, transaction.stamp, scn)
            self.history.note_ended(tables[name], len(vids), scn)
        if ended:
            self._changed_tables = tuple(tables[name] for name in ended)

    def undo_to(self, client: Client, mark: int) -> None:
        """Take back all changes after the first `mark` undo entries, newest first, and log the undoing."""
        transaction = client.transaction
        if transaction is None:
            return
        while len(transaction.undo) > mark:
            self._undo_one(client, transaction, transaction.undo.pop())
        transaction.savepoints = [s for s in transaction.savepoints if s[1] <= mark]

    def _undo_one(self, client: Client, transaction: Transaction, undo: Undo) -> None:
        table, vid = undo.table, undo.first
        row_id = rowid.of_row(table, vid >> VERSION_BITS) if undo.op in "UD" else None
        if undo.op == "I":
            rows = self.segments.read(table, vid, undo.count, transaction.stamp)
            self.segments.remove(table, vid, undo.count)
            deleted: list[ChangedRow] = [
                (rowid.of_row(table, int(row[0]) >> VERSION_BITS), row[1:], None)  # type: ignore[arg-type]
                for row in reversed(rows)
            ]
            self.strands.log_rows(client, transaction, table, RedoOp.DELETE, deleted, undo=True)
        elif undo.op == "U":
            assert undo.before is not None
            if undo.in_place:
                self.segments.overwrite(table, vid, undo.before)
            else:
                self.segments.remove(table, vid + 1)
                self.segments.mark(table, vid, 0)
            row: ChangedRow = (row_id, undo.after, undo.before)
            self.strands.log_rows(client, transaction, table, RedoOp.UPDATE, [row], changed=undo.changed, undo=True)
        elif undo.op == "D":
            assert undo.before is not None
            if undo.in_place:
                self.segments.insert_version(table, vid, undo.before, transaction.stamp)
            else:
                self.segments.mark(table, vid, 0)
            self.strands.log_rows(client, transaction, table, RedoOp.INSERT, [(row_id, None, undo.before)], undo=True)
        elif undo.op == "F":
            self.locks.unlock_row(table.data_object_id, vid)
        else:
            self.locks.lower_table(table, transaction, vid)

    # ---- redo ----

    def log_ddl(
        self,
        client: Client,
        text: str,
        table: Table | None,
        owner: str | None,
        name: str | None,
        internal: Sequence[str] = (),
    ) -> int:
        """A DDL as its own transaction: START, DDL, COMMIT; returns the commit SCN.

        :param internal: what Oracle did of itself before, logged as INTERNAL DDL.
        """
        transaction = self.begin(client)
        self.strands.start(client, transaction)
        for kind, statement in (*[("INTERNAL", statement) for statement in internal], ("USER", text)):
            batch = self.strands.mark(RedoOp.DDL, client, transaction, self.clock.advance())
            batch.statement, batch.info = statement, f"{kind} DDL (PlSql=0 RecDep=0)"
            batch.owner, batch.table = owner, name
            if table is not None:
                batch.data_obj, batch.data_obj_v = table.object_id, table.version
            self.strands.log(client, transaction, batch)
        with self.durability.held():
            scn = self.commit(client)
        assert scn is not None
        return scn

    def log_dictionary(self, client: Client, text: str, info: str) -> None:
        """DBMS_LOGMNR_D.BUILD: a record in a transaction of its own, in a log that is archived at once."""
        self.commit(client)
        transaction = self.begin(client)
        self.strands.start(client, transaction)
        batch = self.strands.mark(RedoOp.INTERNAL, client, transaction, self.clock.advance())
        batch.statement, batch.info = text, info
        self.strands.log(client, transaction, batch)
        self.strands.bind(transaction, may_switch=False)
        sequence = self.redo.threads[transaction.thread].current.sequence
        self.commit(client)
        if self.redo.threads[transaction.thread].current.sequence == sequence:
            self.redo.switch(transaction.thread)
        self.redo.mark_dictionary(transaction.thread, sequence)

    # ---- changes ----

    def lock_for_dml(self, client: Client, table: Table, seconds: float | None = None) -> Transaction:
        """TM lock in row exclusive mode, for the rest of the transaction. Raises ORA-00054 after `seconds`."""
        transaction = self.begin(client)
        if transaction.read_only:
            raise OraError(1456, "may not perform insert, delete, update operation inside a READ ONLY transaction")
        if self.locks.held(table, transaction) < ROW_EXCLUSIVE:
            before = self.locks.lock_table(client, table, ROW_EXCLUSIVE, seconds)
            transaction.undo.append(Undo("L", table, before))
        return transaction

    def insert(self, client: Client, table: Table, rows: Sequence[tuple[Cell, ...]]) -> tuple[int, OraError | None]:
        """Insert rows up to the first that fails; returns how many, and the error of the failed one.

        A failed row leaves its insert and the undo of it in the redo.
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
            self.segments.insert(table, first, rows, transaction.stamp)
        else:
            self.segments.insert_version(table, first << VERSION_BITS, rows[0], transaction.stamp)
        vid = first << VERSION_BITS
        transaction.undo.append(Undo("I", table, vid, len(rows)))
        prefix, start = rowid.prefix_of(table, first)
        logged: list[ChangedRow] = [(rowid.row_text(prefix, start + n), None, row) for n, row in enumerate(rows)]
        self.strands.log_rows(client, transaction, table, RedoOp.INSERT, logged, shared=len(rows) > 1)

    def _count_free(
        self, transaction: Transaction, table: Table, unique: list[Index], rows: Sequence[tuple[Cell, ...]]
    ) -> int:
        """How many of the first rows have keys that nobody holds, not even a row before them."""
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
        """The version that holds the key against this transaction."""
        for vid, s, x in self.segments.holders(table, index, key):
            if x != transaction.stamp and vid != own:
                return vid, s, x
        return None

    def _await_key(
        self, client: Client, transaction: Transaction, table: Table, unique: list[Index], row: tuple[Cell, ...]
    ) -> None:
        """Wait for the open transaction that holds one of the row's keys. Raises ORA-00001 when the holder is certain."""
        for index in unique:
            key = tuple(row[at] for at in table.positions(index.columns))
            holder = self._holder(transaction, table, index, key, None) if any(key) else None
            if holder is None:
                continue
            blocker = self._open_holder(transaction, holder)
            if blocker is None:
                self._log_failed_insert(client, transaction, table, row)
                raise duplicate(table, index)
            self.locks.wait(client, blocker, None)
            return

    def _open_holder(self, transaction: Transaction, holder: tuple[int, int, int]) -> Transaction | None:
        _, s, x = holder
        for stamp in (x, s):
            if stamp >= TENTATIVE and stamp != transaction.stamp:
                return self.transactions.with_stamp(stamp)
        return None

    def _log_failed_insert(self, client: Client, transaction: Transaction, table: Table, row: tuple[Cell, ...]) -> None:
        """Oracle writes the row before it finds the key taken in the index, and undoes it."""
        place = _place(table, row)
        rid, place.next_rid = place.next_rid, place.next_rid + 1
        row_id = rowid.of_row(table, rid)
        self.strands.log_rows(client, transaction, table, RedoOp.INSERT, [(row_id, None, row)])
        self.strands.log_rows(client, transaction, table, RedoOp.DELETE, [(row_id, row, None)], undo=True)

    def claim(self, client: Client, table: Table, targets: Sequence[Target], seconds: float | None = None) -> None:
        """Make sure nobody else changed or locked the rows since the statement's snapshot.

        Raises StatementRestart (after waiting, or at once when a change was committed), ORA-00054, ORA-30006, ORA-00060; and
        ORA-08177 in place of a restart in a serializable transaction, whose snapshot cannot move.
        """
        transaction = client.transaction
        assert transaction is not None
        for target in targets:
            blocker = self.blocker(table, target, transaction)
            if blocker is not None:
                if seconds == 0:
                    raise OraError(54, "resource busy and acquire with NOWAIT specified or timeout expired")
                self.locks.wait(client, blocker, None if seconds is None else time.monotonic() + seconds)
                raise StatementRestart
            if target.e != LIVE:
                if transaction.snapshot is not None:
                    raise OraError(8177, "can't serialize access for this transaction")
                raise StatementRestart

    def blocker(self, table: Table, target: Target, transaction: Transaction) -> Transaction | None:
        """The other open transaction that changed or locked the row."""
        if target.x and target.x != transaction.stamp:
            return self.transactions.with_stamp(target.x)
        locker = self.locks.row_locker(table.data_object_id, target.vid >> VERSION_BITS)
        return locker if locker is not transaction else None

    def lock_rows(self, client: Client, table: Table, targets: Sequence[Target]) -> None:
        """FOR UPDATE, after `claim`."""
        transaction = self.begin(client)
        self.strands.start(client, transaction)
        for target in targets:
            rid = target.vid >> VERSION_BITS
            if target.s != transaction.stamp and self.locks.row_locker(table.data_object_id, rid) is None:
                self.locks.lock_row(table.data_object_id, rid, transaction)
                transaction.undo.append(Undo("F", table, rid))

    def update(self, client: Client, table: Table, targets: Sequence[Target], changed: tuple[int, ...]) -> None:
        """New versions for claimed rows, then the unique keys they changed are checked."""
        transaction = client.transaction
        assert transaction is not None
        moving = [target for target in targets if _moves(table, target, changed)] if table.partitioning is not None else []
        if moving:
            targets = [target for target in targets if not any(target is other for other in moving)]
        if moving:
            self.delete(client, table, moving)
        logged = self._new_versions(transaction, table, targets, changed)
        for at in range(0, len(logged), STRAND_RECORDS):
            some = logged[at : at + STRAND_RECORDS]
            self.strands.log_rows(client, transaction, table, RedoOp.UPDATE, some, changed=changed)
        for target in moving:
            self._move(client, transaction, table, target)
        self._check_updated_keys(client, transaction, table, targets, changed)

    def _move(self, client: Client, transaction: Transaction, table: Table, target: Target) -> None:
        """A row whose new key belongs into another partition was deleted there and is inserted here."""
        _, error = self.insert(client, table, [target.after])
        if error is not None:
            raise error
        target.vid, target.s = table.last_rid << VERSION_BITS, transaction.stamp

    def rewrite(self, client: Client, table: Table, target: Target, changed: tuple[int, ...], steps: Sequence[Step]) -> None:
        """A new version of one claimed row whose redo is `steps`: a LOB written through its locator."""
        transaction = client.transaction
        assert transaction is not None
        [(row_id, _, _)] = self._new_versions(transaction, table, [target], changed)
        self.strands.log_large(client, transaction, table, row_id, steps, undo=False)

    def _new_versions(
        self, transaction: Transaction, table: Table, targets: Sequence[Target], changed: tuple[int, ...]
    ) -> list[ChangedRow]:
        logged: list[ChangedRow] = []
        fresh = [target for target in targets if target.s != transaction.stamp]
        if any(target.vid & VERSION_MASK == VERSION_MASK for target in fresh):
            raise OraError(600, "row has too many versions for the sandbox")
        self.segments.mark_all(table, [target.vid for target in fresh], transaction.stamp)
        self.segments.insert_versions(table, [(target.vid + 1, target.after) for target in fresh], transaction.stamp)
        for target in targets:
            own = target.s == transaction.stamp
            if own:
                self.segments.overwrite(table, target.vid, target.after)
            transaction.undo.append(Undo("U", table, target.vid, 1, target.before, target.after, changed, in_place=own))
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
                    self.locks.wait(client, blocker, None)

    def delete(self, client: Client, table: Table, targets: Sequence[Target]) -> None:
        """End claimed rows."""
        transaction = client.transaction
        assert transaction is not None
        logged: list[ChangedRow] = []
        for target in targets:
            own = target.s == transaction.stamp
            if own:
                self.segments.remove(table, target.vid)
            else:
                self.segments.mark(table, target.vid, transaction.stamp)
            transaction.undo.append(Undo("D", table, target.vid, 1, target.before, in_place=own))
            logged.append((rowid.of_row(table, target.vid >> VERSION_BITS), target.before, None))
        for at in range(0, len(logged), STRAND_RECORDS):
            self.strands.log_rows(client, transaction, table, RedoOp.DELETE, logged[at : at + STRAND_RECORDS])

    def restore(self) -> None:
        """Go on with what the data directory has. Row numbers go on above the highest that is there."""
        self.durability.restore()
        for table in self.catalog.tables():
            partitions = table.partitioning.partitions if table.partitioning is not None else ()
            for partition in partitions:
                end = (partition.number + 1) << ROW_BITS
                partition.next_rid = max(partition.next_rid, self._highest_rid(table, end) + 1)
            if not partitions:
                table.next_rid = max(table.next_rid, self._highest_rid(table, rowid.ABOVE - 1) + 1)

    def _highest_rid(self, table: Table, below: int) -> int:
        names = (segment(table), history(table)) if table.has_history else (segment(table),)
        found = [
            self.db.execute(f"select ifnull(max(vid), -1) from {name} where vid<?", (below << VERSION_BITS,)).get
            for name in names
        ]
        return max(cast("list[int]", found)) >> VERSION_BITS

    def close(self) -> None:
        self.durability.harden()
        self.db.close()
        self.redo.close()


def _place(table: Table, row: tuple[Cell, ...]) -> Table | TablePartition:
    """What counts the rows where this one goes. Raises ORA-14400."""
    return table if table.partitioning is None else table.holding(row)


def _together(table: Table, place: Table | TablePartition, rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The first rows that go to the same place."""
    return list(takewhile(lambda row: _place(table, row) is place, rows))


def _moves(table: Table, target: Target, changed: tuple[int, ...]) -> bool:
    """Whether the change takes a row to another partition."""
    assert table.partitioning is not None
    if set(changed).isdisjoint(table.positions(table.partitioning.columns)):
        return False
    return table.holding(target.after) is not table.partitioning.numbered(target.vid >> VERSION_BITS)


def duplicate(table: Table, index: Index) -> OraError:
    """ORA-00001 names the constraint, which its index is named after unless said otherwise."""
    constraint: Constraint | None = next((c for c in table.constraints if c.index == index.name), None)
    name = constraint.name if constraint else index.name
    return OraError(1, f"unique constraint ({table.owner}.{name}) violated")
