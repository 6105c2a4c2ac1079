"""Implicit conversions of cells between families of types: functions chosen once per statement."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.sql import binary, intervals, number, temporal, zones
from minercdc_sandbox.sql.date_formats import check_of_dates, compiled, shows_zone, to_char, to_moment
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.temporal import TimeKind
from minercdc_sandbox.sql.types import BINARY_SIZES, KIND, LARGE, NUMERIC, TEMPORAL, TEXT, Family, SqlType, inconsistent
from minercdc_sandbox.sql.zones import Zone

Convert: TypeAlias = Callable[[Cell], Cell]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The settings of implicit conversions: `today` completes dates; new LOBs are stored in `lobs` for `segment`, a data object
    id, 0 for temporary ones."""

    nls: Nls
    today: date
    lobs: LobStore
    segment: int = 0


def convert(source: SqlType, family: Family, how: Conversion) -> Convert | None:
    """The implicit conversion of a cell of `source` to a family, of NULL to NULL; None when the cell need not change. Raises
    ORA-00932 if there is none. The conversion raises for a cell that it cannot convert, for example ORA-01722 or ORA-22835."""
    have = source.family
    if have is family or have is Family.NULL or (have in TEXT and family in TEXT):
        return None
    nls = how.nls
    if have in LARGE or family in LARGE:
        return _large(have, family, how)
    if have in NUMERIC and family in NUMERIC:
        return _strict(_between_numbers(have, family))
    if have in TEXT and family is Family.ROWID:
        return None
    of_text = _of_text(family, how) if have in TEXT else None
    if of_text is not None:
        return _strict(of_text)
    if family in TEXT:
        return _strict(lambda cell: to_text(cell, source, nls))
    if have in TEMPORAL and family in TEMPORAL:
        kinds, zone = (KIND[have], KIND[family]), nls.zone
        return _strict(lambda cell: temporal.retime(cell, *kinds, zone))
    raise inconsistent(family, have)


def _strict(function: Callable[[Any], Cell]) -> Convert:
    return lambda cell: None if cell is None else function(cell)


def _of_text(family: Family, how: Conversion) -> Callable[[Any], Cell] | None:
    point = how.nls.numeric_characters[0]
    if family is Family.NUMBER:
        return lambda cell: number.parse(cell.replace(point, "."))
    if family in BINARY_SIZES:
        return lambda cell: binary.parse(cell.replace(point, "."), BINARY_SIZES[family])
    if family in TEMPORAL:
        return lambda cell: parse_temporal(cell, family, None, how)
    return {Family.INTERVAL: intervals.parse, Family.MONTHS: intervals.parse_months, Family.RAW: hex_to_raw}.get(family)


def _large(have: Family, family: Family, how: Conversion) -> Convert | None:
    """Conversion between LOBs and VARCHAR2 or RAW; text and bytes for a LOB stay as they are until it is stored (None). Raises
    ORA-00932 for others; the conversion raises as `short_text` and `short_raw`."""
    lobs = how.lobs
    if have in (Family.CLOB, Family.XML) and family in TEXT:
        return _strict(lambda cell: short_text(lobs, cell))
    if have is Family.BLOB and family is Family.RAW:
        return _strict(lambda cell: short_raw(lobs, cell))
    if (have in TEXT and family in (Family.CLOB, Family.XML)) or (have is Family.RAW and family is Family.BLOB):
        return None
    if have in TEXT and family is Family.BLOB:
        return _strict(hex_to_raw)
    raise inconsistent(family, have)


SHORT_BYTES = 4000
"""The longest CLOB in bytes that is converted to VARCHAR2; of a BLOB to RAW half."""


def short_text(lobs: LobStore, cell: Cell) -> str | None:
    """The text of the CLOB with this locator as VARCHAR2; None when it is empty. Raises ORA-22835 beyond 4000 bytes, and as
    `LobStore.value`."""
    value = lobs.value(cell)
    text = lobs.text(value) if value.length <= SHORT_BYTES else ""
    if value.length > SHORT_BYTES or len(text.encode("utf-8", "surrogatepass")) > SHORT_BYTES:
        raise _too_long(value.length, SHORT_BYTES)
    return text or None


