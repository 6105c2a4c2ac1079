"""Reads ranges of tables over several connections, each with a thread, into one bounded queue.

    work: range, range, range ..   ->   thread 1 .. n, each its own connection   ->   Batch, Batch, Finished, Batch ..

A range is read by one thread, in its order. Ranges are begun in the order of the work.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

import oracledb

from minercdc.errors import MinerCdcError, PrerequisiteError, SnapshotTooOldError, SourceError, TransientSourceError
from minercdc.oracle.fetching.queue import CANCEL_SECONDS, FetchQueue
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import FetchedRows
from minercdc.stream.offset import ChunkProgress

_log = logging.getLogger(__name__)

_TICK_SECONDS = 0.5
# Between two tries of a range that could not be read; as Debezium waits after ORA-01466.
_RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Range:
    """One range of one table, yet to be read.

    :param place: the table's place in the state, and the range's place in the table.
    :param chunk: the range's bounds, and the last row of it that was read before.
    """

    place: tuple[int, int]
    scan: Scan
    chunk: ChunkProgress


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a range, at least one, as fetched: the first value of each is the ROWID, None with a SELECT of the user's."""

    range: Range
    rows: FetchedRows


@dataclass(frozen=True, slots=True)
class Finished:
    """The last of a range: it was read to its end, and `error` is None; or could not be, and `error` is why."""

    range: Range
    error: MinerCdcError | None = None


Read: TypeAlias = Batch | Finished


class _Readers:
    def __init__(
        self,
        connect: Callable[[str], oracledb.Connection],
        ranges: Iterable[Range],
        threads: int,
        retries: int,
        pause: float,
    ) -> None:
        self._connect = connect
        self._waiting = deque(ranges)
        self._retries = retries
        self._pause = pause
        running = min(threads, len(self._waiting))
        self._first = self._waiting[0].scan.schema.id.database if self._waiting else ""
        self.handover: FetchQueue[Read] = FetchQueue(2 * threads, running)
        self._fetching: dict[int, oracledb.Connection] = {}
        self.threads = [
            threading.Thread(target=self._work, args=(number,), name=f"snapshot-{number}", daemon=True)
            for number in range(running)
        ]

    def _work(self, number: int) -> None:
        try:
            self._read_ranges(number)
        except BaseException as error:
            self.handover.end(error)
        else:
            self.handover.end()

    def _read_ranges(self, number: int) -> None:
        database = self._first
        connection: oracledb.Connection | None = self._connect(database)
        try:
            while self._waiting and not self.handover.abandoned.is_set():
                try:
                    found = self._waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                wanted = found.scan.schema.id.database
                if connection is None or wanted != database:
                    _close(connection)
                    connection = None
                    connection, database = self._connect(wanted), wanted
                self._fetching[number] = connection
                try:
                    self._read(connection, found)
                finally:
                    del self._fetching[number]
        finally:
            _close(connection)

    def _read(self, connection: oracledb.Connection, wanted: Range) -> None:
        tries, chunk = 0, wanted.chunk
        while not self.handover.abandoned.is_set():
            try:
                for batch in wanted.scan.batches(connection, chunk):
                    if not self.handover.give(Batch(wanted, batch)):
                        return
                    chunk = replace(chunk, last_row_id=batch.row_id(-1))
            except TransientSourceError:  # of the connection or instance, not of this table
                raise
            except (SourceError, PrerequisiteError) as error:
                # Rows without ROWID cannot be resumed in the middle, and must not come twice.
                unrepeatable = chunk is not wanted.chunk and chunk.last_row_id is None
                # Without a code of Oracle's it is that of a table with another name, which stays.
                may_pass = isinstance(error, SnapshotTooOldError) and error.ora_code
                if tries == self._retries or unrepeatable or not may_pass:
                    self.handover.give(Finished(wanted, error))
                    return
                tries += 1
                _log.warning("%s; trying again from the last row read", error.message)
                self.handover.abandoned.wait(self._pause)
            else:
                self.handover.give(Finished(wanted))
                return

    def cancel(self) -> None:
        """Cancel all fetches that are under way, from another thread; raises nothing of Oracle's."""
        for connection in list(self._fetching.values()):
            with suppress(oracledb.Error):
                connection.cancel()


def _close(connection: oracledb.Connection | None) -> None:
    if connection is not None:
        with suppress(oracledb.Error):
            connection.close()


@contextmanager
def read_ranges(
    connect: Callable[[str], oracledb.Connection],
    ranges: Iterable[Range],
    *,
    threads: int,
    retries: int = 0,
    pause: float = _RETRY_SECONDS,
) -> Iterator[Iterator[Read | None]]:
    """The context is an iterator over what threads read, begun when the context is entered; None comes whenever nothing came
    for half a second. Batches of a range come in order, then its Finished; those of several ranges mix.

    The iterator raises errors of `connect`, TransientSourceErrors, and faults of our own code; other SourceErrors of a range's
    SELECT, and PrerequisiteErrors, come in its `Finished`. Leaving the context cancels the fetches, and waits up to 3 s for each
    thread.

    :param connect: to the database of a TableId; called by each thread, again where its next range is of another database.
    :param retries: further tries of a range that cannot be read as of its SCN (SnapshotTooOldError with a code of Oracle's), each from the
        last row on; none for a SELECT of the user's that has given rows.
    :param pause: seconds between two tries.
    """
    readers = _Readers(connect, ranges, threads, retries, pause)
    for thread in readers.threads:
        thread.start()
    try:
        yield readers.handover.taken(_TICK_SECONDS)
    finally:
        readers.handover.abandoned.set()
        readers.cancel()
        for thread in readers.threads:
            thread.join(CANCEL_SECONDS)
