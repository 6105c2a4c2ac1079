"""Reads one table as of an SCN, in order of ROWID, into Rows with the texts that redo has for the same values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import oracledb

from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.events import UNAVAILABLE, Row, Value
from minercdc.offset import ChunkProgress
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.scn import as_of, one_row
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.values.codec import LARGE_TYPES, reading_for
from minercdc.values.lob import TYPES as LOB_TYPES

_log = logging.getLogger(__name__)

# Two batches are in memory at a time, and such rows may be large.
_LARGE_ROWS = 100
_LARGE = LARGE_TYPES | {"LONG", "LONG RAW", "JSON", "VECTOR"}
ColumnConversion: TypeAlias = Callable[[Sequence[Any]], Sequence[Value]]
RowConverter: TypeAlias = Callable[[Sequence[tuple[Any, ...]]], Iterator[tuple[str, Row]]]


class Scan:
    """Reads one table, or ranges of it, as of an SCN.

    :param fetch_size: rows per fetch; at most 100 when large values are read.
    :param select: SELECT to read instead of the table itself (`snapshot.select.statement.overrides`); its rows have no ROWID.
    :param lobs: read large values; otherwise they are UNAVAILABLE.
    :ivar rows: see `row_converter`.
    :raises ValueDecodeError: a column's type is not supported.
    """

    def __init__(
        self, schema: TableSchema, scn: int, fetch_size: int, *, lobs: bool = True, select: str | None = None
    ) -> None:
        self.schema = schema
        self.scn = scn
        self._fetch_size = fetch_size
        if lobs and any(column.type_name in _LARGE for column in schema.columns):
            self._fetch_size = min(fetch_size, _LARGE_ROWS)
        self._lobs = lobs
        self._select = select
        self.rows: RowConverter = row_converter(schema, lobs=lobs)

    def batches(self, connection: oracledb.Connection, chunk: ChunkProgress) -> Iterator[Sequence[tuple[Any, ...]]]:
        """The rest of a range as fetched, in order of ROWID; with `select` all of its rows, in any order.

        :raises SnapshotTooOldError: the table cannot be read as of the SCN any more.
        :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
        """
        doing = f"reading {self.schema.id} as of SCN {self.scn}"
        with self._at_scn(connection), oracle_errors(doing), connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = self._fetch_size
            cursor.outputtypehandler = exact_values
            cursor.execute(*self._statement(chunk))
            yield from iter(cursor.fetchmany, [])

    def _statement(self, chunk: ChunkProgress) -> tuple[str, dict[str, str]]:
        if self._select is not None:
            return select_sql(self.schema, self._select, lobs=self._lobs), {}
        return scan_sql(self.schema, self.scn, chunk, lobs=self._lobs)

    def _at_scn(self, connection: oracledb.Connection) -> AbstractContextManager[None]:
        """The user's SELECT has no AS OF: DBMS_FLASHBACK takes the whole session back."""
        return nullcontext() if self._select is None else as_of(connection, self.scn)


def scan_sql(schema: TableSchema, scn: int, chunk: ChunkProgress, *, lobs: bool = True) -> tuple[str, dict[str, str]]:
    """SELECT of the rest of a range: `selected_columns` in order of ROWID; and its binds."""
    table = f'"{schema.id.schema}"."{schema.id.table}" AS OF SCN {scn}'
    bounds = {
        "ROWID > :last": chunk.last_row_id,
        "ROWID >= :first": chunk.first if chunk.last_row_id is None else None,
        "ROWID < :until": chunk.until,
    }
    given = {condition: row_id for condition, row_id in bounds.items() if row_id is not None}
    where = " WHERE " + " AND ".join(given) if given else ""
    binds = {condition.rpartition(":")[2]: row_id for condition, row_id in given.items()}
    return f"SELECT {selected_columns(schema, 'ROWID', lobs)} FROM {table}{where} ORDER BY ROWID", binds


def select_sql(schema: TableSchema, select: str, *, lobs: bool = True) -> str:
    """SELECT of `selected_columns` from a user's SELECT, which has to return all columns of the table by name."""
    return f"SELECT {selected_columns(schema, 'NULL', lobs)} FROM ({select})"


