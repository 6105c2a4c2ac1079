"""Transactions over segments: begin, undo, commit, each with its redo; their changes of rows are in `changes`.

One lock guards everything. A session that waits for another's transaction releases it; one that waits for a row then starts over.
Redo of an open transaction sits in its private strand and reaches the log late, with the SCN of the change.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, cast

import apsw

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.partitioning import ROW_BITS
from minercdc_sandbox.records import RedoOp
from minercdc_sandbox.redo.batches import INDEX_INFO, ChangedRow
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.storage.changes import RowChanges
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.commit_meeting import CommitMeeting
from minercdc_sandbox.storage.durability import Durability
from minercdc_sandbox.storage.history import History
from minercdc_sandbox.storage.home import DataDirectory
from minercdc_sandbox.storage.locks import Client, Locks
from minercdc_sandbox.storage.store import VERSION_BITS, Segments, open_store, segment, tables_of
from minercdc_sandbox.storage.strands import Strands
from minercdc_sandbox.storage.transactions import Transaction, Transactions, Undo, UndoKind
from minercdc_sandbox.tables import Table

_INSERT_COMMIT = "insert into commits values(?,?) on conflict do update set xid=null"
"""Commits that share an SCN are distinguished by `shared_commits`."""


class Signals(Protocol):
    """Messages that wait for the end of transactions; see `alerts.Alerts`, which implements it, also for the members."""

    def deliver(self, transaction: Transaction, *, committed: bool) -> None: ...

    def forget(self, sid: int) -> None: ...


class Storage:
    """Transactions over the segments of one database, their locks and their redo, as one unit under `lock`. Call every method but
    `start` with `lock` held; `commit` and others that wait for another transaction release it meanwhile. `close` ends it.

    :param undo_retention: how many SCNs back a snapshot surely reaches; None: no limit by SCNs.
    :param home: where the rows live; None for a database that ends with the process.
    :ivar lock: also the condition on which threads wait for the end of transactions.
    :ivar db: the SQLite connection with all rows.
    :ivar meeting: commits that are to share an SCN; None for none.
    :ivar alerts: by container id.
    :ivar jobs_changed: set when the job scheduler is to look again.
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
        self.db.execute("create table if not exists shared_commits(segment,first integer,last integer,scn integer,xid)")
        self.lobs = LobStore(self.db, self.lock)
        self.strands = Strands(clock, redo, catalog, self.transactions)
        self.changes = RowChanges(self.segments, self.locks, self.strands, self.transactions, self.begin)
        self.meeting: CommitMeeting | None = None
        self.alerts: dict[int, Signals] = {}
        self.jobs_changed = threading.Event()
        self._retention = undo_retention
        self._purge_due = 0.0
        self._purged_at = clock.current
        redo.flush_strands = self.strands.flush
        redo.overwritten = self.free_lobs
        self.durability = Durability(home, clock, redo, catalog, self.transactions)
        redo.harden = self.durability.harden

    def begin(self, client: Client) -> Transaction:
        """The client's transaction, begun if there is none; a new serializable one gets the current SCN as its snapshot. Raises
        ORA-01554 when no slot is free."""
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

    def start(self, client: Client) -> None:
        """Make the client's transaction active, begun if there is none: its strand then has START. Takes the lock. Raises as `begin`."""
        with self.lock:
            self.strands.start(client, self.begin(client))

    def commit(self, client: Client) -> int | None:
        """End the client's transaction, log COMMIT, release its locks and make its changes visible at one new SCN, which is
        returned: None without a transaction and for one that is not active. Checks no deferred constraints. Raises
        ORA-01013 on cancel while a `CommitMeeting` waits."""
        transaction = client.transaction
        if transaction is None:
            return None
        if transaction.active and self.meeting is not None:
            return self.meeting.commit(client, self.clock, self._commit)
        return self._commit(client, self.clock.advance() if transaction.active else None)

    def meet(self, size: int) -> None:
        """Have the next `size` commits share an SCN; those that wait for others until now are committed. Takes the lock."""
        with self.lock:
            if self.meeting is not None:
                self.meeting.close(self.clock, self._commit)
            self.meeting = CommitMeeting(self.lock, size)

    def _commit(self, client: Client, scn: int | None) -> int | None:
        transaction = client.transaction
        assert transaction is not None
        if scn is not None:
            self._stamp(transaction, scn)
            self.db.execute(_INSERT_COMMIT, (scn, transaction.xid_bytes))
            transaction.ended = True
            self.strands.log(client, transaction, self.strands.mark(RedoOp.COMMIT, client, transaction, scn))
            self.strands.bind(transaction)
        self._end(client, transaction, committed=True)
        if scn is not None and self._changed_tables:
            self.history.move(self._changed_tables, scn)
            self._changed_tables = ()
        self._purge_old_versions()
        return scn

    @property
    def horizon(self) -> int:
        """SCN before which row versions may be gone: snapshots older than it get ORA-01555."""
        return self.durability.horizon

    @property
    def undo_seconds(self) -> int:
        """UNDO_RETENTION in seconds: 900 until `keep_undo_for` sets one; only when it was set are versions forgotten by their age."""
        seconds = self.durability.undo_seconds
        return 900 if seconds is None else seconds

    def keep_undo_for(self, seconds: int) -> None:
        """Set UNDO_RETENTION: commits from now on forget versions that ended longer ago than these seconds, once a second at
        most; `settle` of `Durability` saves it."""
        self.durability.undo_seconds = seconds

    def _purge_old_versions(self) -> None:
        """With a retention by SCNs or seconds, forget versions that ended before it; snapshots older than `horizon` then get
        ORA-01555. At most once in as many SCNs as are retained, and once a second."""
        horizon = 0
        if self._retention is not None and self.clock.current - self._purged_at >= self._retention:
            self._purged_at = self.clock.current
            horizon = self._purged_at - self._retention
        if self.durability.undo_seconds is not None and self.clock.now() >= self._purge_due:
            self._purge_due = self.clock.now() + 1
            with suppress(OraError):  # ORA-08180: the database is younger than that
                horizon = max(horizon, self.clock.scn_at(self.clock.now() - self.durability.undo_seconds))
        if horizon <= self.durability.horizon:
            return
        self.durability.horizon = horizon
        for table in self.catalog.tables():
            self.segments.purge(table, horizon)
        self.db.execute("delete from commits where scn<=?", (horizon,))

    def check_snapshot(self, scn: int) -> None:
        """Raises ORA-01555 when versions that were visible at `scn` may be gone, that is below `horizon`."""
        if scn < self.durability.horizon:
            raise OraError(1555, 'snapshot too old: rollback segment number with name "" too small')

    def rollback(self, client: Client) -> None:
        """Undo the client's transaction, if it has one, log ROLLBACK if it is active, release its locks and end it."""
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

    def _end(self, client: Client, transaction: Transaction, *, committed: bool = False) -> None:
        client.transaction = None
        for alerts in self.alerts.values():
            alerts.deliver(transaction, committed=committed)
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
            if undo.op is UndoKind.INSERT:
                new[name].append((undo.first, undo.first + ((undo.count - 1) << VERSION_BITS)))
            elif undo.op in (UndoKind.UPDATE, UndoKind.DELETE) and not undo.in_place:
                ended[name].append(undo.first)
                if undo.op is UndoKind.UPDATE:
                    new[name].append((undo.first + 1, undo.first + 1))
        if self.meeting is not None:
            made = [(name, *ends, scn, transaction.xid_bytes) for name, ranges in new.items() for ends in ranges]
            made += [(name, vid, vid, scn, transaction.xid_bytes) for name, vids in ended.items() for vid in vids]
            self.db.executemany("insert into shared_commits values(?,?,?,?,?)", made)
        for name, ranges in new.items():
            self.segments.stamp_new(name, ranges, transaction.stamp, scn)
        for name, vids in ended.items():
            self.segments.stamp_ended(name, vids, transaction.stamp, scn)
            self.history.note_ended(tables[name], len(vids), scn)
        if ended:
            self._changed_tables = tuple(tables[name] for name in ended)

    def undo_to(self, client: Client, mark: int) -> None:
        """Undo what came after the first `mark` undo entries, newest first, with its redo; later savepoints and signals and the
        locks of these entries go. Nothing without a transaction."""
        transaction = client.transaction
        if transaction is None:
            return
        while len(transaction.undo) > mark:
            self._undo_one(client, transaction, transaction.undo.pop())
        transaction.savepoints = [s for s in transaction.savepoints if s[1] <= mark]
        transaction.signals = [s for s in transaction.signals if s[0] < mark or (s[0] == mark > 0)]

    def _undo_one(self, client: Client, transaction: Transaction, undo: Undo) -> None:
        table, vid = undo.table, undo.first
        row_id = rowid.of_row(table, vid >> VERSION_BITS) if undo.op in (UndoKind.UPDATE, UndoKind.DELETE) else None
        if undo.op is UndoKind.INSERT:
            rows = self.segments.read(table, vid, undo.count, transaction.stamp)
            self.segments.remove(table, vid, undo.count)
            deleted: list[ChangedRow] = [
                (rowid.of_row(table, int(row[0]) >> VERSION_BITS), row[1:], None)  # type: ignore[arg-type]
                for row in reversed(rows)
            ]
            self.strands.log_rows(client, transaction, table, RedoOp.DELETE, deleted, undo=True)
        elif undo.op is UndoKind.UPDATE:
            assert undo.before is not None
            if undo.in_place:
                self.segments.overwrite(table, vid, undo.before)
            else:
                self.segments.remove(table, vid + 1)
                self.segments.mark(table, vid, 0)
            row: ChangedRow = (row_id, undo.after, undo.before)
            self.strands.log_rows(client, transaction, table, RedoOp.UPDATE, [row], changed=undo.changed, undo=True)
        elif undo.op is UndoKind.DELETE:
            assert undo.before is not None
            if undo.in_place:
                self.segments.insert_version(table, vid, undo.before, transaction.stamp)
            else:
                self.segments.mark(table, vid, 0)
            self.strands.log_rows(client, transaction, table, RedoOp.INSERT, [(row_id, None, undo.before)], undo=True)
        elif undo.op is UndoKind.ROW_LOCK:
            self.locks.unlock_row(table.data_object_id, vid)
        else:
            self.locks.lower_table(table, transaction, vid)

    def drop_segment(self, table: Table) -> None:
        """Drop the table's rows, as soon as no open cursor reads them. Its LOBs stay until no readable log has their changes; a
        temporary table's go at once."""
        self.segments.drop(segment(table))
        self.lobs.discard(table.data_object_id, self.clock.current if table.temporary is None else 0)
        self.free_lobs()

    def free_lobs(self) -> None:
        """Free the LOBs of segments whose changes no readable log has any more."""
        self.lobs.free_before(self.redo.oldest_change())

    def log_ddl(
        self,
        client: Client,
        text: str,
        table: Table | None,
        owner: str | None,
        name: str | None,
        internal: Sequence[str] = (),
        built: str | None = None,
    ) -> int:
        """Log a DDL in the client's transaction, as START, DDL, COMMIT when the client has none; commits and returns the SCN,
        without hardening: the caller changes the dictionary next. `catalog.version` rises. Raises as `begin` and `commit`.

        :param table: its object; None when that is no table. `owner` and `name`: as LogMiner shows them, None for none.
        :param internal: statements that Oracle runs itself before the DDL, logged as INTERNAL DDL.
        :param built: the index whose entries the DDL wrote; None for none.
        """
        self.catalog.version += 1
        transaction = self.begin(client)
        self.strands.start(client, transaction)
        for kind, statement in (*[("INTERNAL", statement) for statement in internal], ("USER", text)):
            batch = self.strands.mark(RedoOp.DDL, client, transaction, self.clock.advance())
            batch.statement, batch.info = statement, f"{kind} DDL (PlSql=0 RecDep=0)"
            batch.owner, batch.table = owner, name
            if table is not None:
                batch.data_obj, batch.data_obj_v = table.object_id, table.version
            self.strands.log(client, transaction, batch)
        if built is not None and table is not None:
            batch = self.strands.mark(RedoOp.INTERNAL, client, transaction, self.clock.advance())
            batch.info, batch.owner, batch.table = INDEX_INFO + built, owner, name
            batch.data_obj, batch.data_obj_d, batch.data_obj_v = table.object_id, table.data_object_id, table.version
            self.strands.log(client, transaction, batch)
        with self.durability.held():
            scn = self.commit(client)
        assert scn is not None
        return scn

    def log_dictionary(self, client: Client, text: str, info: str) -> None:
        """DBMS_LOGMNR_D.BUILD: commit the client's transaction, then write an INTERNAL record with text and info in a transaction
        of its own, in one log, which is then marked as having the dictionary and switched. Raises as `begin` and `commit`."""
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

    def restore(self) -> None:
        """Go on with the database of the directory, see `Durability.restore`, and number new rows above the highest stored row.
        Once, before the first transaction."""
        self.durability.restore()
        for table in self.catalog.tables():
            partitions = table.partitioning.segments() if table.partitioning is not None else ()
            for partition in partitions:
                end = (partition.number + 1) << ROW_BITS
                partition.next_rid = max(partition.next_rid, self._highest_rid(table, end) + 1)
            if not partitions:
                table.next_rid = max(table.next_rid, self._highest_rid(table, rowid.ABOVE - 1) + 1)

    def _highest_rid(self, table: Table, below: int) -> int:
        found = [
            self.db.execute(f"select ifnull(max(vid), -1) from {name} where vid<?", (below << VERSION_BITS,)).get
            for name in tables_of(table)
        ]
        return max(cast("list[int]", found)) >> VERSION_BITS

    def close(self) -> None:
        """Make all changes durable; close the store and the redo. Once, after the last session."""
        self.durability.harden()
        self.db.close()
        self.redo.close()
