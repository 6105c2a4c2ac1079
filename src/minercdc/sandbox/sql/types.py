"""Types of expressions, and how a cell is stored into a column: conversion, precision and length, once per statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from minercdc.sandbox.catalog import Column
from minercdc.sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, OraType
from minercdc.sandbox.sql import ast, binary, formats, intervals, number, temporal, zones
from minercdc.sandbox.sql.nls import Nls
from minercdc.sandbox.sql.zones import Zone


class Family(StrEnum):
    """Types that compare and calculate alike."""

    NUMBER = "NUMBER"
    FLOAT = "BINARY_FLOAT"
    DOUBLE = "BINARY_DOUBLE"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR2"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    ZONED = "TIMESTAMP WITH TIME ZONE"
    LOCAL = "TIMESTAMP WITH LOCAL TIME ZONE"
    INTERVAL = "INTERVAL DAY TO SECOND"
    MONTHS = "INTERVAL YEAR TO MONTH"
    RAW = "RAW"
    ROWID = "ROWID"
    NULL = "NULL"


TEXT = frozenset({Family.CHAR, Family.VARCHAR})
TEMPORAL = frozenset({Family.DATE, Family.TIMESTAMP, Family.ZONED, Family.LOCAL})
INSTANTS = frozenset({Family.ZONED, Family.LOCAL})
NUMERIC = frozenset({Family.NUMBER, Family.FLOAT, Family.DOUBLE})
BINARY_SIZES = {Family.FLOAT: 4, Family.DOUBLE: 8}
INTERVALS = frozenset({Family.INTERVAL, Family.MONTHS})
KIND = {Family.DATE: "D", Family.TIMESTAMP: "T", Family.ZONED: "Z", Family.LOCAL: "L"}
"""Letters that `temporal.retime` knows the families by."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """`scale` is NUMBER's scale or a timestamp's or interval's fractional digits, `precision` also an interval's leading
    digits; `size` bytes; `national` the national character set."""

    family: Family
    precision: int = 0
    scale: int = -127
    size: int = 0
    national: bool = False

    def describe(self, name: str, nullable: bool = True) -> ColumnDescription:
        if self.family is Family.NUMBER:
            precision = 38 if self.precision == 0 and self.scale != -127 else self.precision
            return ColumnDescription(name, OraType.NUMBER, precision, self.scale, 22, nullable)
        code, size = _CODES[self.family]
        if self.family in INTERVALS:
            return ColumnDescription(name, code, self.precision, max(self.scale, 0), size, nullable)
        scale = self.scale if self.family in TEMPORAL and self.scale >= 0 else 0
        national = self.national and self.family in TEXT
        return ColumnDescription(name, code, 0, scale, size or max(self.size, 1), nullable, national)


_CODES: dict[Family, tuple[OraType, int]] = {
    Family.CHAR: (OraType.CHAR, 0),
    Family.VARCHAR: (OraType.VARCHAR2, 0),
    Family.NULL: (OraType.VARCHAR2, 0),
    Family.DATE: (OraType.DATE, 7),
    Family.TIMESTAMP: (OraType.TIMESTAMP, 11),
    Family.ZONED: (OraType.TIMESTAMP_TZ, 13),
    Family.RAW: (OraType.RAW, 0),
    Family.ROWID: (OraType.ROWID, 18),
    Family.FLOAT: (OraType.BINARY_FLOAT, 4),
    Family.DOUBLE: (OraType.BINARY_DOUBLE, 8),
    Family.LOCAL: (OraType.TIMESTAMP_LTZ, 11),
    Family.INTERVAL: (OraType.INTERVAL_DS, 11),
    Family.MONTHS: (OraType.INTERVAL_YM, 5),
}

NUMBER = SqlType(Family.NUMBER)
NULL = SqlType(Family.NULL)
DATE = SqlType(Family.DATE)
TIMESTAMP = SqlType(Family.TIMESTAMP, scale=9)
ZONED = SqlType(Family.ZONED, scale=6)
INTERVAL = SqlType(Family.INTERVAL, 9, 9)
MONTHS = SqlType(Family.MONTHS, 9, 0)
FLOAT = SqlType(Family.FLOAT)
DOUBLE = SqlType(Family.DOUBLE)
LOCAL = SqlType(Family.LOCAL, scale=6)
ROWID = SqlType(Family.ROWID, size=18)


def varchar(size: int = 4000) -> SqlType:
    return SqlType(Family.VARCHAR, size=max(1, min(size, 32767)))


def type_of_wire(code: OraType, precision: int = 0, scale: int = -127, size: int = 0, national: bool = False) -> SqlType:
    """Type of a described column or bind. Raises ORA-00932 for what SQL cannot compute with here."""
    if code is OraType.NUMBER:
        return SqlType(Family.NUMBER, precision, scale)
    if code in (OraType.VARCHAR2, OraType.LONG, OraType.CLOB):
        return replace(varchar(size or 4000), national=national)
    if code is OraType.CHAR:
        return SqlType(Family.CHAR, size=size or 1, national=national)
    if code is OraType.DATE:
        return DATE
    if code is OraType.TIMESTAMP:
        return SqlType(Family.TIMESTAMP, scale=scale if 0 <= scale <= 9 else 9)
    if code is OraType.TIMESTAMP_TZ:
        return SqlType(Family.ZONED, scale=scale if 0 <= scale <= 9 else 9)
    if code is OraType.TIMESTAMP_LTZ:
        return SqlType(Family.LOCAL, scale=scale if 0 <= scale <= 9 else 9)
    if code is OraType.INTERVAL_DS:
        return SqlType(Family.INTERVAL, precision, scale)
    if code is OraType.INTERVAL_YM:
        return SqlType(Family.MONTHS, precision, 0)
    if code is OraType.BINARY_FLOAT:
        return FLOAT
    if code is OraType.BINARY_DOUBLE:
        return DOUBLE
    if code is OraType.RAW:
        return SqlType(Family.RAW, size=size or 2000)
    if code in (OraType.ROWID, OraType.UROWID):
        return ROWID
    raise OraError(932, f"inconsistent datatypes: {code.name} is not supported here")


def bind_type(bind: BindType) -> SqlType:
    """A CHAR bind (JDBC's fixed) compares padded; str binds come as VARCHAR2."""
    if bind.type is OraType.NUMBER:
        return NUMBER
    return type_of_wire(bind.type, 9, 9, bind.size, bind.national)


def column_type(column: Column) -> SqlType:
    return type_of_wire(column.type, column.precision, column.scale, column.size, column.national)


def declare(name: str, target: ast.TypeName, *, default_char: str = "B") -> Column:
    """A column (or CAST target) of the declared type. Raises ORA-00902 and the range errors of each type."""
    numbers = target.numbers
    one = numbers[0] if numbers else None
    word = target.name
    if word in ("VARCHAR2", "VARCHAR", "CHAR", "CHARACTER"):
        return _declare_text(name, target, default_char)
    if word in ("NVARCHAR2", "NCHAR"):
        return _declare_national(name, target)
    if word in ("NUMBER", "NUMERIC", "DECIMAL", "DEC"):
        return _declare_number(name, numbers, word)
    if word in ("INTEGER", "INT", "SMALLINT"):
        return Column(name, OraType.NUMBER, 0, 0, 22)
    if word in ("FLOAT", "DOUBLE PRECISION", "REAL"):
        bits = one if one is not None else (63 if word == "REAL" else 126)
        if not 1 <= bits <= 126:
            raise OraError(1734, "illegal parameters - FLOAT precision must be between 1 and 126", target.at)
        return Column(name, OraType.NUMBER, bits, -127, 22, float_=True)
    if word == "DATE":
        return Column(name, OraType.DATE, size=7)
    if word.startswith("TIMESTAMP"):
        digits = _digits(one, 6, target.at)
        code = _TIMESTAMPS[word]
        return Column(name, code, scale=digits, size=13 if code is OraType.TIMESTAMP_TZ else 11)
    if word == "INTERVAL YEAR TO MONTH":
        return Column(name, OraType.INTERVAL_YM, _digits(one, 2, target.at), 0, 5)
    if word == "INTERVAL DAY TO SECOND":
        return Column(name, OraType.INTERVAL_DS, _digits(one, 2, target.at), _digits(numbers[1], 6, target.at), 11)
    if word == "BINARY_FLOAT":
        return Column(name, OraType.BINARY_FLOAT, size=4)
    if word == "BINARY_DOUBLE":
        return Column(name, OraType.BINARY_DOUBLE, size=8)
    if word == "RAW":
        if one is None:
            raise OraError(906, "missing left parenthesis", target.at)
        if not 1 <= one <= 2000:
            raise OraError(910, "specified length too long for its datatype", target.at)
        return Column(name, OraType.RAW, size=one)
    known = "CLOB BLOB NCLOB BFILE LONG XMLTYPE JSON BOOLEAN ROWID UROWID VECTOR"
    if word in (*known.split(), "LONG RAW"):
        raise OraError(3001, f"unimplemented feature: datatype {word}", target.at)
    raise OraError(902, "invalid datatype", target.at)


_TIMESTAMPS = {
    "TIMESTAMP": OraType.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": OraType.TIMESTAMP_TZ,
    "TIMESTAMP WITH LOCAL TIME ZONE": OraType.TIMESTAMP_LTZ,
}


def _digits(given: int | None, otherwise: int, at: int) -> int:
    digits = otherwise if given is None else given
    if not 0 <= digits <= 9:
        raise OraError(30088, "datetime/interval precision is out of range", at)
    return digits


def _declare_national(name: str, target: ast.TypeName) -> Column:
    """NCHAR and NVARCHAR2: two bytes for each UTF-16 unit."""
    varying = target.name == "NVARCHAR2"
    if varying and not target.numbers:
        raise OraError(906, "missing left parenthesis", target.at)
    one = (target.numbers[0] if target.numbers else 1) or 0
    if one < 1:
        raise OraError(1723, "zero-length columns are not allowed", target.at)
    if one > (2000 if varying else 1000):
        raise OraError(910, "specified length too long for its datatype", target.at)
    code = OraType.VARCHAR2 if varying else OraType.CHAR
    return Column(name, code, size=2 * one, char_length=one, semantics="C", national=True)


def _declare_text(name: str, target: ast.TypeName, default_char: str) -> Column:
    one = target.numbers[0] if target.numbers else None
    varying = target.name.startswith("VARCHAR")
    if one is None:
        if varying:
            raise OraError(906, "missing left parenthesis", target.at)
        one = 1
    if one < 1:
        raise OraError(1723, "zero-length columns are not allowed", target.at)
    limit = 4000 if varying else 2000
    if one > limit:
        raise OraError(910, "specified length too long for its datatype", target.at)
    semantics = {"CHAR": "C", "BYTE": "B"}.get(target.unit or "", default_char)
    size = min(one * 4, limit) if semantics == "C" else one
    code = OraType.VARCHAR2 if varying else OraType.CHAR
    return Column(name, code, size=size, char_length=one, semantics=semantics)


def _declare_number(name: str, numbers: list[int | None], word: str) -> Column:
    if not numbers:
        return Column(name, OraType.NUMBER, 0, -127 if word == "NUMBER" else 0, 22)
    precision, scale = numbers[0], (numbers[1] if len(numbers) > 1 else None)
    if precision is not None and not 1 <= precision <= 38:
        raise OraError(1727, "numeric precision specifier is out of range (1 to 38)")
    if scale is not None and not -84 <= scale <= 127:
        raise OraError(1728, "numeric scale specifier is out of range (-84 to 127)")
    if precision is None and scale is None:
        return Column(name, OraType.NUMBER, 0, -127, 22)
    return Column(name, OraType.NUMBER, precision or 0, scale or 0, 22)


# ---- conversions between families, of cells ----

Convert: TypeAlias = Callable[[Cell], Cell]


@dataclass(frozen=True, slots=True)
class Conversion:
    """What implicit conversions depend on."""

    nls: Nls
    today: date


def convert(source: SqlType, family: Family, how: Conversion) -> Convert | None:
    """How a cell of `source` becomes `family` implicitly; None when it already is. Raises ORA-00932 when it cannot."""
    have = source.family
    if have is family or have is Family.NULL or (have in TEXT and family in TEXT):
        return None
    nls = how.nls
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


def _between_numbers(have: Family, family: Family) -> Convert:
    if family is Family.NUMBER:
        return lambda cell: binary.to_number(cell) if isinstance(cell, bytes) else None
    size = BINARY_SIZES[family]
    if have is Family.NUMBER:
        return lambda cell: binary.of_number(cell, size) if isinstance(cell, bytes) else None
    return lambda cell: binary.resized(cell, size) if isinstance(cell, bytes) else None


def inconsistent(expected: object, got: object, at: int = 0) -> OraError:
    return OraError(932, f"inconsistent datatypes: expected {expected} got {got}", at)


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
    moment, zone = formats.to_moment(text, model, how.today)
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
    if kind == "Z":
        shown = temporal.zone_of(cell)
        return formats.to_char(temporal.local(cell), model, digits=digits, zone=shown, offset=temporal.offset_of(cell))
    if kind == "L":
        cell = temporal.retime(cell, "L", "T", zone)
    elif cell[0] >= 100 and cell[1] >= 100:
        quick = formats.compiled(model, digits)
        if quick is not None:
            return quick(cell)
    moment = temporal.decode(cell)
    return formats.to_char(moment, model, digits=digits, zone=zone, offset=zones.offset_at(zone, moment))


# ---- storing ----


def storer(source: SqlType, column: Column, where: str, how: Conversion) -> Convert:
    """Convert a cell of `source` and fit it to the column.

    :param where: `"OWNER"."TABLE"."COLUMN"`, for messages. Raises ORA-01438, ORA-12899, ORA-00932 and conversion errors.
    """
    target = column_type(column)
    first = convert(source, target.family, how)
    fit = _fit(column, where)
    if first is None:
        return fit
    second = first
    return lambda cell: fit(second(cell))


def _fit(column: Column, where: str) -> Convert:
    if column.type is OraType.NUMBER:
        return _fit_number(column)
    if column.type in (OraType.VARCHAR2, OraType.CHAR):
        return _fit_text(column, where)
    if column.type is OraType.RAW:
        return _fit_raw(column, where)
    if column.type is OraType.DATE:
        return lambda cell: cell[:7] if isinstance(cell, bytes) else None
    if column.type in (OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE):
        return lambda cell: binary.resized(cell, column.size) if isinstance(cell, bytes) else None
    if column.type is OraType.INTERVAL_DS:
        return lambda cell: intervals.fitted(cell, column.precision, column.scale) if isinstance(cell, bytes) else None
    if column.type is OraType.INTERVAL_YM:
        return lambda cell: intervals.fitted_months(cell, column.precision) if isinstance(cell, bytes) else None
    digits = column.scale
    return lambda cell: temporal.round_fraction(temporal.canonical(cell), digits) if isinstance(cell, bytes) else None


def _fit_number(column: Column) -> Convert:
    if column.float_:
        digits = -(-column.precision * 30103 // 100000)
        return lambda cell: _round_float(cell, digits) if isinstance(cell, bytes) else None
    if column.scale == -127:
        return lambda cell: number.canonical(cell) if isinstance(cell, bytes) else None
    precision, scale = column.precision or 38, column.scale
    limit = Decimal(10) ** (precision - scale)
    quick = 193 + (precision - scale) // 2 if scale == 0 else 0

    def fit(cell: Cell) -> Cell:
        if not isinstance(cell, bytes):
            return None
        # An integer with fewer digit pairs than the precision needs no arithmetic.
        if 193 <= cell[0] < quick and len(cell) - 2 <= cell[0] - 193 and cell[-1] != 1:
            return cell
        cell = number.canonical(cell)
        value = number.decode(cell)
        if int(value.as_tuple().exponent) < -scale or scale < 0:
            value = number.rounded(value, scale)
            cell = number.encode(value)
        if value >= limit or value <= -limit:
            raise OraError(1438, "value larger than specified precision allowed for this column")
        return cell

    return fit


def _round_float(cell: bytes, digits: int) -> bytes:
    value = number.decode(cell)
    shift = digits - 1 - value.adjusted() if value else 0
    return number.encode(number.rounded(value, shift)) if value else cell


def _too_large(where: str, actual: int, maximum: int) -> OraError:
    return OraError(12899, f"value too large for column {where} (actual: {actual}, maximum: {maximum})")


def utf16_units(text: str) -> int:
    """Length in the national character set."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be")) // 2


def _fit_national(column: Column, where: str) -> Convert:
    chars, padded = column.char_length, column.type is OraType.CHAR

    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        assert isinstance(cell, str)
        length = utf16_units(cell)
        if length > chars:
            raise _too_large(where, length, chars)
        return cell + " " * (chars - length) if padded else cell

    return fit


def _fit_text(column: Column, where: str) -> Convert:
    if column.national:
        return _fit_national(column, where)
    chars, size, padded = column.char_length, column.size, column.type is OraType.CHAR
    by_char = column.semantics == "C"

    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        assert isinstance(cell, str)
        length = len(cell) if by_char or cell.isascii() else len(cell.encode())
        if length > chars:
            raise _too_large(where, length, chars)
        if by_char and length * 4 > size and len(cell.encode()) > size:
            raise _too_large(where, len(cell.encode()), size)
        return cell + " " * (chars - length) if padded else cell

    return fit


def _fit_raw(column: Column, where: str) -> Convert:
    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        if len(cell) > column.size:
            raise _too_large(where, len(cell), column.size)
        return cell

    return fit
