"""A session: one client's statements, transaction, settings and LOBs (interfaces.Session)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from minercdc_sandbox.catalog import EXTENDED, Catalog
from minercdc_sandbox.drawn_sequences import DrawnSequences
from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, Result
from minercdc_sandbox.lobs.calls import SessionLobCalls
from minercdc_sandbox.lobs.temporary import SessionLobs, lobs_of
from minercdc_sandbox.private_tables import PrivateTables
from minercdc_sandbox.sql.commands.settings import ARCHIVAL_VISIBILITY
from minercdc_sandbox.sql.dml.constraints import verify_deferred
from minercdc_sandbox.sql.execution import Instance, StatementCall
from minercdc_sandbox.sql.plsql.programs import Programs
from minercdc_sandbox.sql.runtime import begin_run, translated
from minercdc_sandbox.sql.settings import Settings
from minercdc_sandbox.sql.transaction_control import TransactionControl
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql_area import CountedRows
from minercdc_sandbox.statements import StatementRunner, parse
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.tables import Table

# PGA of a dedicated server after logon, about.
FIRST_PGA = 4 * 1024 * 1024


class SandboxSession:
    """One client's session, made of parts: statements, transaction control, settings, LOBs; see `interfaces.Session` and
    `execution.SqlSession`. `SandboxDatabase` makes it and lists it in `sessions` until `close`.

    :ivar service: upper case; it decides whether the session sees the standby.
    :ivar state: state of packages in the session, by package name.
    :ivar pga: bytes that V$MYSTAT, V$SESSTAT and V$PROCESS show as the session's memory, a number that DBMS_SANDBOX.GROW_PGA
        changes.
    :ivar details: program, machine, osuser, pid, terminal and driver, as the client named them at connect.
    :ivar logon_time: host seconds.
    """

    def __init__(self, database: Instance, client: Client, service: str, details: Mapping[str, str]) -> None:
        self.database, self.client, self.service = database, client, service
        self.storage: Storage = database.storage
        self.catalog: Catalog = database.catalog
        self.sid, self.serial, self.user = client.sid, client.serial, client.user
        self.details = dict(details)
        self.logon_time = database.clock.now()
        self.pga = FIRST_PGA
        self.state: dict[str, Any] = {}
        self.settings = Settings(client.user)
        self.sequences = DrawnSequences(self.catalog)
        self.programs = Programs(self)
        self.statements = StatementRunner(self)
        self.transactions = TransactionControl(
            client,
            self.storage,
            settle=self.statements.queries.settle,
            verify=lambda: verify_deferred(self),
            ended=self._forget_private,
        )
        self.lobs = SessionLobs()
        self.lob_calls = SessionLobCalls(self, self._in_call)
        self._private = PrivateTables(self.catalog, self.storage)
        self._closed = False

    @property
    def container(self) -> int:
        """Current container id; ALTER SESSION SET CONTAINER changes it."""
        return self.client.container

    @property
    def on_standby(self) -> bool:
        """Whether the session's service is now that of the physical standby; see `standby.Standby.serves`."""
        return self.database.standby.serves(self.service)

    @property
    def schema(self) -> str:
        """Within a stored program its owner, else the current schema of the session."""
        return self.programs.definer or self.settings.schema

    def set_metrics(self, **names: str | None) -> None:
        """Set end-to-end metrics by name, None clears one; see `interfaces.Session`."""
        for name, value in names.items():
            setattr(self.client if name == "client_id" else self.settings, name, value)

    @property
    def environment(self) -> Environment:
        """What translations of statements depend on, as it is now; a new object at each access."""
        settings = self.settings
        return Environment(
            self.catalog,
            self.database.views,
            self.container,
            self.schema,
            self.programs.definer or self.user,
            settings.nls,
            self.storage.lobs,
            self.database.version[0],
            self.catalog.max_string_size == EXTENDED,
            private=self._private.of,
            stored=self.programs.function,
            variables=self.statements.names,
            flashback=settings.flashback_scn is not None,
            archived=settings.parameters.get(ARCHIVAL_VISIBILITY) == "ALL",
        )

    def tables(self) -> Iterator[Table]:
        """The session's own copies of temporary tables, then all tables of the catalog; see `execution.SqlSession`."""
        yield from self._private
        yield from self.catalog.tables()

    def _forget_private(self, *, session_ends: bool = False) -> None:
        """At the end of a transaction: drop the session's rows of temporary tables that live as long as it, or with
        `session_ends` of all. Plans are forgotten if there were any. Under the storage lock."""
        if self._private.forget(session_ends=session_ends):
            self.statements.planner.forget()

    @contextmanager
    def _in_call(self) -> Iterator[None]:
        """Around `execute`, `describe` and writes of LOBs: a cancel ends them, a kill meanwhile the transaction (ORA-00028).
        Raises ORA-01012 after `close`, ORA-00028 for a session killed before, ORA-03001 for a statement that is nested deeper
        than Python's stack, which is undone; errors of SQLite become Oracle's."""
        if self._closed:
            raise OraError(1012, "not logged on")
        # A cancel that came while nothing ran is void.
        self.client.cancelled = False
        self.check_alive()
        self.client.running = True
        began, mark = self.client.transaction, self.transactions.mark()
        try:
            with lobs_of(self.lobs):
                yield
        except RecursionError:
            with self.storage.lock:
                self.storage.undo_to(self.client, mark if self.client.transaction is began else 0)
            raise OraError(3001, "unimplemented feature: a statement that is nested so deeply") from None
        except apsw.Error as error:
            raise translated(error, begin_run(self)) from error
        finally:
            self.client.running = False
            if self.client.killed:
                self.transactions.rollback()
                self.check_alive()

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
        """Run one statement or block, as `interfaces.Session` says; what it costs goes into V$SQLAREA, and a dictionary that it
        changed is durable when it returns. Raises OraError, as `_in_call`, and the errors of the faults that hit it."""
        self.database.faults.meet("execute", self.user, sql)
        cost = self.database.sql_area.cost_of(sql, self.schema, self.settings.module, self.container)
        with self._in_call(), cost.call():
            statement = parse(sql)
            call = StatementCall(tuple(bind_types), bind_rows, batch_errors, row_counts)
            result = statement.run(self.statements, call)
        cost.executions += 1
        cost.rows += result.row_count
        if statement.hardens:
            with self.storage.lock:
                self.storage.durability.settle()
        if commit:
            self.commit()
        if result.rows is not None:
            result.rows = CountedRows(result.rows, cost, lambda: self._before_fetch(sql))
        return result

    def _before_fetch(self, sql: str) -> None:
        """Before each fetch of a query of this text. Raises ORA-00028 for a killed session, and as `Faults.meet`."""
        self.check_alive()
        self.database.faults.meet("fetch", self.user, sql)

    def describe(self, sql: str) -> tuple[ColumnDescription, ...] | None:
        """Columns of a query without running it, None for another statement; see `interfaces.Session`. Raises as `_in_call`, and
        the errors of the text."""
        with self._in_call():
            return parse(sql).describe(self.statements)

    def commit(self) -> None:
        """Commit the transaction, if there is one; see `interfaces.Session`. Raises ORA-00028 for a killed session, as
        `TransactionControl.commit`, and the errors of the faults that hit it."""
        self.database.faults.meet("commit", self.user)
        self.check_alive()
        self.transactions.commit()

    def rollback(self) -> None:
        """Roll the transaction back, if there is one; see `interfaces.Session`. Raises ORA-00028 for a killed session, and the
        errors of the faults that hit it."""
        self.database.faults.meet("rollback", self.user)
        self.check_alive()
        self.transactions.rollback()

    def in_transaction(self) -> bool:
        """Whether a transaction has begun, be it by SET TRANSACTION only."""
        return self.client.transaction is not None

    def check_alive(self) -> None:
        """Raises ORA-00028 once another session has killed this one; else does nothing."""
        if self.client.killed:
            raise OraError(28, "your session has been killed")

    def kill(self) -> None:
        """End the session from another one, in any thread: its call ends soon, its transaction is rolled back at once or then,
        later calls raise ORA-00028; see `execution.SqlSession`. Takes the storage lock."""
        with self.storage.lock:
            self.client.killed = self.client.cancelled = True
            self.storage.lock.notify_all()
            if not self.client.running:
                self.transactions.rollback()

    def cancel(self) -> None:
        """Any thread: let the running statement raise ORA-01013 soon; void when none runs. Waits for the storage lock."""
        self.client.cancelled = True
        with self.storage.lock:
            self.storage.lock.notify_all()

    def close(self) -> None:
        """Roll back and free everything of the session, in any state; safe to call twice. See `interfaces.Session`."""
        if self._closed:
            return
        self.client.cancelled = False
        self.transactions.rollback()
        self._closed = True
        with self.storage.lock:
            self._forget_private(session_ends=True)
            for alerts in self.storage.alerts.values():
                alerts.forget(self.sid)
        self.lobs.free_all(self.storage.lobs)
        self.database.forget(self)
        self.statements.queries.close()
