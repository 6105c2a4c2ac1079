"""Time zones: offsets in minutes or region names, and the two bytes that end a TIMESTAMP WITH TIME ZONE.

    offset  hour + 20, minute + 60 (both negative in the west)      region  0x80 | id >> 6, (id & 63) << 2

A region's changes of its offset, as drivers read them (DBMS_UTILITY.GET_TZ_TRANSITIONS): their count, then 10 bytes each,
    century + 100, year + 100, month, day, hour + 1, minute + 1, second + 1 of the moment in UTC, hour + 20, minute + 60, summer time
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.zone_numbers import NUMBERS

Zone: TypeAlias = "int | str"
"""Minutes east of UTC, or the name of a region."""
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):(\d{2})")
_FieldTuple: TypeAlias = "tuple[int, int, int, int, int, int, int]"


_BY_NUMBER = {number: name for name, number in NUMBERS.items()}
_KNOWN = {name.upper(): name for name in NUMBERS}


def unknown_region() -> OraError:
    """The error ORA-01882; the caller raises it."""
    return OraError(1882, "timezone region not found")


@lru_cache(maxsize=1 << 10)
def parse(text: str) -> Zone:
    """The zone of `+05:30` or of a region's name in any case, blanks around it left out. Raises ORA-01874 beyond 15 hours or 59
    minutes, ORA-01882 for an unknown region. Remembered."""
    match = _OFFSET.fullmatch(text.strip())
    if match is None:
        name = _KNOWN.get(text.strip().upper())
        if name is None:
            raise unknown_region()
        return name
    sign, hours, minutes = match.groups()
    if int(hours) > 15 or int(minutes) > 59:
        raise OraError(1874, "time zone hour must be between -15 and 15")
    total = int(hours) * 60 + int(minutes)
    return -total if sign == "-" else total


def text(zone: Zone) -> str:
    """The region's name, or the offset as `+05:30`."""
    if isinstance(zone, str):
        return zone
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02d}:{minutes:02d}"


def tail(zone: Zone) -> bytes:
    """The two bytes that end a TIMESTAMP WITH TIME ZONE of this zone, which must be known."""
    if isinstance(zone, int):
        sign = -1 if zone < 0 else 1
        hours, minutes = divmod(abs(zone), 60)
        return bytes((sign * hours + 20, sign * minutes + 60))
    number = NUMBERS[zone]
    return bytes((0x80 | number >> 6, (number & 63) << 2))


def of_tail(data: bytes) -> Zone:
    """The zone of the two bytes that end a TIMESTAMP WITH TIME ZONE. Raises ORA-01882 for an unknown region."""
    if not data[0] & 0x80:
        return (data[0] - 20) * 60 + data[1] - 60
    number = (data[0] & 0x7F) << 6 | data[1] >> 2
    return region_of(number)


def region_of(number: int) -> str:
    """The name of the region with Oracle's number. Raises ORA-01882 for an unknown number."""
    name = _BY_NUMBER.get(number)
    if name is None:
        raise unknown_region()
    return name


def _minutes(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None
    return int(offset / timedelta(minutes=1))


def _plain(fields: _FieldTuple) -> datetime:
    """The fields as a datetime, with years before 1600 and after 9990 as these: rules of regions do not differ there."""
    year, month, day, *time = fields
    year = min(max(year, 1600), 9990)
    return datetime(year, month, min(day, 28) if month == 2 else day, time[0], time[1], time[2])


@lru_cache(maxsize=1 << 12)
def offset_at(zone: Zone, utc: _FieldTuple) -> int:
    """The zone's offset in minutes east at an instant given by its fields in UTC; remembered."""
    if isinstance(zone, int):
        return zone
    return _minutes(_plain(utc).replace(tzinfo=UTC).astimezone(ZoneInfo(zone)))


@lru_cache(maxsize=1 << 12)
def offset_of_local(zone: Zone, local: _FieldTuple) -> int:
    """The zone's offset in minutes east at a local time. An hour that comes twice is standard time. Raises ORA-01878 for an hour
    left out. Remembered."""
    if isinstance(zone, int):
        return zone
    info, moment = ZoneInfo(zone), _plain(local)
    found = moment.replace(tzinfo=info, fold=1)
    if found.astimezone(UTC).astimezone(info).replace(tzinfo=None) != moment:
        raise OraError(1878, "specified field not found in datetime or interval")
    return _minutes(found)


_FIRST_CHANGE, _LAST_CHANGE = datetime(1901, 1, 1, tzinfo=UTC), datetime(2037, 12, 31, tzinfo=UTC)
_MOST_CHANGES = 255


@lru_cache(maxsize=64)
def transitions(name: str) -> bytes:
    """The offset of a region before 1901 and its changes up to 2037, of more than 254 the latest, in the form of drivers, see the
    module. `name` is that of a region in `NUMBERS`."""
    zone = ZoneInfo(name)
    found = [_transition(_FIRST_CHANGE.replace(year=1800), _FIRST_CHANGE.astimezone(zone))]
    day = _FIRST_CHANGE
    while day < _LAST_CHANGE:
        after = day + timedelta(days=7)
        if _offset(day, zone) != _offset(after, zone):
            moment = _change_between(day, after, zone)
            found.append(_transition(moment, moment.astimezone(zone)))
        day = after
    found = found[:1] + found[1:][1 - _MOST_CHANGES :]
    return bytes((len(found),)) + b"".join(found)


def _offset(moment: datetime, zone: ZoneInfo) -> tuple[timedelta | None, bool]:
    local = moment.astimezone(zone)
    return local.utcoffset(), bool(local.dst())


def _change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    first = _offset(low, zone)
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        low, high = (middle, high) if _offset(middle, zone) == first else (low, middle)
    return high.replace(microsecond=0)


def _transition(moment: datetime, local: datetime) -> bytes:
    date = (moment.year // 100 + 100, moment.year % 100 + 100, moment.month, moment.day)
    return bytes((*date, moment.hour + 1, moment.minute + 1, moment.second + 1, *tail(_minutes(local)), bool(local.dst())))
