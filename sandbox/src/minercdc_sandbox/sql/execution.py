"""The session and the database as statements see them, one run of a query, its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

import apsw

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.drawn_sequences import DrawnSequences
from minercdc_sandbox.faults import Faults
from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, Procedure, Restriction, Result, Session, View
from minercdc_sandbox.lobs.temporary import SessionLobs
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.redo_bounds import first_record
from minercdc_sandbox.sql.settings import Settings
from minercdc_sandbox.sql.transaction_control import TransactionControl
from minercdc_sandbox.sql.translate.environment import NO_VARIABLES, Environment, VariableNames
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.storage.transactions import Transactions
from minercdc_sandbox.tables import Table


@dataclass(frozen=True, slots=True)
class StatementCall:
    """One execution of a statement. Positional binds: `bind_rows` has several rows for array DML."""

    bind_types: tuple[BindType, ...] = ()
    bind_rows: Sequence[tuple[Any, ...]] = ((),)
    batch_errors: bool = False
    row_counts: bool = False


@dataclass(frozen=True, slots=True)
class ViewUse:
    """The part of a view that a query reads which names it once: these columns, of rows that fulfil `where`."""

    name: str
    columns: frozenset[int]
    where: ast.Expr | None


class Scanned(Protocol):
    """A view that is being read, at one of its rows."""

    row: tuple[Cell, ...] | None


@dataclass(slots=True)
class Run:
    """One run of a query: its parameters take their values from here.

    :param snapshot: SCN the statement sees; `own` the stamp of its transaction.
    :param now: host time in seconds.
    :param row: the row that CHECK and RETURNING expressions are evaluated on.
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
        """The rows of a view that this run may want."""
        use = self.uses.get(view.name)
        if view.restricted is None or use is None:
            return view.rows(self.session)
        return view.restricted(self.session, self.restriction(use))

    def restriction(self, use: ViewUse) -> Restriction:
        """The part of the query that the view can use."""
        return Restriction(use.columns, partial(first_record, use.where, self._known))

    def _known(self, expr: ast.Expr) -> str | int | None:
        """Value of a literal or bind, as `redo_bounds` wants it."""
        if isinstance(expr, ast.Bind):
            cell = self.binds[expr.index] if expr.index < len(self.binds) else None
            if isinstance(cell, bytes):
                return None
            return cell or None
        if isinstance(expr, ast.Literal):
            if expr.kind is ast.LiteralKind.NUMBER and expr.text.isdigit():
                return int(expr.text)
            return expr.text if expr.kind is ast.LiteralKind.STRING and expr.text else None
        return None


Parameter: TypeAlias = "Callable[[Run], Any]"


@dataclass(slots=True)
class Plan:
    """A translated query.

    :param stored: it reads tables, so it runs on the shared store; else on the session's own connection.
    :param tables: with the AS OF parameter of each, for the checks at run time.
    :param uses: views named once, by name.
    :param picked: of a query that only picks columns of one view's rows: their positions. Its SQL then finds the rows, and
        shows none of their columns.
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
    """The database as its sessions see it.

    :ivar name, instance: as V$DATABASE and V$INSTANCE have them.
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

    @property
    def name(self) -> str: ...

    @property
    def instance(self) -> str: ...

    @property
    def sessions(self) -> Mapping[int, SqlSession]: ...

    def new_connection(self) -> apsw.Connection:
        """A private SQLite connection that knows the functions and views but no stored rows."""

    def forget(self, session: Session) -> None:
        """A session has closed."""


class InnerStatements(Protocol):
    """Statements inside others: those of blocks, and queries of INSERT and CREATE TABLE."""

    def check(
        self, sql: str, bind_types: Sequence[BindType] = (), names: VariableNames = NO_VARIABLES
    ) -> tuple[ColumnDescription, ...] | None:
        """Plan a query or DML statement of a block; the columns of a query. Raises the errors of its names and types."""

    def run_inner(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Any, ...]] = ((),),
        names: VariableNames = NO_VARIABLES,
    ) -> Result:
        """Run a statement of a block, in which names that are no columns may be variables; their values are binds."""

    def plan_inner(self, query: ast.Query) -> Plan:
        """Plan of a query inside another statement (CREATE TABLE AS), which takes no binds."""

    def rows_of(self, plan: Plan, binds: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
        """All rows of a query, for INSERT .. SELECT."""


class SqlSession(Session, Protocol):
    """A session as statements, packages and views see it.

    :ivar state: session state of packages, by package name.
    :ivar pga: bytes of memory that the views show for the session.
    :ivar lobs: its temporary LOBs.
    :ivar details: program, machine, osuser, .. as the client named them at connect.
    :ivar logon_time: host seconds.
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
    def container(self) -> int: ...

    @property
    def environment(self) -> Environment: ...

    @property
    def statements(self) -> InnerStatements: ...

    def tables(self) -> Iterator[Table]:
        """Tables that have rows the session may see: its own copies of temporary ones before all others."""

    def kill(self) -> None:
        """Another session ends this one: what runs is interrupted, the transaction rolled back, all later calls are ORA-00028."""
