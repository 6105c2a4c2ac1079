"""Turns the rows of a committed transaction into ChangeEvents.

Text is parsed here, after the COMMIT, and not when it is read: what was rolled back costs nothing, and what was mined
again after a restart is dropped before old text meets a newer shape of its table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from minercdc.capture.logminer.buffer.row_ids import with_row_ids
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.lobs.lob_change import Assembled
from minercdc.capture.logminer.lobs.lob_rows import LargeRowAssembler
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder, RowChange
from minercdc.capture.logminer.sql_redo.native_scan import LONGEST_RUN, RowScanner
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.logminer.tables.partitions import is_of_temporary_table, is_unnamed
from minercdc.capture.logminer.tables.unplaced import Unplaced, place
from minercdc.errors import DecodeError, SchemaMismatchError, UnsupportedRowError
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, ChangeRun, Op, Scn, TransactionInfo, UndecodableRow
from minercdc.values.document import LOG_JSON
from minercdc.values.image import Encoding

_log = logging.getLogger(__name__)

_OPS = {OpCode.INSERT: Op.CREATE, OpCode.UPDATE: Op.UPDATE, OpCode.DELETE: Op.DELETE}

OnFailure = Literal["suspend", "fail", "warn", "skip"]
# Tables whose rows in a transaction are not looked at; see `pipeline.suspension`.
Unread: TypeAlias = Callable[[TransactionInfo], frozenset[str]]
_NONE: Final[frozenset[str]] = frozenset()
_NOT_LOOKED_UP: Final = object()

# Committed before all others: every suspended table is one whose rows in it are not looked at.
_BEFORE_ALL: Final = TransactionInfo("", Scn(0), Scn(-1), 0, 0, 0, None)


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """How a `TransactionDecoder` decodes.

    :param on_failure: `event.processing.failure.handling.mode` for rows that cannot be decoded.
    :param include_redo_sql: copy the statement into each event.
    :param lobs: `lob.enabled`.
    :param runs: whether `TransactionDecoder.events` may give ChangeRuns; needs the native path, and has no effect where rows
        are read again, or with `include_redo_sql`.
    :param without_dictionary: rows come as stored bytes, and without the NULLs at their end.
    """

    on_failure: OnFailure = "fail"
    include_redo_sql: bool = False
    lobs: bool = False
    runs: bool = False
    without_dictionary: bool = False


_DEFAULTS: Final = DecodingOptions()


class TransactionDecoder:
    """Decodes the rows of committed transactions, with the shape their table has now; one for each container of a capture.

    DDL cannot pass an open transaction on its table, so at a COMMIT the current shape is that of the transaction's rows.

    :param reselect: completes each event in place; its errors pass through.
    :param unread: which tables are suspended; their rows come undecoded, and `seq` counts them.
    :ivar undecodable_rows: how many rows could not be decoded; `unsupported_rows`: how many of these LogMiner does not show.
    :ivar counters: counts LOBs that were changed in part while their value was not known.
    :ivar encoding: of the database, for rows that LogMiner prints as stored bytes.
    """

    def __init__(
        self,
        shapes: ShapeTracker,
        clock: HostClock,
        options: DecodingOptions = _DEFAULTS,
        *,
        counters: Counters | None = None,
        reselect: Callable[[ChangeEvent], None] | None = None,
        unread: Unread = lambda _: _NONE,
    ) -> None:
        self._reselect = reselect
        self._shapes = shapes
        self._clock = clock
        self._on_failure = options.on_failure
        self._include_redo_sql = options.include_redo_sql
        self._without_dictionary = options.without_dictionary
        self._lobs = options.lobs
        # By the names and the object id in the row; several may be one table's.
        self._decoders: dict[tuple[str | None, str | None, int], RedoDecoder | None] = {}
        self._decoder_of: dict[TableId, RedoDecoder] = {}
        self._generation = -1
        scans = options.runs and reselect is None and not options.include_redo_sql
        self._scanner = RowScanner() if scans else None
        self._unread_of = unread
        self._unread = _NONE
        self._warned: set[object] = set()
        self.encoding = Encoding()
        self.unsupported_rows = 0
        self.undecodable_rows = 0
        self.counters = counters or Counters()

    @property
    def scans(self) -> bool:
        """Whether `events` wants transactions of the native buffer."""
        return self._scanner is not None

    def events(self, transaction: Transaction, info: TransactionInfo) -> Iterator[ChangeEvent | ChangeRun | UndecodableRow]:
        """The transaction's changes in order, `seq` counting from 1; between them what could not be decoded.

        Rows of suspended tables come as UndecodableRows that `seq` counts; those that could not be decoded it does not count.
        Errors of `Transaction.replay` pass through.

        :raises DecodeError: a row could not be decoded, and `on_failure` is `fail`, or `suspend` and the row has no table to
            suspend.
        """
        unread = self._unread_of(info)
        if unread != self._unread:
            self._unread = unread
            self._forget()
        large = self._lobs and transaction.is_large
        if self._scanner is not None and not large:
            yield from self._scanned(self._scanner, transaction, info)
            return
        rows = transaction.replay() if large else with_row_ids(transaction.replay())
        yield from self._numbered(self._decoded(rows, large), info)

    def _scanned(
        self, scanner: RowScanner, transaction: Transaction, info: TransactionInfo
    ) -> Iterator[ChangeEvent | ChangeRun | UndecodableRow]:
        """Runs of rows that can be scanned, and between them the events of the others, each decoded by itself."""
        cursor, seq = scanner.cursor(transaction), 0
        while not cursor.is_done:
            self._renew()
            run = cursor.scan(info, seq + 1, LONGEST_RUN, self._clock.offset_us)
            if len(run):
                seq += len(run)
                yield ChangeRun(run)
            if not cursor.is_stuck:
                continue
            row = cursor.row()
            if self._learns(scanner, row):
                continue
            for event in self._numbered(self._decoded([row], False), info, seq):
                if isinstance(event, ChangeEvent) or event.counted:
                    seq = event.seq
                yield event
            cursor.skip()

    def scanner_of_whole_transactions(self) -> RowScanner | None:
        """The scanner that may take transactions without `events`, up to the next DDL or event; None when each has to go through
        `events`."""
        self._renew()
        return self._scanner if self._scanner is not None and not self._unread_of(_BEFORE_ALL) else None

    def _learns(self, scanner: RowScanner, row: LogMinerRow) -> bool:
        """Let the scanner know the row's table, if it does not; False when nothing changed."""
        if scanner.knows(row):
            return False
        try:
            decoder = self._decoder(row)
        except (DecodeError, Unplaced):
            return False
        if decoder is not None:
            scanner.learn(row, decoder)
        return decoder is not None

    def _numbered(
        self, decoded: Iterator[Decoded], info: TransactionInfo, seq: int = 0
    ) -> Iterator[ChangeEvent | UndecodableRow]:
        """The events of what was decoded; `seq` counts changes, and rows of suspended tables, on from the number given."""
        time_us = 0
        last_time: datetime | None = None
        for change in decoded:
            row = change.row
            if isinstance(change, _Failure):
                for table in change.tables or (self._shapes.captured(row.owner, row.table, row.object_id),):
                    yield self._left_out(change.error, row, table, info, seq)
                continue
            seq += 1
            if isinstance(change, _Unread):
                yield self._unread_row(row, info, seq)
                continue
            if row.timestamp != last_time:
                last_time = row.timestamp
                time_us = self._clock.utc_us(last_time)
            event = ChangeEvent(
                change.op,
                change.decoder.schema,
                change.before,
                change.after,
                Scn(row.scn),
                time_us,
                info,
                seq,
                change.row_id,
                row.rs_id.strip(),
                row.ssn,
                row.sql if self._include_redo_sql else None,
            )
            if change.unknown:
                event.has_unknown_large = True
            if self._reselect is not None:
                self._reselect(event)
            if change.unknown and event.reselected_scn is None:
                self._count_unknown(change)
            yield event

    def _decoded(self, rows: Iterable[LogMinerRow], large: bool) -> Iterator[Decoded]:
        """Changes, failures and unread rows of `rows`, in order; rows without event are left out. Each row stands for itself,
        but in a `large` transaction it may be a piece of a value."""
        assembler: LargeRowAssembler[_Failure | _Unread] | None = (
            LargeRowAssembler(self.encoding.charset, _Failure) if large else None
        )
        for row in rows:
            if row.code == OpCode.INTERNAL:
                if assembler is not None:
                    assembler.take_end(row)
                continue
            if is_of_temporary_table(row):
                continue
            decoded: Decoded | None = None
            try:
                decoder = self._decoder(row)
                if decoder is None:
                    if is_unnamed(row) and self._shapes.captured(row.owner, row.table, row.object_id) is None:
                        continue  # of no captured table, or of some that are all suspended
                    decoded = _Unread(row)
                elif assembler is not None and row.code in LARGE_CODES:
                    assembler.take_piece(row, decoder)
                else:
                    sql = row.sql
                    usual = sql is not None and not row.status and row.code != OpCode.UNSUPPORTED
                    if sql is not None and '"COL ' in sql and decoder.has_places(sql):
                        # INFO does not always say it.
                        change: RowChange | None = self._images(row, decoder)
                    else:
                        change = decoder.decode(sql) if usual else self._unusual(row, decoder)  # type: ignore[arg-type]
                    if change is None:
                        continue
                    op, before, after = change
                    if op is not _OPS.get(row.code):  # type: ignore[call-overload]
                        raise SchemaMismatchError(f"OPERATION_CODE {row.code} with the text of another operation")
                    if before is not None or after is not None or assembler is not None:
                        decoded = Assembled(row, row.row_id, decoder, op, before, after)
                    if decoder.unknown:
                        self._warn_of_unknown_columns(decoder)
            except Unplaced as unplaced:
                decoded = _Failure(unplaced.error, row, unplaced.tables)
            except DecodeError as error:
                decoded = _Failure(error, row)
            if assembler is None:
                if decoded is not None:
                    yield decoded
                continue
            if isinstance(decoded, Assembled):
                assembler.take_dml(decoded)
            elif decoded is not None:
                assembler.take_other(decoded)
            yield from map(_whole, assembler.ready())
        if assembler is not None:
            assembler.end()
            yield from map(_whole, assembler.ready())

    def _count_unknown(self, change: Assembled) -> None:
        self.counters.unknown_lobs += change.unknown
        table = change.decoder.schema.id
        if (table, "lobs") not in self._warned:
            self._warned.add((table, "lobs"))
            _log.warning("%s: a LOB was changed in part, redo does not hold the rest; the placeholder stands for it", table)

    def _decoder(self, row: LogMinerRow) -> RedoDecoder | None:
        """The decoder of a row's table; None when rows of the table are not looked at.

        :raises SchemaMismatchError: the table's shape is not known.
        :raises ValueDecodeError: a column's type is not supported.
        """
        self._renew()
        name = (row.owner, row.table, row.object_id)
        known = self._decoders.get(name, _NOT_LOOKED_UP)
        if known is not _NOT_LOOKED_UP:
            return known  # type: ignore[return-value]
        table = self._shapes.captured(row.owner, row.table, row.object_id)
        if table is not None and self._shapes.name_of(table) in self._unread:
            self._decoders[name] = None
            return None
        schema = self._shapes.tables.find(table) if table else None
        if schema is None and is_unnamed(row):
            place(row, self._shapes, self._unread)
            return None
        if schema is None:
            raise SchemaMismatchError("the table's shape is not known")
        decoder = self._decoders[name] = self._decoder_of_version(schema)
        return decoder

    def _decoder_of_version(self, schema: TableSchema) -> RedoDecoder:
        decoder = self._decoder_of.get(schema.id) or RedoDecoder(schema, lobs=self._lobs)
        self._decoder_of[schema.id] = decoder
        return decoder

    def _renew(self) -> None:
        """Forget the decoders when `tables` has changed since the last call."""
        if self._generation != self._shapes.tables.generation:
            self._forget()
            self._decoder_of.clear()
            self._generation = self._shapes.tables.generation

    def _forget(self) -> None:
        self._decoders.clear()
        if self._scanner is not None:
            self._scanner.forget()

    def _unusual(self, row: LogMinerRow, decoder: RedoDecoder) -> RowChange | None:
        """The change of a row that is not plainly usable; None when it has no event. Raises DecodeError as `_refuse_textless`, and
        as `decode` and `decode_images` of the decoder."""
        self._refuse_textless(row, decoder.schema)
        if row.status and "Dictionary" in (row.info or ""):
            return self._images(row, decoder)
        return decoder.decode(row.sql or "")

    def _images(self, row: LogMinerRow, decoder: RedoDecoder) -> RowChange:
        """The change of a row with stored bytes. Raises as `_check_version` and `decode_images`."""
        if not self._without_dictionary:  # else all rows are
            _check_version(row, decoder.schema)
        return decoder.decode_images(row.sql or "", self.encoding, may_end_early=self._without_dictionary)

    def _refuse_textless(self, row: LogMinerRow, schema: TableSchema) -> None:
        """Raises DecodeError for a row that is not plainly usable and has no text for its event. STATUS alone says little: 2 is also
        given for parseable rows of tables with LONG or LOB columns.
        """
        if row.code == OpCode.UNSUPPORTED:
            self.unsupported_rows += 1
            raise UnsupportedRowError(
                f"LogMiner does not support rows of {schema.id} ({row.info or row.sql})",
                hint=f"{_log_json(schema)}Leave the table out: table.exclude.list={schema.id}; "
                "or go on without its changes: event.processing.failure.handling.mode=warn",
            )
        if row.sql is None:
            raise SchemaMismatchError("LogMiner gave no SQL_REDO")

    def _warn_of_unknown_columns(self, decoder: RedoDecoder) -> None:
        names = sorted(decoder.unknown)
        decoder.unknown.clear()
        if decoder.passed_over.issuperset(names):
            return
        decoder.passed_over.update(names)
        if self._scanner is not None:
            self._scanner.forget()  # to learn them
        key = (decoder.schema.id, decoder.schema.version, *names)
        if key not in self._warned:
            self._warned.add(key)
            _log.info("%s: columns in redo that are not captured: %s", decoder.schema.id, ", ".join(names))

    def _left_out(
        self, error: DecodeError, row: LogMinerRow, table: TableId | None, info: TransactionInfo, seq: int
    ) -> UndecodableRow:
        """What stands for a row that cannot be decoded; it is counted, and logged with `warn`. Raises the error, with the
        row's place, when `on_failure` is `fail`, or is `suspend` and there is no table to suspend."""
        self.undecodable_rows += 1
        where = (
            f"SCN {row.scn}, thread {row.thread}, RS_ID {row.rs_id.strip()}, SSN {row.ssn}, XID {row.xid.hex()}, "
            f"{self._shapes.shown(row)}, ROW_ID {row.row_id}"
        )
        located = type(error)(error.message, where=where, hint=error.hint)
        _log.debug("SQL_REDO that could not be decoded: %s", row.sql)
        if self._on_failure == "fail" or (self._on_failure == "suspend" and table is None):
            raise located from error
        if self._on_failure == "warn":
            self._warn(located, row)
        left_out = self._raw(table, f"{located.code}: {located.message}", row, info, seq)
        left_out.code, left_out.hint = located.code, located.hint
        return left_out

    def _unread_row(self, row: LogMinerRow, info: TransactionInfo, seq: int) -> UndecodableRow:
        """What stands for a row of a suspended table, which is not decoded; `seq` is its number."""
        table = self._shapes.captured(row.owner, row.table, row.object_id)
        left_out = self._raw(table, "the table is suspended", row, info, seq)
        left_out.counted = True
        return left_out

    def _raw(self, table: TableId | None, reason: str, row: LogMinerRow, info: TransactionInfo, seq: int) -> UndecodableRow:
        time_us = self._clock.utc_us(row.timestamp)
        place = row.row_id, row.rs_id.strip(), row.ssn
        return UndecodableRow(table, OpCode(row.code).name, reason, row.sql, Scn(row.scn), time_us, info, seq, *place)

    def _warn(self, error: DecodeError, row: LogMinerRow) -> None:
        """Log a warning for a row that is left out; for an UnsupportedRowError one for each table, since all its rows have the
        error."""
        if isinstance(error, UnsupportedRowError):
            if (row.owner, row.table) in self._warned:
                return
            self._warned.add((row.owner, row.table))
        _log.warning("a row is left out: %s", error)


@dataclass(frozen=True, slots=True)
class _Failure:
    error: DecodeError
    row: LogMinerRow
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unread:
    row: LogMinerRow


Decoded: TypeAlias = Assembled | _Failure | _Unread


def _log_json(schema: TableSchema) -> str:
    """The first part of a hint: what makes LogMiner show rows with JSON; '' for a table without it."""
    is_there = any(column.type_name == "JSON" for column in schema.columns)
    return f"Have rows with JSON logged: {LOG_JSON}. " if is_there else ""


def _check_version(row: LogMinerRow, schema: TableSchema) -> None:
    """Raises SchemaMismatchError for a row of another version than the dictionary's, if the shape is the dictionary's, too, and
    not older than the row: `COL n` may be another column then."""
    if schema.read_at is not None and row.timestamp <= schema.read_at:
        raise SchemaMismatchError(
            f"the row is of another version than the present structure of {schema.id}, and no DDL of the time between is known"
        )


def _whole(decoded: Decoded) -> Decoded:
    """The same, but a failure in place of a change with a value that came in pieces and cannot be decoded."""
    if isinstance(decoded, Assembled) and decoded.error is not None:
        return _Failure(decoded.error, decoded.row)
    return decoded
