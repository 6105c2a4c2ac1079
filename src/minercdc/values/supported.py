"""Leaves out columns that cannot be captured, and says of which redo need not hold the values."""

from __future__ import annotations

import logging
from dataclasses import replace

from minercdc.schema.table import Column, TableSchema, key_of
from minercdc.values.codec import LARGE_TYPES, is_supported

_log = logging.getLogger(__name__)

_LARGE = LARGE_TYPES | {"LONG", "LONG RAW"}
# Strings and RAWs that may lie outside the row, which are never logged supplementally.
_EXTENDED = {"VARCHAR2": 1000, "NVARCHAR2": 1000, "RAW": 2000}


def is_large(column: Column) -> bool:
    """Whether redo holds a value of the column only where a statement changed it, if at all: LOBs and the like, and strings
    that may lie outside the row."""
    return column.type_name in _LARGE or (column.length or 0) > _EXTENDED.get(column.type_name, 1 << 30)


def large_names(schema: TableSchema) -> frozenset[str]:
    """Names of the columns of which `is_large` holds, and of those that are stored and left out of the schema."""
    return frozenset(c.name for c in schema.columns if is_large(c)) | unread_names(schema)


def unread_names(schema: TableSchema) -> frozenset[str]:
    """Names of the columns that are stored and left out of the schema."""
    return frozenset(schema.stored) - schema.positions().keys()


def string_types(schema: TableSchema) -> dict[str, str]:
    """The types of the strings and RAWs of a table that may lie outside the row, by name."""
    return {c.name: c.type_name for c in schema.columns if c.type_name in _EXTENDED and is_large(c)}


def without_unsupported(schema: TableSchema) -> TableSchema:
    """A copy with supported columns only, and a warning in the log; `schema` itself when it has no others. `stored` keeps
    all names.

    A key with a column that is left out is no key of it.
    """
    kept = [i for i, column in enumerate(schema.columns) if is_supported(column)]
    if len(kept) == len(schema.columns):
        return schema
    left_out = ", ".join(f"{c.name} {c.type_name}" for c in schema.columns if not is_supported(c))
    _log.warning("%s: columns of unsupported types are left out of its events: %s", ".".join(schema.id), left_out)
    place = {old: new for new, old in enumerate(kept)}
    columns = tuple(schema.columns[i] for i in kept)
    key = tuple(place[i] for i in schema.key) if all(i in place for i in schema.key) else ()
    return replace(schema, columns=columns, key=key if schema.keys is None else key_of(columns, schema.keys))
