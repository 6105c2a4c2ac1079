"""Transformations of types: Cast, TimestampConverter."""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from minercdc.config.messages.registries import Side
from minercdc.config.transforms import field_options as options_of
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.formats.plain import java_double, java_float
from minercdc.messages.transforms.fields import members, on
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Transform, Typed, floating, typed
from minercdc.messages.transforms.schemas import basics, fields_of, struct_like

Convert: TypeAlias = Callable[[Any], Any]
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_WRITTEN = {"float32": "float", "float64": "double"}
_TEMPORAL = (DATE, TIME, TIMESTAMP)
_LOGICAL = (DECIMAL, *_TEMPORAL)


def cast(options: options_of.Cast, side: Side) -> Transform:
    """The transformation Cast: fields, or the whole key or value, get another type; null stays null. It raises DecodeError
    for a record that it does not fit."""
    whole = next((part[0].lower() for part in options.spec if len(part) == 1), None)
    wanted = {part[0]: part[1].lower() for part in options.spec if len(part) == 2}

    def compiled(schema: Schema) -> tuple[Schema, Mapping[str, Convert]]:
        if whole is not None:
            convert = _casting(schema, whole)
            return _whole_schema(schema, whole, convert), {"": convert}
        fields = fields_of(schema, "Cast")
        converts = {field["field"]: _casting(field, wanted[field["field"]]) for field in fields if field["field"] in wanted}
        made = [
            _cast_schema(field, wanted[field["field"]], converts[field["field"]]) if field["field"] in wanted else field
            for field in fields
        ]
        return struct_like(schema, made, optional=bool(schema.get("optional"))), converts

    by_schema = BySchema(compiled)

    def change(content: Typed, _: ConnectRecord) -> Typed:
        schema, converts = by_schema(content.schema)
        if whole is not None:
            return typed(schema, converts[""](content.value))
        return typed(schema, _converted(members(content, options.replace_null_with_default), converts))

    return on(side, change)


def _converted(values: Mapping[str, Any], converts: Mapping[str, Convert]) -> dict[str, Any]:
    return {
        name: converts[name](value) if value is not None and name in converts else value for name, value in values.items()
    }


def _cast_schema(schema: Schema, target: str, convert: Convert) -> Schema:
    """The schema of a cast field: as Connect, without the name that it had, and with its default cast."""
    made: Schema = {"type": _WRITTEN.get(target, target), "optional": schema.get("optional", False)}
    if schema.get("default") is not None:
        made["default"] = convert(schema["default"])
    if "field" in schema:
        made["field"] = schema["field"]
    return made


def _whole_schema(schema: Schema, target: str, convert: Convert) -> Schema:
    """The schema of a key or value that is cast as a whole: as Connect, it keeps the name; but not that of a type of Connect's own,
    whose values it does not hold any more."""
    kept = {} if schema.get("name") in _LOGICAL else basics(schema)
    return {**_cast_schema(schema, target, convert), **kept}


def _casting(schema: Schema, target: str) -> Convert:
    kind, name = schema["type"], schema.get("field", "the whole")
    if kind in ("struct", "array", "map"):
        raise ValueDecodeError(f"{name} of type {kind} cannot be cast")
    scale = int(schema["parameters"]["scale"]) if schema.get("name") == DECIMAL else 0

    def convert(value: Any) -> Any:
        if schema.get("name") == DECIMAL:
            value = Decimal(int.from_bytes(base64.b64decode(value), "big", signed=True)).scaleb(-scale)
        try:
            return _cast_float(value, kind, target) if kind in ("float", "double") else _cast(value, target)
        except (ValueError, ArithmeticError):
            raise ValueDecodeError(f"{name}: {value} cannot be cast to {target}") from None

    return convert


def _cast(value: Any, target: str) -> Any:
    if target == "string":
        if isinstance(value, bool):
            return str(value).lower()
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    if target == "boolean":
        if isinstance(value, str):
            if value.strip().lower() not in ("true", "false"):
                raise ValueError(value)
            return value.strip().lower() == "true"
        return int(value) != 0  # as Java: of a number with decimals, what is before them counts
    if target in _BITS:
        number = int(value) if not isinstance(value, str) else int(Decimal(value.strip()))
        bits = _BITS[target]
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ValueError(value)
        return number
    found = float(value)
    return floating(float(java_float(found)) if target == "float32" else found)


def _cast_float(value: float | str, kind: str, target: str) -> Any:
    """A value of a float or double, of which NaN and the infinities are texts; as Java has it: a float is the number of 24 bits that its
    digits stand for."""
    number = struct.unpack("<f", struct.pack("<f", float(value)))[0] if kind == "float" else float(value)
    if target == "string":
        return java_float(number) if kind == "float" else java_double(number)
    if target == "boolean" and not math.isfinite(number):
        return math.isinf(number)
    return _cast(number, target)