def short_raw(lobs: LobStore, cell: Cell) -> bytes | None:
    """The content of the BLOB with this locator as RAW; None when it is empty. Raises ORA-22835 beyond 2000 bytes, and as
    `LobStore.value`."""
    value = lobs.value(cell)
    if value.length > SHORT_BYTES // 2:
        raise _too_long(value.length, SHORT_BYTES // 2)
    return lobs.raw(value) or None


def _too_long(actual: int, maximum: int) -> OraError:
    size = f"(actual: {actual}, maximum: {maximum})"
    return OraError(22835, f"Buffer too small for CLOB to CHAR or BLOB to RAW conversion {size}")


def _between_numbers(have: Family, family: Family) -> Callable[[Any], Cell]:
    if family is Family.NUMBER:
        return binary.to_number
    size = BINARY_SIZES[family]
    return lambda cell: binary.of_number(cell, size) if have is Family.NUMBER else binary.resized(cell, size)


_HEX = re.compile("[0-9A-Fa-f]*")


def hex_to_raw(text: str) -> bytes | None:
    """The bytes of hexadecimal digits, with a zero before an odd number of them; None of an empty text. Raises ORA-01465 for
    other characters."""
    if _HEX.fullmatch(text) is None:
        raise OraError(1465, "invalid hex number")
    return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text) or None


def parse_temporal(text: str, family: Family, model: str | None, how: Conversion) -> bytes:
    """The cell of a text in a family of TEMPORAL, by `model` or, when that is None, the session's format. Raises as
    `date_formats.to_moment` and `temporal.to_utc`, and for a DATE as `check_of_dates`."""
    nls = how.nls
    if model is None:
        model = model_of(family, nls)
    if family is Family.DATE:
        check_of_dates(model)
    moment, zone = to_moment(text, model, how.today)
    if family is Family.ZONED:
        return temporal.zoned(moment, nls.zone if zone is None else zone)
    if family is Family.LOCAL:
        return temporal.encode(temporal.to_utc(moment, nls.zone if zone is None else zone))
    return temporal.encode(moment, fraction=family is Family.TIMESTAMP)


def to_text(cell: Cell, source: SqlType, nls: Nls) -> str:
    """Implicit TO_CHAR of a cell that is not NULL. Raises ORA-00932 for a family without text, and as `date_text`."""
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
    """The session's default format of a family of TEMPORAL."""
    if family is Family.DATE:
        return nls.date_format
    return nls.timestamp_tz_format if family is Family.ZONED else nls.timestamp_format


def date_text(cell: bytes, kind: str, model: str, digits: int, zone: Zone) -> str:
    """TO_CHAR of a date or timestamp of a `TimeKind` by `model`. `digits`: of plain FF; `zone`: of the session, for all but
    ZONED, in which a TIMESTAMP is read when the model shows it. Raises as `to_char`, `temporal.retime`, `temporal.offset_of` and
    `zones.offset_of_local`, and for a DATE as `check_of_dates`."""
    if kind == TimeKind.DATE:
        check_of_dates(model)
    if kind == TimeKind.ZONED:
        shown = temporal.zone_of(cell)
        return to_char(temporal.local(cell), model, digits=digits, zone=shown, offset=temporal.offset_of(cell))
    utc = cell
    if kind == TimeKind.LOCAL:
        cell = temporal.retime(cell, TimeKind.LOCAL, TimeKind.TIMESTAMP, zone)
    elif cell[0] >= 100 and cell[1] >= 100:
        quick = compiled(model, digits)
        if quick is not None:
            return quick(cell)
    moment = temporal.decode(cell)
    offset = 0
    if shows_zone(model):
        local = kind == TimeKind.LOCAL
        offset = zones.offset_at(zone, temporal.decode(utc)) if local else zones.offset_of_local(zone, moment)
    return to_char(moment, model, digits=digits, zone=zone, offset=offset)


def utf16_units(text: str) -> int:
    """Length in UTF-16 units, the characters of the national character set."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2
