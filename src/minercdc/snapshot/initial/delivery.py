"""Turns rows of ranges into READ events, with the state from which a killed snapshot goes on.

A row that is held back for its mark (`row_marks`) is not in the state: after a kill it is read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.snapshot.initial.notices import InitialNotices
from minercdc.snapshot.initial.parallel import Batch, Finished, Range, Read, read_ranges
from minercdc.snapshot.row_marks import Placed, RowMarks, read_events
from minercdc.snapshot.scan import Scan
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Progress, Scn
from minercdc.stream.offset import SnapshotState, TableProgress

_log = logging.getLogger(__name__)

_PROGRESS_ROWS = 10_000
# Rows wait in one Kafka transaction for the next Progress; it must come well before the broker gives the transaction up.
_PROGRESS_SECONDS = 2.0
_OTHER_TABLE = -1  # a place that no table of the state has


class SnapshotRows:
    """Reads what is left of a snapshot, once, and keeps the state of what was emitted.

    :param state: where to go on; its tables are those to read.
    :param scans: one for each table of the state, in its order.
    :param now: reads the clock: seconds since the epoch.
    :param runs: give ReadRuns for what is fetched together.
    :param begun: rows of other tables were delivered before, so that none is the first.
    :ivar is_complete: all was emitted, except the rest of tables that could not be read, which are deferred.
    """

    def __init__(
        self,
        state: SnapshotState,
        scans: Sequence[Scan],
        now: Callable[[], float] = time.time,
        *,
        runs: bool = False,
        begun: bool = False,
    ) -> None:
        self._state = state
        self._runs = runs
        self._scans = scans
        self._now = now
        self._tables = [_Table(place, table) for place, table in enumerate(state.tables)]
        delivered = [place for place, table in enumerate(state.tables) if table.rows]
        self._marks = RowMarks([*delivered, _OTHER_TABLE] if begun else delivered)
        self._time_us = self._now_us()
        self._since = 0
        self._reported_at = time.monotonic()
        names = [f"{scan.schema.id.database}.{scan.schema.id}" for scan in scans]
        self._notices = InitialNotices(names, now)
        self._names = names
        self._begun: set[int] = set()
        self.is_complete = False

    def state(self) -> SnapshotState:
        """The state after everything emitted so far."""
        tables = tuple(table.progress(self._marks.holds) for table in self._tables)
        return replace(self._state, tables=tables, completed=self.is_complete)

    def read(self, connect: Callable[[str], oracledb.Connection], config: SnapshotConfig, stop: StopFlag) -> Iterator[Event]:
        """READ events and notifications, with Progress in between, but not after the last. To be called once. A table that
        cannot be read is deferred, with a warning.

        Once `stop` is set it ends early, by the notification ABORTED and a Progress.

        :param connect: to the database of a TableId; called by each of up to `snapshot.max.threads` threads.
        :raises TransientSourceError: a connection broke. What `connect` raises is raised, too.
        :raises ValueDecodeError: a value does not fit its column's type.
        """
        ranges = [
            Range((place, number), self._scans[place], chunk)
            for place, table in enumerate(self._state.tables)
            for number, chunk in enumerate(table.chunks)
            if not chunk.completed and not table.deferred
        ]
        threads, retries = config.snapshot_max_threads, config.snapshot_database_errors_max_retries
        with read_ranges(connect, ranges, threads=threads, retries=retries) as reads:
            for read in reads:
                if stop.is_set():
                    yield from (self._notices.aborted(), self._progress())
                    return
                if read is not None:
                    yield from self._take(read)
                    if self._since >= _PROGRESS_ROWS or (
                        self._since and time.monotonic() - self._reported_at > _PROGRESS_SECONDS
                    ):
                        yield self._progress()
        yield from self._delivered(self._marks.end())
        yield self._notices.completed()
        self.is_complete = True

    def _take(self, read: Read) -> Iterator[Event]:
        place = read.range.place
        if self._tables[place[0]].deferred:
            return
        if place[0] not in self._begun:
            self._begun.add(place[0])
            _log.info("reading %s", self._tables[place[0]].name)
            yield self._notices.in_progress(self._names[place[0]])
        table = self._tables[place[0]]
        if table.ranges > 1 and place[1] not in table.begun:
            table.begun.add(place[1])
            yield self._notices.chunk_in_progress(self._names[place[0]], place[1], table.ranges, table.rows)
        if isinstance(read, Batch):
            events = read_events(read.rows, Scn(read.range.scan.scn), self._time_us, runs=self._runs)
            yield from self._delivered(self._marks.take(place, events))
        elif read.error is not None:
            yield from self._defer(place[0], read)
        else:
            yield from self._finish(*place)

    def _defer(self, place: int, read: Finished) -> Iterator[Event]:
        """Leave a table that could not be read to a snapshot during the stream.

        What was delivered of it stays right: the stream begins before it, and chunks that are read later give way to the
        stream's rows. A table without a key is read again in order of ROWID: a consumer cannot identify its rows, and sees
        those that were delivered, here or by the stream before its chunk, once more.
        """
        table, schema = self._tables[place], read.range.scan.schema
        assert read.error is not None
        yield from self._delivered(self._marks.end_table(place))
        yield self._notices.table_completed(self._names[place], table.rows, "SQL_EXCEPTION")
        twice = "" if schema.key else "; it has no key, so rows of it may come twice"
        kind = "a blocking" if read.range.scan.select else "an incremental"
        _log.warning("%s; %s is read by %s snapshot during the stream%s", read.error.message, table.name, kind, twice)
        table.deferred = True

    def _finish(self, place: int, number: int) -> Iterator[Event]:
        """Note that a range was read to its end, and yield notifications; with the last range of a table also its rows held
        back whose mark is certain now. The row of the table that is still held back counts as read."""
        table, name = self._tables[place], self._names[place]
        table.finished.add(number)
        if table.ranges > 1:
            yield self._notices.chunk_completed(name, number, table.ranges)
        if table.is_finished:
            rows = table.rows + self._marks.held_of(place)
            _log.info("%s is read: %d rows", table.name, rows)
            yield from self._delivered(self._marks.end_table(place))
            yield self._notices.table_completed(name, rows)

    def _delivered(self, groups: Iterator[Placed]) -> Iterator[Event]:
        """Yield the events of the rows, and then count these as delivered in the state."""
        for group in groups:
            yield from group.events
            place, number = group.place
            self._since += group.rows
            table = self._tables[place]
            table.rows += group.rows
            table.last_row_ids[number] = group.last_row_id

    def _now_us(self) -> int:
        return int(self._now() * 1_000_000)

    def _progress(self) -> Progress:
        self._since = 0
        self._reported_at = time.monotonic()
        return Progress(None, Scn(0), 0, snapshot=self.state())


class _Table:
    """How far one table is delivered in this run.

    :ivar rows: delivered, in earlier runs too.
    :ivar begun: ranges of which rows were read in this run.
    :ivar finished: ranges that were read to their end.
    :ivar deferred: the rest is left to a snapshot during the stream.
    """

    def __init__(self, place: int, stored: TableProgress) -> None:
        self._place = place
        self._stored = stored
        self.rows = stored.rows
        self.begun: set[int] = set()
        self.last_row_ids = {number: chunk.last_row_id for number, chunk in enumerate(stored.chunks)}
        self.finished = {number for number, chunk in enumerate(stored.chunks) if chunk.completed}
        self.deferred = stored.deferred

    @property
    def name(self) -> str:
        return self._stored.table

    @property
    def ranges(self) -> int:
        return len(self._stored.chunks)

    @property
    def is_finished(self) -> bool:
        return len(self.finished) == self.ranges

    def progress(self, holds: Callable[[tuple[int, int]], bool]) -> TableProgress:
        """What the state stores of the table; a range of which `holds` is true has a row that is held back, and is not complete.

        :param holds: of (the table's place, the range's number).
        """
        chunks = tuple(
            replace(
                chunk,
                last_row_id=self.last_row_ids[number],
                completed=number in self.finished and not holds((self._place, number)),
            )
            for number, chunk in enumerate(self._stored.chunks)
        )
        return replace(self._stored, rows=self.rows, chunks=chunks, deferred=self.deferred)
