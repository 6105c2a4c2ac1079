"""Reads what changed in a table whose versions cannot be read, or not in time: its rows that may have changed since the last
reading, as of one SCN. Deletes do not show, nor do transactions; rows may come that did not change.

    ora_rowscn   the row's SCN, that of its block without ROWDEPENDENCIES: never too low
    column       a date that every change sets, less an overlap for transactions that were open at the last reading
    greatest     the latest of several such dates, for which there may be an index on GREATEST
"""

from __future__ import annotations

from collections.abc import Iterator

import oracledb

from minercdc.capture.flashback.reading import Found, VersionReader, Window
from minercdc.config.source.flashback import Strategy
from minercdc.schema.table import TableSchema

_NO_DATE = "DATE '0001-01-01'"


class IncrementalReader:
    """Reads the changed rows of one table in one shape. It keeps no connection.

    :param strategy: how the changed rows are found.
    :param overlap_ms: milliseconds by which a date is looked back before the last reading, for transactions that were open then.
    :param fetch_size: rows of one fetch.
    :param lobs: read large values; else they are UNAVAILABLE.
    """

    def __init__(self, schema: TableSchema, strategy: Strategy, overlap_ms: int, fetch_size: int, *, lobs: bool) -> None:
        self._strategy = strategy
        self._overlap_s = overlap_ms / 1000
        self._rows = VersionReader(schema, fetch_size, lobs=lobs, last=False)

    def read(self, connection: oracledb.Connection, window: Window, since: int) -> Found:
        """The rows that may have changed at the SCN `since` or later, as of the last SCN of the window; in `Found.rows`, in
        order of ROWID.

        :raises SnapshotTooOldError: DDL was at the end of the window; or `since` is so old that its time is not known any more.
        :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
        :raises ValueDecodeError: a value does not fit its column's type.
        """
        where = " AND ".join(self._conditions(since))
        return Found([], rows=self._rows.read_as_of(connection, window.end - 1, where))

    def _conditions(self, since: int) -> Iterator[str]:
        if self._strategy.kind == "ora_rowscn":
            yield f"ORA_ROWSCN >= {since}"
            return
        dates = [f'NVL(CAST("{name}" AS DATE), {_NO_DATE})' for name in self._strategy.columns]
        date = dates[0] if len(dates) == 1 else f"GREATEST({', '.join(dates)})"
        yield f"{date} >= CAST(SCN_TO_TIMESTAMP({since}) AS DATE) - {self._overlap_s:f} / 86400"
