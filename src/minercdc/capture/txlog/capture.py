"""The stream of `txlog`: poll after poll, each in one read-only transaction over all tables.

    present SCN -> coalesce the log -> read-only transaction -> rows changed after `since`, a chunk of them when many wait ->
    events by (SCN, TXN)

Everything committed up to the present SCN is coalesced and in the transaction's snapshot, so after the events the place is that
SCN, or the chunk's end. What was committed since waits, with the rows that it changed.
A row comes under the last transaction that changed it, with its values as of the poll.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from time import monotonic

import oracledb

from minercdc.capture.database_identity import identified
from minercdc.capture.flashback.dictionary import Dictionary
from minercdc.capture.flashback.shapes import announce, follow, version_of
from minercdc.capture.position_json import loaded
from minercdc.capture.txlog.alert import AlertWatch
from minercdc.capture.txlog.names import PURGED, SINCE, SOURCES, view_of
from minercdc.capture.txlog.noted import read_since
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.capture.txlog.purge import gap_after, purged_up_to
from minercdc.capture.txlog.reading import ChangedRow, LogReader, microseconds
from minercdc.config.sections import CaptureConfig
from minercdc.config.source.table_names import given_for
from minercdc.config.source.txlog import SoftDelete, TxlogConfig
from minercdc.errors import ConfigError, SourceError, UnknownSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.present_scn import PresentScn
from minercdc.oracle.scn import host_clock
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Scn, TransactionInfo
from minercdc.stream.offset import JsonValue, Position

_log = logging.getLogger(__name__)

_VIEWS = "SELECT TABLE_NAME, COLUMN_NAME FROM ALL_TAB_COLUMNS WHERE OWNER = :owner AND TABLE_NAME LIKE 'SY$%'"
_VALID = "SELECT OBJECT_NAME FROM ALL_OBJECTS WHERE OWNER = :owner AND OBJECT_TYPE = 'VIEW' AND STATUS = 'VALID' AND OBJECT_NAME LIKE 'SY$%'"
_AGAIN = 1 << 48
"""A transaction that an earlier run delivered in part is delivered again, as its rows may have changed since: under another
id each time, TXN and a multiple of this, since what the former id delivered is left out by the numbers of its rows."""
_STALE_US = 3_000_000  # how old an SCN may be that is not exact
_MOST_TIMES = 0xFFFF  # then ids begin again: only the last one must be another


@dataclass(frozen=True, slots=True)
class _Poll:
    """What a poll found.

    :param present: SCN read before it; all commits up to it are in the poll, unless `until` is given.
    :param until: SCN that the poll ends with, included, when it read one chunk only; None when it read all.
    :param rows: of each table, in the order of the tables' bits.
    :param zone_us: how far the database host's time is ahead of UTC, microseconds.
    :param time_us: when the poll began, microseconds since the epoch in UTC.
    :param complete_us: source time up to which all commits are in it; 0 when that is not known, as of a chunk.
    """

    present: int
    until: int | None
    rows: Sequence[tuple[TableSchema, list[ChangedRow]]]
    zone_us: int
    time_us: int
    complete_us: int


class TxlogCapture:
    """The `contracts.Capture` of `txlog`. `stream` opens a connection, and with `minercdc.txlog.alerts` a thread with another one
    (`AlertWatch`); it ends both.

    :param connect: opens a connection to where the tables are.
    :param tables: shapes known so far; kept in step with the views.
    :param mined: filter of the tables to read.
    :param database: first part of each TableId.
    :param split: id of the source transaction that an earlier run delivered in part, '' for none.
    """

    def __init__(
        self,
        connect: Callable[[], oracledb.Connection],
        tables: Tables,
        mined: TableFilter,
        config: TxlogConfig,
        shared: CaptureConfig,
        *,
        database: str,
        split: Callable[[], str] = lambda: "",
    ) -> None:
        self._connect, self._tables, self._config = connect, tables, config
        self._rules: dict[TableId, SoftDelete | None] = {}
        self._rules_of = -1  # generation of the tables
        self._mined = mined
        self._lobs = shared.lob_enabled
        self._tick = shared.poll_interval_ms / 1000
        self._split = split
        self._dictionary = Dictionary(mined, database, comments=tables.comments)
        self._present = PresentScn()
        self._connection = KeptConnection(connect)
        self._alerts: AlertWatch | None = None
        self._unseen: frozenset[TableId] = frozenset()
        self._left_out: dict[TableId, frozenset[str]] = {}
        self._unnoted: frozenset[TableId] = frozenset()
        self._purgeable = self._says_since = False

    def load_position(self, saved: Mapping[str, JsonValue]) -> TxlogPosition:
        """The position that `TxlogPosition.to_json` made `saved` of. Raises ConfigError for anything else, such as one of another
        adapter."""
        return loaded(TxlogPosition.from_json, saved, "txlog")

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events after `start`, until `stop` is set. See `contracts.Capture`. A poll follows the last one after
        `minercdc.txlog.interval.ms`, at once when more rows wait, and sooner when an alert comes. Each poll writes to the
        database and commits, as it has the log of transactions coalesced.

        :raises TypeError: `start` is of another adapter.
        :raises ConfigError: tables of several schemas are captured, a pattern took too long; or as `oracle.connect.connect`.
        :raises UnknownSourceError: the view of a table that was captured until now cannot be seen.
        :raises LogGapError: `start` is of another database or incarnation, or `minercdc txlog purge` removed transactions that are
            not delivered.
        :raises SourceError, PrerequisiteError: a view lacks a column of the key; or Oracle's other errors.
        :raises ValueDecodeError: a value does not fit its column's type, whatever the failure mode.
        """
        if not isinstance(start, TxlogPosition):
            raise TypeError(f"{type(start).__name__} is not a position of txlog")
        try:
            position = identified(self._connection.get(), start)
            while not stop.is_set():
                position, more = yield from self._polled(position, stop)
                due = monotonic() if more else monotonic() + self._config.minercdc_txlog_interval_ms / 1000
                while not stop.is_set() and (left := due - monotonic()) > 0:
                    if self._alerted(min(self._tick, left), stop):
                        break
                    yield Progress(position, Scn(position.since), 0)
        finally:
            self.close()

    def confirm(self, position: Position) -> None:
        """No effect: SY$TXLOG keeps what was noted, confirmed or not."""

    def close(self) -> None:
        """End the thread that waits for alerts, in 3 s at most, and close the connection; safe to call twice."""
        if self._alerts is not None:
            self._alerts.close()
            self._alerts = None
        self._connection.close()

    def _alerted(self, seconds: float, stop: StopFlag) -> bool:
        """Wait for so many seconds, or until an alert comes: then True. Without alerts a stop ends the wait, too."""
        if self._alerts is None:
            stop.wait(seconds)
            return False
        return self._alerts.wait(seconds)

    # ---- one poll ----

    def _polled(self, position: TxlogPosition, stop: StopFlag) -> Generator[Event, None, tuple[TxlogPosition, bool]]:
        """Events of one poll. Returns the position after it, and whether more rows wait; the position of the last
        transaction that was emitted when the stop came in between."""
        connection = self._connection.get()
        shapes = self._shapes(connection)
        if not shapes:
            yield Progress(position, Scn(position.since), 0)
            return position, False
        poll = self._poll(connection, shapes, position)
        for change, _ in list(follow(self._tables, shapes, position.since + 1, poll.time_us)):
            yield change
        for schema, rows in poll.rows:
            if rows and self._tables.find(schema.id) is None:
                yield announce(self._tables, schema, position.since + 1, poll.time_us)
        partial = self._split()
        for scn, txn, changed in _transactions(poll, position.place):
            if stop.is_set() and scn > position.scn:  # else more was committed at the SCN, which counts as delivered
                return position, False
            tx = _transaction(scn, _number(txn, partial), changed[0][1].noted_us - poll.zone_us)
            yield from self._events(changed, tx)
            position = replace(position, scn=scn, txn=txn)
            yield Progress(position, Scn(max(position.since, scn - 1)), tx.commit_us, committed=tx)
        since = max(poll.until if poll.until is not None else poll.present, position.since)
        position = replace(position, since=since) if position.scn > since else TxlogPosition(since, of=position.of)
        yield Progress(position, Scn(since), poll.complete_us)
        return position, poll.until is not None

    def _poll(
        self, connection: oracledb.Connection, shapes: Mapping[TableId, TableSchema], position: TxlogPosition
    ) -> _Poll:
        owner = self._owner(shapes)
        reader = LogReader(owner, self._config.minercdc_txlog_fetch_size, lobs=self._lobs)
        self._watch(owner)
        clock, zone = host_clock(connection)
        present = int(self._present.read(connection))
        if not self._present.is_exact:
            # A row that changes again every second or two would always be after an SCN of three seconds ago.
            reader.coalesce(connection)
            present = max(present, reader.newest(connection))
        reader.coalesce(connection)
        try:
            with oracle_errors("beginning a read-only transaction"), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
            if self._purgeable and (gap := gap_after(position, purged_up_to(connection, owner))):
                raise gap
            if self._says_since:
                self._warn_unnoted(read_since(connection, owner), position)
            until = reader.chunk_end(connection, position.since, present, self._config.minercdc_txlog_chunk_rows)
            end = present if until is None else until
            bits = reader.bits(connection)
            ordered = sorted(shapes.values(), key=lambda schema: (bits.get(schema.id.table, 1 << 10), schema.id))
            rows = [
                (schema, reader.read(connection, version_of(self._tables, schema), position.since, end))
                for schema in ordered
            ]
        finally:
            with suppress(oracledb.Error, OSError):
                connection.rollback()
        zone_us = int(zone.total_seconds()) * 1_000_000
        time_us = microseconds(clock) - zone_us
        complete_us = 0 if until is not None else time_us - (0 if self._present.is_exact else _STALE_US)
        return _Poll(present, until, rows, zone_us, time_us, complete_us)

    def _warn_unnoted(self, since: Mapping[str, int | None], position: TxlogPosition) -> None:
        """Log a warning for each table that was captured until now and whose trigger was missing, disabled or another since, once for
        as long as the log may lack transactions after `position`. `minercdc txlog purge` moves no SCN beyond it.

        :param since: as of `noted.read_since`.
        """
        found = frozenset(
            known.id
            for known in self._tables
            if known.id.table in since and ((scn := since[known.id.table]) is None or scn > position.whole_scn)
        )
        for table in sorted(found - self._unnoted):
            _log.warning(
                "%s: its trigger was missing, disabled or another version since SCN %d, so rows that were changed meanwhile may not have been"
                " captured; after minercdc txlog install CONFIG take an incremental snapshot of the table",
                table,
                position.whole_scn,
            )
        self._unnoted = found

    def _owner(self, shapes: Mapping[TableId, TableSchema]) -> str:
        owners = sorted({table.schema for table in shapes})
        if len(owners) > 1:
            raise ConfigError(
                [f"database.connection.adapter=txlog: tables of several schemas are captured: {', '.join(owners)}"],
                hint="Each schema has its own log of transactions: use one connector per schema.",
            )
        return owners[0]

    def _watch(self, owner: str) -> None:
        if self._config.minercdc_txlog_alerts and self._alerts is None:
            self._alerts = AlertWatch(self._connect, owner)

    def _shapes(self, connection: oracledb.Connection) -> dict[TableId, TableSchema]:
        """The captured tables that have a view, with those columns that it shows. A warning names a table without one,
        once for as long as it has none; so it does columns that a view does not show."""
        self._dictionary.refresh(connection)
        shown: dict[str, set[str]] = {}
        owners = {table.schema for table in self._dictionary.shapes}
        with oracle_errors("looking for the views"), connection.cursor() as cursor:
            for owner in sorted(owners):
                for view, column in cursor.execute(_VIEWS, {"owner": owner}):
                    shown.setdefault(f"{owner}.{view}", set()).add(column)
        self._purgeable, self._says_since = (
            any(name in shown.get(f"{owner}.{SOURCES}", ()) for owner in owners) for name in (PURGED, SINCE)
        )
        found: dict[TableId, TableSchema] = {}
        for table, schema in self._dictionary.shapes.items():
            columns = shown.get(f"{table.schema}.{view_of(table.table)}")
            if columns is not None:
                found[table] = _limited(schema, columns)
        unseen = frozenset(self._dictionary.shapes.keys() - found.keys())
        self._refuse_hidden(unseen)
        self._refuse_ungranted(connection)
        self._warn_left_out(found)
        for table in sorted(unseen - self._unseen):
            _log.warning(
                "%s has no view %s: its changes are not captured; run minercdc txlog install CONFIG",
                table,
                view_of(table.table),
            )
        self._unseen = unseen
        return found

    def _warn_left_out(self, found: Mapping[TableId, TableSchema]) -> None:
        left_out = {}
        for table, schema in found.items():
            shown = {column.name for column in schema.columns}
            if hidden := frozenset(one.name for one in self._dictionary.shapes[table].columns if one.name not in shown):
                left_out[table] = hidden
                if hidden != self._left_out.get(table):
                    _log.warning(
                        "%s: its view %s does not show %s, so changes come without: run minercdc txlog install CONFIG, and take an incremental"
                        " snapshot of the table for rows that were changed before",
                        table,
                        view_of(table.table),
                        ", ".join(sorted(hidden)),
                    )
        self._left_out = left_out

    def _refuse_ungranted(self, connection: oracledb.Connection) -> None:
        """Raises UnknownSourceError when a table that was captured until now is not in the dictionary, but its view is valid: then
        the table is there, and the user may not see it any more. The view of one that was dropped is invalid."""
        ids = {shape.object_id for shape in self._dictionary.shapes.values() if shape.object_id}
        gone = [
            known.id
            for known in self._tables
            if known.id not in self._dictionary.shapes
            and known.object_id not in ids
            and self._mined.includes(known.id.schema, known.id.table)
        ]
        valid: set[tuple[str, str]] = set()
        with oracle_errors("looking for the views"), connection.cursor() as cursor:
            for owner in sorted({table.schema for table in gone}):
                valid |= {(owner, name) for (name,) in cursor.execute(_VALID, {"owner": owner})}
        hidden = sorted(table for table in gone if (table.schema, view_of(table.table)) in valid)
        if hidden:
            raise UnknownSourceError(
                f"{', '.join(map(str, hidden))}: the table is not visible but its view {view_of(hidden[0].table)} is valid, so its"
                " changes would be passed over",
                hint="GRANT SELECT on the table to database.user.",
            )

    def _refuse_hidden(self, unseen: frozenset[TableId]) -> None:
        """Raises UnknownSourceError when one of these tables, which have no view, is in `tables` under its name or object id:
        it was captured until now, and its changes would be passed over."""
        ids = {number for table in unseen if (number := self._dictionary.shapes[table].object_id)}
        hidden = sorted(known.id for known in self._tables if known.id in unseen or (known.object_id in ids))
        if hidden:
            raise UnknownSourceError(
                f"{', '.join(map(str, hidden))}: the table exists but its view {view_of(hidden[0].table)} is not visible,"
                " so its changes cannot be read",
                hint="GRANT SELECT on the view to database.user, or run minercdc txlog install CONFIG.",
            )

    # ---- events ----

    def _events(self, rows: Sequence[tuple[TableSchema, ChangedRow]], tx: TransactionInfo) -> Iterator[Event]:
        known = [(self._tables.find(schema.id) or schema, changed) for schema, changed in rows]
        placed = [(schema, changed, self._is_deleted(schema, changed)) for schema, changed in known]
        # Another row may have the record key of one that is deleted.
        by_table = (sorted(some, key=lambda one: not one[2]) for _, some in groupby(placed, key=lambda one: one[0].id))
        for seq, (schema, changed, deleted) in enumerate(chain.from_iterable(by_table), 1):
            yield ChangeEvent(
                Op.DELETE if deleted else Op.UPDATE,
                schema,
                changed.row if deleted else None,
                None if deleted else changed.row,
                tx.commit_scn,
                tx.commit_us,
                tx,
                seq,
            )

    def _soft_delete(self, schema: TableSchema) -> SoftDelete | None:
        """The rule by which rows of a table count as deleted; None for none, and where the table does not have the rule's column: a
        warning says so if the rule names the table."""
        table = schema.id
        if self._tables.generation != self._rules_of:
            self._rules.clear()
            self._rules_of = self._tables.generation
        if table not in self._rules:
            rules = self._config.minercdc_txlog_soft_delete
            known = {table, *(one.id for one in self._tables)}
            own = given_for(rules, table, known)
            rule = own or rules.get("*")
            if rule is not None and all(one.name.upper() != rule.column.upper() for one in schema.columns):
                if own is not None:
                    _log.warning(
                        "minercdc.txlog.soft.delete: %s has no column %s, so none of its rows counts as deleted",
                        table,
                        own.column,
                    )
                rule = None
            self._rules[table] = rule
        return self._rules[table]

    def _is_deleted(self, schema: TableSchema, changed: ChangedRow) -> bool:
        rule = self._soft_delete(schema)
        if rule is None:
            return False
        for column, value in zip(schema.columns, changed.row, strict=True):
            if column.name.upper() == rule.column.upper():
                return isinstance(value, str) and value.rstrip() == rule.value
        return False


