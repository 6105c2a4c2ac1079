"""DATE and the TIMESTAMP types in Oracle's bytes.

DATE has 7 bytes; TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE 7 when the fraction is zero, else 11; TIMESTAMP WITH TIME ZONE
13, fields in UTC, then the zone. Without a zone the bytes compare like the values, with one the first 11 bytes do.
TIMESTAMP WITH LOCAL TIME ZONE is kept in the database's time zone, which is UTC.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from minercdc_sandbox.sql import calendar, zones
from minercdc_sandbox.sql.zones import Zone

Moment: TypeAlias = "tuple[int, int, int, int, int, int, int]"
"""Year (never 0), month, day, hour, minute, second, nanosecond."""


class TimeKind(StrEnum):
    """The types of dates and times: DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE (ZONED) and WITH LOCAL TIME ZONE (LOCAL)."""

    DATE = "D"
    TIMESTAMP = "T"
    ZONED = "Z"
    LOCAL = "L"


DAY_NS = 86_400_000_000_000
MINUTE_NS = 60_000_000_000
_EPOCH = calendar.day_number(1970, 1, 1)


def encode(moment: Moment, *, fraction: bool = True) -> bytes:
    """The cell of a TIMESTAMP, 7 bytes long when the nanoseconds are 0, else 11; with `fraction` False of a DATE. Century and
    year of years BC are below 100."""
    year, month, day, hour, minute, second, nano = moment
    century, rest = divmod(abs(year), 100)
    sign = -1 if year < 0 else 1
    head = bytes((100 + sign * century, 100 + sign * rest, month, day, hour + 1, minute + 1, second + 1))
    return head + nano.to_bytes(4, "big") if nano and fraction else head


def encode_zoned(utc: Moment, zone: Zone) -> bytes:
    """The cell of a TIMESTAMP WITH TIME ZONE from its fields in UTC."""
    return encode((*utc[:6], 0)) + utc[6].to_bytes(4, "big") + zones.tail(zone)


def zoned(wall: Moment, zone: Zone) -> bytes:
    """The cell of a TIMESTAMP WITH TIME ZONE from the local time of the zone. Raises as `to_utc`."""
    return encode_zoned(to_utc(wall, zone), zone)


def to_utc(wall: Moment, zone: Zone) -> Moment:
    """The moment in UTC of a local time of a zone; an hour that comes twice is standard time. Raises ORA-01878 for a time that
    the clocks of a region leave out, ORA-01841 outside the calendar."""
    minutes = zones.offset_of_local(zone, wall)
    return from_ns(to_ns(wall) - minutes * MINUTE_NS) if minutes else wall


def to_wall(utc: Moment, zone: Zone) -> Moment:
    """The local time of a moment in UTC. Raises ORA-01841 outside the calendar."""
    minutes = zones.offset_at(zone, utc)
    return from_ns(to_ns(utc) + minutes * MINUTE_NS) if minutes else utc


@lru_cache(maxsize=1 << 13)
def decode(cell: bytes) -> Moment:
    """The fields of a cell as stored: in UTC for a value with a zone; remembered."""
    nano = int.from_bytes(cell[7:11], "big") if len(cell) >= 11 else 0
    year = (cell[0] - 100) * 100 + cell[1] - 100
    return year, cell[2], cell[3], cell[4] - 1, cell[5] - 1, cell[6] - 1, nano


def zone_of(cell: bytes) -> Zone:
    """The zone of a TIMESTAMP WITH TIME ZONE. Raises ORA-01882 for an unknown region."""
    return zones.of_tail(cell[11:13])


def offset_of(cell: bytes) -> int:
    """The offset of a TIMESTAMP WITH TIME ZONE at its instant, in minutes east. Raises as `zone_of`."""
    return zones.offset_at(zone_of(cell), decode(cell))


def to_ns(moment: Moment) -> int:
    """Nanoseconds since the beginning of 1970, negative before."""
    year, month, day, hour, minute, second, nano = moment
    days = calendar.day_number(year, month, day) - _EPOCH
    return ((days * 24 + hour) * 60 + minute) * MINUTE_NS + second * 1_000_000_000 + nano


def from_ns(ns: int) -> Moment:
    """The moment of nanoseconds since the beginning of 1970. Raises ORA-01841 outside years -4712 to 9999."""
    days, rest = divmod(ns, DAY_NS)
    year, month, day = calendar.from_day_number(days + _EPOCH)
    seconds, nano = divmod(rest, 1_000_000_000)
    return year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60, nano


def local(cell: bytes) -> Moment:
    """The fields of a cell in its own time zone; as stored for a value without one. Raises as `zone_of` and `to_wall`."""
    moment = decode(cell)
    return to_wall(moment, zone_of(cell)) if len(cell) == 13 else moment


def shift(cell: bytes, ns: int, *, fraction: bool) -> bytes:
    """The cell `ns` nanoseconds later, earlier if that is negative, in its zone if it has one; with `fraction` False a cell
    without a zone becomes a DATE. Raises ORA-01841 outside the calendar, ORA-01882 as `zone_of`."""
    moment = from_ns(to_ns(decode(cell)) + ns)
    if len(cell) == 13:
        return encode_zoned(moment, zone_of(cell))
    return encode(moment, fraction=fraction)


def shift_months(cell: bytes, months: int) -> bytes:
    """The cell `months` later, or earlier, by its local fields, in its zone if it has one. Raises ORA-01839 when that month does
    not have the day, ORA-01841 outside the calendar, with a zone as `local` and `to_utc`."""
    year, month, day, *time = local(cell)
    total = year * 12 + month - 1 + months
    new_year, new_month = total // 12, total % 12 + 1
    calendar.check_day(new_year, new_month, day)
    moment = (new_year, new_month, day, time[0], time[1], time[2], time[3])
    return zoned(moment, zone_of(cell)) if len(cell) == 13 else encode(moment)


def round_fraction(cell: bytes, digits: int) -> bytes:
    """The cell with `digits` of the fraction, 0 to 9, rounded half up. Raises ORA-01841 outside the calendar, ORA-01882 as `zone_of`."""
    if len(cell) < 11 or digits >= 9:
        return cell
    unit = 10 ** (9 - digits)
    nano = int.from_bytes(cell[7:11], "big")
    if nano % unit == 0:
        return cell
    moment = from_ns((to_ns(decode(cell)) + unit // 2) // unit * unit)
    return encode(moment) if len(cell) == 11 else encode_zoned(moment, zone_of(cell))


def canonical(cell: bytes) -> bytes:
    """An 11-byte cell without a fraction in its 7-byte form, so that equal values have equal bytes; any other as it is."""
    return cell[:7] if len(cell) == 11 and cell[7:] == b"\0\0\0\0" else cell


def retime(cell: bytes, have: str, want: str, zone: Zone) -> bytes:
    """A cell of the `TimeKind` `have` as one of `want`. Raises as `to_utc`, `to_wall` and `local`.

    :param zone: of the session: values without a zone are its local times.
    """
    if have == want:
        return cell
    if want in (TimeKind.ZONED, TimeKind.LOCAL):
        utc = decode(cell) if have in (TimeKind.ZONED, TimeKind.LOCAL) else to_utc(decode(cell), zone)
        return encode_zoned(utc, zone) if want == TimeKind.ZONED else encode(utc)
    moment = to_wall(decode(cell), zone) if have == TimeKind.LOCAL else local(cell)
    return encode(moment, fraction=want == TimeKind.TIMESTAMP)


def instant(cell: bytes, zone: Zone) -> bytes:
    """The UTC fields of a DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE as a TIMESTAMP's bytes, to compare. `zone`: of a value that
    has none. Raises as `to_utc`."""
    if len(cell) == 13:
        return canonical(cell[:11])
    return encode(to_utc(decode(cell), zone))


def at_zone(cell: bytes, zone: Zone) -> bytes:
    """AT TIME ZONE: a TIMESTAMP WITH TIME ZONE of the same instant in another zone."""
    return cell[:11] + zones.tail(zone)
