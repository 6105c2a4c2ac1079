"""One run of a translated query: parameters, and the SQLite cursor in batches; views are `virtual_tables`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

import apsw

from minercdc_sandbox.interfaces import Cell, OraError, Restriction, Session, View
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.redo_bounds import first_record
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.locks import Client

NO_TRANSACTION = -1


@dataclass(frozen=True, slots=True)
class ViewUse:
    """What a query reads of a view that it names once: these columns, of rows that fulfil `where`."""

    name: str
    columns: frozenset[int]
    where: ast.Expr | None


class RunningSession(Session, Protocol):
    """What a run asks of its session.

    :ivar row_values: the row that CHECK and RETURNING expressions are evaluated on.
    """

    nls: Nls
    row_values: tuple[Any, ...]

    @property
    def client(self) -> Client: ...

    @property
    def storage(self) -> Storage: ...

    def user_id(self) -> int: ...

    def userenv(self, name: str) -> str | None:
        """SYS_CONTEXT('USERENV', name). Raises ORA-02003 for an unknown name."""

    def checked_scn(self, scn: int) -> int:
        """An SCN a flashback query may name. Raises ORA-08181."""

    def scn_at(self, seconds: float) -> int: ...

    def sequence_value(self, object_id: int, *, first: bool, following: bool) -> int:
        """Draw from a sequence when it is the first mention of NEXTVAL in a row, else what was drawn last.

        Raises ORA-08002, ORA-08004.
        """

    def evaluate(self, sql: str, parameters: Sequence[Parameter], run: Run) -> Cell:
        """One constant expression."""


class Scanned(Protocol):
    """A view that is being read, at one of its rows."""

    row: tuple[Cell, ...] | None


@dataclass(slots=True)
class Run:
    """What parameters are taken from.

    :param snapshot: SCN the statement sees; `own` the stamp of its transaction.
    :param now: host time in seconds.
    """

    session: RunningSession
    snapshot: int
    own: int
    now: float
    binds: Sequence[Cell] = ()
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
        """What the view is told of the query."""
        return Restriction(use.columns, partial(first_record, use.where, self._known))

    def _known(self, expr: ast.Expr) -> str | int | None:
        """Value of a literal or bind, as `redo_bounds` wants it."""
        if isinstance(expr, ast.Bind):
            cell = self.binds[expr.index] if expr.index < len(self.binds) else None
            if isinstance(cell, bytes):
                return None
            return cell or None
        if isinstance(expr, ast.Literal):
            if expr.kind == "N" and expr.text.isdigit():
                return int(expr.text)
            return expr.text if expr.kind == "S" and expr.text else None
        return None


Parameter: TypeAlias = "Callable[[Run], Any]"

_active = threading.local()


def active_run() -> Run:
    """The run that SQLite works for."""
    run: Run = _active.run
    return run


def running_session() -> RunningSession:
    """The session whose statement SQLite works for."""
    return active_run().session


def watch_cancel(connection: apsw.Connection) -> None:
    """Let a cancelled session's step stop in the middle, but no one else's."""

    def stop() -> bool:
        run: Run | None = getattr(_active, "run", None)
        return run is not None and run.session.client.cancelled

    connection.set_progress_handler(stop, 20_000)


class _Activity:
    """Marks whose statement SQLite is working for."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._before = getattr(_active, "run", None)
        _active.run = self._run

    def __exit__(self, *_: object) -> None:
        _active.run = self._before


@lru_cache(maxsize=1 << 10)
def _highest(sql: str) -> int:
    """How many parameters a text takes: plans of several texts share one list, and SQLite refuses more than it knows."""
    return max((int(n) for n in re.findall(r"\?(\d+)", sql)), default=0)


def execute(connection: apsw.Connection, sql: str, parameters: Sequence[Parameter], run: Run) -> apsw.Cursor:
    """Start a query; SQLite's own complaints become ORA- errors."""
    values = tuple([parameter(run) for parameter in parameters[: _highest(sql)]])
    try:
        with _Activity(run):
            return connection.cursor().execute(sql, values)
    except apsw.Error as error:
        raise translated(error, run) from error


