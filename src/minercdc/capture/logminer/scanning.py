"""Rows of redo to runs: the native path's way in. What is not scanned is decoded by `dml`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from minercdc import native
from minercdc.capture.logminer.dml import RedoDecoder
from minercdc.capture.logminer.row import LogMinerRow
from minercdc.events import ScannedRows, TransactionInfo
from minercdc.native.plan import scanned_columns

LONGEST_RUN: Final = 128
"""So many rows are scanned before the first is handed on. They keep the statements that they were found in."""

_Name: TypeAlias = tuple[str | None, str | None, int]


class RowScanner:
    """Scans rows of the tables that it has learned; only where the native path is in use.

    :param utc_us: time of a row -> microseconds since the epoch in UTC.
    """

    def __init__(self, utc_us: Callable[[datetime], int]) -> None:
        assert native.rows is not None
        self._native = native.rows
        self._scanner = native.rows.RunScanner(LogMinerRow._fields, utc_us)

    def scan(self, rows: list[LogMinerRow], begin: int, info: TransactionInfo, first_seq: int) -> tuple[ScannedRows, int]:
        """The rows of one transaction from index `begin` on, until one cannot be scanned, LONGEST_RUN at most; and the index
        after the last that was taken. An UPDATE of other columns than those captured is taken, and no change.

        :param first_seq: number of the first change.
        """
        run: tuple[ScannedRows, int] = self._scanner.scan(rows, begin, LONGEST_RUN, info, first_seq)
        return run

    def knows(self, row: LogMinerRow) -> bool:
        """Whether the row's table was learned."""
        return _name(row) in self._scanner.scans

    def learn(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """From now on scan rows of this name.

        :param decoder: reads those that cannot be scanned.
        """
        columns = scanned_columns(
            decoder.schema.columns,
            decoder.readings,
            decoder.hidden,
            decoder.passed_over,
            decoder.following,
            self._native.CONSTANTS,
        )
        self._scanner.scans[_name(row)] = self._native.TableScan(decoder, columns, len(decoder.schema.columns))

    def forget(self) -> None:
        """Forget all tables."""
        self._scanner.scans.clear()


def _name(row: LogMinerRow) -> _Name:
    return row.owner, row.table, row.object_id
