"""Reads one table as of an SCN, in order of ROWID, into Rows with the texts that redo has for the same values."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import oracledb

from minercdc import native
from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.object_ids import refuse_renamed
from minercdc.oracle.fetching.columns import arrow_columns, fetch_columns, selected
from minercdc.oracle.fetching.rows import LARGE_COLUMNS, RowConverter, exact_values, selected_columns
from minercdc.oracle.scn import as_of, one_row
from minercdc.schema.select_text import without_end
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import FetchedRow, FetchedRows
from minercdc.stream.offset import ChunkProgress

_log = logging.getLogger(__name__)

# Two batches are in memory at a time, and such rows may be large.
_LARGE_ROWS = 100


class Scan:
    """Reads one table, or ranges of it, as of an SCN, by connections that each call is given.

    :param fetch_size: rows per fetch; at most 100 when large values are read.
    :param select: SELECT to read instead of the table itself (`snapshot.select.statement.overrides`); its rows have no ROWID.
    :param lobs: read large values; otherwise they are UNAVAILABLE.
    :param as_columns: fetch columns of Arrow, for who prints them natively, where the types of the table and the driver can.
    :raises ValueDecodeError: a column's type is not supported.
    """

    def __init__(
        self,
        schema: TableSchema,
        scn: int,
        fetch_size: int,
        *,
        lobs: bool = True,
        select: str | None = None,
        as_columns: bool = False,
    ) -> None:
        self.schema = schema
        self.scn = scn
        self._fetch_size = fetch_size
        if lobs and any(column.type_name in LARGE_COLUMNS for column in schema.columns):
            self._fetch_size = min(fetch_size, _LARGE_ROWS)
        self._lobs = lobs
        self.select = select
        self._convert = RowConverter(schema, lobs=lobs)
        self._arrow = arrow_columns(schema, lobs) if as_columns and native.rows is not None and select is None else None

    def fetched(self, rows: Sequence[FetchedRow]) -> FetchedRows:
        """Rows that were fetched by this scan's SELECT, in the form that `batches` gives; [] makes an empty batch."""
        return FetchedRows(self.schema, rows, self._convert)

    def batches(self, connection: oracledb.Connection, chunk: ChunkProgress) -> Iterator[FetchedRows]:
        """The rest of a range as fetched, in order of ROWID, in batches that are not empty; with `select` all rows of that,
        in any order, and `chunk` has no effect.

        :raises SnapshotTooOldError: the table cannot be read as of the SCN any more, or has another name since.
        :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
        """
        if self.select is not None:  # while it is read, the dictionary is that of the past, too
            refuse_renamed(connection, self.schema, self.scn)
            yield from self._batches(connection, chunk)
            return
        looked = False
        for batch in self._batches(connection, chunk):
            # Now that the query runs, it is known of which table. One without rows may be the wrong one, too.
            if not looked:
                refuse_renamed(connection, self.schema, self.scn)
                looked = True
            yield batch
        if not looked:
            refuse_renamed(connection, self.schema, self.scn)

    def _batches(self, connection: oracledb.Connection, chunk: ChunkProgress) -> Iterator[FetchedRows]:
        doing = f"reading {self.schema.id} as of SCN {self.scn}"
        if self._arrow is not None:
            with oracle_errors(doing):
                sql, binds = scan_sql(self.schema, self.scn, chunk, selected(self._arrow))
                batches = fetch_columns(connection, sql, binds, self._fetch_size, self._arrow)
                if batches is not None:
                    yield from map(self.fetched, batches)
                    return
            self._arrow = None
        with self._at_scn(connection), oracle_errors(doing), connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = self._fetch_size
            cursor.outputtypehandler = exact_values
            cursor.execute(*self._statement(chunk))
            yield from map(self.fetched, iter(cursor.fetchmany, []))

    def _statement(self, chunk: ChunkProgress) -> tuple[str, dict[str, str]]:
        if self.select is not None:
            return select_sql(self.schema, self.select, lobs=self._lobs), {}
        return scan_sql(self.schema, self.scn, chunk, selected_columns(self.schema, "ROWID", self._lobs))

    def _at_scn(self, connection: oracledb.Connection) -> AbstractContextManager[None]:
        """A context to read in. The user's SELECT has no AS OF, so DBMS_FLASHBACK takes the whole session back for that;
        without such a SELECT, the context does nothing."""
        return nullcontext() if self.select is None else as_of(connection, self.scn)


def scan_sql(schema: TableSchema, scn: int, chunk: ChunkProgress, expressions: str) -> tuple[str, dict[str, str]]:
    """SELECT of the rows of a range after its last row that was read, in order of ROWID; and its binds.

    :param expressions: what to select.
    """
    table = f'"{schema.id.schema}"."{schema.id.table}" AS OF SCN {scn}'
    bounds = {
        "ROWID > :last": chunk.last_row_id,
        "ROWID >= :first": chunk.first if chunk.last_row_id is None else None,
        "ROWID < :until": chunk.until,
    }
    given = {condition: row_id for condition, row_id in bounds.items() if row_id is not None}
    where = " WHERE " + " AND ".join(given) if given else ""
    binds = {condition.rpartition(":")[2]: row_id for condition, row_id in given.items()}
    return f"SELECT {expressions} FROM {table}{where} ORDER BY ROWID", binds


def select_sql(schema: TableSchema, select: str, *, lobs: bool = True) -> str:
    """SELECT of `selected_columns` from a user's SELECT, which has to return all columns of the table by name. Raises
    ValueDecodeError when a column's type is not supported."""
    return f"SELECT {selected_columns(schema, 'NULL', lobs)} FROM ({without_end(select)})"


def count_rows(connection: oracledb.Connection, table: TableId, scn: int) -> int | None:
    """Number of the rows of a table as of an SCN, which takes a scan; None when they cannot be counted there, as after DDL
    (ORA-01466), which is logged. Raises TransientSourceError when the connection broke."""
    sql = f'SELECT COUNT(*) FROM "{table.schema}"."{table.table}" AS OF SCN {scn}'
    try:
        return int(one_row(connection, sql, f"counting {table} as of SCN {scn}")[0])
    except TransientSourceError:
        raise
    except (SourceError, PrerequisiteError) as error:
        _log.info("%s; %s is not counted", error.message, table)
        return None
