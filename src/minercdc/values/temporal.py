"""The type family of DATE and the TIMESTAMP types.

Canonical Row text is what redo prints under the session's NLS formats, the fraction always with nine digits. TIMESTAMP WITH
LOCAL TIME ZONE is printed in the session's zone, which every connection sets to UTC. Years BC carry a minus sign.
A value without zone counts as UTC wall clock when it becomes an epoch number, as Debezium does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import Convert, FieldType, Reading, ValueHandling, Writing
from minercdc.values.memo import Memo

_TZ = "TIMESTAMP WITH TIME ZONE"
_LTZ = "TIMESTAMP WITH LOCAL TIME ZONE"
TYPES: Final = frozenset({"DATE", "TIMESTAMP", _TZ, _LTZ})

# S prints a sign for years BC and a blank otherwise.
_DATE_FORMAT = "SYYYY-MM-DD HH24:MI:SS"
_FORMATS = {"DATE": _DATE_FORMAT, "TIMESTAMP": f"{_DATE_FORMAT}.FF9", _TZ: f"{_DATE_FORMAT}.FF9 TZH:TZM"}
_FORMATS[_LTZ] = _FORMATS["TIMESTAMP"]

_ISO = re.compile(r"([+-]?\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?(?: ([+-]\d\d:\d\d))?", re.ASCII)
# The default NLS formats, which a session sees whose settings were lost: DD-MON-RR [HH.MI.SSXFF AM [TZR]].
_DEFAULT_NLS = re.compile(
    r"(\d\d)-([A-Z]{3})-(\d\d)(?: (\d\d)\.(\d\d)\.(\d\d)(?:\.(\d{0,9}))? ([AP])M)?(?: ([+-]\d\d:\d\d))?", re.ASCII
)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

# Connect type, and digits of a second that it counts in.
_UNITS = {
    "connect": ("org.apache.kafka.connect.data.Timestamp", 3),
    "milli": ("io.debezium.time.Timestamp", 3),
    "micro": ("io.debezium.time.MicroTimestamp", 6),
    "nano": ("io.debezium.time.NanoTimestamp", 9),
}


def reading(column: Column) -> Reading:
    """How values of a column of these types become Row text. The SELECT has TO_CHAR, because Python's datetime has neither
    years BC nor nanoseconds."""
    canonical = _canonical(column)
    format_ = _FORMATS[column.type_name]

    def from_driver(value: object) -> str:
        text = str(value)
        return canonical(text[1:] if text.startswith(" ") else text)

    return Reading(
        dict.fromkeys(("TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_TZ"), canonical),
        lambda quoted: f"TO_CHAR({quoted}, '{format_}')",
        from_driver,
        spellings=True,
    )


def _canonical(column: Column) -> Convert:
    return {"DATE": _date, _TZ: _zoned}.get(column.type_name, _timestamp)


def _date(text: str) -> str:
    if len(text) == 19 and text[4] == "-" and text[10] == " ":
        return text
    year_to_second, _, _ = _parts(text)
    return year_to_second


def _timestamp(text: str) -> str:
    length = len(text)
    if 20 < length < 30 and text[19] == "." and text[4] == "-":
        return text if length == 29 else text.ljust(29, "0")
    year_to_second, fraction, _ = _parts(text)
    return f"{year_to_second}.{fraction}"


def _zoned(text: str) -> str:
    if len(text) == 36 and text[19] == "." and text[4] == "-" and text[29] == " ":
        return text
    year_to_second, fraction, offset = _parts(text)
    if offset is None:
        raise ValueDecodeError(f"{text!r} lacks its time zone: the session's NLS_TIMESTAMP_TZ_FORMAT was lost")
    return f"{year_to_second}.{fraction} {offset}"


def _parts(text: str) -> tuple[str, str, str | None]:
    """Year to second, nine digits of the fraction, and the offset (None without zone) of a text in the session's format,
    or in Oracle's default one."""
    iso = _ISO.fullmatch(text)
    if iso:
        year, month, day, hour, minute, second, fraction, offset = iso.groups()
        stem = f"{year.lstrip('+')}-{month}-{day} {hour}:{minute}:{second}"
        return stem, (fraction or "").ljust(9, "0"), offset
    nls = _DEFAULT_NLS.fullmatch(text)
    if not nls or nls[2] not in _MONTHS:
        raise ValueDecodeError(f"{text!r} is not a date in the session's format")
    # RR: a two-digit year lies within fifty years of the current century's half.
    century = 2000 if int(nls[3]) < 50 else 1900
    hour24 = int(nls[4] or 0) % 12 + (12 if nls[8] == "P" else 0)
    stem = f"{century + int(nls[3])}-{_MONTHS.index(nls[2]) + 1:02d}-{nls[1]} {hour24:02d}:{nls[5] or '00'}:{nls[6] or '00'}"
    return stem, (nls[7] or "").ljust(9, "0"), nls[9]


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a column of these types is written. Those with time zone are ISO 8601 strings in every mode. The Connect
    type of the others is by `time.precision.mode`, in its adaptive modes by the declared fraction, too; in nanoseconds,
    `to_json` raises ValueDecodeError outside the years 1677..2262."""

    def checked(convert: Convert) -> Convert:
        canonical = _canonical(column)

        def to_json(text: str) -> str:
            try:
                return convert(canonical(text))
            except (ValueError, IndexError) as exc:
                raise ValueDecodeError(f"{text!r} is not a date or timestamp") from exc

        return to_json

    if column.type_name in (_TZ, _LTZ):
        digits = 6 if column.scale is None else column.scale
        return Writing(FieldType("string", "io.debezium.time.ZonedTimestamp", 1), checked(partial(_zoned_json, digits)))
    mode = handling.time_precision
    if mode == "isostring":
        return Writing(FieldType("string", "io.debezium.time.IsoTimestamp", 1), checked(_iso_json))
    unit = {"connect": "connect", "microseconds": "micro", "nanoseconds": "nano"}.get(mode) or _adaptive_unit(column)
    name, digits = _UNITS[unit]
    convert = checked(_nanos_json) if digits == 9 else _units_json(digits, checked)
    return Writing(FieldType("int64", name, 1), convert)


def _adaptive_unit(column: Column) -> str:
    # DATE carries a time of day: milliseconds, not days.
    digits = 0 if column.type_name == "DATE" else 6 if column.scale is None else column.scale
    return "milli" if digits <= 3 else "micro" if digits <= 6 else "nano"


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a proleptic Gregorian date; year 0 is 1 BC."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def _day_seconds(date: str) -> int:
    year, month, day = int(date[:-6]), int(date[-5:-3]), int(date[-2:])
    # Oracle has no year 0: -0001 is 1 BC, which is year 0 of ISO 8601.
    return days_from_civil(year + 1 if date[0] == "-" else year, month, day) * 86400


def _minute_seconds(time: str) -> int:
    return int(time[:2]) * 3600 + int(time[3:5]) * 60


_EPOCH: Final = datetime(1970, 1, 1)
_DAYS: Memo[int] = Memo(_day_seconds)
_MINUTES: Memo[int] = Memo(_minute_seconds)


def _epoch(text: str) -> tuple[int, str]:
    """Whole seconds from the epoch to a canonical Row text, negative before 1970, and the digits of the fraction ('' for
    a DATE). Its clock counts as UTC."""
    end = 11 if text[0] == "-" else 10
    return _DAYS[text[:end]] + _MINUTES[text[end + 1 : end + 6]] + int(text[end + 7 : end + 9]), text[end + 10 : end + 19]


def _units_json(digits: int, checked: Callable[[Convert], Convert]) -> Convert:
    """A function that makes of Row text the number of units of 10**-digits seconds since the epoch, rounded down; `digits` is
    3 or 6.

    :param checked: wraps a function so that it gets canonical text, and raises ValueDecodeError.
    """
    unit, epoch, from_iso = timedelta(microseconds=10 ** (6 - digits)), _EPOCH, datetime.fromisoformat

    @checked
    def general(text: str) -> str:
        seconds, fraction = _epoch(text)
        return str(seconds * 10**digits + int(fraction[:digits] or 0))

    def to_json(text: str) -> str:
        # Nearly all values are dates that a datetime holds; it leaves out digits after the sixth, as wanted.
        try:
            return str((from_iso(text) - epoch) // unit)
        except (ValueError, TypeError):
            pass  # years BC, 29 February 1500 (the calendar of Oracle is the Julian one until 1582), another spelling
        return general(text)

    return to_json


def _nanos_json(text: str) -> str:
    seconds, fraction = _epoch(text)
    nanos = seconds * 1_000_000_000 + int(fraction or 0)
    if not -(2**63) <= nanos < 2**63:
        raise ValueDecodeError(f"{text} is outside 1677..2262, the range of nanoseconds in 64 bits")
    return str(nanos)


def _iso_stem(text: str) -> tuple[str, str]:
    """Of a canonical Row text, `2026-02-28T13:45:59.25` with the fraction as short as it goes, and what follows the fraction:
    '', or a blank and an offset."""
    end = 20 if text[0] == "-" else 19
    date, time = text[: end - 9], text[end - 8 : end]
    if text[0] == "-":
        year = int(date[1:5]) - 1  # 1 BC is ISO 8601's year 0000, which has no sign
        date = f"{'-' if year else ''}{year:04d}{date[5:]}"
    fraction = text[end + 1 : end + 10].rstrip("0")
    return f"{date}T{time}.{fraction}" if fraction else f"{date}T{time}", text[end + 10 :]


def _iso_json(text: str) -> str:
    return f'"{_iso_stem(text)[0]}Z"'


def _zoned_json(digits: int, text: str) -> str:
    """JSON string of ISO 8601 with an offset, `Z` for UTC and where the text has none, and `digits` digits of the fraction."""
    stem, offset = _iso_stem(text)
    offset = offset.strip()
    whole, _, fraction = stem.partition(".")
    if digits:
        whole += f".{fraction[:digits]:0<{digits}}"
    return f'"{whole}{"Z" if offset in ("", "+00:00", "-00:00") else offset}"'
