"""Datetime format models: TO_CHAR, TO_DATE and TO_TIMESTAMP."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import calendar, zones
from minercdc_sandbox.sql.temporal import Moment
from minercdc_sandbox.sql.zones import Zone

_MONTHS = [
    *("JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE"),
    *("JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"),
]
_DAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
_ELEMENT = re.compile(
    r"FM|FX|SYYYY|YYYY|RRRR|YYY|YY|RR|Y|MONTH|MON|MM|DDD|DD|DAY|DY|D|HH24|HH12|HH|MI|SSSSS|SS|FF[1-9]|FF|A\.M\.|P\.M\.|A\.D\.|B\.C\.|AD|BC"
    r'|AM|PM|TZH|TZM|TZR|TZD|IYYY|IW|WW|W|Q|J|CC|X|"[^"]*"|[-/,.;: ]',
    re.IGNORECASE,
)
_WIDTH = {"YYYY": 4, "RRRR": 4, "YYY": 3, "YY": 2, "RR": 2, "Y": 1, "MM": 2, "DD": 2, "DDD": 3, "HH24": 2, "HH12": 2}
_WIDTH |= {"HH": 2, "MI": 2, "SS": 2, "SSSSS": 5, "J": 7}


@lru_cache(maxsize=256)
def elements(model: str) -> tuple[str, ...]:
    """The elements of a format model in order, as written, quoted texts with their quotes. Raises ORA-01821 for a part that is no
    element. Remembered."""
    found, at = [], 0
    while at < len(model):
        match = _ELEMENT.match(model, at)
        if match is None:
            raise OraError(1821, "date format not recognized")
        found.append(match.group())
        at = match.end()
    return tuple(found)


@lru_cache(maxsize=256)
def shows_zone(model: str) -> bool:
    """Whether a format model has an element of the time zone. Raises as `elements`. Remembered."""
    return any(raw[:2].upper() == "TZ" for raw in elements(model))


@lru_cache(maxsize=256)
def check_of_dates(model: str) -> None:
    """Check that a format model is one of DATE, which has neither fractions of seconds nor a time zone (SQL Language Reference,
    "Datetime Format Elements"). Raises ORA-01821 for FF, TZH, TZM, TZR and TZD, and as `elements`."""
    if any(raw[:2].upper() in ("FF", "TZ") for raw in elements(model)):
        raise OraError(1821, "date format not recognized")


def _cased(text: str, like: str) -> str:
    if like[0].islower():
        return text.lower()
    return text.capitalize() if len(like) > 1 and like[1].islower() else text


def to_char(moment: Moment, model: str, *, digits: int = 6, zone: Zone = 0, offset: int = 0) -> str:
    """TO_CHAR of a date or timestamp; names of months and days are English. `digits`: of plain FF; `offset`: of `zone` at the
    moment, in minutes east, for TZH and TZM. Raises ORA-01821, and ORA-03001 for IW and IYYY before 1583 and for TZD of a region."""
    out, fill = [], True
    for raw in elements(model):
        if raw.upper() == "FM":
            fill = not fill
        elif raw.upper() != "FX":
            out.append(_element_text(raw, moment, fill, digits, (zone, offset)))
    return "".join(out)


_PLAIN = [f"{n:02d}" for n in range(256)]
_EXCESS_1 = [f"{n - 1:02d}" for n in range(256)]
_EXCESS_100 = [f"{n - 100:02d}" for n in range(256)]
_YEAR = "excess_100[cell[0]] + excess_100[cell[1]]"
_FIXED = {
    **{"YYYY": _YEAR, "SYYYY": f"' ' + {_YEAR}", "MM": "plain[cell[2]]", "DD": "plain[cell[3]]"},
    **{"HH24": "excess_1[cell[4]]", "MI": "excess_1[cell[5]]", "SS": "excess_1[cell[6]]", "X": "'.'"},
}
"""Elements of fixed width, as Python expressions over the cell of a DATE or TIMESTAMP."""


@lru_cache(maxsize=256)
def compiled(model: str, digits: int) -> Callable[[bytes], str] | None:
    """A function that makes TO_CHAR of a cell of a DATE or TIMESTAMP AD; None when the model has elements that only `to_char`
    knows. Raises ORA-01821. Remembered.

    :param digits: of plain FF.
    """
    parts = []
    for raw in elements(model):
        name = raw.upper()
        if name.startswith("FF"):
            count = int(name[2:]) if name[2:] else digits
            parts.append(f"('%09d' % int.from_bytes(cell[7:11], 'big'))[:{count}]")
        elif name in _FIXED:
            parts.append(_FIXED[name])
        elif name[0].isalpha():
            return None
        else:
            parts.append(repr(raw[1:-1] if name[0] == '"' else raw))
    scope = {"plain": _PLAIN, "excess_1": _EXCESS_1, "excess_100": _EXCESS_100}
    text: Callable[[bytes], str] = eval(f"lambda cell: {' + '.join(parts) or repr('')}", scope)
    return text


def _element_text(raw: str, moment: Moment, fill: bool, digits: int, zone: tuple[Zone, int]) -> str:
    signed, month, day, hour, _, _, nano = moment
    name = raw.upper()
    numeric = _numeric_elements(moment)
    if name in numeric:
        value, width = numeric[name]
        text = str(value).zfill(width if fill else 0)
        return ("-" if signed < 0 else " " if fill else "") + text if name == "SYYYY" else text
    if name.startswith("FF"):
        count = int(name[2:]) if name[2:] else digits
        return f"{nano:09d}"[:count]
    if name in ("AM", "PM", "A.M.", "P.M."):
        half = "AM" if hour < 12 else "PM"
        return _cased(".".join(half) + "." if "." in name else half, raw)
    if name in ("AD", "BC", "A.D.", "B.C."):
        era = "BC" if signed < 0 else "AD"
        return _cased(".".join(era) + "." if "." in name else era, raw)
    if name in ("TZH", "TZM", "TZR", "TZD"):
        return _zone_text(name, *zone)
    if name == "X":
        return "."
    if name[0] == '"':
        return raw[1:-1]
    return _calendar_text(raw, name, (signed, month, day), fill) if name.isalpha() else raw


def _numeric_elements(moment: Moment) -> dict[str, tuple[int, int]]:
    """Number and least width of each element that is a number, by its name."""
    signed, month, day, hour, minute, second, _ = moment
    year = abs(signed)
    return {
        "YYYY": (year, 4),
        "RRRR": (year, 4),
        "SYYYY": (year, 4),
        "YYY": (year % 1000, 3),
        "YY": (year % 100, 2),
        "RR": (year % 100, 2),
        "Y": (year % 10, 1),
        "MM": (month, 2),
        "DD": (day, 2),
        "HH24": (hour, 2),
        "HH": ((hour + 11) % 12 + 1, 2),
        "HH12": ((hour + 11) % 12 + 1, 2),
        "MI": (minute, 2),
        "SS": (second, 2),
        "SSSSS": (hour * 3600 + minute * 60 + second, 5),
        "Q": ((month + 2) // 3, 1),
        "CC": ((year + 99) // 100, 2),
        "W": ((day + 6) // 7, 1),
    }


def _zone_text(name: str, zone: Zone, offset: int) -> str:
    sign = "-" if offset < 0 else "+"
    hours, minutes = divmod(abs(offset), 60)
    if name == "TZD" and isinstance(zone, str):
        raise OraError(3001, "unimplemented feature: TZD of a region")
    return {"TZH": f"{sign}{hours:02d}", "TZM": f"{minutes:02d}", "TZR": zones.text(zone), "TZD": ""}[name]


def _calendar_text(raw: str, name: str, day: tuple[int, int, int], fill: bool) -> str:
    if name == "MON":
        return _cased(_MONTHS[day[1] - 1][:3], raw)
    if name == "MONTH":
        return _cased(_MONTHS[day[1] - 1], raw).ljust(9 if fill else 0)
    number_ = calendar.day_number(*day)
    weekday = calendar.weekday(number_)
    if name == "DY":
        return _cased(_DAYS[weekday][:3], raw)
    if name == "DAY":
        return _cased(_DAYS[weekday], raw).ljust(9 if fill else 0)
    of_year = number_ - calendar.day_number(day[0], 1, 1) + 1
    values = {
        "D": ((weekday + 1) % 7 + 1, 1),
        "DDD": (of_year, 3),
        "WW": ((of_year + 6) // 7, 2),
        "J": (number_ + 1_721_425, 7),
    }
    if name in ("IW", "IYYY"):
        if day[0] < 1583:
            raise OraError(3001, f"unimplemented feature: {name} before the Gregorian calendar")
        iso = date(*day).isocalendar()
        values |= {"IW": (iso[1], 2), "IYYY": (iso[0], 4)}
    value, width = values[name]
    return str(value).zfill(width if fill else 0)


class _Scan:
    """One reading of the text of a date along a format model: the place in the text, and the fields found so far.

    :ivar year, month, zone, day_of_year, half: None until an element has set them; `half` is A or P.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.year: int | None = None
        self.month: int | None = None
        self.day = 1
        self.hour = self.minute = self.second = self.nano = 0
        self.half: str | None = None
        self.zone: Zone | None = None
        self.before_christ = False
        self.day_of_year: int | None = None

    def digits(self, width: int) -> str:
        """Read the digits that come next, at most `width`. Raises ORA-01840 at the end of the text, ORA-01858 without a digit."""
        end = self.at
        while end < len(self.text) and end - self.at < width and self.text[end].isdecimal():
            end += 1
        if end == self.at:
            if end == len(self.text):
                raise OraError(1840, "input value not long enough for date format")
            raise OraError(1858, "a non-numeric character was found where a numeric was expected")
        found, self.at = self.text[self.at : end], end
        return found

    def letters(self, names: list[str], short: bool) -> int | None:
        """Index in `names` of the name that comes next, in any case, which is passed over: all of it where the text has that,
        else its first three letters; None for no name. `short` tries the three letters first."""
        rest = self.text[self.at :].upper()
        for full in (False, True) if short else (True, False):
            for n, name in enumerate(names):
                word = name if full else name[:3]
                if rest.startswith(word) and (full or not rest.startswith(name)):
                    self.at += len(word)
                    return n
        return None


