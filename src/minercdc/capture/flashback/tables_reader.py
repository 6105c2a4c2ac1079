"""Reads the tables of a window in parallel, each on its own connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TypeAlias

import oracledb

from minercdc.capture.flashback.reading import Found
from minercdc.errors import MinerCdcError, TransientSourceError
from minercdc.oracle.fetching.queue import CANCEL_SECONDS
from minercdc.schema.table import TableId

Read: TypeAlias = Callable[[oracledb.Connection], Found]
Outcome: TypeAlias = Found | MinerCdcError


class TablesReader:
    """Reads tables in threads, each by a connection that is kept for the next table. For one caller at a time, who calls
    `close` at the end; the threads start and connect when there is something to read.

    :param connect: opens a connection to where the tables are; the threads call it.
    :param threads: most tables that are read at once.
    :ivar outcomes: of every `read` since the caller cleared it, by table: what was found, or why the table could not be read.
    :ivar seconds: likewise, how long each table took that could be read.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], threads: int) -> None:
        self._connect = connect
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="flashback")
        self._lock = Lock()
        self._idle: list[oracledb.Connection] = []
        self._busy: list[oracledb.Connection] = []
        self._futures: list[Future[Found]] = []
        self._closed = False
        self._lost = False  # a connection was: the others may be gone, too
        self.outcomes: dict[TableId, Outcome] = {}
        self.seconds: dict[TableId, float] = {}

    def read(self, reads: Mapping[TableId, Read], tick: float) -> Iterator[None]:
        """Read tables, and put what comes of each into `outcomes` and `seconds`; yields whenever `tick` seconds passed
        without a result, and once at the end. When the iteration ends early, tables that are not begun are not read.

        :raises TransientSourceError: a connection was lost, or could not be made.
        """
        running = {self._pool.submit(self._read, table, read): table for table, read in reads.items()}
        self._futures = list(running)
        try:
            while running:
                done, _ = wait(running, tick, FIRST_COMPLETED)
                if not done:
                    yield None
                for future in done:
                    self.outcomes[running.pop(future)] = _outcome(future)
        finally:
            for future in running:
                future.cancel()
        yield None

    def close(self) -> None:
        """Break what is being read, wait CANCEL_SECONDS for that at most, and close the connections; safe to call twice. A
        thread that does not end in time closes its connection when it ends. `read` cannot be called after it."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = [] if self._lost else [connection for connection in self._busy if connection.is_healthy()]
        for connection in busy:
            with suppress(oracledb.Error, OSError):
                connection.cancel()
        for connection in idle:
            _close(connection)
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait([future for future in self._futures if not future.cancelled()], CANCEL_SECONDS)

    def _read(self, table: TableId, read: Read) -> Found:
        begun = monotonic()
        connection = self._take()
        try:
            found = read(connection)
        except BaseException as error:
            self._give(connection, lost=isinstance(error, TransientSourceError))
            raise
        self._give(connection)
        self.seconds[table] = monotonic() - begun
        return found

    def _take(self) -> oracledb.Connection:
        with self._lock:
            if self._idle:
                self._busy.append(self._idle.pop())
                return self._busy[-1]
        connection = self._connect()
        with self._lock:
            self._busy.append(connection)
        return connection

    def _give(self, connection: oracledb.Connection, *, lost: bool = False) -> None:
        """Take a connection back for the next table; after `close`, or when it is lost, close it.

        :param lost: the connection may be gone. No connection is cancelled at `close` from then on, since to cancel a call on
            one that is gone would crash the driver.
        """
        with self._lock:
            self._busy.remove(connection)
            self._lost |= lost
            if not (lost or self._closed):
                self._idle.append(connection)
                return
        _close(connection)


def _close(connection: oracledb.Connection) -> None:
    with suppress(oracledb.Error, OSError):
        connection.close()


def _outcome(future: Future[Found]) -> Outcome:
    """What was found, or the MinerCdcError for which the table could not be read; TransientSourceError is raised, and so is
    any error that is no MinerCdcError. The future has ended."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, MinerCdcError) and not isinstance(error, TransientSourceError):
        return error
    raise error