def translated(error: apsw.Error, run: Run) -> OraError:
    if isinstance(error, apsw.InterruptError):
        run.session.client.cancelled = False
        return OraError(1013, "user requested cancel of current operation")
    return OraError(600, f"internal error code, arguments: [SQLite], [{error}]")


class QueryRows:
    """An open cursor (interfaces.Rows). `lock` guards the connection for the length of one batch.

    :param oldest: the oldest SCN it reads tables at; None when it reads none.
    :param picked: see `queries.Plan`.
    """

    def __init__(
        self, cursor: apsw.Cursor, run: Run, lock: Any, oldest: int | None = None, picked: Sequence[int] = ()
    ) -> None:
        self._pick: Callable[[Any], tuple[Cell, ...]] | None = itemgetter(*picked) if len(picked) > 1 else None
        self._cursor: apsw.Cursor | None = cursor
        self._oldest = oldest
        self._run = run
        self._lock = lock
        self._drained: Iterator[tuple[Cell, ...]] | None = None

    @property
    def oldest(self) -> int | None:
        """The oldest SCN it reads tables at; None when it reads no more."""
        return self._oldest if self._cursor is not None else None

    @property
    def saw_own_changes(self) -> bool:
        """Whether it reads versions that its own transaction may still overwrite."""
        return self._cursor is not None and self._run.own != NO_TRANSACTION

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """See `interfaces.Rows`."""
        if self._drained is not None:
            return list(islice(self._drained, count))
        if self._cursor is None:
            raise OraError(1001, "invalid cursor")
        with self._lock:
            if self._oldest is not None:
                self._run.session.storage.check_snapshot(self._oldest)
            rows = self._read(count)
            if len(rows) < count:
                self._cursor.close(True)
                self._cursor, self._drained = None, iter(())
        return rows

    def _read(self, count: int | None) -> list[tuple[Cell, ...]]:
        assert self._cursor is not None
        try:
            with _Activity(self._run):
                found = islice(self._cursor, count)
                if self._pick is None or self._run.scanned is None:
                    return list(found)
                # SQLite stands on the view's row while it shows ours, so the cells need not go through it.
                pick, scanned = self._pick, self._run.scanned
                return [pick(scanned.row) for _ in found]
        except apsw.Error as error:
            raise translated(error, self._run) from error

    def drain(self) -> None:
        """Read the rest into memory, because what it reads is about to change under it."""
        if self._cursor is not None:
            with self._lock:
                self._drained = iter(self._read(None))
                self._cursor.close(True)
                self._cursor = None

    def close(self) -> None:
        if self._cursor is not None:
            with self._lock:
                self._cursor.close(True)
        self._cursor, self._drained = None, None


class PickedRows:
    """Rows that a view picks itself (interfaces.Rows), without SQLite.

    :param batches: some may be empty. The first rows are found at once, because executing a query tells what is wrong with it.
    """

    def __init__(self, batches: Iterator[list[tuple[Cell, ...]]], run: Run) -> None:
        self._batches: Iterator[list[tuple[Cell, ...]]] | None = batches
        self._client = run.session.client
        self._found: list[tuple[Cell, ...]] = []
        self._more(1)

    def _more(self, count: int) -> None:
        """Have that many rows, or all there are. Raises ORA-01013 when the session was cancelled."""
        assert self._batches is not None
        while len(self._found) < count:
            if self._client.cancelled:
                self._client.cancelled = False
                raise OraError(1013, "user requested cancel of current operation")
            batch = next(self._batches, None)
            if batch is None:
                return
            self._found += batch

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """See `interfaces.Rows`."""
        if self._batches is None:
            raise OraError(1001, "invalid cursor")
        self._more(count)
        rows, self._found = self._found[:count], self._found[count:]
        return rows

    def close(self) -> None:
        """See `interfaces.Rows`."""
        self._batches, self._found = None, []


class FixedRows:
    """Rows that are already there."""

    def __init__(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        self._rows = iter(rows)

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        return list(islice(self._rows, count))

    def close(self) -> None:
        self._rows = iter(())
