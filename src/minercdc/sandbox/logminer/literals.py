"""Literals of SQL_REDO and SQL_UNDO: one closure per column type, made once per table shape and NLS settings.

    NUMBER '12.5'   VARCHAR2 'it''s'   DATE TO_DATE('..', 'fmt')   TIMESTAMP TO_TIMESTAMP('..')   RAW HEXTORAW('cafe')

The session's NLS formats decide the text of dates, its numeric characters the decimal point. FF prints the column's own
number of fractional digits, none for TIMESTAMP(0), which leaves the trailing point.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

from minercdc.sandbox.interfaces import Cell, OraError, OraType, StoredColumn
from minercdc.sandbox.sql import formats, number, temporal
from minercdc.sandbox.sql.nls import Nls

Literal: TypeAlias = Callable[[Cell], str]
"""Text of a value that is not NULL."""

_ISO_DATE = "YYYY-MM-DD HH24:MI:SS"
_ISO_TIMESTAMP = "YYYY-MM-DD HH24:MI:SS.FF9"
_MINUTE_NS = 60_000_000_000
_POWERS = [100**n for n in range(20)]
_PLAIN = [f"{n:02d}" for n in range(256)]
_EXCESS_1 = [f"{n - 1:02d}" for n in range(256)]
_EXCESS_100 = [f"{n - 100:02d}" for n in range(256)]


def literal(column: StoredColumn, nls: Nls) -> Literal:
    """Compile the literal of one column. Raises OraError for types LogMiner here has no text for."""
    match column.type:
        case OraType.NUMBER:
            return _number(nls)
        case OraType.VARCHAR2 | OraType.CHAR | OraType.LONG | OraType.ROWID | OraType.UROWID:
            return _quoted
        case OraType.DATE:
            return _date(nls)
        case OraType.TIMESTAMP:
            return _timestamp(column, nls)
        case OraType.TIMESTAMP_TZ:
            return _zoned(column, nls)
        case OraType.TIMESTAMP_LTZ:
            return _local(column, nls)
        case OraType.RAW:
            return raw_literal
        case OraType.BINARY_FLOAT | OraType.BINARY_DOUBLE:
            return _binary_float
        case other:
            raise OraError(3001, f"unimplemented feature: LogMiner text of {other.name}")


def _binary(cell: Cell) -> bytes:
    assert isinstance(cell, bytes)
    return cell


def _quoted(cell: Cell) -> str:
    text = str(cell)
    return "'" + text.replace("'", "''") + "'" if "'" in text else "'" + text + "'"


def _number(nls: Nls) -> Literal:
    point = nls.numeric_characters[0]

    def text(cell: Cell) -> str:
        data = _binary(cell)
        last = data[0] - 192  # place of the last base-100 digit before the point
        if 0 < last < 19 and len(data) <= last + 1:  # a whole number, the common case
            value = 0
            for byte in data[1:]:
                value = value * 100 + byte - 1
            return f"'{value * _POWERS[last + 1 - len(data)]}'"
        return "'" + number.text(data, point) + "'"

    return text


def raw_literal(cell: Cell) -> str:
    """HEXTORAW of a value's stored bytes; also the text of columns whose type is not known any more."""
    data = cell.encode() if isinstance(cell, str) else _binary(cell)
    return "HEXTORAW('" + data.hex() + "')"


def _iso(cell: bytes) -> str:
    year = _EXCESS_100[cell[0]] + _EXCESS_100[cell[1]]
    return f"{year}-{_PLAIN[cell[2]]}-{_PLAIN[cell[3]]} {_EXCESS_1[cell[4]]}:{_EXCESS_1[cell[5]]}:{_EXCESS_1[cell[6]]}"


def _date(nls: Nls) -> Literal:
    model = nls.date_format
    tail = f"', '{model}')"
    if model.upper() == _ISO_DATE:
        return lambda cell: "TO_DATE('" + _iso(_binary(cell)) + tail
    return lambda cell: "TO_DATE('" + formats.to_char(temporal.decode(_binary(cell)), model) + tail


def _timestamp(column: StoredColumn, nls: Nls) -> Literal:
    model, digits = nls.timestamp_format, column.scale
    if model.upper() == _ISO_TIMESTAMP:

        def iso(cell: Cell) -> str:
            data = _binary(cell)
            return f"TO_TIMESTAMP('{_iso(data)}.{int.from_bytes(data[7:11], 'big'):09d}')"

        return iso
    return lambda cell: f"TO_TIMESTAMP('{formats.to_char(temporal.decode(_binary(cell)), model, digits=digits)}')"


def _zoned(column: StoredColumn, nls: Nls) -> Literal:
    def text(cell: Cell) -> str:
        data = _binary(cell)
        offset = temporal.offset_of(data)
        shown = formats.to_char(temporal.local(data), nls.timestamp_tz_format, digits=column.scale, offset=offset)
        return f"TO_TIMESTAMP_TZ('{shown}')"

    return text


def _local(column: StoredColumn, nls: Nls) -> Literal:
    """Session-zone time without any zone text: clients set TIME_ZONE to 00:00 for this reason."""
    shift = nls.offset_minutes * _MINUTE_NS

    def text(cell: Cell) -> str:
        moment = temporal.from_ns(temporal.to_ns(temporal.decode(_binary(cell))) + shift)
        return f"TO_TIMESTAMP_TZ('{formats.to_char(moment, nls.timestamp_format, digits=column.scale)}')"

    return text


def _binary_float(cell: Cell) -> str:
    data = _binary(cell)
    flipped = bytes((data[0] ^ 0x80, *data[1:])) if data[0] & 0x80 else bytes(b ^ 0xFF for b in data)
    value: float = struct.unpack(">f" if len(data) == 4 else ">d", flipped)[0]
    if value != value:
        return "'Nan'"
    if value in (float("inf"), float("-inf")):
        return "'Inf'" if value > 0 else "'-Inf'"
    if value == 0:
        return "'0'"
    mantissa, exponent = (f"{value:.8E}" if len(data) == 4 else _shortest(value)).split("E")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"'{mantissa}E{exponent[0]}{exponent[1:].zfill(3)}'"


def _shortest(value: float) -> str:
    """The fewest digits that read back as the same BINARY_DOUBLE."""
    return next(text for places in range(17) if float(text := f"{value:.{places}E}") == value)