def to_moment(text: str, model: str, today: date) -> tuple[Moment, Zone | None]:
    """TO_DATE, TO_TIMESTAMP, TO_TIMESTAMP_TZ of a text: the fields as written, and the zone, None when the model has none.

    A year and a month that the model does not have are those of `today`, a day is 1, times are 0. Raises ORA-01820, ORA-01821,
    ORA-01830, ORA-01839 to ORA-01841, ORA-01843, ORA-01846 to ORA-01853, ORA-01855, ORA-01858, ORA-01859, ORA-01861, ORA-01874
    and ORA-01882.
    """
    scan = _Scan(text.strip())
    for raw in elements(model):
        _read(scan, raw.upper(), today)
    if scan.text[scan.at :].strip():
        raise OraError(1830, "date format picture ends before converting entire input string")
    hour = scan.hour
    if scan.half:
        hour = hour % 12 + (12 if scan.half == "P" else 0)
    year = today.year if scan.year is None else scan.year
    month = today.month if scan.month is None else scan.month
    if scan.before_christ:
        year = -abs(year)
    if scan.day_of_year is not None:
        first = calendar.day_number(year, 1, 1)
        found, month, scan.day = calendar.from_day_number(first + scan.day_of_year - 1)
        if found != year:
            raise OraError(1848, "day of year must be between 1 and 365 (366 for leap year)")
    calendar.check_day(year, month, scan.day)
    return (year, month, scan.day, hour, scan.minute, scan.second, scan.nano), scan.zone


