"""Decodes rows of redo by the native path into runs, which hold many changes without an object for each. A row that the
native path cannot scan is decoded by `dml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from minercdc import native
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder, RowChange
from minercdc.native.plan import conversions, scanned_columns

if TYPE_CHECKING:
    from minercdc.native._rows import RunCursor, TableScan

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

        :param decoder: of its table.
        """
        self.native.scans[_name(row)] = _table_scan(decoder)

    def forget(self) -> None:
        """Forget all tables, as when a shape has changed: none of their rows is scanned until `learn` is called again."""
        self.native.scans.clear()


def _name(row: LogMinerRow) -> _Name:
    return row.owner, row.table, row.object_id


class StatementScanner:
    """Decodes statements one by one with the native path, those that it does not take with their RedoDecoder; only where the native path
    is in use."""

    def __init__(self) -> None:
        self._scans: dict[RedoDecoder, TableScan] = {}

    def decode(self, decoder: RedoDecoder, sql: str) -> RowChange:
        """As `RedoDecoder.decode`."""
        scan = self._scans.get(decoder)
        if scan is None:
            scan = self._scans[decoder] = _table_scan(decoder)
        return scan.decode(sql) or decoder.decode(sql)

    def forget(self) -> None:
        """Forget all tables, as when a shape has changed."""
        self._scans.clear()


def _table_scan(decoder: RedoDecoder) -> TableScan:
    assert native.rows is not None
    constants = native.rows.CONSTANTS
    columns = scanned_columns(
        decoder.schema.columns, decoder.readings, decoder.hidden, decoder.passed_over, decoder.following, constants
    )
    scan: TableScan = native.rows.TableScan(decoder.schema, columns, conversions(decoder.readings, constants))
    return scan
