"""Finds in the dictionary whether the cause that suspended a table is repaired."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import oracledb

from minercdc.errors import MissingKeyError, UnsupportedRowError
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.open_transactions import oldest_undecided_scn
from minercdc.oracle.prerequisites import CapturePrerequisites, unlogged
from minercdc.oracle.present_scn import present_scn, reached_scn
from minercdc.schema.table import TableId


class RepairSource:
    """The `resuming_contracts.Database` of a connector. Each method opens a connection and closes it, and raises SourceError,
    PrerequisiteError or ConfigError when the database cannot be read.

    :param connect: opens a connection to where the tables of a database are.
    :param needed: the adapter's prerequisites.
    :param redo: changes come from redo; else no open transaction can bring rows from before a repair.
    :param whole_rows: record keys may have other columns than the tables' keys, so that all columns have to be logged.
    """

    def __init__(
        self,
        connect: Callable[[str], oracledb.Connection],
        needed: CapturePrerequisites,
        *,
        whole_rows: bool = False,
        redo: bool = True,
    ) -> None:
        self._connect = connect
        self._needed = needed
        self._whole_rows = whole_rows
        self._redo = redo

    def obstacle(self, table: TableId, code: str) -> str:
        """Why rows of a table would still fail with the error `code`, and the SQL that repairs it, as text; '' when no cause
        is known, as for any other code than those of missing keys and of rows that are not supported, or the table is not
        there."""
        if code not in (MissingKeyError.code, UnsupportedRowError.code):
            return ""
        with closing(self._connect(table.database)) as connection:
            found = read_tables(connection, [table])
            if not found:
                return ""
            if code == MissingKeyError.code:
                if not self._redo:
                    return ""
                return unlogged(connection, table, whole_rows=self._whole_rows)
        return "; ".join(f"{finding.problem} ({finding.fix})" for finding in self._needed.tables(found))

    def moment(self, table: TableId) -> tuple[int, int]:
        """The present SCN of the database of a table, and an SCN that the stream comes to even when nothing more is written. The
        present one is read first: that moves the written SCN forward."""
        with closing(self._connect(table.database)) as connection:
            now = present_scn(connection)
            return now, reached_scn(connection)

    def oldest_open_scn(self, table: TableId) -> int:
        """An SCN at or before the start of every transaction that is open in the database of a table, or begins later;
        without redo the present SCN, since open transactions do not count then."""
        with closing(self._connect(table.database)) as connection:
            return oldest_undecided_scn(connection) if self._redo else present_scn(connection)
