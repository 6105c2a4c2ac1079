"""Makes the events that stand for rows without a change: they cannot be decoded, or their table is suspended."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Literal, TypeAlias

from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.outcomes import Failure, Suspended
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.errors import DecodeError, UnsupportedRowError
from minercdc.schema.table import TableId
from minercdc.stream.events import Scn, TransactionInfo, UndecodableRow

_log = logging.getLogger(__name__)

OnFailure: TypeAlias = Literal["suspend", "fail", "warn", "skip"]


class UndecodedRows:
    """Makes UndecodableRows, and logs them.

    :param on_failure: `event.processing.failure.handling.mode` for rows that cannot be decoded.
    """

    def __init__(self, shapes: ShapeTracker, clock: HostClock, on_failure: OnFailure) -> None:
        self._shapes, self._clock, self._on_failure = shapes, clock, on_failure
        self._warned: set[tuple[str | None, str | None]] = set()

    def of_failure(self, failure: Failure, info: TransactionInfo, seq: int) -> Iterator[UndecodableRow]:
        """What stands for a row that cannot be decoded: one event for each table that it may be of. It is logged with `warn`.

        :param seq: number of the transaction's last change before it.
        :raises DecodeError: the failure's, with the row's place, when `on_failure` is `fail`, or is `suspend` and there is no
            table to suspend.
        """
        row = failure.row
        for table in failure.tables or (self._shapes.captured(row.owner, row.table, row.object_id),):
            error = self._located(failure.error, row)
            _log.debug("SQL_REDO that could not be decoded: %s", row.sql)
            if self._on_failure == "fail" or (self._on_failure == "suspend" and table is None):
                raise error from failure.error
            if self._on_failure == "warn":
                self._warn(error, row)
            event = self._event(table, f"{error.code}: {error.message}", row, info, seq)
            event.code, event.hint = error.code, error.hint
            yield event

    def of_suspended(self, suspended: Suspended, info: TransactionInfo, seq: int) -> UndecodableRow:
        """What stands for a row of a suspended table; `seq` is its number."""
        row = suspended.row
        table = self._shapes.captured(row.owner, row.table, row.object_id)
        event = self._event(table, "the table is suspended", row, info, seq)
        event.counted = True
        return event

    def _located(self, error: DecodeError, row: LogMinerRow) -> DecodeError:
        where = (
            f"SCN {row.scn}, thread {row.thread}, RS_ID {row.rs_id.strip()}, SSN {row.ssn}, XID {row.xid.hex()}, "
            f"{self._shapes.shown(row)}, ROW_ID {row.row_id}"
        )
        return type(error)(error.message, where=where, hint=error.hint)

    def _event(
        self, table: TableId | None, reason: str, row: LogMinerRow, info: TransactionInfo, seq: int
    ) -> UndecodableRow:
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
