"""The session and the database as statements see them, the plan of a query, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

import apsw

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.downstream import ForeignLogs
from minercdc_sandbox.drawn_sequences import DrawnSequences
from minercdc_sandbox.faults import Faults
from minercdc_sandbox.interfaces import (
    BindType,
    Cell,
    ColumnDescription,
    OraError,
    Procedure,
    Restriction,
    Result,
    Session,
    View,
)
from minercdc_sandbox.lobs.temporary import SessionLobs
from minercdc_sandbox.objects import StoredProgram, Trigger
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.redo_bounds import first_record
from minercdc_sandbox.sql.settings import Settings
from minercdc_sandbox.sql.transaction_control import TransactionControl
from minercdc_sandbox.sql.translate.environment import NO_VARIABLES, Environment, VariableNames
from minercdc_sandbox.sql_area import SqlArea
from minercdc_sandbox.standby import Standby, read_only
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.storage.transactions import Transactions
from minercdc_sandbox.tables import Table


@dataclass(frozen=True, slots=True)
class StatementCall:
    """One execution of a statement; `bind_rows` has its positional binds, several rows for array DML. `batch_errors`: go on after
    a row that fails, with its error in the result; `row_counts`: the result has the changed rows of each row of binds."""

    bind_types: tuple[BindType, ...] = ()
    bind_rows: Sequence[tuple[Any, ...]] = ((),)
    batch_errors: bool = False
    row_counts: bool = False


@dataclass(frozen=True, slots=True)
class ViewUse:
    """The part of the view `name` that a query reads: columns at these positions, of rows that fulfil `where`; None for all rows."""

    name: str
    columns: frozenset[int]
    where: ast.Expr | None


class Scanned(Protocol):
    """A cursor on a view, as `Run.scanned` has it; `row` is the view's present row, None at the end."""

    row: tuple[Cell, ...] | None


@dataclass(slots=True)
class Run:
    """One run of a query or expression: its parameters and functions take their values from here. `runtime.begin_run` makes it.

    :param snapshot: SCN that the statement sees; `own`: the stamp of its transaction, or `runtime.NO_TRANSACTION`.
    :param now: time of `ScnClock.now`, in seconds since the epoch.
    :param binds: values by position.
    :param row: the row that CHECK and RETURNING expressions are evaluated on; () for others.
    :param view_rows: rows of views that this run has read to the end, by name; not of those that restrict their rows themselves,
        nor of long ones.
    :param uses: as in the plan.
    :param scanned: the view cursor whose scan began last; None before the first.
    """

    session: SqlSession
    snapshot: int
    own: int
    now: float
    binds: Sequence[Cell] = ()
    row: tuple[Any, ...] = ()
    view_rows: dict[str, list[tuple[Cell, ...]]] = field(default_factory=dict)
    uses: Mapping[str, ViewUse] = field(default_factory=dict)
    scanned: Scanned | None = None

    def view(self, view: View) -> Iterator[tuple[Cell, ...]]:
        """A new scan of the rows of a view; those that the query surely leaves out may be missing. Raises as `View.rows`."""
        use = self.uses.get(view.name)
        if view.restricted is None or use is None:
            return view.rows(self.session)
        return view.restricted(self.session, self.restriction(use))

    def restriction(self, use: ViewUse) -> Restriction:
        """The columns of a use and the lower bound of redo addresses by which a view can leave rows out."""
        return Restriction(use.columns, partial(first_record, use.where, self._known))

    def _known(self, expr: ast.Expr) -> str | int | None:
        """Value of a text or whole number given by literal or bind; None for anything else and for NULL."""
        if isinstance(expr, ast.Bind):
            cell = self.binds[expr.index] if expr.index < len(self.binds) else None
            if isinstance(cell, bytes):
                return None
            return cell or None
        if isinstance(expr, ast.Literal):
            if expr.kind is ast.LiteralKind.NUMBER and expr.text.isdecimal():
                return int(expr.text)
            return expr.text if expr.kind is ast.LiteralKind.STRING and expr.text else None
        return None


