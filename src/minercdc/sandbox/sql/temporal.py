"""DATE, TIMESTAMP and day-to-second INTERVAL in Oracle's bytes.

DATE has 7 bytes; TIMESTAMP 7 when the fraction is zero, else 11; TIMESTAMP WITH TIME ZONE 13, fields in UTC. Without a
zone the bytes compare like the values, with one only the first 11 do. The calendar is Gregorian, years 1 to 9999.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import TypeAlias

from minercdc.sandbox.interfaces import OraError

Moment: TypeAlias = "tuple[int, int, int, int, int, int, int]"
"""Year, month, day, hour, minute, second, nanosecond."""

DAY_NS = 86_400_000_000_000
_EPOCH = date(1970, 1, 1).toordinal()


def encode(moment: Moment, *, fraction: bool = True) -> bytes:
    """DATE (`fraction` False drops nanoseconds) or TIMESTAMP."""
    year, month, day, hour, minute, second, nano = moment
    head = bytes((year // 100 + 100, year % 100 + 100, month, day, hour + 1, minute + 1, second + 1))
    return head + nano.to_bytes(4, "big") if nano and fraction else head


def encode_zoned(moment: Moment, offset_minutes: int) -> bytes:
    """TIMESTAMP WITH TIME ZONE from UTC fields."""
    head = encode((*moment[:6], 0)) + moment[6].to_bytes(4, "big")
    sign = -1 if offset_minutes < 0 else 1
    hours, minutes = divmod(abs(offset_minutes), 60)
    return head + bytes((sign * hours + 20, sign * minutes + 60))


@lru_cache(maxsize=1 << 13)
def decode(cell: bytes) -> Moment:
    """Fields as stored: UTC when there is a zone."""
    nano = int.from_bytes(cell[7:11], "big") if len(cell) >= 11 else 0
    return (
        (cell[0] - 100) * 100 + cell[1] - 100,
        *(cell[2], cell[3], cell[4] - 1, cell[5] - 1, cell[6] - 1),
        nano,
    )


def offset_of(cell: bytes) -> int:
    """Zone of a 13-byte value, minutes east. Raises ORA-01882 for region ids."""
    if cell[11] & 0x80:
        raise OraError(1882, "timezone region not found")
    return (cell[11] - 20) * 60 + cell[12] - 60


def to_ns(moment: Moment) -> int:
    """Nanoseconds since 1970."""
    year, month, day, hour, minute, second, nano = moment
    days = date(year, month, day).toordinal() - _EPOCH
    return ((days * 24 + hour) * 60 + minute) * 60_000_000_000 + second * 1_000_000_000 + nano


def from_ns(ns: int) -> Moment:
    """Raises ORA-01841 outside years 1 to 9999."""
    days, rest = divmod(ns, DAY_NS)
    try:
        day = date.fromordinal(days + _EPOCH)
    except (ValueError, OverflowError):
        raise OraError(1841, "(full) year must be between -4713 and +9999, and not be 0") from None
    seconds, nano = divmod(rest, 1_000_000_000)
    return day.year, day.month, day.day, seconds // 3600, seconds // 60 % 60, seconds % 60, nano


def local(cell: bytes) -> Moment:
    """Fields as the clock on the wall of the value's zone shows them."""
    moment = decode(cell)
    return from_ns(to_ns(moment) + offset_of(cell) * 60_000_000_000) if len(cell) == 13 else moment


def shift(cell: bytes, ns: int, *, fraction: bool) -> bytes:
    """The value `ns` later, in its own form."""
    moment = from_ns(to_ns(decode(cell)) + ns)
    if len(cell) == 13:
        return encode_zoned(moment, offset_of(cell))
    return encode(moment, fraction=fraction)


def round_fraction(cell: bytes, digits: int) -> bytes:
    """TIMESTAMP(`digits`): half a unit and more goes up."""
    if len(cell) < 11 or digits >= 9:
        return cell
    unit = 10 ** (9 - digits)
    nano = int.from_bytes(cell[7:11], "big")
    if nano % unit == 0:
        return cell
    moment = from_ns((to_ns(decode(cell)) + unit // 2) // unit * unit)
    return encode(moment) if len(cell) == 11 else encode_zoned(moment, offset_of(cell))


def canonical(cell: bytes) -> bytes:
    """An 11-byte value without a fraction in its 7-byte form, so that equal values have equal bytes."""
    return cell[:7] if len(cell) == 11 and cell[7:] == b"\0\0\0\0" else cell


def encode_interval(ns: int) -> bytes:
    """INTERVAL DAY TO SECOND: 11 bytes, biased, every field with the sign of the whole."""
    sign = -1 if ns < 0 else 1
    seconds, nano = divmod(abs(ns), 1_000_000_000)
    days, seconds = divmod(seconds, 86_400)
    if days > 999_999_999:
        raise OraError(1873, "the leading precision of the interval is too small")
    fields = (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return (
        (0x80000000 + sign * days).to_bytes(4, "big")
        + bytes(60 + sign * field for field in fields)
        + (0x80000000 + sign * nano).to_bytes(4, "big")
    )


def decode_interval(cell: bytes) -> int:
    """Nanoseconds."""
    days = int.from_bytes(cell[:4], "big") - 0x80000000
    seconds = ((days * 24 + cell[4] - 60) * 60 + cell[5] - 60) * 60 + cell[6] - 60
    return seconds * 1_000_000_000 + int.from_bytes(cell[7:11], "big") - 0x80000000


def valid(year: int, month: int, day: int) -> None:
    """Raises ORA-01841, ORA-01843, ORA-01847 or ORA-01839."""
    if not 1 <= year <= 9999:
        raise OraError(1841, "(full) year must be between -4713 and +9999, and not be 0")
    if not 1 <= month <= 12:
        raise OraError(1843, "not a valid month")
    if not 1 <= day <= 31:
        raise OraError(1847, "day of month must be between 1 and last day of month")
    try:
        date(year, month, day)
    except ValueError:
        raise OraError(1839, "date not valid for month specified") from None
