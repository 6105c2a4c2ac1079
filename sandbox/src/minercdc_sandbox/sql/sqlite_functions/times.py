"""Functions on cells of dates, timestamps and intervals. `zone` is the text of a time zone, `kind` a `TimeKind`.

If nothing else is said, a TIMESTAMP WITH TIME ZONE counts with the fields of its own zone, with ORA-01882 for an unknown region.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import calendar, convert, date_formats, intervals, number, temporal, zones
from minercdc_sandbox.sql.number import ARITHMETIC, decode, encode
from minercdc_sandbox.sql.temporal import DAY_NS, TimeKind

_WITHOUT_ZONE = (TimeKind.DATE, TimeKind.TIMESTAMP)


def shift_days(cell: bytes, days: bytes) -> bytes:
    """DATE + n days, rounded to the second, half away from zero; a timestamp becomes a DATE first. Raises ORA-01841 outside the
    calendar, ORA-01882 as `temporal.local`."""
    base = temporal.encode(temporal.local(cell), fraction=False)
    seconds = int(number.rounded(decode(days) * 86400, 0))
    return temporal.shift(base, seconds * 1_000_000_000, fraction=False)


def _ns(cell: bytes) -> int:
    return temporal.to_ns(temporal.decode(cell))


def _unit(units: dict[str, int], name: str) -> int:
    found = units.get(name.upper().strip())
    if found is None:
        raise OraError(1760, "illegal argument for function")
    return found


def interval_from(count: bytes, unit: str) -> bytes:
    """NUMTODSINTERVAL(count, unit), rounded to nanoseconds. Raises ORA-01760 for an unknown unit, ORA-01873 beyond 9 digits of days."""
    return intervals.encode(int(number.rounded(decode(count) * _unit(intervals.UNITS, unit), 0)))


def months_from(count: bytes, unit: str) -> bytes:
    """NUMTOYMINTERVAL(count, unit), rounded to months. Raises ORA-01760 for an unknown unit, ORA-01873 beyond 9 digits of years."""
    return intervals.encode_months(int(number.rounded(decode(count) * _unit(intervals.MONTHS, unit), 0)))


def combine_intervals(a: bytes, b: bytes, direction: int) -> bytes:
    """Sum (`direction` 1) or difference (-1) of two intervals of one kind, either of days or of months. Raises ORA-01873 beyond 9
    digits of days or years."""
    if len(a) == 5:
        return intervals.encode_months(intervals.decode_months(a) + direction * intervals.decode_months(b))
    return intervals.encode(intervals.decode(a) + direction * intervals.decode(b))


def scale_interval(interval: bytes, factor: bytes, divide: int) -> bytes:
    """An interval times a NUMBER, or, unless `divide` is 0, divided by it; cut to whole months, or rounded to nanoseconds. Raises
    ORA-01476 for a division by 0, ORA-01873 beyond 9 digits of days or years."""
    by = decode(factor)
    if divide and not by:
        raise OraError(1476, "divisor is equal to zero")
    months = len(interval) == 5
    value = Decimal(intervals.decode_months(interval) if months else intervals.decode(interval))
    exact = ARITHMETIC.divide(value, by) if divide else ARITHMETIC.multiply(value, by)
    return intervals.encode_months(int(exact)) if months else intervals.encode(int(number.rounded(exact, 0)))


def text_date(text: str, model: str, kind: str, zone: str, today: str) -> bytes:
    """The cell of type `kind` of a text in a format. A text without a zone is in `zone`; `today`, an ISO date, gives the year and
    month that are not in it. A zone in a text for TIMESTAMP has no effect. Raises as `date_formats.to_moment`, `temporal.to_utc` and
    `zones.parse`, and for a DATE as `date_formats.check_of_dates`."""
    if kind == TimeKind.DATE:
        date_formats.check_of_dates(model)
    moment, found = date_formats.to_moment(text, model, date.fromisoformat(today))
    if kind in _WITHOUT_ZONE:
        return temporal.encode(moment, fraction=kind == TimeKind.TIMESTAMP)
    own = zones.parse(zone) if found is None else found
    return temporal.zoned(moment, own) if kind == TimeKind.ZONED else temporal.encode(temporal.to_utc(moment, own))


def zone_offset(zone: str, now: bytes) -> str:
    """TZ_OFFSET: the offset of a zone, as `+05:30`, at a TIMESTAMP in UTC. Raises ORA-01874 for an offset out of range, ORA-01882
    for an unknown region."""
    return zones.text(zones.offset_at(zones.parse(zone), temporal.decode(now)))


_KEPT = {
    **dict.fromkeys(("YYYY", "YEAR", "YYY", "YY", "Y", "SYYYY"), 1),
    **dict.fromkeys(("MONTH", "MON", "MM", "RM"), 2),
    **dict.fromkeys(("DD", "DDD", "J"), 3),
    **dict.fromkeys(("HH", "HH24", "HH12"), 4),
    "MI": 5,
}
"""How many fields TRUNC keeps, by unit."""
_STEPS = {3: DAY_NS, 4: DAY_NS // 24, 5: DAY_NS // 1440}
_WEEKS = ("IW", "DAY", "D", "DY")


def truncate_date(cell: bytes, model: str = "DD") -> bytes:
    """TRUNC(date, model), a DATE: the beginning of the unit `model`, in any case, in which the date lies. Weeks of IW begin on
    Monday, those of DAY, DY and D on Sunday. Raises ORA-01898 for an unknown unit, ORA-01841 for a week that begins before the
    calendar, ORA-01882 as `temporal.local`."""
    moment = temporal.local(cell)
    unit = model.upper()
    if unit == "Q":
        return temporal.encode((moment[0], (moment[1] - 1) // 3 * 3 + 1, 1, 0, 0, 0, 0))
    if unit in _WEEKS:
        day = calendar.day_number(*moment[:3])
        back = calendar.weekday(day) if unit == "IW" else (calendar.weekday(day) + 1) % 7
        return temporal.encode((*calendar.from_day_number(day - back), 0, 0, 0, 0))
    if unit not in _KEPT:
        raise OraError(1898, "too many precision specifiers")
    year, month, day, hour, minute, *_ = (*moment[: _KEPT[unit]], *(1, 1, 1, 0, 0)[_KEPT[unit] :])
    return temporal.encode((year, month, day, hour, minute, 0, 0))


_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def next_day(cell: bytes, name: str) -> bytes:
    """NEXT_DAY, a DATE: the first day with that English name, of which three letters count, after the date, with its time. Raises
    ORA-01846 for another name, ORA-01841 outside the calendar, ORA-01882 as `temporal.local`."""
    wanted = next((n for n, day in enumerate(_WEEKDAYS) if name.upper().startswith(day[:3])), None)
    if wanted is None:
        raise OraError(1846, "not a valid day of the week")
    base = temporal.encode(temporal.local(cell), fraction=False)
    today = calendar.weekday(calendar.day_number(*temporal.decode(base)[:3]))
    return temporal.shift(base, ((wanted - today - 1) % 7 + 1) * DAY_NS, fraction=False)


def round_to(cell: bytes, model: str) -> bytes:
    """ROUND(date, model), a DATE: the beginning of its unit, or, from the middle of the unit on, of the next. Raises ORA-01841
    beyond the year 9999, and as `truncate_date`.

    The middle of a month is its 16th, of a quarter the 16th of its second month, of a year the first of July.
    """
    low, unit = truncate_date(cell, model), model.upper()
    months = 3 if unit == "Q" else {1: 12, 2: 1}.get(_KEPT.get(unit, 0))
    if months is None:
        step = 7 * DAY_NS if unit in _WEEKS else _STEPS[_KEPT[unit]]
        half, high = (temporal.shift(low, ns, fraction=False) for ns in (step // 2, step))
    else:
        half, high = (temporal.shift_months(low, count) for count in (months // 2, months))
        if months < 12:
            half = temporal.shift(half, 15 * DAY_NS, fraction=False)
    return high if temporal.encode(temporal.local(cell), fraction=False) >= half else low


def round_date(cell: bytes) -> bytes:
    """ROUND(date), a DATE: its midnight, or the next from noon on. Raises ORA-01841 beyond the year 9999, ORA-01882 as
    `temporal.local`."""
    ns = temporal.to_ns(temporal.local(cell))
    return temporal.encode(temporal.from_ns((ns + DAY_NS // 2) // DAY_NS * DAY_NS))


def last_day(cell: bytes) -> bytes:
    """LAST_DAY, a DATE with the time of the date. Raises ORA-01882 as `temporal.local`."""
    year, month, _, hour, minute, second, _ = temporal.local(cell)
    return temporal.encode((year, month, calendar.month_length(year, month), hour, minute, second, 0))


def add_months(cell: bytes, count: bytes) -> bytes:
    """ADD_MONTHS, a DATE: the last day of a month becomes the last day of the other, any other day keeps its number if that month
    has it. `count` is cut to whole months. Raises ORA-01841 outside the calendar, ORA-01882 as `temporal.local`."""
    year, month, day, hour, minute, second, _ = temporal.local(cell)
    total = year * 12 + month - 1 + number.to_int(count)
    new_year, new_month = total // 12, total % 12 + 1
    calendar.check_day(new_year, new_month, 1)
    end = calendar.month_length(new_year, new_month)
    was_end = calendar.month_length(year, month) == day
    return temporal.encode((new_year, new_month, end if was_end else min(day, end), hour, minute, second, 0))


def months_between(a: bytes, b: bytes) -> bytes:
    """MONTHS_BETWEEN(a, b), a NUMBER, negative when `a` is earlier: whole months between equal days of the month, even at other
    times, and between last days; else with a fraction of 31 days, by days and times. Raises ORA-01882 as `temporal.local`."""
    x, y = temporal.local(a), temporal.local(b)
    months = Decimal((x[0] - y[0]) * 12 + x[1] - y[1])
    ends = calendar.month_length(x[0], x[1]) == x[2] and calendar.month_length(y[0], y[1]) == y[2]
    if x[2] != y[2] and not ends:
        seconds = [m[2] * 86400 + m[3] * 3600 + m[4] * 60 + m[5] for m in (x, y)]
        months += ARITHMETIC.divide(Decimal(seconds[0] - seconds[1]), Decimal(31 * 86400))
    return encode(months)


_FIELDS = {"YEAR": 0, "MONTH": 1, "DAY": 2, "HOUR": 3, "MINUTE": 4, "SECOND": 5}


def extract(part: str, cell: bytes) -> bytes:
    """EXTRACT(part FROM date or timestamp), a NUMBER, SECOND with fractions. With a time zone, of its UTC fields, or
    TIMEZONE_HOUR and TIMEZONE_MINUTE of its offset, which raise ORA-01882 for an unknown region."""
    if part in ("TIMEZONE_HOUR", "TIMEZONE_MINUTE"):
        minutes = temporal.offset_of(cell)
        sign = -1 if minutes < 0 else 1
        return encode(sign * (abs(minutes) // 60 if part == "TIMEZONE_HOUR" else abs(minutes) % 60))
    moment = temporal.decode(cell)
    value = Decimal(moment[_FIELDS[part]])
    return encode(value + Decimal(moment[6]).scaleb(-9) if part == "SECOND" else value)


def extract_interval(part: str, cell: bytes) -> bytes:
    """EXTRACT(part FROM interval), a NUMBER, SECOND with fractions; every field has the interval's sign. `part`: one that this
    kind of interval has."""
    if part in intervals.MONTHS:
        months = intervals.decode_months(cell)
        years, rest = divmod(abs(months), 12)
        value = Decimal(years if part == "YEAR" else rest)
        return encode(value.copy_negate() if months < 0 else value)
    ns = intervals.decode(cell)
    whole, rest = divmod(abs(ns), intervals.UNITS["MINUTE"])
    fields = {"DAY": whole // 1440, "HOUR": whole // 60 % 24, "MINUTE": whole % 60}
    value = Decimal(rest).scaleb(-9) if part == "SECOND" else Decimal(fields[part])
    return encode(value.copy_negate() if ns < 0 else value)


def zone_name(cell: bytes) -> str:
    """EXTRACT(TIMEZONE_REGION ..): the name of a region; UNKNOWN for an offset. Raises ORA-01882 for a region that is unknown here."""
    zone = temporal.zone_of(cell)
    return zone if isinstance(zone, str) else "UNKNOWN"


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "days": shift_days,
    "shift": lambda cell, interval, sign: temporal.shift(cell, sign * intervals.decode(interval), fraction=True),
    "shift_months": lambda cell, interval, sign: temporal.shift_months(cell, sign * intervals.decode_months(interval)),
    "days_between": lambda a, b: encode(ARITHMETIC.divide(Decimal(_ns(a) - _ns(b)), Decimal(DAY_NS))),
    "interval_between": lambda a, b: intervals.encode(_ns(a) - _ns(b)),
    "interval": interval_from,
    "month_interval": months_from,
    "combine_intervals": combine_intervals,
    "scale_interval": scale_interval,
    "text_interval": intervals.parse,
    "text_months": intervals.parse_months,
    "interval_text": intervals.text,
    "months_text": intervals.months_text,
    "fit_interval": intervals.fitted,
    "fit_months": intervals.fitted_months,
    "zone_key": lambda cell, zone: temporal.instant(cell, zones.parse(zone)),
    "date_text": lambda cell, model, digits, zone, kind: convert.date_text(cell, kind, model, digits, zones.parse(zone)),
    "text_date": text_date,
    "retime": lambda cell, have, want, zone: temporal.retime(cell, have, want, zones.parse(zone)),
    "at_zone": lambda cell, zone: temporal.at_zone(cell, zones.parse(zone)),
    "range_number": lambda cell: float(decode(cell)),
    "range_time": _ns,
    "zone_offset": zone_offset,
    "zone_name": zone_name,
    "round_fraction": temporal.round_fraction,
    "trunc_date": truncate_date,
    "next_day": next_day,
    "round_to": round_to,
    "round_date": round_date,
    "last_day": last_day,
    "add_months": add_months,
    "months_between": months_between,
    "extract": extract,
    "extract_interval": extract_interval,
}
