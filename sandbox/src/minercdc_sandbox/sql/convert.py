"""Conversions of cells between families of types, chosen once per statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.sql import binary, intervals, number, temporal, zones
from minercdc_sandbox.sql.date_formats import compiled, to_char, to_moment
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.temporal import TimeKind
from minercdc_sandbox.sql.types import BINARY_SIZES, KIND, LARGE, NUMERIC, TEMPORAL, TEXT, Family, SqlType, inconsistent
from minercdc_sandbox.sql.zones import Zone

Convert: TypeAlias = Callable[[Cell], Cell]


@dataclass(frozen=True, slots=True)
class Conversion:
    """Settings of implicit conversions. `lobs`: where the contents of LOBs are."""

    nls: Nls
    today: date
    lobs: LobStore
    segment: int = 0


def convert(source: SqlType, family: Family, how: Conversion) -> Convert | None:
    """How a cell of `source` becomes `family` implicitly; None when it already is. Raises ORA-00932 when it cannot."""
    have = source.family
    if have is family or have is Family.NULL or (have in TEXT and family in TEXT):
        return None
    nls = how.nls
    if have in LARGE or family in LARGE:
        return _large(have, family, how)
    if have in NUMERIC and family in NUMERIC:
        return _between_numbers(have, family)
    if have in TEXT:
        if family is Family.NUMBER:
            return lambda cell: None if cell is None else number.parse(_plain(str(cell), nls))
        if family in BINARY_SIZES:
            size = BINARY_SIZES[family]
            return lambda cell: None if cell is None else binary.parse(_plain(str(cell), nls), size)
        if family is Family.INTERVAL:
            return lambda cell: None if cell is None else intervals.parse(str(cell))
        if family is Family.MONTHS:
            return lambda cell: None if cell is None else intervals.parse_months(str(cell))
        if family in TEMPORAL:
            return lambda cell: None if cell is None else parse_temporal(str(cell), family, None, how)
        if family is Family.RAW:
            return lambda cell: None if cell is None else hex_to_raw(str(cell))
        if family is Family.ROWID:
            return None
    elif family in TEXT:
        return lambda cell: None if cell is None else to_text(cell, source, nls)
    elif have in TEMPORAL and family in TEMPORAL:
        kinds, zone = (KIND[have], KIND[family]), nls.zone
        return lambda cell: temporal.retime(cell, *kinds, zone) if isinstance(cell, bytes) else None
    raise inconsistent(family, have)


def _large(have: Family, family: Family, how: Conversion) -> Convert | None:
    """Between LOBs and what fits into a VARCHAR2 or RAW; text and bytes for a LOB stay as they are until it is stored."""
    lobs = how.lobs
    if have in (Family.CLOB, Family.XML) and family in TEXT:
        return lambda cell: None if cell is None else short_text(lobs, cell)
    if have is Family.BLOB and family is Family.RAW:
        return lambda cell: None if cell is None else short_raw(lobs, cell)
    if have in TEXT and family in (Family.CLOB, Family.XML):
        return None
    if have is Family.RAW and family is Family.BLOB:
        return None
    if have in TEXT and family is Family.BLOB:
        return lambda cell: None if cell is None else hex_to_raw(str(cell))
    raise inconsistent(family, have)


SHORT_BYTES = 4000
"""The part of a LOB that SQL converts: the size of a VARCHAR2; RAW has half."""


def short_text(lobs: LobStore, cell: Cell) -> str | None:
    """A CLOB as VARCHAR2. Raises ORA-22835."""
    value = lobs.value(cell)
    text = lobs.text(value) if value.length <= SHORT_BYTES else ""
    if value.length > SHORT_BYTES or len(text.encode("utf-8", "surrogatepass")) > SHORT_BYTES:
        size = f"(actual: {value.length}, maximum: {SHORT_BYTES})"
        raise OraError(22835, f"Buffer too small for CLOB to CHAR or BLOB to RAW conversion {size}")
    return text or None


def short_raw(lobs: LobStore, cell: Cell) -> bytes | None:
    """A BLOB as RAW. Raises ORA-22835."""
    value = lobs.value(cell)
    if value.length > SHORT_BYTES // 2:
        size = f"(actual: {value.length}, maximum: {SHORT_BYTES // 2})"
        raise OraError(22835, f"Buffer too small for CLOB to CHAR or BLOB to RAW conversion {size}")
    return lobs.raw(value) or None


def _between_numbers(have: Family, family: Family) -> Convert:
    if family is Family.NUMBER:
        return lambda cell: binary.to_number(cell) if isinstance(cell, bytes) else None
    size = BINARY_SIZES[family]
    if have is Family.NUMBER:
        return lambda cell: binary.of_number(cell, size) if isinstance(cell, bytes) else None
    return lambda cell: binary.resized(cell, size) if isinstance(cell, bytes) else None


def _plain(text: str, nls: Nls) -> str:
    point = nls.numeric_characters[0]
    return text if point == "." else text.replace(point, ".")


def hex_to_raw(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text) or None
    except ValueError:
        raise OraError(1465, "invalid hex number") from None


def parse_temporal(text: str, family: Family, model: str | None, how: Conversion) -> bytes:
    """Text to DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE by a model or the session's."""
    nls = how.nls
    if model is None:
        model = model_of(family, nls)
    moment, zone = to_moment(text, model, how.today)
    if family is Family.ZONED:
        return temporal.zoned(moment, nls.zone if zone is None else zone)
    if family is Family.LOCAL:
        return temporal.encode(temporal.to_utc(moment, nls.zone if zone is None else zone))
    return temporal.encode(moment, fraction=family is Family.TIMESTAMP)


def to_text(cell: Cell, source: SqlType, nls: Nls) -> str:
    """Implicit TO_CHAR."""
    family = source.family
    if isinstance(cell, str):
        return cell
    assert cell is not None
    if family is Family.NUMBER:
        return number.text(cell, nls.numeric_characters[0])
    if family is Family.RAW:
        return cell.hex().upper()
    if family in BINARY_SIZES:
        return binary.text(cell, nls.numeric_characters[0])
    if family is Family.INTERVAL:
        return intervals.text(cell, source.precision, source.scale)
    if family is Family.MONTHS:
        return intervals.months_text(cell, source.precision)
    if family in TEMPORAL:
        digits = source.scale if 0 <= source.scale <= 9 else 6
        return date_text(cell, KIND[family], model_of(family, nls), digits, nls.zone)
    raise inconsistent("CHAR", family)


def model_of(family: Family, nls: Nls) -> str:
    """The session's default format of dates or timestamps."""
    if family is Family.DATE:
        return nls.date_format
    return nls.timestamp_tz_format if family is Family.ZONED else nls.timestamp_format


def date_text(cell: bytes, kind: str, model: str, digits: int, zone: Zone) -> str:
    """TO_CHAR of a date or timestamp; local ones, and the zone of those without, are in the session's `zone`."""
    if kind == TimeKind.ZONED:
        shown = temporal.zone_of(cell)
        return to_char(temporal.local(cell), model, digits=digits, zone=shown, offset=temporal.offset_of(cell))
    if kind == TimeKind.LOCAL:
        cell = temporal.retime(cell, TimeKind.LOCAL, TimeKind.TIMESTAMP, zone)
    elif cell[0] >= 100 and cell[1] >= 100:
        quick = compiled(model, digits)
        if quick is not None:
            return quick(cell)
    moment = temporal.decode(cell)
    return to_char(moment, model, digits=digits, zone=zone, offset=zones.offset_at(zone, moment))


def utf16_units(text: str) -> int:
    """Length in the national character set."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be")) // 2
