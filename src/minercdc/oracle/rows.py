"""Rows of a query as Rows, with the texts that redo has for the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import oracledb

from minercdc.events import UNAVAILABLE, Row, Value
from minercdc.schema.table import Column, TableSchema
from minercdc.values.codec import LARGE_TYPES, reading_for
from minercdc.values.lob import TYPES as LOB_TYPES

LARGE_COLUMNS = LARGE_TYPES | {"LONG", "LONG RAW", "JSON", "VECTOR"}
"""Types whose values may be large: rows with them are fetched a few at a time."""
ColumnConversion: TypeAlias = Callable[[Sequence[Any]], Sequence[Value]]
RowConverter: TypeAlias = Callable[[Sequence[tuple[Any, ...]]], Iterator[tuple[str, Row]]]


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


def fetched_places(schema: TableSchema, lobs: bool) -> tuple[tuple[int, int], ...]:
    """For each column, its place in a row of `selected_columns`, -1 when it is not read; and the place that says whether a LOB is null,
    -1 for other columns."""
    width, lob_columns = len(schema.columns), _lob_columns(schema, lobs)
    nulls = {column: 1 + width + place for place, column in enumerate(lob_columns)}
    return tuple((1 + i if _is_read(column, lobs) else -1, nulls.get(i, -1)) for i, column in enumerate(schema.columns))


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
