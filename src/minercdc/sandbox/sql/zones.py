"""Time zones: offsets in minutes or region names, and the two bytes that end a TIMESTAMP WITH TIME ZONE.

    offset  hour + 20, minute + 60 (both negative in the west)      region  0x80 | id >> 6, (id & 63) << 2

The sandbox has its own numbering of regions, by their names' order, so that a server that is started again reads what it stored; Oracle's
is in its time zone file.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from minercdc.sandbox.interfaces import OraError

Zone: TypeAlias = "int | str"
"""Minutes east of UTC, or the name of a region."""
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):(\d{2})")
_FieldTuple: TypeAlias = "tuple[int, int, int, int, int, int, int]"


@lru_cache(maxsize=1)
def _names() -> list[str]:
    return sorted(available_timezones())


@lru_cache(maxsize=1)
def _numbers() -> dict[str, int]:
    return {name: number for number, name in enumerate(_names(), 1)}


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    return {name.upper(): name for name in _names()}


def unknown_region() -> OraError:
    """ORA-01882."""
    return OraError(1882, "timezone region not found")


@lru_cache(maxsize=1 << 10)
def parse(text: str) -> Zone:
    """`+05:30` or a region name. Raises ORA-01874 and ORA-01882."""
    match = _OFFSET.fullmatch(text.strip())
    if match is None:
        name = _known().get(text.strip().upper())
        if name is None:
            raise unknown_region()
        return name
    sign, hours, minutes = match.groups()
    if int(hours) > 15 or int(minutes) > 59:
        raise OraError(1874, "time zone hour must be between -15 and 15")
    total = int(hours) * 60 + int(minutes)
    return -total if sign == "-" else total


def text(zone: Zone) -> str:
    """TZR: the region's name, or `+05:30`."""
    if isinstance(zone, str):
        return zone
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02d}:{minutes:02d}"


def tail(zone: Zone) -> bytes:
    """The two bytes."""
    if isinstance(zone, int):
        sign = -1 if zone < 0 else 1
        hours, minutes = divmod(abs(zone), 60)
        return bytes((sign * hours + 20, sign * minutes + 60))
    number = _numbers()[zone]
    return bytes((0x80 | number >> 6, (number & 63) << 2))


def of_tail(data: bytes) -> Zone:
    """What the two bytes say. Raises ORA-01882 for a region there is not."""
    if not data[0] & 0x80:
        return (data[0] - 20) * 60 + data[1] - 60
    number = (data[0] & 0x7F) << 6 | data[1] >> 2
    if not 1 <= number <= len(_names()):
        raise unknown_region()
    return _names()[number - 1]


def _minutes(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None
    return int(offset / timedelta(minutes=1))


def _plain(fields: _FieldTuple) -> datetime:
    """Regions had local mean time before the rules begin, so a far year may stand for another."""
    year, month, day, *time = fields
    year = min(max(year, 1600), 9990)
    return datetime(year, month, min(day, 28) if month == 2 else day, time[0], time[1], time[2])


@lru_cache(maxsize=1 << 12)
def offset_at(zone: Zone, utc: _FieldTuple) -> int:
    """Minutes east at an instant given in UTC fields."""
    if isinstance(zone, int):
        return zone
    return _minutes(_plain(utc).replace(tzinfo=UTC).astimezone(ZoneInfo(zone)))


@lru_cache(maxsize=1 << 12)
def offset_of_local(zone: Zone, local: _FieldTuple) -> int:
    """Minutes east of a time on the wall. An hour that comes twice is standard time; one left out is ORA-01878."""
    if isinstance(zone, int):
        return zone
    info, moment = ZoneInfo(zone), _plain(local)
    found = moment.replace(tzinfo=info, fold=1)
    if found.astimezone(UTC).astimezone(info).replace(tzinfo=None) != moment:
        raise OraError(1878, "specified field not found in datetime or interval")
    return _minutes(found)
