"""The session and the database as statements see them: what `sandbox.session` offers to the code that runs SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import apsw

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.faults import Faults
from minercdc_sandbox.interfaces import Cell, Procedure, Session, View
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.query.plan import Plan
from minercdc_sandbox.sql.runtime import Parameter, Run, RunningSession
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Deferred:
    """A key to look at again when the transaction commits."""

    table_id: int
    constraint: str
    key: tuple[Cell, ...]


class Instance(Protocol):
    """What sessions need of the database around them."""

    @property
    def clock(self) -> ScnClock: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def redo(self) -> RedoLog: ...

    @property
    def storage(self) -> Storage: ...

    @property
    def views(self) -> Mapping[str, View]: ...

    @property
    def procedures(self) -> Mapping[str, Procedure]: ...

    @property
    def constants(self) -> Mapping[str, int]: ...

    @property
    def version(self) -> tuple[int, int, int, int, int]: ...

    @property
    def banner(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def instance(self) -> str: ...

    @property
    def transactions(self) -> Transactions: ...

    @property
    def startup_time(self) -> float: ...

    @property
    def faults(self) -> Faults: ...

    @property
    def sessions(self) -> Mapping[int, SqlSession]: ...

    def new_connection(self) -> apsw.Connection:
        """A private SQLite connection that knows the functions and views but no stored rows."""

    def forget(self, session: Session) -> None:
        """A session has closed."""


class SqlSession(RunningSession, Protocol):
    """A session while it runs statements.

    :ivar schema: current schema, `user` unless ALTER SESSION changed it.
    :ivar state: session state of packages, by package name.
    :ivar logon_time: host seconds.
    :ivar pga: bytes of memory that the views show for the session.
    :ivar flashback_scn: SCN that DBMS_FLASHBACK shows to queries; None: the present.
    :ivar deferred: keys to look at when the transaction commits.
    :ivar constraint_modes: what SET CONSTRAINTS said, by constraint or `ALL`: whether it is deferred.
    :ivar parameters: settings of ALTER SESSION that only views show.
    """

    schema: str
    state: dict[str, Any]
    logon_time: float
    pga: int
    flashback_scn: int | None
    parameters: dict[str, str]
    deferred: set[Deferred]
    constraint_modes: dict[str, bool]

    @property
    def database(self) -> Instance: ...

    def kill(self) -> None:
        """Another session ends this one: what runs is interrupted, the transaction rolled back, all later calls are ORA-00028."""

    @property
    def service(self) -> str: ...

    @property
    def details(self) -> Mapping[str, str]: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def container(self) -> int: ...

    @property
    def environment(self) -> Environment: ...

    def run(self, binds: Sequence[Cell] = ()) -> Run:
        """A run that begins now."""

    def evaluate_row(self, sql: str, parameters: Sequence[Parameter], run: Run) -> tuple[Cell, ...]:
        """Expressions that may hold subqueries, so they run where the rows are."""

    def plan_inner(self, query: ast.Query) -> Plan:
        """Plan of a query inside another statement (CREATE TABLE AS), which takes no binds."""

    def rows_of(self, plan: Plan, binds: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
        """All rows of a query, for INSERT .. SELECT."""

    def mark(self) -> int:
        """Where statement rollback goes back to."""

    def savepoint(self, name: str) -> None: ...

    def rollback_to(self, name: str) -> None: ...
