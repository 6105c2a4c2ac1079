"""The initial snapshot, and the hand-over to streaming.

    lock tables -> q = current SCN -> open transactions -> s = current SCN -> structures -> unlock
    every table AS OF SCN s; streaming mines from the oldest of q and the open transactions' starts, and drops commits <= s

The order of those three reads matters. A transaction that committed before s is seen by AS OF. One that commits later
began after q, or was open when they were listed: either way it is mined from its first row. None is in both, none in
neither.

The state after every Progress says, per table, the last ROWID delivered: a killed snapshot goes on behind it, at the
same SCN, with the structures that were recorded then.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.contracts import StopFlag
from minercdc.errors import SchemaHistoryError
from minercdc.events import ChangeEvent, Event, Op, Progress, SchemaChange, Scn, SnapshotMark
from minercdc.offset import JsonValue, Position, SnapshotState, TableProgress
from minercdc.oracle.dictionary import read_row_statistics, read_table_ids, read_tables
from minercdc.oracle.scn import current_scn, oldest_open_scn
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.snapshot.locks import short_lock
from minercdc.snapshot.scan import count_rows, scan
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

_PROGRESS_ROWS = 10_000


class _Stopped(Exception):
    """Ends the rows early. An end like any other would make the row held back the last one of its table."""


class InitialSnapshot:
    """Reads all captured tables before streaming begins.

    :param connect: makes a connection to where the tables are.
    :param tables: filled with the structures found; on resumption holds the ones recorded then.
    :param start_position: position of the stream from (snapshot SCN, SCN to mine from).
    :param load_position: that position back from its JSON.
    :param with_rows: False for structures only (`snapshot.mode=no_data`).
    :param lobs: `lob.enabled`: read large values; without it they are unavailable.
    :param now: seconds since the epoch.
    """

    def __init__(
        self,
        connect: Callable[[], oracledb.Connection],
        tables: Tables,
        table_filter: TableFilter,
        config: SnapshotConfig,
        *,
        database: str,
        start_position: Callable[[int, int], Position],
        load_position: Callable[[Mapping[str, JsonValue]], Position],
        with_rows: bool = True,
        lobs: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._connect = connect
        self._tables = tables
        self._filter = table_filter
        self._config = config
        self._database = database
        self._start_position = start_position
        self._load_position = load_position
        self._with_rows = with_rows
        self._lobs = lobs
        self._now = now

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """See `contracts.Snapshot`."""
        connection = self._connect()
        try:
            if state is None:
                state = yield from self._plan(connection)
            else:
                _log.info("going on with the snapshot at SCN %s", state.scn)
            yield from self._rows(connection, state, stop)
        finally:
            connection.close()

    def _plan(self, connection: oracledb.Connection) -> Generator[Event, None, SnapshotState]:
        """Fix the SCN and the structures, and tell them."""
        ids = read_table_ids(connection, self._filter, self._database)
        with short_lock(connection, ids, self._config.snapshot_locking_mode, self._config.snapshot_lock_timeout_ms):
            begun = current_scn(connection)
            oldest = oldest_open_scn(connection)
            scn = current_scn(connection)
            schemas = read_tables(connection, ids)
        start = self._start_position(scn, min(begun, oldest or begun))
        _log.info("snapshot of %d tables as of SCN %s; streaming will start from %s", len(schemas), scn, start.to_json())
        time_us = self._now_us()
        for schema in schemas:
            before = self._tables.find(schema.id)
            after = self._tables.next_version(without_unsupported(schema))
            self._tables.put(after)
            yield SchemaChange(after.id, before, after, "", scn, time_us, snapshot=True)
        wanted = [schema.id for schema in schemas if self._reads(schema.id)]
        state = SnapshotState(scn, start.to_json(), tuple(self._expected(connection, wanted, scn)))
        yield Progress(None, Scn(0), time_us, snapshot=state)
        return state

    def _expected(self, connection: oracledb.Connection, tables: list[TableId], scn: int) -> Iterator[TableProgress]:
        """Tables with the number of their rows: by statistics; one without is new or small, and counted."""
        statistics = read_row_statistics(connection, tables)
        for table in tables:
            count = statistics.get(table)
            yield TableProgress(str(table), expected_rows=count_rows(connection, table, scn) if count is None else count)

    def _reads(self, table: TableId) -> bool:
        """Whether the table's rows are wanted, and not its structure only."""
        patterns = self._config.snapshot_include_collection_list
        return self._with_rows and (
            not patterns or any(re.fullmatch(pattern, str(table), re.IGNORECASE) for pattern in patterns)
        )

    def _rows(self, connection: oracledb.Connection, state: SnapshotState, stop: StopFlag) -> Iterator[Event]:
        progress = list(state.tables)
        schemas = [self._schema(table.table) for table in progress]
        since = 0
        marked = mark_rows(self._events(connection, state, schemas, stop), progress)
        while True:
            try:
                event, place, is_last = next(marked)
            except StopIteration:
                break
            except _Stopped:
                return
            yield event
            since += 1
            if since >= _PROGRESS_ROWS or is_last:
                done = progress[place]
                progress[place] = replace(done, rows=done.rows + since, last_row_id=event.row_id, completed=is_last)
                since = 0
                yield Progress(None, Scn(0), self._now_us(), snapshot=replace(state, tables=tuple(progress)))
        tables = tuple(replace(table, completed=True) for table in progress)
        _log.info("snapshot is complete: %d rows", sum(table.rows for table in tables))
        yield Progress(
            self._load_position(state.start),
            Scn(state.scn),
            self._now_us(),
            snapshot=replace(state, tables=tables, completed=True),
        )

    def _schema(self, name: str) -> TableSchema:
        schema, _, table = name.partition(".")
        found = self._tables.find(TableId(self._database, schema, table))
        if found is None:
            raise SchemaHistoryError(
                f"the schema history lacks {name}, whose snapshot was begun",
                hint="Remove the connector's offset and schema history, and take a new snapshot.",
            )
        return found

    def _events(
        self, connection: oracledb.Connection, state: SnapshotState, schemas: Sequence[TableSchema], stop: StopFlag
    ) -> Iterator[tuple[int, ChangeEvent]]:
        """READ events not delivered yet, each with its table's place in the state."""
        scn, time_us, fetch_size = Scn(state.scn), self._now_us(), self._config.snapshot_fetch_size
        for place, (schema, done) in enumerate(zip(schemas, state.tables, strict=True)):
            if done.completed:
                continue
            _log.info("reading %s", done.table)
            for batch in scan(connection, schema, scn, done.last_row_id, fetch_size, lobs=self._lobs):
                for row_id, row in batch:
                    yield place, ChangeEvent(Op.READ, schema, None, row, scn, time_us, None, 0, row_id)
                if stop.is_set():
                    raise _Stopped

    def _now_us(self) -> int:
        return int(self._now() * 1_000_000)


def mark_rows(
    events: Iterator[tuple[int, ChangeEvent]], progress: Sequence[TableProgress]
) -> Iterator[tuple[ChangeEvent, int, bool]]:
    """Events with their marks, their table's place, and whether they are its last.

    One event is held back, since only the next one, or the end, tells whether it was the last.
    """
    is_first = not any(table.rows for table in progress)
    previous: int | None = None
    held: tuple[int, ChangeEvent] | None = None
    for place, event in events:
        if held is not None:
            is_last = held[0] != place
            if is_last and held[1].snapshot is not SnapshotMark.FIRST:
                held[1].snapshot = SnapshotMark.LAST_IN_DATA_COLLECTION
            yield held[1], held[0], is_last
        if is_first:
            event.snapshot = SnapshotMark.FIRST
        elif place != previous and not progress[place].rows:
            event.snapshot = SnapshotMark.FIRST_IN_DATA_COLLECTION
        else:
            event.snapshot = SnapshotMark.TRUE
        is_first = False
        previous, held = place, (place, event)
    if held is not None:
        held[1].snapshot = SnapshotMark.LAST
        yield held[1], held[0], True
