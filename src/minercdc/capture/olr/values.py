"""Turns values as OpenLogReplicator sends them into canonical Row text (`minercdc.stream.rows`).

NUMBER             a number of any length, as it is spelled; of six digits at most as a float32 of protobuf
BOOLEAN            1 or 0
BINARY_FLOAT, ..   a number; the server prints six digits of it
DATE, TIMESTAMP    a number since 1970, or a date in ISO 8601
.. WITH TIME ZONE  one of these, a comma or blank, and an offset or the name of a zone
RAW, BLOB          hex digits; bytes in protobuf
INTERVAL           months or nanoseconds, or the text that Oracle prints
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from minercdc.capture.olr.message import Absent, Binary, Single, Value
from minercdc.config.source.olr import OlrConfig
from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values import interval, lob, number, raw, text
from minercdc.values.temporal import days_from_civil

Convert: TypeAlias = Callable[[Value], str | None]

_TZ: Final = "TIMESTAMP WITH TIME ZONE"
_LTZ: Final = "TIMESTAMP WITH LOCAL TIME ZONE"
_YM: Final = "INTERVAL YEAR TO MONTH"
_DS: Final = "INTERVAL DAY TO SECOND"
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DATE: Final = re.compile(
    r"(-?)(\d{1,4})(BC)?-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?(?: ?(BC))?Z?", re.ASCII
)
_DIGITS: Final = re.compile(r"-?\d{1,25}", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)(\d{1,2}):(\d\d)", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*", re.ASCII)
_NOT_IN_PROTOBUF: Final = raw.TYPES | {"BLOB", "BOOLEAN", "DATE", "TIMESTAMP", _TZ, _LTZ, _YM, _DS}
_MOST_DIGITS: Final = 9
_EXACT_DIGITS: Final = 15  # of a NUMBER in a binary double
_EXACT_DIGITS_OF_SINGLE: Final = 6


def converter(column: Column, config: OlrConfig) -> Convert:
    """A function that makes Row text of a value of this column. It returns None for NULL: None, an empty text or RAW, and, as
    far as `minercdc.olr.protobuf.nulls` allows that, ABSENT. It raises ValueDecodeError for a value that does not fit, and
    for any value of a type that is not read."""
    convert = _converter(column, config)
    name = column.type_name
    empty_is_null = name in text.TYPES or name in raw.TYPES  # Oracle has no empty text
    accepts = config.minercdc_olr_protobuf_nulls == "accept" or name not in _NOT_IN_PROTOBUF

    def converted(value: Value) -> str | None:
        if value is None:
            return None
        if isinstance(value, Absent):
            if accepts and column.nullable:
                return None
            raise ValueDecodeError(
                f"{column.name}: its {name} value has no content",
                hint="OpenLogReplicator's protobuf writer omits values of RAW, DATE, TIMESTAMP and INTERVAL"
                " columns: set its format.type to json.",
            )
        if value == "?" and not isinstance(value, bytes) and name not in text.TYPES and name not in lob.TYPES:
            raise ValueDecodeError(f"{column.name}: OpenLogReplicator sent ? for a {name} value that it cannot decode")
        if not value and empty_is_null:
            return None
        return convert(value)

    return converted


def may_have_many_digits(column: Column) -> bool:
    """Whether a NUMBER or FLOAT column can hold a number that a float32 cannot: its precision is above six, or there is none."""
    if column.type_name == "NUMBER":
        return column.length is None or column.length > _EXACT_DIGITS_OF_SINGLE
    return column.type_name == "FLOAT"


def _converter(column: Column, config: OlrConfig) -> Callable[[str | bytes], str]:
    name = column.type_name
    unit = _PER_SECOND[config.minercdc_olr_timestamp_unit]
    digits = 0 if name == "DATE" else column.scale if column.scale is not None else _MOST_DIGITS
    if name in raw.TYPES or name == "BLOB":
        return _hex
    if name in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        binary = number.binary_float if name == "BINARY_FLOAT" else number.binary_double
        return lambda value: binary(_text(value))
    if name in number.TYPES:
        return partial(_decimal, has_few_digits=not may_have_many_digits(column))
    if name == "BOOLEAN":
        return _boolean
    if name == "DATE":
        return lambda value: _clock(_text(value), unit, digits)[0]
    if name in ("TIMESTAMP", _LTZ):
        return lambda value: ".".join(_clock(_text(value), unit, digits))
    if name == _TZ:
        is_local = config.minercdc_olr_timestamp_tz_clock == "local"
        return lambda value: _zoned(_text(value), unit, digits, is_local)
    if name == _YM:
        return lambda value: _months(_text(value))
    if name == _DS:
        return lambda value: _seconds(_text(value), digits)
    if name in text.TYPES or name in lob.TYPES or name == "XMLTYPE":
        return _characters
    return _refused(column)


def _refused(column: Column) -> Callable[[str | bytes], str]:
    def refuse(_: str | bytes) -> str:
        raise ValueDecodeError(f"{column.name}: values of type {column.type_name} cannot be read from OpenLogReplicator")

    return refuse


def _text(value: str | bytes) -> str:
    if isinstance(value, bytes):
        raise ValueDecodeError("bytes where text was expected")
    return value


def _characters(value: str | bytes) -> str:
    found = str(_text(value))
    if not found.isascii() and any("\ud800" <= char <= "\udfff" for char in found):
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return found


def _hex(value: str | bytes) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if not _HEX.fullmatch(value):
        raise ValueDecodeError(f"{value[:60]!r} is not hexadecimal text")
    return value.lower()


def _decimal(value: str | bytes, *, has_few_digits: bool) -> str:
    """Row text of a NUMBER. OpenLogReplicator's protobuf sends one without precision, or of six digits at most, as a float32: how many digits
    the first had is not known, so all that are shown count, zeros before the point, too.

    :param has_few_digits: the column's precision is not above six.
    """
    found = number.canonical(_text(value))
    if isinstance(value, Single):
        digits = found.replace(".", "").strip("-").lstrip("0")
        if len(digits.rstrip("0") if has_few_digits else digits) > _EXACT_DIGITS_OF_SINGLE:
            raise ValueDecodeError(
                f"{value} was sent as a float32, which cannot hold a NUMBER of more than {_EXACT_DIGITS_OF_SINGLE} digits",
                hint="OpenLogReplicator's protobuf writer sends each NUMBER without precision this way: set its format.type to json.",
            )
    elif isinstance(value, Binary) and len(found.replace(".", "").strip("-0")) > _EXACT_DIGITS:
        raise ValueDecodeError(f"{value} was sent as a binary number, which cannot hold a NUMBER of that many digits")
    return found


def _boolean(value: str | bytes) -> str:
    found = {"1": "true", "0": "false"}.get(str(_text(value)))
    if found is None:
        raise ValueDecodeError(f"{value[:60]!r} is not a BOOLEAN, which is 1 or 0")
    return found


def _clock(found: str, unit: int, digits: int) -> tuple[str, str]:
    """Date and time as Row text of a DATE, and nine digits of the second's fraction.

    :param found: a number since 1970, or a date in ISO 8601.
    :param unit: how many of the number's units are a second.
    :param digits: of the fraction, that the column holds; a number with more is in another unit.
    """
    if _DIGITS.fullmatch(found):
        seconds, rest = divmod(int(found), unit)
        fraction = f"{rest * (1_000_000_000 // unit):09d}"
        if fraction[digits:].strip("0"):
            raise ValueDecodeError(
                f"{found} would be {_civil(seconds)}.{fraction}, and the column holds {digits} digits of the second's fraction",
                hint="minercdc.olr.timestamp.unit has to be the unit of OpenLogReplicator's format.timestamp.",
            )
        return _civil(seconds), fraction
    match = _DATE.fullmatch(found)
    if not match:
        raise ValueDecodeError(f"{found[:60]!r} is not a date")
    minus, year, bc, month, day, hour, minute, second, fraction, ad = match.groups()
    sign = "-" if minus or bc or ad else ""
    stem = f"{sign}{int(year):04d}-{month}-{day} {hour or '00'}:{minute or '00'}:{second or '00'}"
    return stem, (fraction or "").ljust(9, "0")


def _civil(seconds: int) -> str:
    """Date and time of seconds since 1970, in the proleptic Gregorian calendar; the year before 1 is -0001, as in
    Oracle."""
    days, second = divmod(seconds, 86_400)
    if not -2_500_000 < days < 2_932_897:
        raise ValueDecodeError(
            f"{seconds} s since 1970 is not in the years -4712 to 9999; is minercdc.olr.timestamp.unit right?"
        )
    # 400 years have 146097 days: the moment in the years 2000 to 2399 that has the same month and day.
    era, day = divmod(days - days_from_civil(2000, 1, 1), 146_097)
    moment = datetime(2000, 1, 1) + timedelta(days=day, seconds=second)
    year = moment.year + era * 400
    sign, shown = ("", year) if year > 0 else ("-", 1 - year)
    return f"{sign}{shown:04d}-{moment:%m-%d %H:%M:%S}"


def _zoned(found: str, unit: int, digits: int, is_local: bool) -> str:
    stem, comma, zone = found.rpartition(",")
    if not comma:
        stem, _, zone = found.rpartition(" ")
    if not stem:
        raise ValueDecodeError(f"{found[:60]!r} has no time zone")
    date, fraction = _clock(stem.strip(), unit, digits)
    minutes = _offset(zone.strip(), date, is_local)
    if not is_local:
        date = _shifted(date, minutes)
    return f"{date}.{fraction} {'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _offset(zone: str, date: str, is_local: bool) -> int:
    """Minutes by which the clock of a zone is ahead of UTC.

    :param zone: an offset such as `+02:00`, or a name.
    :param date: the moment, by the zone's clock if `is_local`, else by UTC.
    """
    if match := _OFFSET.fullmatch(zone):
        return (-1 if match[1] == "-" else 1) * (int(match[2]) * 60 + int(match[3]))
    if zone in ("Z", "UTC", "GMT"):
        return 0
    try:
        place = ZoneInfo(zone)
        moment = datetime.fromisoformat(date).replace(tzinfo=place if is_local else UTC)
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise ValueDecodeError(f"{date} {zone[:60]!r} has an unknown time zone ({error})") from error
    except KeyError as error:
        raise ValueDecodeError(f"{zone[:60]!r} is not a time zone") from error
    found = moment.astimezone(place).utcoffset()
    assert found is not None
    return int(found.total_seconds()) // 60


def _shifted(date: str, minutes: int) -> str:
    """Date and time, as `_civil` gives them, so many minutes later; earlier for a negative number."""
    if not minutes:
        return date
    sign = -1 if date.startswith("-") else 1
    year, month, rest = date.lstrip("-").split("-")
    day, time = rest.split(" ")
    hour, minute, second = (int(part) for part in time.split(":"))
    proleptic = int(year) if sign > 0 else 1 - int(year)
    seconds = days_from_civil(proleptic, int(month), int(day)) * 86_400 + hour * 3600 + minute * 60 + second
    return _civil(seconds + minutes * 60)


def _months(found: str) -> str:
    if _DIGITS.fullmatch(found):
        years, months = divmod(abs(int(found)), 12)
        return interval.year_month(f"{'-' if found.startswith('-') else '+'}{years}-{months}")
    return interval.year_month(found.replace(",", "-"))


def _seconds(found: str, digits: int) -> str:
    if _DIGITS.fullmatch(found):
        total, fraction = divmod(abs(int(found)), 1_000_000_000)
        if f"{fraction:09d}"[digits:].strip("0"):
            raise ValueDecodeError(
                f"{found} nanoseconds have more than the {digits} digits of a second's fraction that the column holds",
                hint="Set interval-dts 9 in format of OpenLogReplicator's configuration.",
            )
        days, rest = divmod(total, 86_400)
        sign = "-" if found.startswith("-") else "+"
        return interval.day_second(f"{sign}{days} {rest // 3600}:{rest // 60 % 60}:{rest % 60}.{fraction:09d}")
    return interval.day_second(found.replace(",", " "))
