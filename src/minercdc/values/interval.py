"""The type family of INTERVAL YEAR TO MONTH and INTERVAL DAY TO SECOND.

Row text is canonical, without the padding that depends on the declared precision: `[-]Y-M` and
`[-]D HH:MI:SS.nnnnnnnnn` (nine digits).
"""

from __future__ import annotations

import re
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing

_YM = "INTERVAL YEAR TO MONTH"
_DS = "INTERVAL DAY TO SECOND"
TYPES: Final = frozenset({_YM, _DS})

_YM_TEXT = re.compile(r"([+-]?)(\d{1,18})-(\d{1,18})", re.ASCII)
_DS_TEXT = re.compile(r"([+-]?)(\d{1,18}) (\d{1,18}):(\d{1,18}):(\d{1,18})(?:\.(\d{0,9}))?", re.ASCII)
# A twelfth of 365.25 days, Debezium's average month, in microseconds.
_MONTH_US = 2_629_800_000_000


def reading(column: Column) -> Reading:
    """How values of an INTERVAL column become Row text. The SELECT has TO_CHAR, because the driver's timedelta has no
    nanoseconds."""
    canonical = year_month if column.type_name == _YM else day_second
    function = "TO_YMINTERVAL" if column.type_name == _YM else "TO_DSINTERVAL"
    return Reading({function: canonical}, lambda quoted: f"TO_CHAR({quoted})", lambda value: canonical(str(value)))


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of an INTERVAL column is written, by `interval.handling.mode`: as a number of microseconds (a month has
    30.4375 days, nanoseconds are cut off), or as an ISO 8601 duration with every part written out."""
    months = column.type_name == _YM
    if handling.interval == "string":
        return Writing(FieldType("string", "io.debezium.time.Interval", 1), _months_iso if months else _seconds_iso)
    return Writing(FieldType("int64", "io.debezium.time.MicroDuration", 1), _months_us if months else _seconds_us)


def _match(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.fullmatch(text)
    if not match:
        raise ValueDecodeError(f"{text!r} is no interval")
    return tuple(part or "" for part in match.groups())


def year_month(text: str) -> str:
    """INTERVAL YEAR TO MONTH text in canonical form: `+01-02` -> `1-2`. Raises ValueDecodeError for other text."""
    sign, years, months = _match(_YM_TEXT, text)
    body = f"{int(years)}-{int(months)}"
    return f"-{body}" if sign == "-" and body != "0-0" else body


def day_second(text: str) -> str:
    """INTERVAL DAY TO SECOND text in canonical form: `+01 2:3:4.5` -> `1 02:03:04.500000000`. Raises ValueDecodeError."""
    sign, days, hours, minutes, seconds, fraction = _match(_DS_TEXT, text)
    body = f"{int(days)} {int(hours):02d}:{int(minutes):02d}:{int(seconds):02d}.{fraction.ljust(9, '0')}"
    return f"-{body}" if sign == "-" and body != "0 00:00:00.000000000" else body


def _months_us(text: str) -> str:
    sign, years, months = _match(_YM_TEXT, text)
    return str((-1 if sign == "-" else 1) * (int(years) * 12 + int(months)) * _MONTH_US)


def _seconds_us(text: str) -> str:
    sign, days, hours, minutes, seconds, fraction = _match(_DS_TEXT, text)
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int(fraction.ljust(9, "0")[:6])
    return str(-micros if sign == "-" else micros)


def _signed(sign: str, amount: str) -> str:
    return f"-{amount}" if sign == "-" and amount.strip("0.") else amount


def _months_iso(text: str) -> str:
    sign, years, months = _match(_YM_TEXT, text)
    return f'"P{_signed(sign, str(int(years)))}Y{_signed(sign, str(int(months)))}M0DT0H0M0S"'


def _seconds_iso(text: str) -> str:
    sign, days, hours, minutes, seconds, fraction = _match(_DS_TEXT, text)
    digits = fraction.rstrip("0")
    parts = [_signed(sign, str(int(part))) for part in (days, hours, minutes)]
    second = _signed(sign, f"{int(seconds)}.{digits}" if digits else str(int(seconds)))
    return f'"P0Y0M{parts[0]}DT{parts[1]}H{parts[2]}M{second}S"'
