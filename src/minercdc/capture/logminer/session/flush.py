"""Makes the log writer write: a row of a table of our own is changed and committed.

Reading needs it nowhere: what LGWR has not written yet is read later. It makes the last changes of a quiet database come
sooner.
"""

from __future__ import annotations

from collections.abc import Callable

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import close_unless_lost


class RedoFlush:
    """Changes a row of the table by a connection of its own; both are made by the first `push`, and the owner calls `close`.
    After a `push` the table has one row, whatever it had before.

    :param connect: opens a connection to where the tables are; its user owns the table. On RAC only the instance that it reaches
        writes its redo.
    :param table: name in any case; in the dictionary it is in upper case.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], table: str) -> None:
        self._connect, self._table = connect, table.upper()
        self._connection: oracledb.Connection | None = None

    def push(self, scn: int) -> None:
        """Write `scn` into the row and commit. The first call on a connection makes the table, if it does not exist.

        :raises SourceError, PrerequisiteError, ConfigError: connecting, or a statement, failed. After any error the connection
            is closed; the next call makes another.
        """
        try:
            connection = self._connection or self._opened()
            with oracle_errors(f"flushing redo by {self._table}"), connection.cursor() as cursor:
                cursor.execute(f'UPDATE "{self._table}" SET LAST_SCN = :scn', {"scn": scn})
                if cursor.rowcount != 1:
                    cursor.execute(f'DELETE FROM "{self._table}"')
                    cursor.execute(f'INSERT INTO "{self._table}" VALUES (:scn)', {"scn": scn})
                connection.commit()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; safe to call twice. The next `push` makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            close_unless_lost(connection)

    def _opened(self) -> oracledb.Connection:
        connection = self._connection = self._connect()
        with oracle_errors(f"creating table {self._table} for flushing redo"), connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM USER_TABLES WHERE TABLE_NAME = :name", {"name": self._table})
            if cursor.fetchone() == (0,):
                cursor.execute(f'CREATE TABLE "{self._table}" (LAST_SCN NUMBER(19,0))')
        return connection
