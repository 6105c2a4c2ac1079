"""The stream: window after window over all tables.

    open       end = the present SCN; the tables are read in [next, end); the dictionary shows no DDL meanwhile, or they are read again
    Progress   the window's end, and which tables are not in it, are fixed: a replay has the same transactions with the same rows
    emit       transactions in order of (commit SCN, XID), each followed by its Progress
    close      Progress at the window's end: every commit below it is emitted

A transaction over several tables is whole, since all tables of a window are read up to the same SCN, which lies in the past.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from itertools import groupby
from time import monotonic

import oracledb

from minercdc.capture.flashback.demotion import demoted, promoted
from minercdc.capture.flashback.dictionary import Dictionary
from minercdc.capture.flashback.order import ordered
from minercdc.capture.flashback.position import FlashbackPosition, Place
from minercdc.capture.flashback.reading import Found, VersionReader, Window
from minercdc.capture.flashback.shapes import announce, follow, version_of
from minercdc.capture.flashback.tables_reader import Read, TablesReader
from minercdc.capture.flashback.version import Version
from minercdc.capture.flashback.window_end import WindowEnd
from minercdc.config.flashback import FlashbackConfig
from minercdc.config.sections import CaptureConfig
from minercdc.contracts import StopFlag
from minercdc.errors import ConfigError, MinerCdcError, SnapshotTooOldError
from minercdc.events import ChangeEvent, Event, Op, Progress, Scn, TransactionInfo
from minercdc.offset import JsonValue, Position
from minercdc.oracle.scn import host_clock
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables

_log = logging.getLogger(__name__)

_OPS = {"I": Op.CREATE, "U": Op.UPDATE, "D": Op.DELETE}
_TRIES = 5  # of a window, while DDL comes again and again


@dataclass(frozen=True, slots=True)
class _Opened:
    """A window that was read.

    :param position: of its beginning, with its end and without the tables that are not in it.
    :param before: what is emitted before its rows.
    :param transactions: in order.
    :param time_us: source time at which everything below its end was committed.
    """

    position: FlashbackPosition
    before: list[Event]
    transactions: list[tuple[Place, list[Version]]]
    time_us: int


class FlashbackCapture:
    """See `contracts.Capture`.

    :param connect: connects to where the tables are.
    :param tables: shapes known so far; kept in step with the dictionary.
    :param mined: filter of the tables to read.
    :param database: first part of each TableId.
    :param split: whether a transaction was delivered in part by an earlier run.
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
    ) -> None:
        self._connect = connect
        self._tables = tables
        self._config = config
        self._lobs = shared.lob_enabled
        self._tick = shared.poll_interval_ms / 1000
        self._split = split
        self._captured = replace(mined, also=frozenset(), _cache={})
        self._dictionary = Dictionary(mined, database)
        self._ends = WindowEnd(config)
        self._empty: set[TableId] = set()  # read from their creation on, and nothing was in them
        self._connection: oracledb.Connection | None = None
        self._reader: TablesReader | None = None
        self._is_first = True  # the window under way is the first of this run

    def load_position(self, saved: Mapping[str, JsonValue]) -> FlashbackPosition:
        """Back from `FlashbackPosition.to_json`. Raises ConfigError for anything else, such as the position of another adapter."""
        try:
            return FlashbackPosition.from_json(saved)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise ConfigError(
                [f"the stored offset is no position of flashback ({error!r})"],
                hint="database.connection.adapter was changed: use another connector name, or remove its offset.",
            ) from error

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events from `start` on, until `stop` is set. See `contracts.Capture`.

        :raises TypeError: `start` is of another adapter.
        :raises LogGapError: the database is at an earlier SCN than `start`.
        """
        if not isinstance(start, FlashbackPosition):
            raise TypeError(f"{type(start).__name__} is no position of flashback")
        position, self._is_first = start, True
        try:
            while not stop.is_set():
                due = monotonic() + self._config.minercdc_flashback_interval_ms / 1000
                position = yield from self._window(position, stop)
                self._is_first = False
                while not stop.is_set() and monotonic() < due:
                    stop.wait(min(self._tick, max(due - monotonic(), 0)))
                    yield self._idle(position)
        finally:
            self.close()

    def confirm(self, position: Position) -> None:
        """Nothing is kept for what is not confirmed."""

    def close(self) -> None:
        """See `contracts.Capture`."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._connection is not None:
            with suppress(oracledb.Error, OSError):
                self._connection.close()
            self._connection = None

    # ---- one window ----

    def _window(self, position: FlashbackPosition, stop: StopFlag) -> Generator[Event, None, FlashbackPosition]:
        """Events of one window; returns the position after it, or `position` when nothing could be read yet."""
        opened = yield from self._open(position, stop)
        if opened is None:
            yield self._idle(position)
            return position
        yield from opened.before
        position = opened.position
        if opened.before or opened.transactions:
            yield self._progress(position, None, 0)
        for place, versions in opened.transactions:
            if stop.is_set():
                return position
            tx = _transaction(place, versions)
            yield from self._events(versions, tx)
            position = replace(position, done=place)
            yield self._progress(position, tx, tx.commit_us)
        position = replace(position, next=position.end, end=0, done=None)
        yield Progress(position, Scn(position.next - 1), opened.time_us)
        return position

    def _open(self, position: FlashbackPosition, stop: StopFlag) -> Generator[Event, None, _Opened | None]:
        """Read a window; None when it is empty, DDL does not stop, or `stop` is set."""
        connection, reader = self._sessions()
        clock, zone = host_clock(connection)
        utc_us = int((clock - zone).replace(tzinfo=UTC).timestamp() * 1_000_000)
        end, is_exact = self._ends.choose(connection, position)
        if end <= position.next:
            return None
        window = Window(position.next, end, int(zone.total_seconds()) * 1_000_000)
        reader.outcomes.clear()
        for _ in range(_TRIES):
            for table in self._dictionary.refresh(connection):
                reader.outcomes.pop(table, None)
            for _ in reader.read(self._reads(position, window, reader), self._tick):
                if stop.is_set():
                    return None
                yield self._idle(position)
            if not self._dictionary.altered_since(connection):
                break
        else:
            _log.warning("tables had DDL whenever the window from SCN %d on was read; it is read again", position.next)
            return None
        delay_us = 0 if is_exact else 3_000_000
        return self._judged(replace(position, end=end), not position.end, reader, utc_us - delay_us)

    def _reads(self, position: FlashbackPosition, window: Window, reader: TablesReader) -> dict[TableId, Read]:
        """How to read each table that is in the window and not read yet."""
        reads: dict[TableId, Read] = {}
        for table, shape in self._dictionary.shapes.items():
            replayed = position.end and (str(table) in position.demoted or self._is_new(table, shape))
            if table in reader.outcomes or replayed:
                continue
            one = VersionReader(
                version_of(self._tables, shape),
                self._config.minercdc_flashback_fetch_size,
                lobs=self._lobs,
                last=self._config.minercdc_flashback_versions == "last",
            )
            reads[table] = partial(one.read_new if self._is_new(table, shape) else one.read, window=window)
        return reads

    def _is_new(self, table: TableId, shape: TableSchema) -> bool:
        return (
            self._is_captured(table)
            and self._tables.find(table) is None
            and self._tables.find_object(shape.object_id) is None
            and table not in self._empty
        )

    def _is_captured(self, table: TableId) -> bool:
        return self._captured.includes(table.schema, table.table)

    def _judged(self, position: FlashbackPosition, is_new: bool, reader: TablesReader, time_us: int) -> _Opened:
        """What comes of the tables that were read.

        :param is_new: the window was not opened by an earlier run.
        :raises MinerCdcError: a table cannot be read for another reason than undo or DDL.
        """
        scn = position.done[0] + 1 if position.done else position.next
        before: list[Event] = []
        failed: dict[TableId, str] = {}
        for change, created in follow(self._tables, self._dictionary.shapes, scn, time_us):
            before.append(change)
            if created is not None:
                failed[created.id] = "it was dropped and created again"
        found: dict[TableId, Found] = {}
        for table, outcome in sorted(reader.outcomes.items()):
            if table not in self._dictionary.shapes:
                continue  # dropped since
            if isinstance(outcome, SnapshotTooOldError):
                failed.setdefault(table, outcome.message)
            elif isinstance(outcome, MinerCdcError):
                raise outcome
            elif outcome.older:
                failed.setdefault(table, "it has rows from before the window")
            else:
                found[table] = outcome
        for table in failed:
            found.pop(table, None)
        transactions = self._transactions(found, position.done)
        if self._is_first and not is_new and failed and transactions and self._split():
            # Part of this transaction may be delivered, by numbers that counted the rows of a table that is missing now.
            failed |= {
                version.schema.id: "a transaction that was delivered in part cannot be read again"
                for version in transactions[0][1]
            }
            found = {table: one for table, one in found.items() if table not in failed}
            transactions = self._transactions(found, position.done)
        before += self._announced(found, failed, scn, time_us)
        demoted_now = frozenset(str(table) for table in failed if self._is_captured(table))
        before += self._phases(position, failed, found, scn, time_us)
        left = demoted_now if is_new else position.demoted | demoted_now
        return _Opened(replace(position, demoted=left), before, transactions, time_us)

    def _announced(
        self, found: Mapping[TableId, Found], failed: Mapping[TableId, str], scn: int, time_us: int
    ) -> Iterator[Event]:
        """Tables that are new, and have rows; those without are announced with their first one."""
        for table, shape in sorted(self._dictionary.shapes.items()):
            if self._tables.find(table) is not None:
                continue
            if (table in failed and self._is_captured(table)) or (table in found and found[table].versions):
                self._empty.discard(table)
                yield announce(self._tables, shape, scn, time_us)
            elif table in found:
                self._empty.add(table)

    def _phases(
        self,
        position: FlashbackPosition,
        failed: Mapping[TableId, str],
        found: Mapping[TableId, Found],
        scn: int,
        time_us: int,
    ) -> Iterator[Event]:
        for table, reason in sorted(failed.items()):
            if not self._is_captured(table):
                _log.warning("%s: its rows in the window from SCN %d on cannot be read: %s", table, position.next, reason)
            elif str(table) not in position.demoted:
                yield from demoted(table, scn, reason, time_us)
        for table in sorted(found):
            if str(table) in position.demoted:
                yield from promoted(table, scn, time_us)

    def _transactions(self, found: Mapping[TableId, Found], done: Place | None) -> list[tuple[Place, list[Version]]]:
        """Transactions after `done`, in order; the changes of each in theirs."""
        versions = [
            version for one in found.values() for version in one.versions if (version.scn, version.xid) > (done or (0, ""))
        ]
        versions.sort(key=_place)
        strict, keys = self._config.minercdc_flashback_order == "strict", self._dictionary.foreign_keys
        return [(place, ordered(list(changes), keys, strict=strict)) for place, changes in groupby(versions, key=_place)]

    # ---- events ----

    def _events(self, versions: list[Version], tx: TransactionInfo) -> Iterator[Event]:
        for seq, version in enumerate(versions, 1):
            schema = self._tables.find(version.schema.id) or version.schema
            yield ChangeEvent(
                *(_OPS[version.op], schema, version.before, version.after, Scn(version.scn), version.time_us, tx, seq),
                row_id=version.row_id,
            )

    def _progress(self, position: FlashbackPosition, tx: TransactionInfo | None, time_us: int) -> Progress:
        """Within a window. With the last versions only, what is delivered is complete at its end and not before."""
        scn = position.next
        if position.done and self._config.minercdc_flashback_versions == "all":
            scn = position.done[0]
        return Progress(position, Scn(scn - 1), time_us, committed=tx)

    def _idle(self, position: FlashbackPosition) -> Progress:
        return self._progress(position, None, 0)

    def _sessions(self) -> tuple[oracledb.Connection, TablesReader]:
        if self._connection is None:
            self._connection = self._connect()
        if self._reader is None:
            self._reader = TablesReader(self._connect, self._config.minercdc_flashback_threads)
        return self._connection, self._reader


def _place(version: Version) -> Place:
    return version.scn, version.xid


def _transaction(place: Place, versions: list[Version]) -> TransactionInfo:
    scn, xid = place
    return TransactionInfo(xid, Scn(0), Scn(scn), 0, versions[0].time_us, 0, None)
