"""Compiles, per schema, the function that writes a payload of Connect's JSON as a message of Protocol Buffers (proto3)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from operator import itemgetter
from typing import Any, Final, TypeAlias

from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.protobuf.descriptors import field_name, message_class, outline_of
from minercdc.messages.protobuf.schema import SCALARS, WRAPPED, Field, Message, ProtobufFile

Write: TypeAlias = Callable[[Any], bytes]
_Convert: TypeAlias = Callable[[Any], Any]
"""Makes of a value what the constructors of google.protobuf take for it."""

_FLOAT: Final = struct.Struct("<f")
_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = 86_400_000


def compile_writer(file: ProtobufFile) -> Write:
    """A function that writes payloads of a schema's outermost message, as `json.loads` gives them.

    It raises AttributeError, KeyError, TypeError, ValueError, OverflowError or struct.error for a payload of another schema.
    """
    made, values = message_class(outline_of(file)), _struct(file.root)
    # Nothing in the bytes is left to chance: no field is a map of Protobuf, whose order would be.
    return lambda row: made(**values(row)).SerializeToString()


def compile_single(schema: Schema) -> tuple[Write, int]:
    """(function that writes single values as google.protobuf's wrapper of their type, place of that wrapper in google.protobuf's
    file). The function raises as that of `compile_writer`.

    :param schema: of a type in `schema.SCALARS`.
    """
    scalar = SCALARS[schema["type"]]
    required: Schema = {**schema, "optional": False}
    field = Field("value", 1, "", scalar, "", None, "value", required, {})
    write = compile_writer(ProtobufFile("", Message(WRAPPED[scalar], [field]), []))
    return lambda value: write({"value": value}), list(WRAPPED).index(scalar)


def message_index(*places: int) -> bytes:
    """Bytes that say which message of its schema a record is, as Confluent's wire format has them after the id.

    :param places: of the message, then of the nested ones; each below 64.
    """
    if places == (0,):
        return b"\0"
    return bytes(number << 1 for number in (len(places), *places))  # varints, with the sign in the lowest bit


def _struct(message: Message) -> _Convert:
    """A function from a struct to the values of its message's fields."""
    names = [field_name(field.number) for field in message.fields]
    required = [field for field in message.fields if field.label != "repeated" and not field.schema.get("optional")]
    picked, needed = _picked(message.fields), _picked(required)
    conversions = zip(names, map(_conversion, message.fields), strict=True)
    converted = [(name, convert) for name, convert in conversions if convert is not None]

    def values(row: Any) -> dict[str, Any]:
        if None in needed(row):
            raise TypeError(f"null in {[field.member for field in required if row[field.member] is None]}")
        found = dict(zip(names, picked(row), strict=True))
        for name, convert in converted:
            if (value := found[name]) is not None:  # google.protobuf leaves a field out that is None
                found[name] = convert(value)
        return found

    return values


def _picked(fields: list[Field]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that takes the members of some fields out of a struct."""
    members = [field.member for field in fields]
    if len(members) > 1:
        return itemgetter(*members)
    return lambda row: tuple(row[member] for member in members)


def _conversion(field: Field) -> _Convert | None:
    """How a field's value is converted; None where google.protobuf takes it as it is."""
    convert = _item(field)
    if field.label != "repeated" or convert is None:
        return convert
    if field.schema["type"] == "map":
        return lambda values: [convert({"key": key, "value": one}) for key, one in values.items()]
    return lambda values: [convert(one) for one in values]


def _item(field: Field) -> _Convert | None:
    """As `_conversion`, of one item where the field is repeated."""
    if field.message is not None:
        return _struct(field.message)
    scalar = _SCALARS.get(field.schema["type"])
    if field.wrapped:
        return (lambda value: {"value": value}) if scalar is None else (lambda value: {"value": scalar(value)})
    if field.type in SCALARS.values():
        return scalar
    return _logical(field.schema)


def _bounded(bits: int) -> _Convert:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def checked(value: int) -> int:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        return value

    return checked


def _boolean(value: object) -> object:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is no boolean")
    return value


def _float(value: Any) -> float:
    # Packing refuses what is too large, of which google.protobuf would make an infinity.
    packed = _FLOAT.pack(float(value))
    number: float = _FLOAT.unpack(packed)[0]
    return number


# Of the other types google.protobuf takes values as they are, and refuses those of another type and what is out of range.
_SCALARS: Final[Mapping[str, _Convert]] = {
    "boolean": _boolean,
    "int8": _bounded(8),
    "int16": _bounded(16),
    "float": _float,
    "double": float,  # NaN and the infinities are texts in our JSON
    "bytes": base64.b64decode,
}


def _decimal(scale: int) -> _Convert:
    def values(value: str) -> dict[str, Any]:
        content = base64.b64decode(value)
        digits = len(str(abs(int.from_bytes(content, "big", signed=True))))
        return {"value": content, "precision": digits, "scale": scale}

    return values


def _date(days: int) -> dict[str, int]:
    day = _EPOCH + timedelta(days=days)
    return {"year": day.year, "month": day.month, "day": day.day}


def _time(milliseconds: int) -> dict[str, int]:
    if not 0 <= milliseconds < _DAY:
        raise ValueError(f"{milliseconds} ms is not a time of a day")
    seconds, rest = divmod(milliseconds, 1000)
    return {"hours": seconds // 3600, "minutes": seconds // 60 % 60, "seconds": seconds % 60, "nanos": rest * 1_000_000}


def _timestamp(milliseconds: int) -> dict[str, int]:
    seconds, rest = divmod(milliseconds, 1000)
    return {"seconds": seconds, "nanos": rest * 1_000_000}


def _logical(schema: Schema) -> _Convert:
    if schema["name"] == DECIMAL:
        return _decimal(int(schema["parameters"]["scale"]))
    return _TIMES[schema["name"]]


_TIMES: Final[Mapping[str, _Convert]] = {DATE: _date, TIME: _time, TIMESTAMP: _timestamp}
