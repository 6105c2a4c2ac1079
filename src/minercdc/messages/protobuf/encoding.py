"""Compiles, per schema, the function that writes a payload of Connect's JSON as a message of Protocol Buffers (proto3)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final, TypeAlias

from minercdc.messages.avro.encoding import unsigned_varint
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.protobuf.schema import SCALARS, WRAPPED, Field, Message, ProtobufFile

Write: TypeAlias = Callable[[Any], bytes]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_SHORT: Final = tuple(bytes([n]) for n in range(128))  # varints of one byte
_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = 86_400_000
_WIRE: Final[Mapping[str, int]] = {
    "bool": _VARINT,
    "int32": _VARINT,
    "int64": _VARINT,
    "float": _FIXED32,
    "double": _FIXED64,
}
_SCALARS: Final = {*_WIRE, "string", "bytes"}
_DEFAULTS: Final[Mapping[str, object]] = {"boolean": False, "string": "", "bytes": ""}  # 0 of others


def compile_writer(file: ProtobufFile) -> Write:
    """A function that writes payloads of a schema's outermost message, as `json.loads` gives them.

    It raises AttributeError, KeyError, TypeError, ValueError or OverflowError for a payload of another schema.
    """
    return _message_writer(file.root)


def compile_single(schema: Schema) -> tuple[Write, int]:
    """(function that writes single values as google.protobuf's wrapper of their type, place of that wrapper in google.protobuf's
    file). The function raises as that of `compile_writer`.

    :param schema: of a type in `schema.SCALARS`.
    """
    scalar = SCALARS[schema["type"]]
    return _implicit(1, scalar, schema["type"]), list(WRAPPED).index(scalar)


def varint(number: int) -> bytes:
    """The bytes of an integer; those of its two's complement in 64 bits when it is negative."""
    if 0 <= number < 128:
        return _SHORT[number]
    return unsigned_varint(number & 0xFFFF_FFFF_FFFF_FFFF)


def message_index(*places: int) -> bytes:
    """Bytes that say which message of its schema a record is, as Confluent's wire format has them after the id.

    :param places: of the message, then of the nested ones.
    """
    if places == (0,):
        return _SHORT[0]
    return b"".join(varint(number << 1) for number in (len(places), *places))


def _message_writer(message: Message) -> Write:
    writers = {f"write{i}": _field_writer(field) for i, field in enumerate(message.fields)}
    calls = "".join(f"write{i}(row[{field.member!r}])," for i, field in enumerate(message.fields))
    made: Write = eval(f"lambda row: b''.join(({calls}))", {**writers})
    return made


def _field_writer(field: Field) -> Write:
    """A function from a value to the whole field, which is nothing for one that is not there. It raises as that of
    `compile_writer`."""
    schema = field.schema
    if schema["type"] == "map":
        return _map_writer(field)
    if field.label == "repeated":
        return _repeated_writer(field)
    write = _scalar_writer(field) if field.type in _SCALARS else _delimited(field.number, _content(field))
    if not schema.get("optional"):
        return write
    return lambda value: b"" if value is None else write(value)


def _content(field: Field) -> Write:
    """A writer of what a field holds that is a message, without tag and length. It raises as that of `compile_writer`."""
    if field.message is not None:
        return _message_writer(field.message)
    if field.wrapped:
        return _implicit(1, field.wrapped, field.schema["type"])
    return _logical(field.schema)


def _scalar_writer(field: Field) -> Write:
    made = _explicit if field.label == "optional" else _implicit
    return made(field.number, field.type, field.schema["type"])


def _explicit(number: int, scalar: str, kind: str) -> Write:
    """A writer of a scalar, with its tag, that leaves no value out. It raises as that of `compile_writer`."""
    content = _CONTENT[kind]
    if scalar not in _WIRE:
        return _delimited(number, content)
    tag = varint(number << 3 | _WIRE[scalar])
    return lambda value: tag + content(value)


def _implicit(number: int, scalar: str, kind: str) -> Write:
    """A writer of a scalar, with its tag, that writes nothing for the default of its type. It raises as that of
    `compile_writer`."""
    write = _explicit(number, scalar, kind)
    default = write(_DEFAULTS.get(kind, 0))
    return lambda value: b"" if (written := write(value)) == default else written


def _repeated_writer(field: Field) -> Write:
    if field.type in _WIRE:  # packed
        write = _CONTENT[field.schema["type"]]
        packed = _delimited(field.number, lambda values: b"".join([write(one) for one in values]))
        return lambda values: packed(values) if values else b""
    content = _CONTENT[field.schema["type"]] if field.type in _SCALARS else _content(field)
    item = _delimited(field.number, content)
    return lambda values: b"".join([item(one) for one in values]) if values else b""


def _map_writer(field: Field) -> Write:
    entry = _delimited(field.number, _content(field))
    return lambda values: b"".join([entry({"key": key, "value": one}) for key, one in values.items()]) if values else b""


def _delimited(number: int, content: Write) -> Write:
    tag = varint(number << 3 | _BYTES)

    def write(value: Any) -> bytes:
        written = content(value)
        return tag + varint(len(written)) + written

    return write


def _bounded(bits: int) -> Write:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def write(value: int) -> bytes:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        return varint(value)

    return write


def _boolean(value: object) -> bytes:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is no boolean")
    return _SHORT[value]


_CONTENT: Final[Mapping[str, Write]] = {
    "boolean": _boolean,
    "int8": _bounded(8),
    "int16": _bounded(16),
    "int32": _bounded(32),
    "int64": _bounded(64),
    "float": lambda value: _FLOAT(float(value)),  # NaN and the infinities are texts in our JSON
    "double": lambda value: _DOUBLE(float(value)),
    "string": lambda value: value.encode(),
    "bytes": lambda value: base64.b64decode(value),
}


def _numbers(*values: int) -> bytes:
    return b"".join([varint(i << 3) + varint(value) for i, value in enumerate(values, 1) if value])


def _decimal(scale: int) -> Write:
    after = varint(3 << 3) + varint(scale) if scale else b""

    def write(value: str) -> bytes:
        content = base64.b64decode(value)
        digits = len(str(abs(int.from_bytes(content, "big", signed=True))))
        return b"\x0a" + varint(len(content)) + content + b"\x10" + varint(digits) + after

    return write


def _date(days: int) -> bytes:
    day = _EPOCH + timedelta(days=days)
    return _numbers(day.year, day.month, day.day)


def _time(milliseconds: int) -> bytes:
    if not 0 <= milliseconds < _DAY:
        raise ValueError(f"{milliseconds} ms is not a time of a day")
    seconds, rest = divmod(milliseconds, 1000)
    return _numbers(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1_000_000)


def _timestamp(milliseconds: int) -> bytes:
    seconds, rest = divmod(milliseconds, 1000)
    return _numbers(seconds, rest * 1_000_000)


def _logical(schema: Schema) -> Write:
    if schema["name"] == DECIMAL:
        return _decimal(int(schema["parameters"]["scale"]))
    return _TIMES[schema["name"]]


_TIMES: Final[Mapping[str, Write]] = {DATE: _date, TIME: _time, TIMESTAMP: _timestamp}
