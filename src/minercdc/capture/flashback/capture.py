"""The stream of `flashback`: window after window over all tables.

    open       end = the present SCN, or sooner; the tables are read in [next, end), again if the dictionary shows DDL meanwhile
    Progress   the window's end, and which tables are not in it, are fixed: a replay reads the others up to the same SCN
    emit       transactions in order of (commit SCN, XID), each followed by its Progress; then rows that were read incrementally
    close      Progress at the window's end: every commit below it is emitted

A transaction over several tables is whole, since all tables of a window are read up to the same SCN, which lies in the past.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from itertools import groupby
from time import monotonic

import oracledb

from minercdc.capture.database_identity import identified
from minercdc.capture.flashback.demotion import name_of, read_incrementally
from minercdc.capture.flashback.dictionary import Dictionary
from minercdc.capture.flashback.incremental import IncrementalReader
from minercdc.capture.flashback.order import ordered
from minercdc.capture.flashback.position import FlashbackPosition, Place
from minercdc.capture.flashback.reading import Found, VersionReader, Window
from minercdc.capture.flashback.shapes import version_of
from minercdc.capture.flashback.table_windows import Failure, Phases
from minercdc.capture.flashback.tables_reader import Read, TablesReader
from minercdc.capture.flashback.undo import Stability, UndoWatch
from minercdc.capture.flashback.version import KeyColumns, Version
from minercdc.capture.flashback.window_end import WindowEnd
from minercdc.capture.position_json import loaded
from minercdc.config.sections import CaptureConfig
from minercdc.config.source.flashback import FlashbackConfig, Strategy
from minercdc.config.source.table_names import given_for
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.scn import host_clock
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Scn, SnapshotMark, TransactionInfo
from minercdc.stream.offset import JsonValue, Position

_log = logging.getLogger(__name__)

_OPS = {"I": Op.CREATE, "U": Op.UPDATE, "D": Op.DELETE}
_TRIES = 5  # of a window, while DDL comes again and again


@dataclass(frozen=True, slots=True)
class _Opened:
    """A window that was read, and what is to be emitted of it.

    :param position: of its beginning, with its end; `demoted` has the tables that are not in it.
    :param before: what is emitted before its rows.
    :param transactions: after `position.done`, in order of commit SCN and XID; the changes within each are not ordered yet.
    :param incremental: what was read of demoted tables, as of the window's end.
    :param after: `FlashbackPosition.demoted` once the window is emitted.
    :param time_us: source time at which everything below its end was committed, microseconds since the epoch in UTC.
    """

    position: FlashbackPosition
    before: list[Event]
    transactions: list[tuple[Place, list[Version]]]
    incremental: Mapping[TableId, Found]
    after: Mapping[str, int]
    time_us: int


class FlashbackCapture:
    """The `contracts.Capture` of `flashback`. `stream` opens a connection, and threads with one each (`TablesReader`); it
    ends them all.

    :param connect: opens a connection to where the tables are.
    :param tables: shapes known so far; kept in step with the dictionary.
    :param mined: filter of the tables to read.
    :param database: first part of each TableId.
    :param split: whether a transaction was delivered in part by an earlier run.
    :param record_key: by which readers know a table's rows.
    """

    def __init__(
        self,
        connect: Callable[[], oracledb.Connection],
        tables: Tables,
        mined: TableFilter,
        config: FlashbackConfig,
        shared: CaptureConfig,
        *,
        database: str,
        split: Callable[[], bool] = lambda: False,
        record_key: KeyColumns = lambda schema: schema.key,
    ) -> None:
        self._connect = connect
        self._tables = tables
        self._config = config
        self._lobs = shared.lob_enabled
        self._tick = shared.poll_interval_ms / 1000
        self._split = split
        self._record_key = record_key
        self._captured = replace(mined, also=frozenset(), _cache={})
        self._dictionary = Dictionary(mined, database, comments=tables.comments)
        self._ends = WindowEnd(config)
        self._undo = UndoWatch(config)
        self._stability = Stability()
        self._too_slow: TableId | None = None
        self._took = 0.0  # seconds of reading the last window
        self._begun_us: int | None = None  # clock of the source when the last window was opened: its end
        self._phases = Phases(tables, self._is_captured, self._stability)
        self._cyclic: tuple[TableId, ...] = ()
        self._connection = KeptConnection(connect)
        self._reader: TablesReader | None = None

    def load_position(self, saved: Mapping[str, JsonValue]) -> FlashbackPosition:
        """The position that `FlashbackPosition.to_json` made `saved` of. Raises ConfigError for anything else, such as one of
        another adapter."""
        return loaded(FlashbackPosition.from_json, saved, "flashback")

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events after `start`, until `stop` is set. See `contracts.Capture`. A window begins
        `minercdc.flashback.interval.ms` after the last one began, but not sooner after its end than it took to read; at
        once when it ended before the present.

        :raises TypeError: `start` is of another adapter.
        :raises LogGapError: `start` is of another database or incarnation, or the database is at an earlier SCN.
        :raises SourceError, PrerequisiteError: Oracle's other errors. Those of reading a single table are not raised, except a
            lost connection (TransientSourceError).
        :raises ConfigError: as `oracle.connect.connect`, or a pattern took too long.
        """
        if not isinstance(start, FlashbackPosition):
            raise TypeError(f"{type(start).__name__} is not a position of flashback")
        try:
            position = identified(self._connection.get(), start)
            while not stop.is_set():
                due, self._took = monotonic() + self._config.minercdc_flashback_interval_ms / 1000, 0.0
                position = yield from self._window(position, stop)
                due = 0.0 if self._ends.is_cut else max(due, monotonic() + self._took)
                while not stop.is_set() and monotonic() < due:
                    stop.wait(min(self._tick, max(due - monotonic(), 0)))
                    yield self._idle(position)
        finally:
            self.close()

    def confirm(self, position: Position) -> None:
        """No effect: undo is kept by its age, whatever is confirmed."""

    def close(self) -> None:
        """End the threads and close the connections, as `TablesReader.close`, which waits a few seconds at most; safe to call
        twice."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._connection.close()

    # ---- one window ----

    def _window(self, position: FlashbackPosition, stop: StopFlag) -> Generator[Event, None, FlashbackPosition]:
        """Events of one window. Returns the position after it; that of the last transaction that was emitted when the
        stop came in between; `position` when nothing could be read yet."""
        opened = yield from self._open(position, stop)
        if opened is None:
            yield self._idle(position)
            return position
        yield from opened.before
        position = opened.position
        if opened.before or opened.transactions or opened.incremental:
            yield self._progress(position, None, 0)
        for place, versions in opened.transactions:
            if stop.is_set() and not (position.done and position.done[0] == place[0]):  # else that SCN counts as delivered
                return position
            tx = _transaction(place, versions)
            yield from self._events(self._ordered(versions), tx)
            position = replace(position, done=place)
            yield self._progress(position, tx, tx.commit_us)
        for table, found in sorted(opened.incremental.items()):
            yield from self._rows(table, found, position.end - 1, opened.time_us)
        position = FlashbackPosition(position.end, demoted=opened.after, of=position.of)
        # The time is the present, of which a window that was cut is not the end.
        yield Progress(position, Scn(position.next - 1), 0 if self._ends.is_cut else opened.time_us)
        return position

    def _open(self, position: FlashbackPosition, stop: StopFlag) -> Generator[Event, None, _Opened | None]:
        """Read the window that begins at `position.next`; yields idle Progress meanwhile. None when it is empty, DDL does not
        stop (with a warning), or `stop` is set; else `tables` has the present shapes then."""
        connection, reader = self._sessions()
        clock, zone = host_clock(connection)
        utc_us = int((clock - zone).replace(tzinfo=UTC).timestamp() * 1_000_000)
        end, is_exact = self._ends.choose(connection, position)
        if end <= position.next:
            return None
        window = Window(position.next, end, int(zone.total_seconds()) * 1_000_000)
        self._undo.look(connection)
        begun = monotonic()
        reader.outcomes.clear()
        reader.seconds.clear()
        for _ in range(_TRIES):
            for table in self._dictionary.refresh(connection):
                reader.outcomes.pop(table, None)
            self._warn_of_circles()
            for _ in reader.read(self._reads(position, window, reader), self._tick):
                if stop.is_set():
                    return None
                yield self._idle(position)
            if not self._dictionary.altered_since(connection):
                break
        else:
            _log.warning(
                "tables had DDL during each reading of the window from SCN %d on; the window is read again", position.next
            )
            return None
        delay_us = 0 if is_exact else 3_000_000
        self._watch(utc_us, begun, reader)
        return self._judged(position, end, reader, utc_us - delay_us)

    def _reads(self, position: FlashbackPosition, window: Window, reader: TablesReader) -> dict[TableId, Read]:
        """How to read each table that is in the window, by versions or incrementally, and has no outcome in `reader` yet."""
        reads: dict[TableId, Read] = {}
        for table, shape in self._dictionary.shapes.items():
            since, is_new = position.demoted.get(name_of(table)), self._phases.is_new(table, shape)
            if table in reader.outcomes or (position.end and (since == 0 or is_new)):
                continue
            if since and self._phases.reads_incrementally(table, position):
                reads[table] = partial(self._incremental(shape).read, window=window, since=since)
                continue
            one = VersionReader(
                version_of(self._tables, shape),
                self._config.minercdc_flashback_fetch_size,
                lobs=self._lobs,
                last=self._config.minercdc_flashback_versions == "last",
                record_key=self._record_key,
            )
            reads[table] = partial(one.read_new if is_new else one.read, window=window)
        return reads

    def _incremental(self, shape: TableSchema) -> IncrementalReader:
        config = self._config
        return IncrementalReader(
            version_of(self._tables, shape),
            given_for(config.minercdc_flashback_incremental, shape.id, self._dictionary.shapes) or Strategy(),
            config.minercdc_flashback_incremental_overlap_ms,
            config.minercdc_flashback_fetch_size,
            lobs=self._lobs,
        )

    def _warn_of_circles(self) -> None:
        cyclic = self._dictionary.foreign_keys.cyclic
        if cyclic != self._cyclic and cyclic and self._config.minercdc_flashback_order == "strict":
            names = ", ".join(map(str, cyclic))
            _log.warning(
                "foreign keys of %s are circular: some rows are delivered before the rows that they refer to", names
            )
        self._cyclic = cyclic

    def _watch(self, utc_us: int, begun: float, reader: TablesReader) -> None:
        """Look how old the window's start was when it had been read, and set `_too_slow` to the table that is to leave the
        windows for that, None for none; and `_took` to the seconds of reading.

        :param utc_us: time of the source when the window was opened, microseconds since the epoch in UTC.
        :param begun: monotonic seconds at which reading began.
        """
        self._took = took = monotonic() - begun
        age = took if self._begun_us is None else took + (utc_us - self._begun_us) / 1_000_000
        self._begun_us = utc_us
        self._too_slow = self._undo.too_slow(age, reader.seconds)

    def _is_captured(self, table: TableId) -> bool:
        return self._captured.includes(table.schema, table.table)

    def _judged(self, position: FlashbackPosition, end: int, reader: TablesReader, time_us: int) -> _Opened:
        """What is to be emitted of the tables that were read in [position.next, end). Brings `tables` in line with the
        dictionary, and logs tables that are demoted or promoted."""
        scn = position.done[0] + 1 if position.done else position.next
        phases, shapes = self._phases, self._dictionary.shapes
        judged = phases.judge(position, shapes, reader.outcomes, scn, time_us)
        transactions = self._transactions(judged.found, position.done)
        if position.end and judged.failed and transactions and self._split():
            # Part of this transaction may be delivered, by numbers that counted the rows of a table that is missing now.
            for version in transactions[0][1]:
                reason = "a transaction that was delivered in part cannot be read again in full"
                judged.failed.setdefault(version.schema.id, Failure(reason))
                judged.found.pop(version.schema.id, None)
            transactions = self._transactions(judged.found, position.done)
        left = phases.left_out(judged, position)
        before = [*judged.changes, *phases.announced(judged, shapes, scn, time_us)]
        before += phases.changed(judged, position, scn, time_us)
        after = {**left, **{name_of(table): end for table in judged.incremental}}
        for table in judged.incremental:
            self._stability.note(table, reader.seconds.get(table, 0.0))
        slow = self._too_slow
        if slow is not None and slow in judged.found and self._is_captured(slow):
            before += read_incrementally(slow, end, "undo would run out before its versions are read", time_us)
            after[name_of(slow)] = end
        opened = replace(position, end=end, demoted=left)
        return _Opened(opened, before, transactions, judged.incremental, after, time_us)

    def _transactions(self, found: Mapping[TableId, Found], done: Place | None) -> list[tuple[Place, list[Version]]]:
        """Transactions after `done` (None for all), in order of commit SCN and XID; their changes are not ordered yet."""
        after = done or (0, "")
        versions = [version for one in found.values() for version in one.versions if _place(version) > after]
        versions.sort(key=_place)
        return [(place, list(changes)) for place, changes in groupby(versions, key=_place)]

    def _ordered(self, versions: list[Version]) -> list[Version]:
        strict = self._config.minercdc_flashback_order == "strict"
        return ordered(versions, self._dictionary.foreign_keys, strict=strict, record_key=self._record_key)

    # ---- events ----

    def _events(self, versions: list[Version], tx: TransactionInfo) -> Iterator[Event]:
        for seq, version in enumerate(versions, 1):
            schema = self._tables.find(version.schema.id) or version.schema
            yield ChangeEvent(
                _OPS[version.op],
                schema,
                version.before,
                version.after,
                Scn(version.scn),
                version.time_us,
                tx,
                seq,
                row_id=version.row_id,
            )

    def _rows(self, table: TableId, found: Found, scn: int, time_us: int) -> Iterator[Event]:
        """READ events of what an incremental reading found: rows without their transaction. Nothing when `tables` does not
        have the table."""
        schema = self._tables.find(table)
        if schema is not None:
            for row_id, row in found.rows:
                yield ChangeEvent(
                    Op.READ, schema, None, row, Scn(scn), time_us, None, 0, row_id, snapshot=SnapshotMark.INCREMENTAL
                )

    def _progress(self, position: FlashbackPosition, tx: TransactionInfo | None, time_us: int) -> Progress:
        """Progress within a window, after `tx`; an idle one for None. With the last versions only, what is delivered is
        complete at the window's end and not before, so its `complete_scn` is that of the window before."""
        scn = position.next
        if position.done and self._config.minercdc_flashback_versions == "all":
            scn = position.done[0]
        return Progress(position, Scn(scn - 1), time_us, committed=tx)

    def _idle(self, position: FlashbackPosition) -> Progress:
        return self._progress(position, None, 0)

    def _sessions(self) -> tuple[oracledb.Connection, TablesReader]:
        connection = self._connection.get()
        if self._reader is None:
            self._reader = TablesReader(self._connect, self._config.minercdc_flashback_threads)
        return connection, self._reader


def _place(version: Version) -> Place:
    return version.scn, version.xid


def _transaction(place: Place, versions: list[Version]) -> TransactionInfo:
    scn, xid = place
    return TransactionInfo(xid, Scn(0), Scn(scn), 0, versions[0].time_us, 0, None)
