"""Evaluates TO_DATE and its kin on constants: reads text by those of Oracle's format models that a DEFAULT uses.

to_date('2024-01-02', 'yyyy-mm-dd')  ->  2024-01-02 00:00:00.000000000
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
# Element of a format model -> its pattern in the text. Elements that depend on the session's language or time are left out.
_ELEMENTS: Final = {
    "SYYYY": r"(?P<year>[+-]?\d{4})",
    "YYYY": r"(?P<year>\d{4})",
    "RRRR": r"(?P<year>\d{4})",
    "MM": r"(?P<month>\d{1,2})",
    "MON": rf"(?P<name>{'|'.join(_MONTHS)})",
    "DD": r"(?P<day>\d{1,2})",
    "HH24": r"(?P<hour>\d{1,2})",
    "HH12": r"(?P<hour>\d{1,2})",
    "HH": r"(?P<hour>\d{1,2})",
    "MI": r"(?P<minute>\d{1,2})",
    "SS": r"(?P<second>\d{1,2})",
    **{f"FF{digits}": rf"(?P<fraction>\d{{1,{digits or 9}}})" for digits in ("", *range(1, 10))},
    "AM": r"(?P<half>[AP]M)",
    "PM": r"(?P<half>[AP]M)",
    "TZH": r"(?P<zone_hour>[+-]?\d{1,2})",
    "TZM": r"(?P<zone_minute>\d{1,2})",
}
_ELEMENT = re.compile("|".join(sorted(_ELEMENTS, key=len, reverse=True)) + r"|[-/,.;: ]|X|\"[^\"]*\"", re.IGNORECASE)


def moment(text: str, model: str) -> str | None:
    """`text` read by a format model, as Row text with nine digits of the fraction, and the offset when the model has TZH.

    None: the text does not fit the model, or is not a time of the years 1 to 9999; its year, month or day is missing; or an element is
    not one of `_ELEMENTS`, or comes twice.
    """
    pattern = _pattern(model)
    match = re.fullmatch(pattern, text.strip(), re.IGNORECASE) if pattern else None
    if match is None:
        return None
    parts = {name: value for name, value in match.groupdict().items() if value is not None}
    if "year" not in parts or "day" not in parts or not ("month" in parts or "name" in parts):
        return None  # the present fills what is left out
    month = int(parts["month"]) if "month" in parts else _MONTHS.index(parts["name"].upper()) + 1
    hour = int(parts.get("hour", 0))
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half.upper() == "PM" else 0)
    numbers = (int(parts["year"]), month, int(parts["day"]), hour, int(parts.get("minute", 0)), int(parts.get("second", 0)))
    try:
        stem = datetime(*numbers).isoformat(" ")
    except ValueError:
        return None
    offset = ""
    if "zone_hour" in parts:
        zone = int(parts["zone_hour"])
        sign = "-" if parts["zone_hour"].startswith("-") else "+"
        offset = f" {sign}{abs(zone):02d}:{int(parts.get('zone_minute', 0)):02d}"
    return f"{stem}.{parts.get('fraction', '').ljust(9, '0')}{offset}"


def literal_moment(text: str) -> str | None:
    """Row text of what is between the quotes of a DATE or TIMESTAMP literal; None when it is not of that form."""
    date = re.match(r"\s*[+-]?\d{4}-\d{1,2}-\d{1,2}", text)
    if date is None:
        return None
    model = "SYYYY-MM-DD"
    if ":" in text[date.end() :]:
        model += " HH24:MI:SS"
        model += ".FF" if "." in text else ""
        model += " TZH:TZM" if re.search(r"[+-]\d{1,2}:\d\d\s*$", text[date.end() :]) else ""
    return moment(text, model)


def _pattern(model: str) -> str | None:
    """A regular expression of what fits the model; None when the model has an element that is not known here."""
    pieces, at = [], 0
    while at < len(model):
        match = _ELEMENT.match(model, at)
        if match is None:
            return None
        element = match[0]
        known = _ELEMENTS.get(element.upper())
        if known is not None:
            pieces.append(known)
        elif element == " ":
            pieces.append(r"\s*")
        else:  # punctuation stands for any other
            pieces.append(re.escape(element[1:-1]) if element.startswith('"') else r"[-/,.;:]")
        at = match.end()
    try:
        re.compile("".join(pieces))
    except re.error:  # an element twice
        return None
    return "".join(pieces)
