"""Turns the rows of a committed transaction into ChangeEvents.

Text is parsed here, after the COMMIT, and not when it is read: what was rolled back costs nothing, and what was mined
again after a restart is dropped before old text meets a newer shape of its table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from minercdc.capture.logminer.buffer.row_ids import with_row_ids
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.lobs.lob_change import Assembled
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.decoders import TableDecoders
from minercdc.capture.logminer.sql_redo.native_scan import LONGEST_RUN, RowScanner
from minercdc.capture.logminer.sql_redo.outcomes import Failure, Outcome, RowReader, Suspended
from minercdc.capture.logminer.sql_redo.undecoded import OnFailure, UndecodedRows
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.logminer.tables.unplaced import Unplaced
from minercdc.errors import DecodeError
from minercdc.schema.table import TableId
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, ChangeRun, Scn, TransactionInfo, UndecodableRow
from minercdc.values.image import Encoding

_log = logging.getLogger(__name__)

# Tables whose rows in a transaction are not looked at; see `pipeline.suspension`.
Unread: TypeAlias = Callable[[TransactionInfo], frozenset[str]]
_NONE: Final[frozenset[str]] = frozenset()

# Committed before all others: every suspended table is one whose rows in it are not looked at.
_BEFORE_ALL: Final = TransactionInfo("", Scn(0), Scn(-1), 0, 0, 0, None)


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """How a `TransactionDecoder` decodes.

    :param on_failure: `event.processing.failure.handling.mode` for rows that cannot be decoded.
    :param include_redo_sql: copy the statement into each event.
    :param lobs: `lob.enabled`.
    :param native: decode with the native path.
    :param runs: whether `TransactionDecoder.events` may give ChangeRuns; needs the native path, and has no effect where rows
        are read again, or with `include_redo_sql`.
    :param without_dictionary: rows come as stored bytes, and without the NULLs at their end.
    """

    on_failure: OnFailure = "fail"
    include_redo_sql: bool = False
    lobs: bool = False
    native: bool = False
    runs: bool = False
    without_dictionary: bool = False


_DEFAULTS: Final = DecodingOptions()


class TransactionDecoder:
    """Decodes the rows of committed transactions, with the shape their table has now; one for each container of a capture.

    DDL cannot pass an open transaction on its table, so at a COMMIT the current shape is that of the transaction's rows.

    :param reselect: completes each event in place; its errors pass through.
    :param unread: which tables are suspended; their rows come undecoded, and `seq` counts them.
    :ivar counters: counts LOBs that were changed in part while their value was not known.
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
        self._clock, self._options, self._reselect, self._unread_of = clock, options, reselect, unread
        scans = options.runs and reselect is None and not options.include_redo_sql
        self._scanner = RowScanner() if scans else None
        self._decoders = TableDecoders(shapes, self._scanner, lobs=options.lobs, native=options.native)
        self._reader = RowReader(shapes, self._decoders, without_dictionary=options.without_dictionary)
        self._undecoded = UndecodedRows(shapes, clock, options.on_failure)
        self._warned: set[TableId] = set()
        self.counters = counters or Counters()

    @property
    def encoding(self) -> Encoding:
        """Of the database, for rows that LogMiner prints as stored bytes."""
        return self._reader.encoding

    @encoding.setter
    def encoding(self, encoding: Encoding) -> None:
        self._reader.encoding = encoding

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
        self._decoders.suspend(self._unread_of(info))
        if self._options.lobs and transaction.is_large:
            yield from self._numbered(self._reader.large(transaction.replay()), info)
        elif self._scanner is not None:
            yield from self._scanned(self._scanner, transaction, info)
        else:
            yield from self._numbered(self._reader.plain(with_row_ids(transaction.replay())), info)

    def scanner_of_whole_transactions(self) -> RowScanner | None:
        """The scanner that may take transactions without `events`, up to the next DDL or event; None when each has to go through
        `events`."""
        self._decoders.renew()
        return self._scanner if self._scanner is not None and not self._unread_of(_BEFORE_ALL) else None

    def _scanned(
        self, scanner: RowScanner, transaction: Transaction, info: TransactionInfo
    ) -> Iterator[ChangeEvent | ChangeRun | UndecodableRow]:
        """Runs of rows that can be scanned, and between them the events of the others, each decoded by itself."""
        cursor, seq = scanner.cursor(transaction), 0
        while not cursor.is_done:
            self._decoders.renew()
            run = cursor.scan(info, seq + 1, LONGEST_RUN, self._clock.offset_us)
            if len(run):
                seq += len(run)
                yield ChangeRun(run)
            if not cursor.is_stuck:
                continue
            row = cursor.row()
            if self._learns(scanner, row):
                continue
            for event in self._numbered(self._reader.plain([row]), info, seq):
                if isinstance(event, ChangeEvent) or event.counted:
                    seq = event.seq
                yield event
            cursor.skip()

    def _learns(self, scanner: RowScanner, row: LogMinerRow) -> bool:
        """Let the scanner know the row's table, if it does not; False when nothing changed."""
        if scanner.knows(row):
            return False
        try:
            decoder = self._decoders.of(row)
        except (DecodeError, Unplaced):
            return False
        if decoder is not None:
            scanner.learn(row, decoder)
        return decoder is not None

    def _numbered(
        self, outcomes: Iterable[Outcome], info: TransactionInfo, seq: int = 0
    ) -> Iterator[ChangeEvent | UndecodableRow]:
        """The events of rows; `seq` counts changes, and rows of suspended tables, on from the number given."""
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                yield from self._undecoded.of_failure(outcome, info, seq)
                continue
            seq += 1
            if isinstance(outcome, Suspended):
                yield self._undecoded.of_suspended(outcome, info, seq)
            else:
                yield self._event(outcome, info, seq)

    def _event(self, change: Assembled, info: TransactionInfo, seq: int) -> ChangeEvent:
        """The event of a change, with the values that are read again. Errors of `reselect` pass through."""
        row = change.row
        event = ChangeEvent(
            change.op,
            change.decoder.schema,
            change.before,
            change.after,
            Scn(row.scn),
            self._clock.utc_us(row.timestamp),
            info,
            seq,
            change.row_id,
            row.rs_id.strip(),
            row.ssn,
            row.sql if self._options.include_redo_sql else None,
        )
        if change.unknown:
            event.has_unknown_large = True
        if self._reselect is not None:
            self._reselect(event)
        if change.unknown and event.reselected_scn is None:
            self._count_unknown(change)
        return event

    def _count_unknown(self, change: Assembled) -> None:
        self.counters.unknown_lobs += change.unknown
        table = change.decoder.schema.id
        if table not in self._warned:
            self._warned.add(table)
            _log.warning("%s: a LOB was changed in part, redo does not hold the rest; the placeholder stands for it", table)
