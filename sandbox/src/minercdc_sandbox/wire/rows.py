"""Query results on the wire: describe, row header, and row encoders compiled per result shape.

A row message is 07 and one field per column: a `clr`, but for LONG, ROWID, UROWID, BOOLEAN and LOBs (`lob_values`). A batch is
encoded column by column, so that the work per value is mostly one concatenation.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from minercdc_sandbox.interfaces import Cell, ColumnDescription, OraError, OraType, Session
from minercdc_sandbox.wire import lob_values
from minercdc_sandbox.wire.lob_values import ColumnEncoder
from minercdc_sandbox.wire.negotiation import (
    CHARSET_AL16UTF16,
    CHARSET_AL32UTF8,
    FIELD_VERSION_12_2,
    FIELD_VERSION_23_1,
    FIELD_VERSION_23_1_EXT3,
    FIELD_VERSION_23_4,
    SCALED_TYPES,
    Negotiated,
    Ttc,
)
from minercdc_sandbox.wire.primitives import LENGTH, NULL, SHORT_MAX, clr, dalc, sb, ub
from minercdc_sandbox.wire.row_ids import encoded_row_id, fixed_row_id

RowsEncoder = Callable[[Sequence[tuple[Cell, ...]]], bytes]

LONG_LIKE = frozenset((8, 24, 94))
"""Types a client may define LOB columns as: values come whole, each followed by two more integers."""
_TEXTS = frozenset((OraType.VARCHAR2, OraType.CHAR, OraType.LONG))
_ROW = bytes((Ttc.ROW_DATA,))
_DESCRIBE_DATE = b"\x78\x7e\x0b\x15\x01\x01\x01"
_DEFAULT_SIZES = {
    OraType.VARCHAR2: 4000,
    OraType.NUMBER: 22,
    OraType.LONG: 0x7FFFFFFF,
    OraType.LONG_RAW: 0x7FFFFFFF,
    OraType.ROWID: 10,
    OraType.DATE: 7,
    OraType.RAW: 2000,
    OraType.CHAR: 2000,
    OraType.BINARY_FLOAT: 4,
    OraType.BINARY_DOUBLE: 8,
    OraType.CURSOR: 4,
    OraType.CLOB: 4000,
    OraType.BLOB: 4000,
    OraType.BFILE: 530,
    OraType.TIMESTAMP: 11,
    OraType.TIMESTAMP_TZ: 13,
    OraType.TIMESTAMP_LTZ: 11,
    OraType.INTERVAL_YM: 5,
    OraType.INTERVAL_DS: 11,
    OraType.UROWID: 4000,
    OraType.BOOLEAN: 1,
    OraType.JSON: 32 << 20,
    OraType.VECTOR: 1 << 20,
    OraType.XMLTYPE: 4000,
}


def sent_size(column: ColumnDescription) -> int:
    """Size in bytes for a describe: a default of the type in place of 0, which means "always NULL" to clients."""
    return column.size or _DEFAULT_SIZES[column.type]


def _describe_column(column: ColumnDescription, position: int, agreed: Negotiated) -> bytes:
    text = column.type in _TEXTS
    size = sent_size(column)
    field_version = agreed.field_version
    wide = agreed.wide_scale and column.type in SCALED_TYPES
    scale = sb(column.scale) if wide else bytes((column.scale & 0xFF,))
    charset = b"\0\0"
    kind = OraType.CLOB if column.type == OraType.XMLTYPE else column.type
    if text or kind == OraType.CLOB:
        charset = ub(CHARSET_AL16UTF16) + b"\2" if column.national else ub(CHARSET_AL32UTF8) + b"\1"
    name = column.name.encode()
    pieces = [bytes((kind, 0, column.precision & 0xFF)), scale, ub(size)]  # ora_type_num, flags, precision
    pieces.append(b"\0\0\0\0")  # max array elements, cont flags, OID, version
    pieces += [charset, ub(size // 2 if column.national else size) if text else b"\0"]  # character set id and form, max size
    if field_version >= FIELD_VERSION_12_2:
        pieces.append(b"\0")  # oaccolid
    pieces += [bytes((column.nullable, len(name) & 0xFF)), dalc(name)]  # nulls allowed, v7 length of name
    pieces += [b"\0\0", ub(position), b"\0"]  # schema and name of the type, column position, uds flags
    if field_version >= FIELD_VERSION_23_1:
        pieces.append(b"\0\0")  # domain schema and name
    if field_version >= FIELD_VERSION_23_1_EXT3:
        pieces.append(b"\0")  # annotations
    if field_version >= FIELD_VERSION_23_4:
        pieces.append(b"\0\0\0")  # vector dimensions, format, flags
    return b"".join(pieces)


def describe_columns(columns: Sequence[ColumnDescription], agreed: Negotiated) -> bytes:
    """Descriptions of the columns, in their order, without anything before or after them."""
    return b"".join(_describe_column(c, i, agreed) for i, c in enumerate(columns, 1))


def describe_body(columns: Sequence[ColumnDescription], agreed: Negotiated) -> bytes:
    """Describe without message byte and opaque prefix: the form inside a REF CURSOR value."""
    sizes = sum(map(sent_size, columns))
    pieces = [ub(sizes & 0xFFFFFFFF), ub(len(columns))]
    if columns:
        pieces.append(bytes((len(columns) & 0xFF,)))
    pieces += [describe_columns(columns, agreed), dalc(_DESCRIBE_DATE), b"\0\0\0\0\0"]
    return b"".join(pieces)


def describe(columns: Sequence[ColumnDescription], agreed: Negotiated) -> bytes:
    """The describe message, with random bytes as its opaque prefix."""
    return bytes((Ttc.DESCRIBE,)) + clr(secrets.token_bytes(16)) + describe_body(columns, agreed)


def row_header(columns: int) -> bytes:
    """The message before rows of this many columns."""
    return bytes((Ttc.ROW_HEADER, 0)) + ub(columns & 0xFF) + ub(columns >> 8) + b"\0\0\0\0"


def _short_binary(cells: Sequence[Cell]) -> list[bytes]:
    return [LENGTH[len(cell)] + cell if cell else NULL for cell in cells]  # type: ignore[operator]


def _binary(cells: Sequence[Cell]) -> list[bytes]:
    return [clr(cell) if cell else NULL for cell in cells]  # type: ignore[arg-type]


def _text(cells: Sequence[Cell]) -> list[bytes]:
    return [
        (LENGTH[size] + raw if (size := len(raw := cell.encode("utf-8", "replace"))) <= SHORT_MAX else clr(raw))  # type: ignore[union-attr]
        if cell
        else NULL
        for cell in cells
    ]


def _national(cells: Sequence[Cell]) -> list[bytes]:
    return [clr(str(cell).encode("utf-16-be", "replace")) if cell else NULL for cell in cells]


def _long(cells: Sequence[Cell]) -> list[bytes]:
    return [clr(cell.encode() if isinstance(cell, str) else cell) + b"\0\0" if cell else b"\0\0\0" for cell in cells]


def _universal_row_id(cells: Sequence[Cell]) -> list[bytes]:
    """Encoder of UROWID, a physical ROWID within: its size, then 01 and the four numbers at fixed widths."""
    return [b"\x01\x0d" + clr(b"\1" + fixed_row_id(str(cell))) if cell else NULL for cell in cells]


def _boolean(cells: Sequence[Cell]) -> list[bytes]:
    return [b"\1" + cell if isinstance(cell, bytes) else NULL for cell in cells]


def _row_id(cells: Sequence[Cell]) -> list[bytes]:
    return [encoded_row_id[cell] if cell else NULL for cell in cells]  # type: ignore[index]


_ENCODERS: dict[OraType, ColumnEncoder] = {
    OraType.VARCHAR2: _text,
    OraType.CHAR: _text,
    OraType.LONG: _long,
    OraType.LONG_RAW: _long,
    OraType.UROWID: _universal_row_id,
    OraType.BOOLEAN: _boolean,
    OraType.RAW: _binary,
    OraType.ROWID: _row_id,
    OraType.NUMBER: _short_binary,
    OraType.DATE: _short_binary,
    OraType.TIMESTAMP: _short_binary,
    OraType.TIMESTAMP_TZ: _short_binary,
    OraType.TIMESTAMP_LTZ: _short_binary,
    OraType.INTERVAL_YM: _short_binary,
    OraType.INTERVAL_DS: _short_binary,
    OraType.BINARY_FLOAT: _short_binary,
    OraType.BINARY_DOUBLE: _short_binary,
}


_PURE = frozenset((_text, _short_binary, _binary))
_SAMPLE_ROWS = 32
_FEW = 8


def _once_each(encoder: ColumnEncoder) -> ColumnEncoder:
    """An encoder of the same fields that encodes each different value once where a batch has few, as most columns of
    V$LOGMNR_CONTENTS do. Only for encoders without side effects."""

    def encode(cells: Sequence[Cell]) -> list[bytes]:
        if len(cells) > _SAMPLE_ROWS and len(set(cells[:_SAMPLE_ROWS])) <= _FEW:
            different = list(set(cells))
            if len(different) <= len(cells) // _FEW:
                known = dict(zip(different, encoder(different), strict=True))
                return [known[cell] for cell in cells]
        return encoder(cells)

    return encode


class Define(NamedTuple):
    """The form in which the client wants a LOB column.

    :param kind: type number.
    :param prefetch: units of the content that come with the locator; None: the locator alone.
    """

    kind: int
    prefetch: int | None = 0


def column_encoder(session: Session, kind: OraType, define: Define | None = None, national: bool = False) -> ColumnEncoder:
    """Encoder for values of one column: from cells to fields, None to NULL. Raises ORA-03001 for a type that the wire cannot
    carry; the encoder of a LOB type raises as `LobCalls.read`.

    :param define: form of a CLOB, BLOB or XMLTYPE column; None: by locator alone.
    :param national: text goes in UTF-16.
    """
    if national and kind in _TEXTS:
        return _national
    if kind in (OraType.CLOB, OraType.BLOB, OraType.XMLTYPE):
        if define is not None and define.kind in LONG_LIKE:
            return lob_values.contents(session, national)
        return lob_values.locators(session, define.prefetch if define is not None else None)
    if kind is OraType.BFILE:
        return lob_values.locators(session, None)
    if kind in (OraType.JSON, OraType.VECTOR):
        return lob_values.images(session)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise OraError(3001, f"unimplemented feature: columns of type {kind.name} in a query")
    return encoder


def rows_encoder(
    session: Session, columns: Sequence[ColumnDescription], defines: Sequence[Define] | None = None
) -> RowsEncoder:
    """Compile the encoder of one result's rows, from cells to row messages, b'' for no rows; `defines` by column, None for none.
    Raises as `column_encoder`; the encoder raises as those of its columns."""
    encoders = [
        column_encoder(session, column.type, defines[at] if defines else None, column.national)
        for at, column in enumerate(columns)
    ]
    encoders = [_once_each(encoder) if encoder in _PURE else encoder for encoder in encoders]

    def encode(rows: Sequence[tuple[Cell, ...]]) -> bytes:
        if not rows:
            return b""
        encoded = [encoder(cells) for encoder, cells in zip(encoders, zip(*rows, strict=True), strict=True)]
        return b"".join(chain.from_iterable(zip(repeat(_ROW), *encoded, strict=False)))

    return encode
