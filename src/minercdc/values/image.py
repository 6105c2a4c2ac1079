"""Decodes column images: a value's stored bytes, which LogMiner prints as HEXTORAW when its dictionary does not fit the row.

NUMBER      exponent byte, then digits base 100; negative numbers complemented, ended by 0x66
DATE        century+100, year+100, month, day, hour+1, minute+1, second+1
TIMESTAMP   like DATE, then nanoseconds when there are any; WITH TIME ZONE in UTC, then the offset; WITH LOCAL TIME ZONE in
            the database's own zone (DBTIMEZONE)
BINARY_*    IEEE, made comparable: sign bit flipped, or all bits of negative numbers
"""

from __future__ import annotations

import re
import struct
from calendar import isleap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values import interval, number

# NLS_CHARACTERSET -> Python's codec.
CHARACTER_SETS: Final[Mapping[str, str]] = {
    "AL32UTF8": "utf-8",
    "UTF8": "utf-8",
    "US7ASCII": "ascii",
    "WE8ISO8859P1": "iso8859-1",
    "WE8ISO8859P15": "iso8859-15",
    "WE8MSWIN1252": "cp1252",
    "EE8MSWIN1250": "cp1250",
    "CL8MSWIN1251": "cp1251",
}
# Oracle publishes neither the numbers of its regions nor a function that names a region by its number.
_NAMES_AND_VALUES = "With log.mining.strategy=redo_log_catalog rows from before an ALTER TABLE come with names and values."
_BIAS = 0x80000000
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def utc_only() -> str:
    """`+00:00`, in place of a function that reads DBTIMEZONE."""
    return "+00:00"


@dataclass(frozen=True, slots=True)
class Encoding:
    """Settings of a database that decide how values are stored.

    :param charset: NLS_CHARACTERSET.
    :param time_zone: reads DBTIMEZONE, an offset or the name of a region; called when it is needed.
    """

    charset: str = "AL32UTF8"
    time_zone: Callable[[], str] = utc_only


def text_of_image(column: Column, image: bytes, encoding: Encoding) -> str:
    """Row text of a stored value that is not null.

    :raises ValueDecodeError: bytes that are no value of the type, or a type, character set or time zone that is not known here.
    :raises MinerCdcError: what `encoding.time_zone` raises, for TIMESTAMP WITH LOCAL TIME ZONE.
    """
    if column.type_name in ("CHAR", "VARCHAR2", "VARCHAR", "LONG"):
        return text_of_bytes(image, encoding.charset)
    if column.type_name == "TIMESTAMP WITH LOCAL TIME ZONE":
        west = -_minutes_east(encoding.time_zone())
        return _checked(column, lambda stored: _moved(stored, west), image)
    decode = _DECODERS.get(column.type_name)
    if decode is None:
        raise ValueDecodeError(f"stored values of type {column.type_name} cannot be read")
    return _checked(column, decode, image)


def _checked(column: Column, decode: Callable[[bytes], str], image: bytes) -> str:
    try:
        return decode(image)
    except (IndexError, ValueError, OverflowError, struct.error) as error:
        raise ValueDecodeError(f"{image.hex()} is no stored {column.type_name}") from error


def text_of_bytes(image: bytes, charset: str) -> str:
    """Text of bytes in an Oracle character set. Raises ValueDecodeError when `charset` is not in `CHARACTER_SETS`, or the
    bytes are no text in it."""
    if charset not in CHARACTER_SETS:
        raise ValueDecodeError(f"stored text in the character set {charset} cannot be read")
    return _decoded(image, CHARACTER_SETS[charset])


def _decoded(image: bytes, codec: str) -> str:
    try:
        return image.decode(codec)
    except UnicodeDecodeError as error:
        raise ValueDecodeError(f"{image.hex()} is not valid text in {codec}") from error


def _number(image: bytes) -> str:
    if image == b"\x80":
        return "0"
    negative = image[0] < 0x80
    exponent = (62 if negative else -193) + (-image[0] if negative else image[0])
    body = image[1:-1] if negative and image[-1] == 0x66 else image[1:]
    digits = [101 - byte if negative else byte - 1 for byte in body]
    if not digits or not all(0 <= digit <= 99 for digit in digits):
        raise ValueError("digits out of range")
    mantissa = "".join(f"{digit:02d}" for digit in digits)
    return number.canonical(f"{'-' if negative else ''}{mantissa}E{2 * (exponent + 1 - len(digits))}")


def _date(image: bytes) -> str:
    century, year, month, day, hour, minute, second = image
    number_ = (century - 100) * 100 + (year - 100)
    if not (1 <= month <= 12 and 1 <= day <= 31 and 1 <= hour <= 24 and 1 <= minute <= 60 and 1 <= second <= 60):
        raise ValueError("fields out of range")
    sign = "-" if number_ < 0 else ""
    return f"{sign}{abs(number_):04d}-{month:02d}-{day:02d} {hour - 1:02d}:{minute - 1:02d}:{second - 1:02d}"


