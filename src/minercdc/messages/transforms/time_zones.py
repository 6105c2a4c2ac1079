"""TimezoneConverter: times of rows in another time zone.

Texts with an offset (ZonedTimestamp, ZonedTime) show the same moment in the zone. Numbers have no offset: they are a clock's time, and
become the moment at which the clock of the zone shows it.

Python's years end with 1 and 9999. What lies beyond, or would in the zone, is reckoned 400 years or a multiple of that nearer, where the
calendar and the rules of zones are the same; its text is Java's: `+10000-01-01T..`, `0000-12-31T..`, `-0001-..`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from minercdc.config.transforms.options import TimezoneConverter
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import TIMESTAMP, Schema
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Transform, typed
from minercdc.messages.transforms.schemas import fields_of

_EPOCH = datetime(1970, 1, 1)
_ZONED = re.compile(r"(?:(\d{4}|[+-]\d{4,9})-(\d\d-\d\dT))?(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d(?::\d\d)?)")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?")
_CYCLE_YEARS, _CYCLE_SECONDS = 400, 146_097 * 86_400  # after which the Gregorian calendar repeats
_FIRST_SECOND, _LAST_SECOND = -62_000_000_000, 253_000_000_000  # of the years 5 to 9987
_PER_SECOND = {
    "io.debezium.time.Timestamp": 10**3,
    "io.debezium.time.MicroTimestamp": 10**6,
    "io.debezium.time.NanoTimestamp": 10**9,
    TIMESTAMP: 10**3,
}
_TEXTS = ("io.debezium.time.ZonedTimestamp", "io.debezium.time.ZonedTime")
Convert: TypeAlias = Callable[[Any], Any]
_Rules: TypeAlias = Mapping[str, set[str]]
"""Fields by table or topic; none for all."""


def zone_of(name: str) -> tzinfo:
    """A time zone by its name or offset, `+hh:mm`. Raises KeyError or ValueError for another text."""
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    sign, hours, minutes, seconds = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds or 0))
    return timezone(-offset if sign == "-" else offset)


def time_zone_converter(options: TimezoneConverter) -> Transform:
    """The transformation TimezoneConverter: times in the rows of envelopes as of another time zone; other records stay. It
    raises ValueDecodeError for a text that is not a time, and for a row that is no struct."""
    chosen = _ChosenFields(options)
    by_schema: BySchema[dict[tuple[str, str], Mapping[str, Mapping[str, Convert]]]] = BySchema(lambda _: {})

    def transform(record: ConnectRecord) -> ConnectRecord:
        if record.value is None or not record.is_envelope:
            return record
        schema, envelope = record.value.schema, record.value.value
        known, place = by_schema(schema), (record.topic, envelope["source"]["table"])
        if place not in known:
            known[place] = chosen.conversions(schema, *place)
        changed = {
            part: {
                name: converts[name](v) if v is not None and name in converts else v for name, v in envelope[part].items()
            }
            for part, converts in known[place].items()
            if converts and envelope[part] is not None
        }
        return record.with_value(typed(schema, {**envelope, **changed})) if changed else record

    return transform


class _ChosenFields:
    """Which fields of an envelope are converted, by the lists of the options."""

    def __init__(self, options: TimezoneConverter) -> None:
        self._zone = zone_of(options.converted_timezone)
        self._including, self._excluding = bool(options.include_list), bool(options.exclude_list)
        self._topics, self._tables, self._names = _rules(options.include_list or options.exclude_list)

    def conversions(self, schema: Schema, topic: str, table: str) -> Mapping[str, Mapping[str, Convert]]:
        """Part of the envelope (before, after, source) -> field -> how its value is converted; {} for a part without
        any."""
        listed = self._listed(table, topic)
        return {
            part["field"]: {
                field["field"]: convert
                for field in fields_of(part, "the envelope's row")
                if self._is_converted(part["field"], field["field"], listed) and (convert := _converting(field, self._zone))
            }
            for part in schema["fields"]
            if part["field"] in ("before", "after", "source")
        }

    def _listed(self, table: str, topic: str) -> set[str] | None:
        for rules, name in ((self._topics, topic), (self._tables, table), (self._names, topic), (self._names, table)):
            if name in rules:
                return rules[name]
        return None

    def _is_converted(self, part: str, field: str, listed: set[str] | None) -> bool:
        """Whether a field of `before`, `after` or `source` is converted.

        :param listed: the fields that the rule for its table or topic names, none for all; None without such a rule.
        """
        if part == "source":
            return self._including and listed is not None and f"source.{field}" in listed
        if listed is None:
            return not self._including
        named = field in listed or f"{part}.{field}" in listed
        return named or not listed if self._including else not named and bool(listed) if self._excluding else True


def _rules(listed: tuple[str, ...]) -> tuple[_Rules, _Rules, _Rules]:
    """(rules of topics, rules of tables, rules of names that may be either): name -> the fields that are listed with it,
    none for all. A rule without `topic` or `source` is of the kind of the one before it."""
    rules: dict[str, dict[str, set[str]]] = {"topic": {}, "source": {}, "": {}}
    kind = ""
    for rule in listed:
        first, _, rest = rule.partition(":")
        if first.lower() in ("topic", "source"):
            kind, (name, _, field) = first.lower(), rest.partition(":")
        else:
            name, field = first, rest
        rules[kind].setdefault(name, set()).update({field} if field else ())
    return rules["topic"], rules["source"], rules[""]


def _converting(schema: Schema, zone: tzinfo) -> Convert | None:
    name = schema.get("name")
    if name in _TEXTS:
        return lambda value: _zoned(value, zone, schema["field"])
    if name in _PER_SECOND:
        per_second = _PER_SECOND[name]
        return lambda value: value - _offset_of_clock(value // per_second, zone) * per_second
    return None


def _offset_of_clock(seconds: int, zone: tzinfo) -> int:
    """Offset in seconds that a zone has when its clock shows a time, seconds since the epoch."""
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        seconds = _FIRST_SECOND + (seconds - _FIRST_SECOND) % _CYCLE_SECONDS if seconds < 0 else _nearer(seconds)
    shown = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=zone)
    return int(shown.utcoffset() / timedelta(seconds=1))  # type: ignore[operator]  # all our zones have one


def _nearer(seconds: int) -> int:
    """The latest second at or before `_LAST_SECOND` at the same place of the calendar."""
    return _LAST_SECOND - (_LAST_SECOND - seconds) % _CYCLE_SECONDS


def _zoned(value: str, zone: tzinfo, field: str) -> str:
    match = _ZONED.fullmatch(value)
    if match is None:
        raise ValueDecodeError(f"field {field}: {value} is not a time with an offset")
    year, day, clock, fraction, offset = match.groups()
    date, cycles = _date(int(year), day) if year else (datetime.now(UTC).strftime("%Y-%m-%dT"), 0)
    try:
        written = datetime.fromisoformat(f"{date}{clock}{'+00:00' if offset == 'Z' else offset}")
    except ValueError as error:
        raise ValueDecodeError(f"field {field}: {value} is not a time with an offset: {error}") from None
    shown = written.astimezone(zone)
    text = _java_year(shown.year + cycles * _CYCLE_YEARS) + shown.isoformat()[4:] if year else shown.timetz().isoformat()
    at = max(text.rindex("+") if "+" in text else 0, text.rindex("-") if "-" in text else 0)
    moved = text[at:]
    digits = (fraction or "").rstrip("0").removesuffix(".")  # as Java prints it, whatever the column's precision is
    return f"{text[:at]}{digits}{'Z' if moved == '+00:00' else moved}"


def _date(year: int, day: str) -> tuple[str, int]:
    """A date of Python's at the same place of the calendar, to begin a text with, and how many times 400 years it is earlier."""
    cycles = (year - _CYCLE_YEARS) // _CYCLE_YEARS if year < _CYCLE_YEARS else max(0, (year - 8600) // _CYCLE_YEARS)
    return f"{year - cycles * _CYCLE_YEARS:04}-{day}", cycles


def _java_year(year: int) -> str:
    """A year as java.time prints it."""
    return f"+{year}" if year > 9999 else f"-{-year:04}" if year < 0 else f"{year:04}"
