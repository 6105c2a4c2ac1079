"""Opens a session's queries: on stored rows, on views alone, FOR UPDATE; and keeps its open cursors consistent."""

from __future__ import annotations

from threading import RLock
from weakref import WeakSet

import apsw

from minercdc_sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc_sandbox.planning import Planner
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.locking import lock_free_rows, lock_rows, only_rows
from minercdc_sandbox.sql.execution import Plan, Run, SqlSession, check_writable
from minercdc_sandbox.sql.row_tests import row_test
from minercdc_sandbox.sql.runtime import FixedRows, PickedRows, QueryRows, begin_run, execute
from minercdc_sandbox.tables import Table


class OpenQueries:
    """Opens a session's queries, on the shared store or, without stored rows, on a private connection that is made at first use;
    remembers the cursors that show changes of the session's own transaction, for `settle`. `close` ends it."""

    def __init__(self, session: SqlSession, planner: Planner) -> None:
        self._session, self._planner = session, planner
        self._open: WeakSet[QueryRows] = WeakSet()
        self._own: apsw.Connection | None = None
        self._own_lock = RLock()

    def close(self) -> None:
        """At the session's end: close its private connection if it has one. Waits for a fetch on it that runs in another thread."""
        if self._own is not None:
            with self._own_lock:
                self._own.close(True)

    def _own_connection(self) -> apsw.Connection:
        """The session's private connection, made at first use, for queries without stored rows, so that a long scan of a view
        locks no other session."""
        if self._own is None:
            self._own = self._session.database.new_connection()
        return self._own

    def run(self, sql: str, query: ast.Query, bind_types: tuple[BindType, ...], binds: tuple[Cell, ...]) -> Result:
        """Plan and open a query; one FOR UPDATE locks its rows, waiting if need be, and is read to its end. Takes the storage
        lock. Raises as `Planner`, `open` and, for one FOR UPDATE, `check_change`, `check_writable` and `lock_rows`."""
        with self._session.storage.lock:
            # Until a query on tables has begun, no DDL may come between its plan and its start.
            plan = self._planner.query(sql, query, bind_types)
            if query.for_update is not None:
                self._session.programs.check_change()
                check_writable(self._session)
                return self._with_locks(sql, query, plan, bind_types, binds)
            if plan.stored:
                return Result(plan.columns, self.open(plan, binds))
        return Result(plan.columns, self.open(plan, binds))

    def open(self, plan: Plan, binds: tuple[Cell, ...]) -> QueryRows | PickedRows:
        """Open a planned query: read its first row, and register a cursor on stored rows with `history`. The caller closes the
        rows. Raises ORA-01466 and ORA-01555 for a time that it cannot look back to, ORA-04091 for a table that a trigger may not
        read, the errors of AS OF expressions and of the first row, and as `begin_run`."""
        session = self._session
        if not plan.stored:
            cursor_run = begin_run(session, binds)
            cursor_run.uses = plan.uses
            if plan.picked and (picked := self._picked(plan, cursor_run)) is not None:
                return picked
            cursor = execute(self._own_connection(), plan.sql, plan.parameters, cursor_run)
            return QueryRows(cursor, cursor_run, self._own_lock, picked=plan.picked)
        storage = session.storage
        with storage.lock:
            run = begin_run(session, binds)
            run.uses = plan.uses
            oldest = run.snapshot
            for table, as_of in plan.tables:
                session.programs.check_table(table, changed=False)
                if as_of is not None:
                    scn = as_of(run)
                    _check_flashback(table, scn)
                    oldest = min(oldest, scn)
            storage.check_snapshot(oldest)
            cursor = execute(storage.db, plan.sql, plan.parameters, run)
            rows = QueryRows(cursor, run, storage.lock, oldest)
            storage.history.read_by(rows)
            if rows.saw_own_changes:
                self._open.add(rows)
            return rows

    def settle(self) -> None:
        """Read the rest of open cursors that show this transaction's own changes into memory: call it before the transaction
        changes more or ends, with the storage locked. Raises as `Rows.fetch`."""
        for rows in list(self._open):
            if rows.saw_own_changes:
                rows.drain()
        self._open.clear()

    def _picked(self, plan: Plan, run: Run) -> PickedRows | None:
        """Rows of a query that its one view can answer itself, without SQLite; None when the view cannot, or the condition cannot
        be tested outside SQLite. Reading them raises as the view does."""
        [use] = plan.uses.values()
        view = self._session.database.views[use.name]
        if view.picked is None:
            return None
        test = row_test(plan.picked_where, view.columns, lambda number: plan.parameters[number - 1](run))
        if test is None:
            return None
        return PickedRows(view.picked(self._session, run.restriction(use), plan.picked, test), run)

    def _with_locks(
        self, sql: str, query: ast.Query, plan: Plan, bind_types: tuple[BindType, ...], binds: tuple[Cell, ...]
    ) -> Result:
        assert query.for_update is not None
        scans = self._planner.locking(sql, query, bind_types)
        self.settle()
        if query.for_update.skip_locked:
            plan = self._planner.apart(only_rows(query, lock_free_rows(self._session, scans[0], binds)), bind_types)
        else:
            for scan in scans:
                lock_rows(self._session, scan, binds, query.for_update)
        return Result(plan.columns, FixedRows(self.open(plan, binds).fetch(1 << 62)))


def _check_flashback(table: Table, scn: int) -> None:
    if scn < table.ddl_scn:
        raise OraError(1466, "unable to read data - table definition has changed")
