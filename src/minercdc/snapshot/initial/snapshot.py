"""Takes the initial snapshot: captured tables as of one SCN, then the hand-over to the stream (see `start`).

    fix the SCN and the structures -> tables in order, large ones cut into ranges of ROWIDs -> ranges read side by side

The state after every Progress says, per range, the last ROWID delivered: a killed snapshot goes on after it, at the same
SCN, with the structures that were recorded then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.config.source.selects import unmatched
from minercdc.errors import ConfigError, SchemaHistoryError
from minercdc.oracle.dictionary.tables import read_row_statistics
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import names
from minercdc.schema.tables import Tables
from minercdc.snapshot.databases import TableDatabases
from minercdc.snapshot.initial.delivery import SnapshotRows
from minercdc.snapshot.initial.notices import InitialNotices, deferred_started
from minercdc.snapshot.initial.rowid_ranges import cuts_of
from minercdc.snapshot.initial.snapshot_scn import Fixed, describe
from minercdc.snapshot.query import Query, own_select
from minercdc.snapshot.scan import Scan, count_rows
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Progress, Scn
from minercdc.stream.offset import (
    AdHocSnapshot,
    ChunkProgress,
    JsonValue,
    Position,
    SignalState,
    SnapshotState,
    TableProgress,
    TableRead,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamStart:
    """Where a snapshot is taken, and the stream starts after it.

    :param fix: fixes the SCN, and reads the structures, of all databases; its connection is to the first.
    :param position: (SCN of the snapshot, SCN to mine from) -> position that streaming starts from.
    :param load: makes that position of its JSON.
    """

    fix: Callable[[oracledb.Connection], Fixed]
    position: Callable[[int, int], Position]
    load: Callable[[Mapping[str, JsonValue]], Position]


@dataclass(frozen=True, slots=True)
class RowReading:
    """How the rows of a snapshot are read.

    :param selects: name of a table (`config.source.selects.plain_name`) -> SELECT to read instead of the table, which must have a key.
    :param query: what else a table is read by (`snapshot.query.mode=custom`); None for nothing else.
    :param lobs: `lob.enabled`: read large values; without it they are UNAVAILABLE.
    :param runs: emit ReadRuns for rows that are fetched together.
    """

    selects: Mapping[str, str] = field(default_factory=dict)
    query: Query | None = None
    lobs: bool = False
    runs: bool = False


class InitialSnapshot:
    """Reads the captured tables before streaming begins; the `contracts.Snapshot` with rows. `take` is called once; it closes its
    connections.

    :param databases: all that the tables are in; their connections are opened by several threads.
    :param tables: filled with the structures found; has to hold them already when an interrupted snapshot goes on.
    :param start: where the snapshot is taken, and the stream starts.
    :param reading: how rows are read.
    :param captured: whether a table is still captured when an interrupted snapshot goes on: the rest of another is not read.
    :param now: reads the clock: seconds since the epoch.
    """

    def __init__(
        self,
        databases: TableDatabases,
        tables: Tables,
        config: SnapshotConfig,
        start: StreamStart,
        reading: RowReading,
        *,
        captured: Callable[[TableId], bool] = lambda _: True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._databases = databases
        self._tables = tables
        self._config = config
        self._fix = start.fix
        self._start_position = start.position
        self._load_position = start.load
        self._selects = reading.selects
        self._query = reading.query
        self._lobs = reading.lobs
        self._runs = reading.runs
        self._captured = captured
        self._now = now

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """Yields a SchemaChange per table, if the snapshot is new, and READ events, with notifications and Progress in between
        that has the state to store; the last Progress has the position that streaming starts from. Stopped before it is
        complete, it ends without that. Waits `snapshot.delay.ms` before a new snapshot, `streaming.delay.ms` after its end.

        :param state: None for a new snapshot; the stored state of an interrupted one, to go on with.
        :raises SchemaHistoryError: `tables` lacks a table of the stored state.
        :raises ConfigError: a SELECT is for no captured table, a table with a SELECT has no key, a pattern took too long, or the callable of
            `snapshot.query.mode=custom` returned neither a SELECT nor None; what it raises is raised.
        :raises MinerCdcError: what connecting, `StreamStart` and `SnapshotRows.read` raise.
        """
        if state is None:
            if stop.wait(self._config.snapshot_delay_ms / 1000):
                return
            state = yield from self._plan()
        else:
            _log.info("going on with the snapshot at SCN %s", state.scn)
            self._check_selects([self._databases.names.table(table.table) for table in state.tables])
        state, left_out = self._divided(state)
        rows = SnapshotRows(
            state,
            [self._scan(table.table, state.scn) for table in state.tables],
            self._now,
            runs=self._runs,
            begun=any(table.rows for table in left_out),
        )
        reads = rows.read(self._databases.connect, self._config, stop)
        yield from (_with_tables(event, left_out) for event in reads) if left_out else reads
        if not rows.is_complete:
            return
        state = rows.state()
        _log.info("snapshot is complete: %d rows", sum(table.rows for table in state.tables))
        position, deferred = self._load_position(state.start), self._deferred(state)
        for snapshot in deferred.snapshots if deferred else ():
            yield deferred_started(snapshot, self._now_us())
        yield _with_tables(Progress(position, Scn(state.scn), 0, snapshot=state, signals=deferred), left_out)
        stop.wait(self._config.streaming_delay_ms / 1000)

    def _divided(self, state: SnapshotState) -> tuple[SnapshotState, tuple[TableProgress, ...]]:
        """The state with the tables to read, and the other tables: those that the configuration does not have any more, which
        it had when the snapshot was begun. They stay in what is stored, so that the snapshot reads their rest if they are
        captured again before it is complete. Each that is not read to its end is logged as a warning."""
        kept: list[TableProgress] = []
        left_out: list[TableProgress] = []
        for table in state.tables:
            found = self._databases.names.table(table.table)
            captured = self._captured(found)
            reads = captured and self._reads(found)
            (kept if reads else left_out).append(table)
            if not reads and not table.completed:
                gone = "not in snapshot.include.collection.list" if captured else "not captured"
                _log.warning("%s is %s any more: what is left of its rows is not read", table.table, gone)
        return (replace(state, tables=tuple(kept)) if left_out else state), tuple(left_out)

    def _plan(self) -> Generator[Event, None, SnapshotState]:
        """Fix the SCN, yield the structures, the notification STARTED and a Progress with the state to begin with, and return
        that state. Connects for that."""
        connection = self._databases.connect_first()
        try:
            fixed = self._fix(connection)
            start = self._start_position(fixed.scn, fixed.mine_from)
            _log.info(
                "snapshot of %d tables as of SCN %s; streaming will start from %s", len(fixed.schemas), fixed.scn, start
            )
            self._check_names([schema.id for schema in fixed.schemas])
            yield from describe(self._tables, fixed.schemas, fixed.scn, self._now_us(), ddl=fixed.ddl, reads=self._reads)
            wanted = [schema for schema in fixed.schemas if self._reads(schema.id)]
            state = SnapshotState(fixed.scn, start.to_json(), tuple(self._in_order(connection, wanted, fixed.scn)))
        finally:
            connection.close()
        yield from (InitialNotices(now=self._now).started(), Progress(None, Scn(0), 0, snapshot=state))
        return state

    def _deferred(self, state: SnapshotState) -> SignalState | None:
        """Ad hoc snapshots of the tables that could not be read as of the SCN: an incremental one, and a blocking one of tables
        with a SELECT of the user's, which an incremental one cannot read. None when all were read."""
        left = [TableRead(t.table, self._select(self._table(t.table)) or "") for t in state.tables if t.deferred]
        snapshots = []
        for suffix, tables in (("", [t for t in left if not t.condition]), ("-selects", [t for t in left if t.condition])):
            collections = tuple(self._databases.names.full(t.table) for t in tables)
            if tables:
                snapshots.append(
                    AdHocSnapshot(f"initial-{state.scn}{suffix}", bool(suffix), collections, tuple(tables), initial=True)
                )
        return SignalState(tuple(snapshots)) if snapshots else None

    def _in_order(self, connection: oracledb.Connection, schemas: Sequence[TableSchema], scn: int) -> list[TableProgress]:
        """The tables in the order of reading, with their expected rows: by statistics, else counted; None when neither is
        possible."""
        found = []
        for inside, some in self._databases.by_database(connection, schemas):
            statistics = read_row_statistics(inside, [schema.id for schema in some])
            for schema in some:
                count = statistics.get(schema.id)
                expected = count_rows(inside, schema.id, scn) if count is None else count
                found.append(TableProgress(self._databases.names.of(schema.id), 0, self._chunks(inside, schema), expected))
        order = self._config.snapshot_tables_order_by_row_count
        if order != "disabled":
            found.sort(key=lambda table: table.expected_rows or 0, reverse=order == "descending")
        return found

    def _chunks(self, connection: oracledb.Connection, schema: TableSchema) -> tuple[ChunkProgress, ...]:
        """The ranges of a table that are read side by side; a single one when there is one thread, or a SELECT of the user's,
        or the table is small."""
        config = self._config
        whole = config.legacy_snapshot_max_threads or config.snapshot_max_threads == 1 or self._select(schema)
        wanted = 1 if whole else config.snapshot_max_threads * config.snapshot_max_threads_multiplier
        cuts = cuts_of(connection, schema.id, wanted)
        return tuple(ChunkProgress(first, until) for first, until in zip((None, *cuts), (*cuts, None), strict=True))

    def _check_names(self, captured: Sequence[TableId]) -> None:
        """Log a warning for each pattern of `snapshot.include.collection.list` that matches no captured table."""
        self._check_selects(captured)
        for pattern in self._config.snapshot_include_collection_list:
            if not any(names(pattern, table) for table in captured):
                _log.warning("snapshot.include.collection.list: %s is no captured table", pattern)

    def _check_selects(self, captured: Sequence[TableId]) -> None:
        """Raise ConfigError when a SELECT is given for what is no captured table: all rows of the table that is meant would be
        published."""
        if problems := [problem for problem, _ in unmatched(self._selects, captured)]:
            raise ConfigError(problems, hint="No row was read. Correct the names, or leave them out.")

    def _reads(self, table: TableId) -> bool:
        """Whether the table's rows are wanted, and not its structure only, by `snapshot.include.collection.list`."""
        patterns = self._config.snapshot_include_collection_list
        return not patterns or any(names(pattern, table) for pattern in patterns)

    def _select(self, table: TableSchema) -> str | None:
        """The SELECT of the user's that a table is read by; None when all of it is read."""
        return own_select(self._selects, self._query, table.id, [one.id for one in self._tables], lambda: table)

    def _table(self, name: str) -> TableSchema:
        found = self._tables.find(self._databases.names.table(name))
        if found is None:
            raise SchemaHistoryError(
                f"the schema history lacks {name}, whose snapshot was begun",
                hint="Remove the connector's offset and schema history, and take a new snapshot.",
            )
        return found

    def _scan(self, name: str, scn: int) -> Scan:
        found = self._table(name)
        select = self._select(found)
        if select and not found.key:
            raise ConfigError([f"{name} is read by a SELECT, and has no key; rows of a SELECT have no ROWID"])
        return Scan(found, scn, self._config.snapshot_fetch_size, lobs=self._lobs, select=select, as_columns=True)

    def _now_us(self) -> int:
        return int(self._now() * 1_000_000)


def _with_tables(event: Event, left_out: tuple[TableProgress, ...]) -> Event:
    """The same event, but a Progress with a snapshot as a copy that has these tables, too, after the others."""
    if not left_out or not isinstance(event, Progress) or event.snapshot is None:
        return event
    return replace(event, snapshot=replace(event.snapshot, tables=(*event.snapshot.tables, *left_out)))