def _read(scan: _Scan, name: str, today: date) -> None:
    if name in ("FM", "FX"):
        return
    if not name[0].isalpha():
        _read_punctuation(scan, name)
    elif name in ("YYYY", "RRRR", "SYYYY", "YYY", "YY", "RR", "Y"):
        _read_year(scan, name, today)
    elif name in ("MON", "MONTH") or (name == "MM" and scan.text[scan.at : scan.at + 1].isalpha()):
        month = scan.letters(_MONTHS, name != "MONTH")
        if month is None:
            raise OraError(1843, "not a valid month")
        scan.month = month + 1
    elif name in ("DY", "DAY"):
        if scan.letters(_DAYS, name == "DY") is None:
            raise OraError(1846, "not a valid day of the week")
    elif name in ("AM", "PM", "A.M.", "P.M."):
        match = re.compile(r"([AP])\.?M\.?", re.IGNORECASE).match(scan.text, scan.at)
        if match is None:
            raise OraError(1855, "AM/A.M. or PM/P.M. required")
        scan.half, scan.at = match.group(1).upper(), match.end()
    elif name in ("AD", "BC", "A.D.", "B.C."):
        match = re.compile(r"(A\.?D|B\.?C)\.?", re.IGNORECASE).match(scan.text, scan.at)
        if match is None:
            raise OraError(1859, "a non-alphabetic character was found where an alphabetic was expected")
        scan.before_christ, scan.at = match.group(1)[0] in "bB", match.end()
    elif name in ("TZH", "TZM", "TZR"):
        _read_zone(scan, name)
    elif name == "X":
        _read_punctuation(scan, ".")
    elif name.startswith("FF"):
        found = scan.digits(9) if scan.text[scan.at : scan.at + 1].isdecimal() else "0"
        scan.nano = int(found.ljust(9, "0"))
    elif name in _WIDTH:
        _read_number(scan, name)
    else:
        raise OraError(1820, "format code cannot appear in date input format")


