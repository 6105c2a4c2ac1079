"""From ranges as they are read to READ events, with the state that lets a killed snapshot go on.

A row that is held back for its mark is not in the state: after a kill it is read once more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.contracts import StopFlag
from minercdc.events import ChangeEvent, Event, Op, Progress, Scn
from minercdc.offset import SnapshotState, TableProgress
from minercdc.snapshot.marks import Placed, RowMarks
from minercdc.snapshot.parallel import Batch, Finished, Range, Read, read_ranges
from minercdc.snapshot.scan import Scan

_log = logging.getLogger(__name__)

_PROGRESS_ROWS = 10_000
# Rows wait in one Kafka transaction for the next Progress; it must come well before the broker gives the transaction up.
_PROGRESS_SECONDS = 2.0


class SnapshotRows:
    """The rows that are left of a snapshot.

    :param scans: one for each table of the state, in its order.
    :param now: seconds since the epoch.
    """

    def __init__(self, state: SnapshotState, scans: Sequence[Scan], now: Callable[[], float] = time.time) -> None:
        self._state = state
        self._scans = scans
        self._now_us = lambda: int(now() * 1_000_000)
        self._tables = [_Table(table) for table in state.tables]
        self._marks = RowMarks(place for place, table in enumerate(state.tables) if table.rows)
        self._time_us = self._now_us()
        self._since = 0
        self._told = time.monotonic()
        self.is_complete = False

    def state(self) -> SnapshotState:
        """How far everything yielded so far is."""
        holds = self._marks.holds
        tables = tuple(
            table.progress(lambda number, place=place: holds((place, number))) for place, table in enumerate(self._tables)
        )
        return replace(self._state, tables=tables, completed=self.is_complete)

    def read(self, connect: Callable[[], oracledb.Connection], config: SnapshotConfig, stop: StopFlag) -> Iterator[Event]:
        """READ events, with Progress in between; incomplete when `stop` was set.

        :raises SnapshotTooOldError: a table cannot be read as of the SCN any more.
        """
        ranges = [
            Range((place, number), self._scans[place], chunk)
            for place, table in enumerate(self._state.tables)
            for number, chunk in enumerate(table.chunks)
            if not chunk.completed
        ]
        threads, retries = config.snapshot_max_threads, config.snapshot_database_errors_max_retries
        with read_ranges(connect, ranges, threads=threads, retries=retries) as reads:
            for read in reads:
                if stop.is_set():
                    return
                if read is not None:
                    yield from self._delivered(self._take(read))
                    if self._since >= _PROGRESS_ROWS or (self._since and time.monotonic() - self._told > _PROGRESS_SECONDS):
                        yield self._progress()
        yield from self._delivered(self._marks.end())
        self.is_complete = True

    def _take(self, read: Read) -> Iterator[Placed]:
        place = read.range.place
        if isinstance(read, Batch):
            yield from self._marks.take(place, self._events(read))
            return
        if read.error is not None:
            raise read.error
        yield from self._finish(read)

    def _finish(self, read: Finished) -> Iterator[Placed]:
        place, number = read.range.place
        table = self._tables[place]
        table.finished.add(number)
        if table.is_finished:
            _log.info("%s is read", table.name)
            yield from self._marks.end_table(place)

    def _events(self, batch: Batch) -> list[ChangeEvent]:
        scan, time_us = batch.range.scan, self._time_us
        schema, scn = scan.schema, Scn(scan.scn)
        return [
            ChangeEvent(Op.READ, schema, None, row, scn, time_us, None, 0, row_id) for row_id, row in scan.rows(batch.rows)
        ]

    def _delivered(self, groups: Iterator[Placed]) -> Iterator[Event]:
        """Yield rows and note them."""
        for (place, number), events in groups:
            yield from events
            self._since += len(events)
            table = self._tables[place]
            table.rows += len(events)
            table.last_row_ids[number] = events[-1].row_id

    def _progress(self) -> Progress:
        self._since = 0
        self._told = time.monotonic()
        return Progress(None, Scn(0), self._now_us(), snapshot=self.state())


class _Table:
    """One table's progress, as it goes.

    :ivar finished: ranges that were read to their end.
    """

    def __init__(self, begun: TableProgress) -> None:
        self._begun = begun
        self.rows = begun.rows
        self.last_row_ids = {number: chunk.last_row_id for number, chunk in enumerate(begun.chunks)}
        self.finished = {number for number, chunk in enumerate(begun.chunks) if chunk.completed}

    @property
    def name(self) -> str:
        return self._begun.table

    @property
    def is_finished(self) -> bool:
        return len(self.finished) == len(self._begun.chunks)

    def progress(self, holds: Callable[[int], bool]) -> TableProgress:
        """:param holds: whether a row of that range is not delivered yet."""
        chunks = tuple(
            replace(
                chunk, last_row_id=self.last_row_ids[number], completed=number in self.finished and not holds(number)
            )
            for number, chunk in enumerate(self._begun.chunks)
        )
        return replace(self._begun, rows=self.rows, chunks=chunks)
