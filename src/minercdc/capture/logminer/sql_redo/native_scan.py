"""Decodes rows of redo by the native path into runs, which hold many changes without an object for each. A row that the
native path cannot scan is decoded by `dml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from minercdc import native
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.native.plan import scanned_columns

if TYPE_CHECKING:
    from minercdc.native._rows import RunCursor

LONGEST_RUN: Final = 512
"""Most rows of a run: they are scanned before the first is handed on, and keep the statements that they were found in."""

_Name: TypeAlias = tuple[str | None, str | None, int]


class RowScanner:
    """Scans rows of the tables that it has learned; only where the native path is in use.

    :ivar native: the scanner of the native path.
    """

    def __init__(self) -> None:
        assert native.rows is not None
        assert LogMinerRow._fields == native.rows.FIELDS
        self.native = native.rows.RunScanner()

    def cursor(self, transaction: Transaction) -> RunCursor:
        """A new cursor before the first row of a transaction of the native buffer that has ended and is not closed."""
        cursor: RunCursor = self.native.cursor(transaction)
        return cursor

    def knows(self, row: LogMinerRow) -> bool:
        """Whether `learn` was called for a row of the same (owner, table, object id), since the last `forget`."""
        return _name(row) in self.native.scans

    def learn(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """From now on scan rows of this row's (owner, table, object id).

        :param decoder: reads those that cannot be scanned.
        """
        assert native.rows is not None
        columns = scanned_columns(
            decoder.schema.columns,
            decoder.readings,
            decoder.hidden,
            decoder.passed_over,
            decoder.following,
            native.rows.CONSTANTS,
        )
        self.native.scans[_name(row)] = native.rows.TableScan(decoder, columns, len(decoder.schema.columns))

    def forget(self) -> None:
        """Forget all tables, as when a shape has changed: none of their rows is scanned until `learn` is called again."""
        self.native.scans.clear()


def _name(row: LogMinerRow) -> _Name:
    return row.owner, row.table, row.object_id
