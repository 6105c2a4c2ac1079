"""Reads what blocking snapshots and actions need of the database, on connections made when they are needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial

import oracledb

from minercdc.errors import PrerequisiteError, SourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.create_table_text import read_ddl
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.oracle.fetching.prefetch import prefetch
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.present_scn import present_scn, reached_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import FetchedRows, SchemaChange, Scn
from minercdc.stream.offset import ChunkProgress
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

_TICK_SECONDS = 0.5


class TableSource:
    """Reads the tables of one database, or of several pluggable ones; `blocking.Tables`. Its methods raise SourceError,
    PrerequisiteError or ConfigError when Oracle cannot be reached, or refuses. Connections of `rows` are kept until `close`,
    others closed at once.

    :param connect: opens a connection to where the tables of a database are.
    :param tables: shapes at the point the stream has come to.
    :param filters: of the captured tables of each database, by its name.
    :param fetch_size: rows per fetch.
    :param lobs: read large values; else they are UNAVAILABLE.
    :param now_us: reads the clock: microseconds since the epoch in UTC.
    :param ddl: changes of `learn` have the text of CREATE TABLE.
    """

    def __init__(
        self,
        connect: Callable[[str], oracledb.Connection],
        tables: Tables,
        filters: Mapping[str, TableFilter],
        *,
        fetch_size: int,
        lobs: bool,
        now_us: Callable[[], int],
        ddl: bool = False,
    ) -> None:
        self._connect = connect
        self._tables = tables
        self._filters = filters
        self._fetch_size = fetch_size
        self._lobs = lobs
        self._now_us = now_us
        self._ddl = ddl
        self._reading: dict[str, KeptConnection] = {}

    def list_tables(self) -> list[TableId]:
        """Captured tables that exist now. Of several databases, one that cannot be read, as a PDB that is closed, is left out
        with a warning. Raises ConfigError, too: a pattern of a filter took too long."""
        found: list[TableId] = []
        for database, wanted in self._filters.items():
            try:
                with closing(self._connect(database)) as connection:
                    found += read_table_ids(connection, wanted, database)
            except (SourceError, PrerequisiteError) as error:
                if len(self._filters) == 1:
                    raise
                _log.warning("tables of %s that the stream does not know yet are not found: %s", database, error.message)
        return found

    def learn(self, table: TableId) -> SchemaChange | None:
        """Put the present shape of a table that the stream has not had yet into `tables`, without columns of unsupported types.

        :returns: the change to emit; None, and nothing is put, when there is no such table.
        """
        with closing(self._connect(table.database)) as connection:
            found = read_tables(connection, [table], comments=self._tables.comments)
            text = read_ddl(connection, [table]) if found and self._ddl else {}
            scn = present_scn(connection)
        if not found:
            return None
        schema = self._tables.next_version(without_unsupported(found[0]))
        self._tables.put(schema)
        return SchemaChange(table, None, schema, text.get(table, ""), Scn(scn), self._now_us(), snapshot=True)

    def written_scn(self) -> int:
        """An SCN that the stream comes to even when nothing more is written. Pluggable databases have the SCNs of their container
        database: the first that can be read says it. Later commits have SCNs above it."""
        *others, last = self._filters
        for database in others:
            with suppress(SourceError, PrerequisiteError):
                return self._written_scn(database)
        return self._written_scn(last)

    def _written_scn(self, database: str) -> int:
        with closing(self._connect(database)) as connection:
            present_scn(connection)  # moves it forward: later commits come after what is read next
            return reached_scn(connection)

    def rows(self, schema: TableSchema, scn: int, last_row_id: str, select: str) -> Iterator[FetchedRows]:
        """Batches of rows as of an SCN, in order of ROWID unless there is a `select`; an empty batch now and then while nothing
        comes. They are fetched ahead by a thread, on a connection that is kept for the table's database.

        :param last_row_id: rows after it only, '' for all.
        :param select: a user's SELECT to read them by, '' for none.
        :raises SnapshotTooOldError: they cannot be read as of that SCN any more.
        :raises DecodeError: a value does not fit its type.
        """
        database = schema.id.database
        connection = self._reading.setdefault(database, KeptConnection(partial(self._connect, database))).get()
        scan = Scan(schema, scn, self._fetch_size, lobs=self._lobs, select=select or None, as_columns=True)
        batches = scan.batches(connection, ChunkProgress(last_row_id=last_row_id or None))
        with prefetch(batches, tick=_TICK_SECONDS, cancel=lambda: _cancel(connection)) as fetched:
            for batch in fetched:
                yield scan.fetched([]) if batch is None else batch

    def close(self) -> None:
        """Close the connections that `rows` reads on; safe to call twice. The next call of `rows` opens others."""
        for kept in self._reading.values():
            kept.close()


def insert_signal(connection: oracledb.Connection, table: TableId, identity: str, kind: str, data: str) -> None:
    """Insert a signal into the signal table, and commit.

    :param identity: id of the signal, `kind` its type; they go into the first and second column.
    :param data: JSON text.
    :raises SourceError, PrerequisiteError: Oracle refuses it.
    """
    with oracle_errors(f"inserting into {table}"), connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{table.schema}"."{table.table}" VALUES (:1, :2, :3)', [identity, kind, data])
        connection.commit()


def _cancel(connection: oracledb.Connection) -> None:
    """Break the fetch that another thread waits in on this connection, as its rows are not needed any more; raises nothing of
    Oracle's."""
    with suppress(oracledb.Error):
        connection.cancel()