def _limited(schema: TableSchema, columns: set[str]) -> TableSchema:
    """The shape with those of its columns that `columns` names, which the view shows; the same object when it shows all."""
    kept = [place for place, column in enumerate(schema.columns) if column.name in columns]
    if len(kept) == len(schema.columns):
        return schema
    if not set(schema.key) <= set(kept):
        raise SourceError(
            f"{schema.id}: its view {view_of(schema.id.table)} does not show all columns of the key",
            hint="Run minercdc txlog install CONFIG.",
        )
    places = {place: at for at, place in enumerate(kept)}
    return replace(
        schema, columns=tuple(schema.columns[place] for place in kept), key=tuple(places[place] for place in schema.key)
    )


def _transactions(poll: _Poll, after: tuple[int, int]) -> Iterator[tuple[int, int, list[tuple[TableSchema, ChangedRow]]]]:
    """Commit SCN, TXN and rows of each transaction after the place `after`, which is (commit SCN, TXN) too; in the order of
    both. The rows of a transaction come by table, then in the order they were read in."""
    rows = [(schema, row) for schema, found in poll.rows for row in found if (row.scn, row.txn) > after]
    rows.sort(key=lambda one: (one[1].scn, one[1].txn))
    for (scn, txn), changed in groupby(rows, key=lambda one: (one[1].scn, one[1].txn)):
        yield scn, txn, list(changed)


def _number(txn: int, partial: str) -> int:
    """The number of which a transaction's id is made: TXN; of the transaction with the id `partial`, which was delivered in
    part, another number than that id has, so that all of its rows come again.

    :param partial: '' for none.
    """
    before = int(partial, 16) if partial else -1
    if before % _AGAIN != txn % _AGAIN or before < 0:
        return txn
    return txn + _AGAIN * (before // _AGAIN % _MOST_TIMES + 1)


def _transaction(scn: int, txn: int, noted_us: int) -> TransactionInfo:
    """Facts of a transaction. Its id is the number `txn` as 16 hex digits; user and start are not known.

    :param noted_us: microseconds since the epoch in UTC, in place of the time of the commit, which is not known.
    """
    return TransactionInfo(f"{txn:016x}", Scn(0), Scn(scn), 0, noted_us, 0, None)
