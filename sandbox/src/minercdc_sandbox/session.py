"""A session: parses, plans and runs statements for one client (interfaces.Session)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import apsw

from minercdc_sandbox.catalog import EXTENDED
from minercdc_sandbox.drawn_sequences import DrawnSequences
from minercdc_sandbox.faults import WatchedRows
from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, Result
from minercdc_sandbox.lobs.calls import SessionLobCalls
from minercdc_sandbox.lobs.temporary import SessionLobs, lobs_of
from minercdc_sandbox.open_queries import OpenQueries
from minercdc_sandbox.planning import CHANGES, Planner, any_types
from minercdc_sandbox.private_tables import PrivateTables
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.commands.registry import run_command
from minercdc_sandbox.sql.commands.settings import ARCHIVAL_VISIBILITY
from minercdc_sandbox.sql.dml.change import run_change
from minercdc_sandbox.sql.dml.constraints import verify_deferred
from minercdc_sandbox.sql.dml.insert import run_insert
from minercdc_sandbox.sql.dml.many import run_many
from minercdc_sandbox.sql.dml.merge import run_merge
from minercdc_sandbox.sql.execution import Deferred, Instance
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.plsql import block
from minercdc_sandbox.sql.query.plan import Plan
from minercdc_sandbox.sql.runtime import (
    NO_TRANSACTION,
    Parameter,
    Run,
    execute,
    translated,
)
from minercdc_sandbox.sql.statements import Parsed
from minercdc_sandbox.sql.translate.environment import Environment, VariableNames
from minercdc_sandbox.sql.userenv import userenv
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.tables import Table

# PGA of a dedicated server after logon, about.
FIRST_PGA = 4 * 1024 * 1024


class SandboxSession:
    """One client's session.

    :ivar flashback_scn: what DBMS_FLASHBACK lets queries see; None: the present.
    :ivar state: packages keep their session state here, by package name.
    :ivar pga: bytes that V$MYSTAT, V$SESSTAT and V$PROCESS tell of the session's memory. Sessions are threads of one process, whose
        memory is nobody's: it is what a session has at its start, until DBMS_SANDBOX.GROW_PGA says otherwise.
    :ivar details: what the client told at connect: program, machine, osuser, pid, terminal, driver.
    """

    def __init__(self, database: Instance, client: Client, service: str, details: Mapping[str, str]) -> None:
        self.database, self.client, self.service = database, client, service
        self.storage = database.storage
        self.catalog = database.catalog
        self.sid, self.serial, self.user = client.sid, client.serial, client.user
        self.details = dict(details)
        self.schema = client.user
        self.nls = Nls()
        self.state: dict[str, Any] = {}
        self.module: str | None = None
        self.action: str | None = None
        self.client_info: str | None = None
        self.logon_time = database.clock.now()
        self.parameters: dict[str, str] = {}
        self.flashback_scn: int | None = None
        self.pga = FIRST_PGA
        self.closed = False
        self._own: apsw.Connection | None = None
        self.own_lock = threading.RLock()
        self._planner = Planner(lambda: self.environment)
        self._queries = OpenQueries(self, self._planner)
        self.row_values: tuple[Any, ...] = ()
        self._private = PrivateTables(self.catalog, self.storage)
        self.deferred: set[Deferred] = set()
        self.constraint_modes: dict[str, bool] = {}
        self._sequences = DrawnSequences(self.catalog)
        self.lobs = SessionLobs()
        self.lob_calls = SessionLobCalls(self, self._statement)
        self._names = VariableNames()

    # ---- what views and functions ask ----

    @property
    def container(self) -> int:
        """Current container id; ALTER SESSION SET CONTAINER changes it."""
        return self.client.container

    @property
    def client_id(self) -> str | None:
        """CLIENT_IDENTIFIER; storage writes it into the redo."""
        return self.client.client_id

    @client_id.setter
    def client_id(self, value: str | None) -> None:
        self.client.client_id = value

    def user_id(self) -> int:
        user = self.catalog.user(self.container, self.user)
        return user.user_id if user is not None else -1

    def userenv(self, name: str) -> str | None:
        """SYS_CONTEXT('USERENV', name). Raises ORA-02003 for an unknown name."""
        return userenv(self, name)

    def checked_scn(self, scn: int) -> int:
        """An SCN a flashback query may name. Raises ORA-08181."""
        if scn > self.storage.clock.current or scn <= 0:
            raise OraError(8181, "specified number is not a valid system change number")
        return scn

    def scn_at(self, seconds: float) -> int:
        return self.storage.clock.scn_at(seconds)

    @property
    def environment(self) -> Environment:
        return Environment(
            *(self.catalog, self.database.views, self.container, self.schema, self.user, self.nls, self.storage.lobs),
            *(self.database.version[0], self.catalog.max_string_size == EXTENDED),
            private=self._private.of,
            variables=self._names,
            flashback=self.flashback_scn is not None,
            archived=self.parameters.get(ARCHIVAL_VISIBILITY) == "ALL",
        )

    def _forget_private(self, *, session_ends: bool) -> None:
        """Rows of temporary tables: at the end of a transaction, or of the session."""
        if self._private.forget(session_ends=session_ends):
            self._planner.forget()

    # ---- running ----

    def run(self, binds: Sequence[Cell] = ()) -> Run:
        """A run that begins now."""
        if self.client.serializable and self.client.transaction is None:
            with self.storage.lock:
                self.storage.begin(self.client)
        transaction = self.client.transaction
        snapshot = transaction.snapshot if transaction is not None else None
        if self.flashback_scn is not None:
            return Run(self, self.flashback_scn, NO_TRANSACTION, self.storage.clock.now(), binds)
        own = transaction.stamp if transaction is not None else NO_TRANSACTION
        return Run(self, self.storage.clock.current if snapshot is None else snapshot, own, self.storage.clock.now(), binds)

    def own_connection(self) -> apsw.Connection:
        """The session's private connection: for what needs no stored rows, so that a long scan of a view locks nobody out."""
        if self._own is None:
            self._own = self.database.new_connection()
        return self._own

    def evaluate(self, sql: str, parameters: Sequence[Parameter], run: Run) -> Cell:
        """One constant expression."""
        return self.evaluate_row(f"select {sql}", parameters, run)[0]

    def evaluate_row(self, sql: str, parameters: Sequence[Parameter], run: Run) -> tuple[Cell, ...]:
        """Expressions that may hold subqueries, so they run where the rows are."""
        with self.storage.lock:
            return cast(tuple[Cell, ...], execute(self.storage.db, sql, parameters, run).fetchone())

    def rows_of(self, plan: Plan, binds: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
        """All rows of a query, for INSERT .. SELECT."""
        rows = self._queries.open(plan, binds)
        found = rows.fetch(1 << 62)
        rows.close()
        return found

    def mark(self) -> int:
        """Where statement rollback goes back to."""
        return len(self.client.transaction.undo) if self.client.transaction is not None else 0

    def execute(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Cell, ...]] = ((),),
        *,
        batch_errors: bool = False,
        row_counts: bool = False,
        commit: bool = False,
    ) -> Result:
        """See `interfaces.Session`."""
        self.database.faults.meet("execute", self.user, sql)
        with self._statement():
            parsed = self._planner.parsed(sql)
            result = self._run(sql, parsed, tuple(bind_types), bind_rows, batch_errors, row_counts)
        if parsed.kind in ("block", "command"):
            with self.storage.lock:
                self.storage.durability.settle()
        if commit:
            self.commit()
        if result.rows is not None:
            result.rows = WatchedRows(result.rows, lambda: self._meet_fetch(sql))
        return result

    def _run(
        self,
        sql: str,
        parsed: Parsed,
        bind_types: tuple[BindType, ...],
        bind_rows: Sequence[tuple[Cell, ...]],
        batch_errors: bool = False,
        row_counts: bool = False,
    ) -> Result:
        if parsed.kind == "query":
            return self._queries.run(sql, parsed.tree, bind_types, bind_rows[0] if bind_rows else ())
        if parsed.kind in CHANGES:
            return self._change(sql, parsed, bind_types, bind_rows, batch_errors, row_counts)
        if parsed.kind == "block":
            return self._blocks(sql, bind_types, bind_rows)
        return Result(row_count=run_command(self, sql))

    # ---- statements of blocks: see `plsql.session.BlockSession` ----

    @contextmanager
    def _naming(self, names: VariableNames) -> Iterator[None]:
        outer, self._names = self._names, names
        try:
            yield
        finally:
            self._names = outer

    def check_statement(
        self, sql: str, bind_types: Sequence[BindType], names: VariableNames
    ) -> tuple[ColumnDescription, ...] | None:
        with self._naming(names):
            parsed = self._planner.parsed(sql)
            if parsed.kind == "query":
                return self._planner.query(sql, parsed.tree, tuple(bind_types)).columns
            if parsed.kind in CHANGES:
                self._planner.change(sql, parsed, tuple(bind_types))
            return None

    def run_statement(
        self, sql: str, bind_types: Sequence[BindType], bind_rows: Sequence[tuple[Any, ...]], names: VariableNames
    ) -> Result:
        self.check_alive()
        with self._naming(names):
            try:
                return self._run(sql, self._planner.parsed(sql), tuple(bind_types), bind_rows)
            except apsw.Error as error:
                raise translated(error, self.run()) from error

    @contextmanager
    def run_autonomously(self) -> Iterator[None]:
        with self.storage.lock:
            self._queries.settle()
            outer, self.client.transaction = self.client.transaction, None
        try:
            yield
            if self.client.transaction is not None and self.client.transaction.active:
                raise OraError(6519, "active autonomous transaction detected and rolled back")
        finally:
            self._roll_back_only()
            self.client.transaction = outer

    def _meet_fetch(self, sql: str) -> None:
        self.check_alive()
        self.database.faults.meet("fetch", self.user, sql)

    @contextmanager
    def _statement(self) -> Iterator[None]:
        if self.closed:
            raise OraError(1012, "not logged on")
        # A cancel that came while nothing ran is void.
        self.client.cancelled = False
        self.check_alive()
        self.client.running = True
        try:
            with lobs_of(self.lobs):
                yield
        except apsw.Error as error:
            raise translated(error, self.run()) from error
        finally:
            self.client.running = False
            if self.client.killed:
                self._roll_back()
                self.check_alive()

    def check_alive(self) -> None:
        """Raises ORA-00028 once another session has killed this one."""
        if self.client.killed:
            raise OraError(28, "your session has been killed")

    def kill(self) -> None:
        """ALTER SYSTEM KILL SESSION, by another session: what runs is interrupted, the transaction rolled back."""
        with self.storage.lock:
            self.client.killed = self.client.cancelled = True
            self.storage.lock.notify_all()
            if not self.client.running:
                self._roll_back()

    # ---- queries ----

    def describe(self, sql: str) -> tuple[ColumnDescription, ...] | None:
        """See `interfaces.Session`."""
        with self._statement():
            parsed = self._planner.parsed(sql)
            if parsed.kind in CHANGES:
                self._planner.check_names(sql, parsed)
            if parsed.kind != "query":
                return None
            return self._planner.query(sql, parsed.tree, any_types(parsed)).columns

    def plan_inner(self, query: ast.Query) -> Plan:
        """Plan of a query inside another statement (CREATE TABLE AS), which takes no binds."""
        return self._planner.apart(query)

    # ---- changes ----

    def _change(
        self,
        sql: str,
        parsed: Parsed,
        bind_types: tuple[BindType, ...],
        bind_rows: Sequence[tuple[Cell, ...]],
        batch_errors: bool,
        row_counts: bool,
    ) -> Result:
        if self.flashback_scn is not None:
            raise OraError(8182, "operation not supported while in Flashback mode")
        with self.storage.lock:
            self.client.check()
            self._queries.settle()
            plan = self._planner.change(sql, parsed, bind_types)
            if parsed.kind == "insert":
                return run_insert(self, plan, bind_rows, batch_errors=batch_errors, row_counts=row_counts)
            if parsed.kind == "insert many":
                return run_many(self, plan, bind_rows, batch_errors=batch_errors, row_counts=row_counts)
            if parsed.kind == "merge":
                return run_merge(self, plan, bind_rows, batch_errors=batch_errors, row_counts=row_counts)
            delete = parsed.kind == "delete"
            return run_change(self, plan, bind_rows, delete=delete, batch_errors=batch_errors, row_counts=row_counts)

    def _blocks(self, sql: str, bind_types: tuple[BindType, ...], bind_rows: Sequence[tuple[Cell, ...]]) -> Result:
        result = Result()
        for binds in bind_rows or ((),):
            with self._naming(VariableNames()):
                result = block.run(self, sql, bind_types, binds)
        return result

    # ---- transactions ----

    def commit(self) -> None:
        """See `interfaces.Session`."""
        self.database.faults.meet("commit", self.user)
        self.check_alive()
        with self.storage.lock:
            self._queries.settle()
            self._verify_deferred()
            self.storage.commit(self.client)
            self._forget_private(session_ends=False)

    def rollback(self) -> None:
        """See `interfaces.Session`."""
        self.database.faults.meet("rollback", self.user)
        self.check_alive()
        self._roll_back()

    def _roll_back(self) -> None:
        with self.storage.lock:
            self._roll_back_only()
            self._forget_private(session_ends=False)

    def _roll_back_only(self) -> None:
        """Without what a commit does to temporary tables."""
        with self.storage.lock:
            self._queries.settle()
            self.deferred, self.constraint_modes = set(), {}
            self.storage.rollback(self.client)

    def _verify_deferred(self) -> None:
        """Raises ORA-02091 with the violation after rolling the transaction back."""
        if self.deferred:
            try:
                verify_deferred(self)
            except OraError as error:
                self.storage.rollback(self.client)
                raise OraError(2091, f"transaction rolled back\n{error}") from None
            finally:
                self.deferred, self.constraint_modes = set(), {}
        self.constraint_modes = {}

    def sequence_value(self, object_id: int, *, first: bool, following: bool) -> int:
        """See `runtime.RunningSession`."""
        return self._sequences.draw(object_id) if first else self._sequences.drawn(object_id)

    def savepoint(self, name: str) -> None:
        with self.storage.lock:
            transaction = self.storage.begin(self.client)
            transaction.savepoints = [s for s in transaction.savepoints if s[0] != name]
            transaction.savepoints.append((name, len(transaction.undo)))

    def rollback_to(self, name: str) -> None:
        """Raises ORA-01086."""
        with self.storage.lock:
            transaction = self.client.transaction
            found = [s for s in transaction.savepoints if s[0] == name] if transaction is not None else []
            if not found:
                raise OraError(1086, f"savepoint '{name}' never established in this session or is invalid")
            self._queries.settle()
            self.storage.undo_to(self.client, found[0][1])

    def tables(self) -> Iterator[Table]:
        """Tables that have rows the session may see: its own copies of temporary ones before all others."""
        yield from self._private
        yield from self.catalog.tables()

    def before_change(self) -> None:
        """A LOB is about to be written through its locator."""
        self.client.check()
        self._queries.settle()

    def in_transaction(self) -> bool:
        return self.client.transaction is not None

    def cancel(self) -> None:
        """See `interfaces.Session`."""
        self.client.cancelled = True
        with self.storage.lock:
            self.storage.lock.notify_all()

    def close(self) -> None:
        """See `interfaces.Session`."""
        if self.closed:
            return
        self.client.cancelled = False
        self._roll_back()
        self.closed = True
        with self.storage.lock:
            self._forget_private(session_ends=True)
        self.lobs.free_all(self.storage.lobs)
        self.database.forget(self)
        if self._own is not None:
            with self.own_lock:
                self._own.close(True)
