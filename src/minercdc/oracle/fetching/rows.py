"""Converts rows of a query to Rows, with the texts that redo has for the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import oracledb

from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, ColumnarRows, FetchedRow, Row, Value
from minercdc.values.codec import LARGE_TYPES, reading_for
from minercdc.values.lob import TYPES as LOB_TYPES

LARGE_COLUMNS = LARGE_TYPES | {"LONG", "LONG RAW", "VECTOR"}
"""Types whose values may be large: rows with them are fetched a few at a time."""
ColumnConversion: TypeAlias = Callable[[Sequence[Any]], Sequence[Value]]


def selected_columns(schema: TableSchema, row_id: str, lobs: bool) -> str:
    """The expressions that a RowConverter takes: `row_id`, all columns, then for each LOB whether it is null (1 or 0).

    :param row_id: SQL of the first expression.
    :param lobs: read large values; otherwise their columns are NULL, and nothing follows the columns.
    :raises ValueDecodeError: a column's type is not supported.
    """
    selected = [
        reading_for(column).select(f'"{column.name}"') if is_read(column, lobs) else "NULL" for column in schema.columns
    ]
    selected += [f'CASE WHEN "{schema.columns[i].name}" IS NULL THEN 1 ELSE 0 END' for i in _lob_columns(schema, lobs)]
    return ", ".join([row_id, *selected])


def is_read(column: Column, lobs: bool) -> bool:
    """Whether `selected_columns` selects the column's value, with these `lobs`, and not NULL."""
    return lobs or column.type_name not in LARGE_TYPES


def _lob_columns(schema: TableSchema, lobs: bool) -> list[int]:
    return [i for i, column in enumerate(schema.columns) if lobs and column.type_name in LOB_TYPES]


class RowConverter:
    """Converts rows of `selected_columns`, fetched with `exact_values`, to Rows.

    Works by column, which is twice as fast as by row. The driver gives None for an empty LOB, too, when it is fetched as a
    value: the last expressions say which is null.

    :param lobs: as for `selected_columns`; without it large values are UNAVAILABLE.
    :ivar places: for each column, its place in a fetched row, -1 when it is not read; and the place that says whether a LOB is
        null (1 or 0), -1 for other columns.
    :raises ValueDecodeError: a column's type is not supported.
    """

    def __init__(self, schema: TableSchema, *, lobs: bool = True) -> None:
        columns = schema.columns
        self._conversions = [
            _conversion(reading_for(column).from_driver) if is_read(column, lobs) else _unavailable for column in columns
        ]
        self._empty = [b"" if column.type_name == "BLOB" else "" for column in columns]
        nulls = {column: 1 + len(columns) + place for place, column in enumerate(_lob_columns(schema, lobs))}
        self.places = tuple((1 + i if is_read(column, lobs) else -1, nulls.get(i, -1)) for i, column in enumerate(columns))

    def __call__(self, batch: Sequence[FetchedRow]) -> Iterator[tuple[str, Row]]:
        """(ROWID, Row) pairs of `batch`, in order; it must not be empty. The first value of each is None where no ROWID was
        selected.

        :raises ValueDecodeError: a value does not fit its type.
        """
        fetched = tuple(zip(*batch, strict=True))
        if not self._conversions:
            return ((row_id, ()) for row_id in fetched[0])
        rows = zip(*(self._values(fetched, i) for i in range(len(self._conversions))), strict=True)
        return zip(fetched[0], rows, strict=True)

    def values(self, batch: Sequence[FetchedRow], column: int) -> Sequence[Value]:
        """The values of one column, by its position, of a batch that is not empty. Raises ValueDecodeError for one that does not
        fit."""
        place, null = self.places[column]
        if not isinstance(batch, list) and place >= 0 and null < 0:
            return self._conversions[column](cast(ColumnarRows, batch).column(place))
        return self._values(tuple(zip(*batch, strict=True)), column)

    def _values(self, fetched: Sequence[tuple[Any, ...]], column: int) -> Sequence[Value]:
        place, null = self.places[column]
        values = fetched[max(place, 0)]
        if null >= 0:
            empty = self._empty[column]
            values = tuple(
                empty if value is None and flag == "0" else value for value, flag in zip(values, fetched[null], strict=True)
            )
        return self._conversions[column](values)


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
    """A handler for `Cursor.outputtypehandler`, which has NUMBER fetched as text, since a float loses digits beyond the
    fifteenth, and LOBs as values, not locators. It returns None for other types, which the driver fetches in its own way.
    """
    if metadata.type_code is oracledb.DB_TYPE_NUMBER:
        return cursor.var(str, arraysize=cursor.arraysize)
    if as_value := _VALUES_OF_LOBS.get(metadata.type_code):
        return cursor.var(as_value, arraysize=cursor.arraysize)
    return None