# Java's SimpleDateFormat, as far as strftime has the like. Other letters are refused.
_LETTERS: Mapping[str, tuple[str, str]] = {
    "yyyy": ("%Y", r"(?P<Y>\d{4})"),
    "yy": ("%y", r"(?P<y>\d{2})"),
    "MM": ("%m", r"(?P<m>\d{1,2})"),
    "MMM": ("%b", r"(?P<b>[A-Za-z]{3})"),
    "dd": ("%d", r"(?P<d>\d{1,2})"),
    "HH": ("%H", r"(?P<H>\d{1,2})"),
    "mm": ("%M", r"(?P<M>\d{1,2})"),
    "ss": ("%S", r"(?P<S>\d{1,2})"),
    "SSS": ("%f", r"(?P<f>\d{3})"),
    "XXX": ("%z", r"(?P<z>Z|[+-]\d\d:\d\d)"),
    "Z": ("%z", r"(?P<z>[+-]\d{4})"),
}
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_UNITS = {"seconds": 10**6, "milliseconds": 10**3, "microseconds": 1, "nanoseconds": -(10**3)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * 10**6


def timestamp_converter(options: options_of.TimestampConverter, side: Side) -> Transform:
    """The transformation TimestampConverter: a field, or the whole key or value, becomes a time of another type, text or
    number; null stays null. Times are UTC; Debezium's own time types are numbers and texts. It raises DecodeError for a
    record that it does not fit, ValueError for a text that is not a time, OverflowError where a text of a time beyond the years 1
    to 9999 is wanted. Raises ValueError for a format that is not supported."""
    pieces = _pieces(options.format) if options.format else []

    def compiled(schema: Schema) -> tuple[Schema, Callable[[Any], int] | None]:
        if not options.field:
            return _target(schema, options.target_type), _reading(schema, options, pieces)
        fields = fields_of(schema, "TimestampConverter")
        # A field that the record does not have is no mistake: one chain serves all tables.
        found = next((field for field in fields if field["field"] == options.field), None)
        if found is None:
            return schema, None
        made = [_target(field, options.target_type) if field is found else field for field in fields]
        return struct_like(schema, made, optional=bool(schema.get("optional"))), _reading(found, options, pieces)

    by_schema = BySchema(compiled)
    writing = _writing(options, pieces)

    def change(content: Typed, _: ConnectRecord) -> Typed:
        schema, read = by_schema(content.schema)
        if read is None:
            return content
        if not options.field:
            return typed(schema, None if content.value is None else writing(read(content.value)))
        values = members(content, options.replace_null_with_default)
        return typed(schema, _converted(values, {options.field: lambda value: writing(read(value))}))

    return on(side, change)


def _target(schema: Schema, target: str) -> Schema:
    made: Schema = {"type": {"string": "string", "Date": "int32", "Time": "int32"}.get(target, "int64")}
    made["optional"] = schema.get("optional", False)
    if target in ("Date", "Time", "Timestamp"):
        made |= {"name": f"org.apache.kafka.connect.data.{target}", "version": 1}
    return {**made, "field": schema["field"]} if "field" in schema else made


def _reading(schema: Schema, options: options_of.TimestampConverter, pieces: Sequence[str]) -> Callable[[Any], int]:
    """A function that makes microseconds since the epoch of a value that is not null."""
    kind, name = schema["type"], schema.get("name")
    if name in _TEMPORAL:
        factor = _DAY if name == DATE else 1000
        return lambda value: int(value) * factor
    if kind in _BITS:
        return lambda value: _micros(int(value), options.unix_precision)
    if kind != "string" or not pieces:
        raise ValueDecodeError(
            f"field {options.field}: a {name or kind} is not read as a time"
            + ("" if kind != "string" else " without format")
        )
    pattern = re.compile("".join(_LETTERS[p][1] if p in _LETTERS else re.escape(_quoted(p)) for p in pieces))
    model = "".join(_LETTERS[p][0] if p in _LETTERS else _quoted(p).replace("%", "%%") for p in pieces)

    def read(value: str) -> int:
        if pattern.fullmatch(value) is None:
            raise ValueDecodeError(f"field {options.field}: {value} is not of the format {options.format}")
        found = datetime.strptime(value, model)
        return (found.replace(tzinfo=found.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)

    return read


def _micros(number: int, unit: str) -> int:
    factor = _UNITS[unit]
    return number * factor if factor > 0 else number // -factor


def _writing(options: options_of.TimestampConverter, pieces: Sequence[str]) -> Callable[[int], Any]:
    """A function that makes a value of the target's type of microseconds since the epoch, rounded down to its unit. For a
    text it raises OverflowError for a time beyond the years 1 to 9999."""
    match options.target_type:
        case "unix":
            factor = _UNITS[options.unix_precision]
            return lambda us: us // factor if factor > 0 else us * -factor
        case "Date":
            return lambda us: us // _DAY
        case "Time":
            return lambda us: us % _DAY // 1000
        case "Timestamp":
            return lambda us: us // 1000

    def text(us: int) -> str:
        at = _EPOCH + timedelta(microseconds=us)
        return "".join(_piece(at, piece) for piece in pieces)

    return text


def _piece(at: datetime, piece: str) -> str:
    match piece:
        case "yyyy":
            return f"{at.year:04}"
        case "SSS":
            return f"{at.microsecond // 1000:03}"
        case "XXX":
            return "Z"
        case "Z":
            return "+0000"
    return at.strftime(_LETTERS[piece][0]) if piece in _LETTERS else _quoted(piece)


def _quoted(piece: str) -> str:
    if piece == "''":
        return "'"
    return piece[1:-1].replace("''", "'") if piece.startswith("'") else piece


def _pieces(model: str) -> Sequence[str]:
    """The parts of a format."""
    found = [match[0] for match in _PIECE.finditer(model)]
    if "".join(found) != model:
        raise ValueError(f"format: {model} has an unpaired apostrophe")
    for piece in found:
        if piece[0].isascii() and piece[0].isalpha() and piece not in _LETTERS:
            raise ValueError(f"format: {piece} is not supported; only {', '.join(_LETTERS)}")
    return found