def _read_punctuation(scan: _Scan, mark: str) -> None:
    if mark[0] == '"':
        scan.at += len(mark) - 2
        return
    if mark == " ":
        while scan.text[scan.at : scan.at + 1].isspace():
            scan.at += 1
        return
    here = scan.text[scan.at : scan.at + 1]
    if here and not here.isalnum():
        scan.at += 1
    elif here and here.isalpha():
        raise OraError(1861, "literal does not match format string")


def _read_year(scan: _Scan, name: str, today: date) -> None:
    width = 4 if name == "SYYYY" else _WIDTH[name]
    mark = scan.text[scan.at : scan.at + 1]
    negative = mark == "-" and name in ("YYYY", "SYYYY")
    scan.at += negative or (name == "SYYYY" and mark in ("+", " "))
    if name == "RR":
        width = 4
    found = scan.digits(width)
    year = int(found)
    if name in ("RR", "RRRR") and len(found) <= 2:
        century = today.year // 100
        if year < 50 <= today.year % 100:
            century += 1
        elif year >= 50 > today.year % 100:
            century -= 1
        year += century * 100
    elif name in ("YYY", "YY", "Y"):
        year += today.year // 10**width * 10**width
    scan.year = -year if negative else year


_ZONE = {
    "TZR": re.compile(r"\s*([-+])?(\d{1,2})(?::(\d{2}))?"),
    "TZH": re.compile(r"\s*([-+])?(\d{1,2})"),
    "TZM": re.compile(r"\s*([-+])?(\d{1,2})"),
}
_REGION = re.compile(r"\s*([A-Za-z][A-Za-z0-9_/+-]*)")


def _read_zone(scan: _Scan, name: str) -> None:
    match = _ZONE[name].match(scan.text, scan.at)
    if match is None:
        region = _REGION.match(scan.text, scan.at) if name == "TZR" else None
        if region is None:
            raise zones.unknown_region()
        scan.at, scan.zone = region.end(), zones.parse(region.group(1))
        return
    scan.at = match.end()
    value = int(match.group(2))
    if name == "TZM":
        hours = scan.zone if isinstance(scan.zone, int) else 0
        scan.zone = hours - value if hours < 0 else hours + value
        return
    minutes = value * 60 + int((match.group(3) or 0) if name == "TZR" else 0)
    if minutes > 15 * 60:
        raise OraError(1874, "time zone hour must be between -15 and 15")
    scan.zone = -minutes if match.group(1) == "-" else minutes


_LIMITS: dict[str, tuple[int, int, Callable[[], OraError]]] = {
    "MM": (1, 12, lambda: OraError(1843, "not a valid month")),
    "HH24": (0, 23, lambda: OraError(1850, "hour must be between 0 and 23")),
    **dict.fromkeys(("HH", "HH12"), (1, 12, lambda: OraError(1849, "hour must be between 1 and 12"))),
    "MI": (0, 59, lambda: OraError(1851, "minutes must be between 0 and 59")),
    "SS": (0, 59, lambda: OraError(1852, "seconds must be between 0 and 59")),
    "SSSSS": (0, 86_399, lambda: OraError(1853, "seconds in day must be between 0 and 86399")),
}


def _read_number(scan: _Scan, name: str) -> None:
    value = int(scan.digits(_WIDTH[name]))
    limits = _LIMITS.get(name)
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise limits[2]()
    if name == "MM":
        scan.month = value
    elif name == "DD":
        scan.day = value
    elif name == "DDD":
        scan.day_of_year = value
    elif name in ("HH24", "HH", "HH12"):
        scan.hour = value
    elif name == "MI":
        scan.minute = value
    elif name == "SS":
        scan.second = value
    elif name == "SSSSS":
        scan.hour, scan.minute, scan.second = value // 3600, value // 60 % 60, value % 60
    else:
        raise OraError(1820, "format code cannot appear in date input format")
