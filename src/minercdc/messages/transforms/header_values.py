"""Values of headers: read from a literal as Kafka Connect's Values does, and printed as its SimpleHeaderConverter does."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.formats.plain import decimal_of, java_double, java_float
from minercdc.messages.transforms.record import BySchema, Typed, floating, typed, utf8
from minercdc.messages.transforms.schemas import OPTIONAL_STRING, STRING

_Text: TypeAlias = Callable[[Any, bool], str]
"""Prints a value; true: within another one, where texts have quotation marks."""
_NUMBER = re.compile(r"(\d|[+-]\.?\d)\d*\.?\d*([eE][+-]?\d+)?", re.ASCII)
_INTEGERS = (("int8", 7), ("int16", 15), ("int32", 31), ("int64", 63))
_LARGEST_FLOAT, _LARGEST_DOUBLE = Decimal("3.4028235677973366e38"), Decimal("1.7976931348623158e308")
_WORDS: Mapping[str, Typed] = {
    "null": typed(OPTIONAL_STRING, None),
    "true": typed({"type": "boolean", "optional": False}, True),
    "false": typed({"type": "boolean", "optional": False}, False),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = 86_400_000
# Of literals: form, type and unit in milliseconds; of values: how their moment is printed.
TEMPORAL: Mapping[str, tuple[re.Pattern[str], str, int]] = {
    DATE: (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), "int32", _DAY_MS),
    TIME: (re.compile(r"\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII), "int32", 1),
    TIMESTAMP: (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII), "int64", 1),
}


def inferred(literal: str) -> Typed:
    """The value that a literal stands for: null, a boolean, the smallest integer that holds it, a number with decimals (float, double
    or Decimal), Connect's Date, Time or Timestamp in ISO's form; any other literal is a text, without blanks around it. Arrays and maps
    stay texts."""
    bare = literal.strip()
    if bare in _WORDS:
        return _WORDS[bare]
    return _moment(bare) or (_number(Decimal(bare)) if _NUMBER.fullmatch(bare) else typed(STRING, bare))


def _moment(text: str) -> Typed | None:
    for name, (form, kind, unit) in TEMPORAL.items():
        if form.fullmatch(text) is None:
            continue
        try:
            at = datetime.fromisoformat(f"1970-01-01T{text}" if name == TIME else text)
        except ValueError:
            return None
        since = at.replace(tzinfo=UTC) - _EPOCH
        return typed({"type": kind, "optional": False, "name": name, "version": 1}, since // timedelta(milliseconds=unit))
    return None


def _number(number: Decimal) -> Typed:
    if -(1 << 63) <= number < 1 << 63 and number == number.to_integral_value():
        whole = int(number)
        kind = next(kind for kind, bits in _INTEGERS if -(1 << bits) <= whole < 1 << bits)
        return typed({"type": kind, "optional": False}, whole)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent and abs(number) < _LARGEST_FLOAT:
        return typed({"type": "float", "optional": False}, floating(float(java_float(float(number)))))
    if exponent and abs(number) < _LARGEST_DOUBLE:
        return typed({"type": "double", "optional": False}, float(number))
    whole = int(number.scaleb(-exponent))
    content = whole.to_bytes((8 + (whole + (whole < 0)).bit_length()) // 8, "big", signed=True)
    schema: Schema = {"type": "bytes", "optional": False, "name": DECIMAL, "version": 1}
    return typed({**schema, "parameters": {"scale": str(-exponent)}}, base64.b64encode(content).decode())


def printed(content: Typed) -> bytes | None:
    """A header's value as SimpleHeaderConverter writes it: texts as they are, numbers in decimal digits, bytes in base64, Connect's dates
    and times in ISO's form, structs, arrays and maps as JSON of these; None for null. Raises ValueDecodeError for a text with half a
    surrogate pair."""
    return None if content.value is None else utf8(_texts(content.schema)(content.value, False))


def _compiled(schema: Schema) -> _Text:
    kind, name = schema["type"], schema.get("name")
    if kind == "struct":
        members = [(_quoted(field["field"]), field["field"], _compiled(field)) for field in schema["fields"]]
        return lambda value, _: _joined("{", (f"{shown}:{_inner(text, value[key])}" for shown, key, text in members), "}")
    if kind == "array":
        item = _compiled(schema["items"])
        return lambda value, _: _joined("[", (_inner(item, one) for one in value), "]")
    if kind == "map":
        entry = _compiled(schema["values"])
        return lambda value, _: _joined("{", (f"{_quoted(key)}:{_inner(entry, one)}" for key, one in value.items()), "}")
    if name == DECIMAL:
        scale = int(schema["parameters"]["scale"])
        return lambda value, _: format(decimal_of(value, scale), "f")
    if name in TEMPORAL and isinstance(name, str):
        unit = TEMPORAL[name][2]
        return lambda value, _: _shown(int(value) * unit)
    if kind in ("string", "bytes"):
        return lambda value, within: _quoted(value) if within else value
    numbers: Mapping[str, Callable[[Any], str]] = {"float": java_float, "double": java_double}
    text = numbers.get(kind, lambda value: str(value).lower())  # an integer, or a boolean
    return lambda value, _: text(value)


_texts: BySchema[_Text] = BySchema(_compiled)


def _inner(text: _Text, value: Any) -> str:
    return "null" if value is None else text(value, True)


def _joined(begin: str, parts: Any, end: str) -> str:
    return f"{begin}{','.join(parts)}{end}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _shown(ms: int) -> str:
    """A moment as Connect prints it: a time for the first day of 1970, a date for a midnight, else both."""
    at = _EPOCH + timedelta(milliseconds=ms)
    if 0 <= ms < _DAY_MS:
        return f"{at:%H:%M:%S}.{ms % 1000:03}Z"
    date = f"{at.year:04}-{at:%m-%d}"
    return date if ms % _DAY_MS == 0 else f"{date}T{at:%H:%M:%S}.{ms % 1000:03}Z"
