"""Fetches rows of a query as columns of Arrow, which the native path prints without a Python object for each value."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import oracledb

from minercdc import native
from minercdc.oracle.fetching.rows import is_read
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import FetchedRow
from minercdc.values.codec import reading_for

_log = logging.getLogger(__name__)

_INT64_DIGITS: Final = 18
# TO_CHAR makes text of those that are none.
_ARROW_TEXTS: Final = frozenset(
    {
        *("VARCHAR2", "NVARCHAR2", "CHAR", "NCHAR", "NUMBER", "FLOAT", "DATE"),
        *("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"),
        *("INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND"),
    }
)


class ArrowColumn(NamedTuple):
    """One expression of a query whose rows come as Arrow columns.

    :param format: as Arrow's C interface spells it: `l` a whole number of 64 bits, `d:P,S` an exact number, `U` text, `Z` bytes.
    """

    name: str
    expression: str
    format: str


def arrow_columns(schema: TableSchema, lobs: bool) -> list[ArrowColumn] | None:
    """What `selected_columns` selects, the ROWID first, so that it can come as columns of Arrow; None when a column that is read
    has a type that cannot, or not exactly, such as binary floats, large values, JSON and BOOLEAN.

    :param lobs: read large values; else their columns are NULL.
    """
    found = [ArrowColumn("ROWID", "ROWIDTOCHAR(ROWID)", "U")]
    for column in schema.columns:
        if not is_read(column, lobs):
            found.append(ArrowColumn(column.name, "NULL", "U"))
        elif (form := _arrow_format(column)) is None:
            return None
        else:
            name = f'"{column.name}"'
            # TM9: all digits, with an exponent where these would be more than 64 characters (SQL Language Reference, "Number
            # Format Models"). The driver has no exact type for a NUMBER without precision.
            number = column.type_name in ("NUMBER", "FLOAT") and form == "U"
            select = f"TO_CHAR({name}, 'TM9')" if number else reading_for(column).select(name)
            found.append(ArrowColumn(column.name, select, form))
    return found


def _arrow_format(column: Column) -> str | None:
    if column.type_name == "NUMBER" and column.scale is not None and column.length is not None:
        if column.scale <= 0 and column.length - column.scale <= _INT64_DIGITS:
            return "l"
        if 0 < column.scale <= column.length <= _INT64_DIGITS:
            return f"d:{column.length},{column.scale}"
    if column.type_name == "RAW":
        return "Z"
    return "U" if column.type_name in _ARROW_TEXTS else None


def selected(columns: Sequence[ArrowColumn]) -> str:
    """The expressions of the columns, separated by commas, for a SELECT."""
    return ", ".join(column.expression for column in columns)


def fetch_columns(
    connection: oracledb.Connection, sql: str, binds: dict[str, Any], fetch_size: int, columns: Sequence[ArrowColumn]
) -> Iterator[Sequence[FetchedRow]] | None:
    """Batches of rows, none of them empty; None, and nothing was read, when the driver cannot give these columns.

    The first batch is fetched at once. The native path has to be in use.

    :param sql: selects `columns`.
    :param fetch_size: rows of each batch but the last one.
    :raises oracledb.Error: at the first batch, or at a later one when it is iterated to.
    """
    assert native.rows is not None
    make, names, formats = native.rows.ArrowRows, [column.name for column in columns], [column.format for column in columns]
    wanted = native.rows.RowSchema(names, formats)
    frames = connection.fetch_df_batches(sql, binds, fetch_size, requested_schema=wanted)
    batches: Iterator[Sequence[FetchedRow]] = (make(frame, formats, names) for frame in frames if frame.num_rows())
    try:
        first = next(batches, None)
    except (TypeError, oracledb.NotSupportedError) as error:
        _log.info("the driver cannot fetch rows column by column: %s", error)
        return None
    return batches if first is None else chain([first], batches)