def selected_columns(schema: TableSchema, row_id: str, lobs: bool) -> str:
    """The expressions that `row_converter` takes: `row_id`, all columns, then for each LOB whether it is null (1 or 0).

    :param row_id: SQL of the first expression.
    :param lobs: read large values; otherwise their columns are NULL, and nothing follows the columns.
    :raises ValueDecodeError: a column's type is not supported.
    """
    selected = [
        reading_for(column).select(f'"{column.name}"') if _is_read(column, lobs) else "NULL" for column in schema.columns
    ]
    selected += [f'CASE WHEN "{schema.columns[i].name}" IS NULL THEN 1 ELSE 0 END' for i in _lob_columns(schema, lobs)]
    return ", ".join([row_id, *selected])


def _is_read(column: Column, lobs: bool) -> bool:
    return lobs or column.type_name not in LARGE_TYPES


def _lob_columns(schema: TableSchema, lobs: bool) -> list[int]:
    return [i for i, column in enumerate(schema.columns) if lobs and column.type_name in LOB_TYPES]


def row_converter(schema: TableSchema, *, lobs: bool = True) -> RowConverter:
    """A function: a batch of `selected_columns`, fetched with `exact_values` -> (ROWID, Row) pairs. The batch must have
    rows.

    Works by column, which is twice as fast as by row. The driver gives None for an empty LOB, too, when it is fetched as a
    value: the last expressions say which is null.
    :param lobs: as for `selected_columns`; without it large values are UNAVAILABLE.
    :raises ValueDecodeError: a column's type is not supported; the function raises it for a value that does not fit its
        type.
    """
    conversions = [
        _conversion(reading_for(column).from_driver) if _is_read(column, lobs) else _unavailable for column in schema.columns
    ]
    lob_columns = _lob_columns(schema, lobs)
    width = len(schema.columns)

    def convert(batch: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, Row]]:
        row_ids, *columns = zip(*batch, strict=True)
        if not columns:  # none of a supported type
            return ((row_id, ()) for row_id in row_ids)
        for i, nulls in zip(lob_columns, columns[width:], strict=True):
            empty = b"" if schema.columns[i].type_name == "BLOB" else ""
            columns[i] = tuple(
                empty if value is None and null == "0" else value for value, null in zip(columns[i], nulls, strict=True)
            )
        del columns[width:]
        rows = zip(*(change(values) for change, values in zip(conversions, columns, strict=True)), strict=True)
        return zip(row_ids, rows, strict=True)

    return convert


def _conversion(from_driver: Callable[[object], str]) -> ColumnConversion:
    if from_driver is str:  # the driver's text already is the Row's
        return lambda values: values
    return lambda values: [None if value is None else from_driver(value) for value in values]


def _unavailable(values: Sequence[Any]) -> Sequence[Value]:
    return (UNAVAILABLE,) * len(values)


# A LOB fetched as a value comes with its row; a locator would cost a round trip each.
_VALUES_OF_LOBS = {
    oracledb.DB_TYPE_CLOB: oracledb.DB_TYPE_LONG,
    oracledb.DB_TYPE_NCLOB: oracledb.DB_TYPE_LONG_NVARCHAR,
    oracledb.DB_TYPE_BLOB: oracledb.DB_TYPE_LONG_RAW,
}


def exact_values(cursor: oracledb.Cursor, metadata: Any) -> oracledb.Var | None:
    """For `Cursor.outputtypehandler`: NUMBER as text, since a float loses digits beyond the fifteenth; LOBs as values, not
    locators.

    None leaves other types to the driver.
    """
    if metadata.type_code is oracledb.DB_TYPE_NUMBER:
        return cursor.var(str, arraysize=cursor.arraysize)
    if as_value := _VALUES_OF_LOBS.get(metadata.type_code):
        return cursor.var(as_value, arraysize=cursor.arraysize)
    return None


def count_rows(connection: oracledb.Connection, table: TableId, scn: int) -> int | None:
    """Rows of a table as of an SCN; None when it cannot be counted there, as after DDL (ORA-01466). Raises
    TransientSourceError."""
    sql = f'SELECT COUNT(*) FROM "{table.schema}"."{table.table}" AS OF SCN {scn}'
    try:
        return int(one_row(connection, sql, f"counting {table} as of SCN {scn}")[0])
    except TransientSourceError:
        raise
    except (SourceError, PrerequisiteError) as error:
        _log.info("%s; %s is not counted", error.message, table)
        return None