def _timestamp(image: bytes) -> str:
    if len(image) not in (7, 11):
        raise ValueError("7 or 11 bytes")
    return f"{_date(image[:7])}.{int.from_bytes(image[7:], 'big'):09d}"


def _moved(image: bytes, minutes: int) -> str:
    """Row text of a stored TIMESTAMP so many minutes later, less than a day; earlier for a negative number."""
    plain = _timestamp(image)
    return f"{_shifted(image[:7], minutes)}{plain[plain.index('.') :]}"


def _minutes_east(zone: str) -> int:
    """By how many minutes DBTIMEZONE is ahead of UTC."""
    match = _OFFSET.fullmatch(zone.strip())
    if match is None:
        raise ValueDecodeError(
            f"stored values of type TIMESTAMP WITH LOCAL TIME ZONE cannot be read: DBTIMEZONE is {zone}, not an offset",
            hint=_NAMES_AND_VALUES,
        )
    sign, hours, minutes = match.groups()
    return (-1 if sign == "-" else 1) * (int(hours) * 60 + int(minutes))


def _zoned(image: bytes) -> str:
    if len(image) == 13 and image[11] & 0x80:
        number_ = (image[11] & 0x7F) << 6 | image[12] >> 2
        raise ValueDecodeError(
            f"{image.hex()} is of the time zone region number {number_}, whose name and rules only the database knows",
            hint=_NAMES_AND_VALUES,
        )
    utc, hour, minute = _timestamp(image[:11]), image[11], image[12]
    if len(image) != 13:
        raise ValueError("13 bytes")
    offset = (hour - 20) * 60 + minute - 60
    hours, minutes = divmod(abs(offset), 60)
    return f"{_shifted(image[:7], offset)}{utc[utc.index('.') :]} {'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def _shifted(image: bytes, offset: int) -> str:
    """Row text of a stored DATE so many minutes later (`offset`), less than a day; earlier for a negative number. Without
    datetime, which knows no years BC."""
    year = (image[0] - 100) * 100 + image[1] - 100
    month, day = image[2], image[3]
    days, minute = divmod((image[4] - 1) * 60 + image[5] - 1 + offset, 24 * 60)
    day += days
    if day < 1:
        year, month = (year, month - 1) if month > 1 else (_next_year(year, -1), 12)
        day = _last_day(year, month)
    elif day > _last_day(year, month):
        year, month = (year, month + 1) if month < 12 else (_next_year(year, 1), 1)
        day = 1
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d} {minute // 60:02d}:{minute % 60:02d}:{image[6] - 1:02d}"


def _next_year(year: int, step: int) -> int:
    """The year one `step` (1 or -1) after `year`; there is no year 0: 1 BC, which is -1, is followed by 1 AD."""
    return year + step or step


def _last_day(year: int, month: int) -> int:
    """Number of the last day of a month. Oracle counts by the Julian calendar up to 1582, where 1 BC, 5 BC, .. are leap years.

    :param year: negative for years BC: -1 is 1 BC.
    """
    astronomical = year if year > 0 else year + 1
    leap = isleap(year) if year > 1582 else astronomical % 4 == 0
    return 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _ieee(image: bytes, format_: str) -> float:
    positive = image[0] & 0x80
    plain = bytes([image[0] ^ 0x80, *image[1:]]) if positive else bytes(byte ^ 0xFF for byte in image)
    (value,) = struct.unpack(format_, plain)
    return float(value)


def _binary_float(image: bytes) -> str:
    return number.binary_float(repr(_ieee(image, ">f")))


def _binary_double(image: bytes) -> str:
    return number.binary_double(repr(_ieee(image, ">d")))


def _year_month(image: bytes) -> str:
    years, months = int.from_bytes(image[:4], "big") - _BIAS, image[4] - 60
    return interval.year_month(f"{'-' if years < 0 or months < 0 else ''}{abs(years)}-{abs(months)}")


def _day_second(image: bytes) -> str:
    days, nanos = int.from_bytes(image[:4], "big") - _BIAS, int.from_bytes(image[7:11], "big") - _BIAS
    hours, minutes, seconds = (byte - 60 for byte in image[4:7])
    sign = "-" if min(days, hours, minutes, seconds, nanos) < 0 else ""
    return interval.day_second(f"{sign}{abs(days)} {abs(hours)}:{abs(minutes)}:{abs(seconds)}.{abs(nanos):09d}")


_DECODERS: Final[Mapping[str, Callable[[bytes], str]]] = {
    "NUMBER": _number,
    "FLOAT": _number,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP WITH TIME ZONE": _zoned,
    "BINARY_FLOAT": _binary_float,
    "BINARY_DOUBLE": _binary_double,
    "INTERVAL YEAR TO MONTH": _year_month,
    "INTERVAL DAY TO SECOND": _day_second,
    "RAW": bytes.hex,
    "LONG RAW": bytes.hex,
    "NCHAR": lambda image: _decoded(image, "utf-16-be"),
    "NVARCHAR2": lambda image: _decoded(image, "utf-16-be"),
}
