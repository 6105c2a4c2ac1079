"""Reads the tables of a window side by side, each on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeAlias

import oracledb

from minercdc.capture.flashback.reading import Found
from minercdc.errors import MinerCdcError, TransientSourceError
from minercdc.schema.table import TableId

Read: TypeAlias = Callable[[oracledb.Connection], Found]
Outcome: TypeAlias = Found | MinerCdcError


class TablesReader:
    """Threads and their connections.

    :param connect: makes a connection to where the tables are.
    :ivar outcomes: of the last `read`: what was found, or why the table could not be read.
    :ivar seconds: how long each table took that was read last.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], threads: int) -> None:
        self._connect = connect
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="flashback")
        self._idle = SimpleQueue[oracledb.Connection]()
        self._open: list[oracledb.Connection] = []
        self.outcomes: dict[TableId, Outcome] = {}
        self.seconds: dict[TableId, float] = {}

    def read(self, reads: Mapping[TableId, Read], tick: float) -> Iterator[None]:
        """Read tables; yields whenever `tick` seconds passed without a result, and once at the end.

        :raises TransientSourceError: a connection was lost.
        """
        running = {self._pool.submit(self._read, table, read): table for table, read in reads.items()}
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
        """Break what is being read and close the connections; safe to call twice."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for connection in self._open:
            with suppress(oracledb.Error, OSError):
                connection.cancel()
        self._pool.shutdown(wait=True)
        for connection in self._open:
            with suppress(oracledb.Error, OSError):
                connection.close()
        self._open.clear()

    def _read(self, table: TableId, read: Read) -> Found:
        begun = monotonic()
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connect()
            self._open.append(connection)
        try:
            found = read(connection)
        except TransientSourceError:
            raise  # the connection may be lost: it is not used again
        except BaseException:
            self._idle.put(connection)
            raise
        self._idle.put(connection)
        self.seconds[table] = monotonic() - begun
        return found


def _outcome(future: Future[Found]) -> Outcome:
    """Raises TransientSourceError, and a fault of the reader's own code as it is."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, MinerCdcError) and not isinstance(error, TransientSourceError):
        return error
    raise error
