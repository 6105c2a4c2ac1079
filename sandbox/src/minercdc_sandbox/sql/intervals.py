"""INTERVAL DAY TO SECOND (11 bytes) and INTERVAL YEAR TO MONTH (5 bytes): encoding, text, and the forms of literals.

Every field has the sign of the whole and a bias, so that the bytes compare like the values:
days + 0x80000000, hours + 60, minutes + 60, seconds + 60, nanoseconds + 0x80000000; years + 0x80000000, months + 60.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from minercdc_sandbox.interfaces import OraError

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
UNITS = {"DAY": DAY_NS, "HOUR": 3_600 * SECOND_NS, "MINUTE": 60 * SECOND_NS, "SECOND": SECOND_NS}
MONTHS = {"YEAR": 12, "MONTH": 1}
_BIAS = 0x80000000
_MOST = 999_999_999
_ISO = re.compile(r"(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?)?", re.IGNORECASE)
_DS = re.compile(r"\s*([+-]?)\s*(\d{1,9})\s+(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?\s*")
_YM = re.compile(r"\s*([+-]?)\s*(\d{1,9})\s*-\s*(\d{1,2})\s*")
_PARTS = ("DAY", "HOUR", "MINUTE", "SECOND")
_PATTERNS = {"DAY": r"(\d+)", "HOUR": r"(\d+)", "MINUTE": r"(\d+)", "SECOND": r"(\d+(?:\.\d*)?)"}


def too_small() -> OraError:
    """The error ORA-01873; the caller raises it."""
    return OraError(1873, "the leading precision of the interval is too small")


def invalid() -> OraError:
    """The error ORA-01867; the caller raises it."""
    return OraError(1867, "the interval is invalid")


def encode(ns: int) -> bytes:
    """The cell INTERVAL DAY TO SECOND of nanoseconds, negative ones too. Raises ORA-01873 beyond 9 digits of days."""
    sign = -1 if ns < 0 else 1
    seconds, nano = divmod(abs(ns), SECOND_NS)
    days, seconds = divmod(seconds, 86_400)
    if days > _MOST:
        raise too_small()
    fields = (seconds // 3600, seconds // 60 % 60, seconds % 60)
    head, tail = (_BIAS + sign * days).to_bytes(4, "big"), (_BIAS + sign * nano).to_bytes(4, "big")
    return head + bytes(60 + sign * field for field in fields) + tail


def decode(cell: bytes) -> int:
    """The nanoseconds of an INTERVAL DAY TO SECOND, with its sign."""
    days = int.from_bytes(cell[:4], "big") - _BIAS
    seconds = ((days * 24 + cell[4] - 60) * 60 + cell[5] - 60) * 60 + cell[6] - 60
    return seconds * SECOND_NS + int.from_bytes(cell[7:11], "big") - _BIAS


def encode_months(months: int) -> bytes:
    """The cell INTERVAL YEAR TO MONTH of months, negative ones too. Raises ORA-01873 beyond 9 digits of years."""
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    if years > _MOST:
        raise too_small()
    return (_BIAS + sign * years).to_bytes(4, "big") + bytes((60 + sign * rest,))


def decode_months(cell: bytes) -> int:
    """The months of an INTERVAL YEAR TO MONTH, with its sign."""
    return (int.from_bytes(cell[:4], "big") - _BIAS) * 12 + cell[4] - 60


def text(cell: bytes, lead: int, digits: int) -> str:
    """Text of an INTERVAL DAY TO SECOND, as `+01 02:03:04.500000`. `lead`: the least width of the days, `digits`: of the
    fraction, cut, 0 for none."""
    ns = decode(cell)
    seconds, nano = divmod(abs(ns), SECOND_NS)
    days, seconds = divmod(seconds, 86_400)
    tail = f".{nano:09d}"[: digits + 1] if digits else ""
    return f"{'-' if ns < 0 else '+'}{days:0{lead}d} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"


def months_text(cell: bytes, lead: int) -> str:
    """Text of an INTERVAL YEAR TO MONTH, as `+01-02`. `lead`: the least width of the years."""
    months = decode_months(cell)
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years:0{lead}d}-{rest:02d}"


def fitted(cell: bytes, lead: int, digits: int) -> bytes:
    """The cell as a column INTERVAL DAY(lead) TO SECOND(digits) has it, rounded half away from zero. Raises ORA-01873 for too
    many days."""
    ns = decode(cell)
    unit = 10 ** (9 - digits)
    whole = (abs(ns) + unit // 2) // unit * unit
    if whole // DAY_NS >= 10**lead:
        raise too_small()
    return encode(-whole if ns < 0 else whole)


def fitted_months(cell: bytes, lead: int) -> bytes:
    """The same cell, if it fits a column INTERVAL YEAR(lead) TO MONTH. Raises ORA-01873 for too many years."""
    if abs(decode_months(cell)) // 12 >= 10**lead:
        raise too_small()
    return cell


def _iso(value: str) -> re.Match[str]:
    match = _ISO.fullmatch(value.strip())
    if match is None:
        raise invalid()
    return match


def parse(value: str) -> bytes:
    """The cell of TO_DSINTERVAL: `[+-] d hh:mi:ss[.f]` or ISO `[-]P1DT2H3M4.5S`. Raises ORA-01867, ORA-01850 to ORA-01852, and
    ORA-01873 as `encode`."""
    if value.strip().lstrip("-").upper().startswith("P"):
        sign, years, months, days, hours, minutes, seconds = _iso(value).groups()
        if years or months:
            raise invalid()
        ns = int(days or 0) * DAY_NS + (int(hours or 0) * 3600 + int(minutes or 0) * 60) * SECOND_NS
        ns += int(Decimal(seconds or 0) * SECOND_NS)
        return encode(-ns if sign else ns)
    match = _DS.fullmatch(value)
    if match is None:
        raise invalid()
    sign, days, hours, minutes, seconds, fraction = match.groups()
    _check_fields(int(hours), int(minutes), int(seconds))
    total = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    ns = int(days) * DAY_NS + total * SECOND_NS + int((fraction or "0").ljust(9, "0"))
    return encode(-ns if sign == "-" else ns)


def _check_fields(hours: int, minutes: int, seconds: int) -> None:
    if hours > 23:
        raise OraError(1850, "hour must be between 0 and 23")
    if minutes > 59:
        raise OraError(1851, "minutes must be between 0 and 59")
    if seconds > 59:
        raise OraError(1852, "seconds must be between 0 and 59")


def parse_months(value: str) -> bytes:
    """The cell of TO_YMINTERVAL: `[+-]y-mm` or ISO `[-]P1Y2M`, whose days and times are left out. Raises ORA-01867, ORA-01843 for
    more than 11 months, and ORA-01873 as `encode_months`."""
    if value.strip().lstrip("-").upper().startswith("P"):
        sign, years, months, *_ = _iso(value).groups()
        total = int(years or 0) * 12 + int(months or 0)
        return encode_months(-total if sign else total)
    match = _YM.fullmatch(value)
    if match is None:
        raise invalid()
    sign, years, months = match.groups()
    if int(months) > 11:
        raise OraError(1843, "not a valid month")
    total = int(years) * 12 + int(months)
    return encode_months(-total if sign == "-" else total)


def literal(value: str, first: str, last: str, lead: int, digits: int) -> bytes:
    """The cell of INTERVAL 'value' first(lead) TO last(digits); fields by their words, as DAY and SECOND; `last` is `first` where
    there is only one. Raises ORA-01867, ORA-01873, for a later field that is too large ORA-01843 or ORA-01850 to ORA-01852."""
    if first in MONTHS:
        return _months_literal(value, first, last, lead)
    names = _PARTS[_PARTS.index(first) : _PARTS.index(last) + 1]
    pattern = _PATTERNS[names[0]]
    for name in names[1:]:
        pattern += (r"\s+" if name == "HOUR" else r":") + _PATTERNS[name]
    match = re.fullmatch(r"\s*([+-]?)\s*" + pattern + r"\s*", value)
    if match is None:
        raise invalid()
    sign, *fields = match.groups()
    limits = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
    ns = 0
    for at, (name, field) in enumerate(zip(names, fields, strict=True)):
        if at and int(Decimal(field)) > limits[name]:
            _check_fields(*(int(Decimal(field)) if name == part else 0 for part in ("HOUR", "MINUTE", "SECOND")))
        ns += int((Decimal(field) * UNITS[name]).to_integral_value(ROUND_HALF_UP))
    if int(Decimal(fields[0])) >= 10**lead:
        raise too_small()
    return fitted(encode(-ns if sign == "-" else ns), 9, digits)


def _months_literal(value: str, first: str, last: str, lead: int) -> bytes:
    match = re.fullmatch(r"\s*([+-]?)\s*(\d+)(?:-(\d+))?\s*", value)
    if match is None or (match.group(3) is None) != (first == last):
        raise invalid()
    sign, head, months = match.group(1), int(match.group(2)), int(match.group(3) or 0)
    if head >= 10**lead:
        raise too_small()
    if months > 11:
        raise OraError(1843, "not a valid month")
    total = head * MONTHS[first] + months
    return encode_months(-total if sign == "-" else total)
