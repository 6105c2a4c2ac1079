"""Day numbers of Oracle's calendar: Julian until 4 October 1582, Gregorian from 15 October 1582 on.

Day 1 is 1 January of year 1 of the Gregorian calendar extended back, as in Python. Years run from -4712 to 9999. No date has the
year 0, but day arithmetic counts it (Oracle's difference between 31-DEC-0001 BC and 01-JAN-0001 is 367 days).
"""

from __future__ import annotations

from datetime import date

from minercdc_sandbox.interfaces import OraError

FIRST_YEAR, LAST_YEAR = -4712, 9999
_CUTOVER = date(1582, 10, 15).toordinal()
_JULIAN_OFFSET = -1_721_425
"""Python's ordinal of the Julian day number 0."""
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def year_out_of_range() -> OraError:
    """The error ORA-01841; the caller raises it."""
    return OraError(1841, "(full) year must be between -4713 and +9999, and not be 0")


def month_length(year: int, month: int) -> int:
    """The number of the month's last day, also of October 1582; years are those of the calendar, below 0 for BC."""
    if month != 2:
        return _LENGTHS[month - 1]
    leap = year % 4 == 0 and (year < 1583 or year % 100 != 0 or year % 400 == 0)
    return 29 if leap else 28


def day_number(year: int, month: int, day: int) -> int:
    """The number of a day, which must be one of the calendar or of its gap. The days that the change of calendars left out have
    the number of the first Gregorian day."""
    if (year, month, day) >= (1582, 10, 15):
        return date(year, month, day).toordinal()
    shift = (14 - month) // 12
    y, m = year + 4800 - shift, month + 12 * shift - 3
    julian_day = day + (153 * m + 2) // 5 + 365 * y + y // 4 - 32083
    return min(julian_day + _JULIAN_OFFSET, _CUTOVER)


def from_day_number(number: int) -> tuple[int, int, int]:
    """Year (below 0 for BC), month, day of a day number. Raises ORA-01841 outside the calendar and in the year 0."""
    if number >= _CUTOVER:
        try:
            found = date.fromordinal(number)
        except (ValueError, OverflowError):
            raise year_out_of_range() from None
        return found.year, found.month, found.day
    c = number - _JULIAN_OFFSET + 32082
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    year = d - 4800 + m // 10
    if year < FIRST_YEAR or year == 0:
        raise year_out_of_range()
    return year, m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1


def check_day(year: int, month: int, day: int) -> None:
    """Check a date as a user gives it. Raises ORA-01841, ORA-01843 or ORA-01847 for a year, month or day out of range, ORA-01839
    for a date that is none, those left out in October 1582 included."""
    if not FIRST_YEAR <= year <= LAST_YEAR or year == 0:
        raise year_out_of_range()
    if not 1 <= month <= 12:
        raise OraError(1843, "not a valid month")
    if not 1 <= day <= 31:
        raise OraError(1847, "day of month must be between 1 and last day of month")
    if day > month_length(year, month) or (1582, 10, 4) < (year, month, day) < (1582, 10, 15):
        raise OraError(1839, "date not valid for month specified")


def weekday(number: int) -> int:
    """The day of the week of a day number, from 0 for Monday."""
    return (number - 1) % 7
