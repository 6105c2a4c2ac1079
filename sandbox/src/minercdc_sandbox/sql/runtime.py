"""Runs of translated SQL, and the rows of queries."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, cast

import apsw

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql.execution import Parameter, Run, SqlSession, applied_scn

NO_TRANSACTION = -1


_active = threading.local()


def active_run() -> Run:
    """The run for which SQLite executes on this thread; to be called by functions and virtual tables only (AttributeError elsewhere)."""
    run: Run = _active.run
    return run


def running_session() -> SqlSession:
    """The session of `active_run`, with the same precondition."""
    return active_run().session


def watch_cancel(connection: apsw.Connection) -> None:
    """Let SQLite interrupt the statement that a connection executes when its session is cancelled, looked at every 20,000 steps
    of SQLite."""

    def stop() -> bool:
        run: Run | None = getattr(_active, "run", None)
        return run is not None and run.session.client.cancelled

    connection.set_progress_handler(stop, 20_000)


class _Activity:
    """A context in which SQLite works for this run in this thread; then for the one before again."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._before = getattr(_active, "run", None)
        _active.run = self._run

    def __exit__(self, *_: object) -> None:
        _active.run = self._before


@lru_cache(maxsize=1 << 10)
def _highest(sql: str) -> int:
    """The highest number of a parameter in a text, 0 without any: plans of several texts share one list, and SQLite refuses more
    than it knows."""
    return max((int(n) for n in re.findall(r"\?(\d+)", sql)), default=0)


def execute(connection: apsw.Connection, sql: str, parameters: Sequence[Parameter], run: Run) -> apsw.Cursor:
    """Start a query on a connection with the parameters' values of a run; the caller closes the cursor. The caller holds the lock
    of the connection. Raises OraError: of a parameter or a function, and SQLite's errors as `translated`."""
    values = tuple([parameter(run) for parameter in parameters[: _highest(sql)]])
    try:
        with _Activity(run):
            return connection.cursor().execute(sql, values)
    except apsw.Error as error:
        raise translated(error, run) from error


def begin_run(session: SqlSession, binds: Sequence[Cell] = (), row: tuple[Any, ...] = ()) -> Run:
    """A new run that sees the database as of now: at the SCN that a standby has applied, of DBMS_FLASHBACK, of a serializable or
    read-only transaction, or the current one.

    Begins the transaction of a serializable session that has none, and raises as `Storage.begin`.
    """
    client, storage = session.client, session.storage
    if client.serializable and client.transaction is None:
        with storage.lock:
            storage.begin(client)
    now = storage.clock.now()
    if session.on_standby:
        return Run(session, applied_scn(session.database), NO_TRANSACTION, now, binds, row)
    if session.settings.flashback_scn is not None:
        return Run(session, session.settings.flashback_scn, NO_TRANSACTION, now, binds, row)
    transaction = client.transaction
    if transaction is None:
        return Run(session, storage.clock.current, NO_TRANSACTION, now, binds, row)
    snapshot = storage.clock.current if transaction.snapshot is None else transaction.snapshot
    return Run(session, snapshot, transaction.stamp, now, binds, row)


def evaluate(sql: str, parameters: Sequence[Parameter], run: Run) -> Cell:
    """The value of one SQLite expression over parameters, on the shared store. Takes the storage lock. Raises as `execute`."""
    return evaluate_row(f"select {sql}", parameters, run)[0]


def evaluate_row(sql: str, parameters: Sequence[Parameter], run: Run) -> tuple[Cell, ...]:
    """The first row of a query, which must have one, executed on the shared store. Takes the storage lock. Raises as `execute`."""
    storage = run.session.storage
    with storage.lock:
        return cast(tuple[Cell, ...], execute(storage.db, sql, parameters, run).fetchone())


def translated(error: apsw.Error, run: Run) -> OraError:
    """Oracle's error for one of SQLite, for the caller to raise: ORA-01013 for an interrupt, which ends the session's cancel;
    ORA-03001 for a text that SQLite refuses to run; ORA-00600 for any other error."""
    if isinstance(error, apsw.InterruptError):
        run.session.client.cancelled = False
        return OraError(1013, "user requested cancel of current operation")
    if isinstance(error, apsw.SQLError):
        return OraError(3001, f"unimplemented feature: {error}")
    return OraError(600, f"internal error code, arguments: [SQLite], [{error}]")


class QueryRows:
    """An open cursor of SQLite (interfaces.Rows). `lock` guards the connection during each batch. At the end of the rows, or by
    `drain` or `close`, it closes the cursor.

    :param oldest: the oldest SCN at which it reads tables; None when it reads none.
    :param picked: as in `execution.Plan`.
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
        """The oldest SCN at which it still reads tables; None when it reads none, or all rows have been read."""
        return self._oldest if self._cursor is not None else None

    @property
    def saw_own_changes(self) -> bool:
        """Whether it still reads from SQLite in a run that has a transaction, whose rows that transaction may overwrite."""
        return self._cursor is not None and self._run.own != NO_TRANSACTION

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """At most `count` next rows, as `interfaces.Rows.fetch`; after the last row []. Raises ORA-01001 once closed, ORA-01555
        when versions may be gone, and as `execute`."""
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
        """Read the rest into memory, from which `fetch` then takes it, and close the cursor: before rows change. Nothing when all
        was read. Raises as `execute`."""
        if self._cursor is not None:
            with self._lock:
                self._drained = iter(self._read(None))
                self._cursor.close(True)
                self._cursor = None

    def close(self) -> None:
        """Close the cursor, if it is open; later fetches raise ORA-01001. Safe to call twice."""
        if self._cursor is not None:
            with self._lock:
                self._cursor.close(True)
        self._cursor, self._drained = None, None


class PickedRows:
    """Rows that a view picks itself (interfaces.Rows), without SQLite.

    The first row is read at once, because a query reports its errors when it is executed: the constructor raises as the view and
    ORA-01013.

    :param batches: of rows; some may be empty.
    """

    def __init__(self, batches: Iterator[list[tuple[Cell, ...]]], run: Run) -> None:
        self._batches: Iterator[list[tuple[Cell, ...]]] | None = batches
        self._client = run.session.client
        self._found: list[tuple[Cell, ...]] = []
        self._more(1)

    def _more(self, count: int) -> None:
        """Have that many rows in `_found`, or all there are. Raises ORA-01013 when the session was cancelled, and as the view."""
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
        """At most `count` next rows, as `interfaces.Rows.fetch`; after the last row []. Raises ORA-01001 once it is closed,
        ORA-01013 on cancel, and as the view."""
        if self._batches is None:
            raise OraError(1001, "invalid cursor")
        self._more(count)
        rows, self._found = self._found[:count], self._found[count:]
        return rows

    def close(self) -> None:
        """Read no more of the view; later fetches raise ORA-01001. Safe to call twice."""
        self._batches, self._found = None, []


class FixedRows:
    """Rows in memory (interfaces.Rows), as of a query FOR UPDATE, which is read to its end at once."""

    def __init__(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        self._rows = iter(rows)

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """At most `count` next rows; [] after the last and after `close`."""
        return list(islice(self._rows, count))

    def close(self) -> None:
        """Drop the rows left; safe to call twice."""
        self._rows = iter(())