Parameter: TypeAlias = "Callable[[Run], Any]"


@dataclass(slots=True)
class Plan:
    """A translated query, which may run any number of times while the dictionary is the same.

    :param sql: SQLite's text; its parameters ?1, ?2, .. are `parameters` in order.
    :param stored: it reads tables, so it runs on the shared store; else on the session's own connection.
    :param tables: the tables that it reads, each with the parameter of its AS OF or None, for the checks at run time.
    :param uses: of the views that it names once, by name.
    :param picked: positions of the columns of a query that only picks columns, two or more, of rows of one view; its `sql` then
        finds the rows and selects no column. () for any other query.
    :param picked_where: the condition of such a query, as in `sql`; None for none.
    """

    sql: str
    columns: tuple[ColumnDescription, ...]
    parameters: list[Parameter]
    stored: bool
    tables: list[tuple[Table, Parameter | None]]
    uses: dict[str, ViewUse] = field(default_factory=dict)
    picked: tuple[int, ...] = ()
    picked_where: str | None = None


class Instance(Protocol):
    """The database as its sessions see it; `SandboxDatabase` is one.

    :ivar name, instance: names of the database and the instance.
    :ivar views: by name.
    :ivar procedures, constants: of packages, by qualified name.
    :ivar version, banner: as in `interfaces.Database`.
    :ivar startup_time: host seconds.
    :ivar view_plans: plans of queries on views alone, of all sessions.
    :ivar sessions: the open ones by SID.
    :ivar received: what another database has shipped to this one as its downstream database; None in others.
    :ivar shipped: what this one ships to its downstream database; None without one.
    """

    clock: ScnClock
    catalog: Catalog
    redo: RedoLog
    storage: Storage
    transactions: Transactions
    views: dict[str, View]
    procedures: dict[str, Procedure]
    constants: dict[str, int]
    version: tuple[int, int, int, int, int]
    banner: str
    startup_time: float
    faults: Faults
    sql_area: SqlArea
    view_plans: dict[object, Plan]
    standby: Standby
    received: ForeignLogs | None
    shipped: ForeignLogs | None

    @property
    def name(self) -> str: ...

    @property
    def instance(self) -> str: ...

    @property
    def sessions(self) -> Mapping[int, SqlSession]: ...

    def new_connection(self) -> apsw.Connection:
        """A new private SQLite connection with the functions and views but without stored rows; the caller closes it."""

    def forget(self, session: Session) -> None:
        """Take a closed session out of `sessions`; nothing for one that is not there."""

    def open_downstream(self) -> ForeignLogs:
        """Open a downstream database, if there is none, and ship archived logs to it from now on; see `downstream`. Returns the
        logs it has received. Call under the storage lock."""


def applied_scn(database: Instance) -> int:
    """The SCN up to which the standby of the database has applied redo now; see `standby.Standby.applied_scn`."""
    redo = database.redo
    threads = [number for number, thread in redo.threads.items() if thread.is_open]
    return database.standby.applied_scn(redo.archived(), threads, database.clock.current)


def check_writable(session: SqlSession) -> None:
    """Call before a statement that changes, locks or defines something. Raises ORA-16000 on a standby, ORA-08182 in Flashback
    mode, in which "DDL, DML, and distributed operations are not allowed" (PL/SQL Packages and Types Reference, DBMS_FLASHBACK)."""
    if session.on_standby:
        raise read_only()
    if session.settings.flashback_scn is not None:
        raise OraError(8182, "operation not supported while in Flashback mode")


