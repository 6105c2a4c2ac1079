"""Gives the native printer what the format of a table version says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring

from minercdc import native
from minercdc.messages.envelope.row_format import Frame, PrintedColumn
from minercdc.native.plan import PrintedCell, printed_cell
from minercdc.schema.table import TableSchema


def table_print(
    schema: TableSchema,
    topic: str,
    value: tuple[Frame, Sequence[PrintedColumn]],
    key: tuple[Frame, Sequence[PrintedColumn]],
    rowid_key: str,
    source: tuple[bytes, bytes, bytes, bytes],
    binary: str,
) -> object:
    """How the native printer prints a table version; needs the extension.

    :param rowid_key: name of the key's member where that is the ROWID, else ''.
    :param source: see `SourceBlock.constants_of`.
    :param binary: `binary.handling.mode`.
    :param value, key: frame and columns of each.
    """
    assert native.rows is not None
    (head, tail), columns = value
    (key_head, key_tail), key_columns = key
    if rowid_key:
        key_head, key_tail = f"{key_head}{{{encode_basestring(rowid_key)}:", f"}}{key_tail}"
    return native.rows.TablePrint(
        topic,
        [_cell(schema, column, i, binary, column.unavailable) for i, column in enumerate(columns)],
        [_cell(schema, column, i, binary, None) for i, column in enumerate(key_columns)],
        tuple(column.position for column in key_columns),
        (key_head.encode(), key_tail.encode()),
        (head.encode(), tail.encode()),
        bool(rowid_key),
        source,
        tuple((column.position, json.dumps(column.name).encode()) for column in columns if column.is_silent),
    )


def _cell(schema: TableSchema, column: PrintedColumn, i: int, binary: str, unavailable: str | None) -> PrintedCell:
    assert native.rows is not None
    member = f"{',' if i else '{'}{encode_basestring(column.name)}:"
    described = schema.columns[column.position]
    return printed_cell(described, column.codec.field, binary, column.position, member, unavailable, native.rows.CONSTANTS)