class InnerStatements(Protocol):
    """The statements of a session that run inside others: of blocks, and queries of INSERT and CREATE TABLE.
    `statements.StatementRunner` has them."""

    def check(
        self, sql: str, bind_types: Sequence[BindType] = (), names: VariableNames = NO_VARIABLES
    ) -> tuple[ColumnDescription, ...] | None:
        """Plan a query or DML statement of a block without running it; its columns, None for DML and other statements. Raises the
        errors of syntax, names, types and privileges. `names`: as of `run_inner`."""

    def run_inner(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Any, ...]] = ((),),
        names: VariableNames = NO_VARIABLES,
    ) -> Result:
        """Run a statement of a block, in which names that are no columns may be variables (`names`); their values are binds.
        Raises OraError, ORA-00028 for a killed session."""

    def plan_inner(self, query: ast.Query) -> Plan:
        """A new plan of a query without binds inside another statement. Raises as `Planner`."""

    def rows_of(self, plan: Plan, binds: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
        """Run a query inside another statement and close it; returns all its rows. Raises as `OpenQueries.open` and `Rows.fetch`."""


class StoredPrograms(Protocol):
    """Stored procedures, functions, packages and triggers of a session; see `sql.plsql.programs.Programs`, also for the members."""

    @property
    def definer(self) -> str | None: ...

    def rights(self) -> tuple[str, bool]: ...

    def subprogram(self, parts: tuple[str, ...]) -> Any: ...

    def variable(self, parts: Sequence[str]) -> Any: ...

    def call(self, path: Sequence[str], cells: Sequence[Cell]) -> Cell: ...

    def compile(self, program: StoredProgram, body: StoredProgram | None) -> None: ...

    def compile_trigger(self, trigger: Trigger, table: Table) -> None: ...

    def fires(self, table: Table, event: str, *, of_rows: bool = True) -> bool: ...

    def before_row(
        self,
        table: Table,
        event: str,
        before: tuple[Cell, ...] | None,
        after: tuple[Cell, ...],
        assigned: Sequence[int] = (),
        *,
        alone: bool = False,
    ) -> tuple[Cell, ...]: ...

    def after_row(
        self,
        table: Table,
        event: str,
        before: tuple[Cell, ...] | None,
        after: tuple[Cell, ...] | None,
        assigned: Sequence[int] = (),
    ) -> None: ...

    def around(self, table: Table, timing: str, event: str, assigned: Sequence[int] = ()) -> None: ...

    def check_change(self) -> None: ...

    def check_table(self, table: Table, *, changed: bool) -> None: ...

    def check_command(self, words: str) -> None: ...


class SqlSession(Session, Protocol):
    """A session as statements, packages and views see it; `SandboxSession` is one.

    :ivar service: that it was opened for, upper case.
    :ivar state: state of packages, by package name.
    :ivar pga: bytes of memory that views show for the session.
    :ivar sequences: numbers that it drew.
    :ivar lobs: its temporary and opened LOBs.
    :ivar details: program, machine, osuser, .. as the client sent them at connect.
    :ivar logon_time: host seconds.
    :ivar container: id of the current container; `on_standby`: it sees the physical standby.
    :ivar environment: what translations depend on now.
    """

    database: Instance
    storage: Storage
    catalog: Catalog
    client: Client
    service: str
    details: dict[str, str]
    logon_time: float
    pga: int
    state: dict[str, Any]
    settings: Settings
    sequences: DrawnSequences
    transactions: TransactionControl
    lobs: SessionLobs

    @property
    def programs(self) -> StoredPrograms: ...

    @property
    def container(self) -> int: ...

    @property
    def on_standby(self) -> bool: ...

    @property
    def environment(self) -> Environment: ...

    @property
    def statements(self) -> InnerStatements: ...

    def tables(self) -> Iterator[Table]:
        """The tables of the database, and before them the session's own copies of temporary tables."""

    def kill(self) -> None:
        """End the session from another one, in any thread: interrupt its call and roll back its transaction, at once or when the
        call ends; later calls raise ORA-00028. It stays in `Instance.sessions` until its client leaves."""
