"""Compiles, from the text of a schema, the function that reads messages of Protocol Buffers back to Connect's JSON.

What is not in a message is null where the schema can say so (label `optional`, messages), else the zero or empty value of its type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeAlias

from minercdc.messages.formats.json_values import in_base64, json_number, shortest
from minercdc.messages.protobuf.schema import WRAPPED
from minercdc.messages.protobuf.text import Outline, messages

Read: TypeAlias = Callable[[bytes], Any]
"""Reads a message. Raises ValueError for bytes that are none of its schema."""
_Value: TypeAlias = Callable[[Any], Any]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_DOUBLE, _FLOAT = struct.Struct("<d").unpack, struct.Struct("<f").unpack
_EPOCH: Final = date(1970, 1, 1).toordinal()


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


# Scalar -> wire type, what its content means, the value of one that is not there.
_SCALARS: Final[Mapping[str, tuple[int, _Value, Any]]] = {
    "bool": (_VARINT, bool, False),
    "int32": (_VARINT, _signed, 0),
    "int64": (_VARINT, _signed, 0),
    "uint32": (_VARINT, int, 0),
    "uint64": (_VARINT, int, 0),
    "float": (_FIXED32, lambda content: shortest(_FLOAT(content)[0]), 0.0),
    "double": (_FIXED64, lambda content: json_number(_DOUBLE(content)[0]), 0.0),
    "string": (_BYTES, lambda content: content.decode(), ""),
    "bytes": (_BYTES, in_base64, ""),
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    wire: int
    value: _Value
    absent: Any
    repeated: bool


def compile_reader(text: str) -> Read:
    """A function that reads records of the first message in the text of a schema.

    :raises ValueError: this is no schema of Protobuf, or it has what is not read here.
    """
    found = messages(text)
    if not found:
        raise ValueError("the schema has no message")
    return _Compiled(found).reader(next(iter(found)))


class _Compiled:
    """The messages of one schema, each compiled once."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._readers: dict[str, Read] = {}

    def reader(self, message: str) -> Read:
        if message not in self._readers:
            fields, absent = dict[int, _Field](), dict[str, Any]()
            self._readers[message] = lambda content: _read(content, fields, absent)
            # Only now: a field may be of this message.
            fields.update({number: self._field(message, *given) for number, given in self._outline[message].items()})
            absent.update({field.name: field.absent for field in fields.values()})
        return self._readers[message]

    def _field(self, within: str, label: str, kind: str, name: str) -> _Field:
        repeated = label == "repeated"
        if kind in _SCALARS:
            wire, value, zero = _SCALARS[kind]
            return _Field(name, wire, value, _absent(label, zero), repeated)
        return _Field(name, _BYTES, self._of_message(within, kind.removeprefix(".")), _absent(label, None), repeated)

    def _of_message(self, within: str, kind: str) -> _Value:
        if kind in _LOGICAL:
            return _LOGICAL[kind]
        if kind in _WRAPPERS:
            return _wrapped(_WRAPPERS[kind])
        scope = within
        while True:
            inner = f"{scope}.{kind}" if scope else kind
            if inner in self._outline:
                return self.reader(inner)
            if not scope:
                raise ValueError(f"the schema has a field of type {kind}, which is not read back")
            scope = scope.rpartition(".")[0]


def _absent(label: str, zero: Any) -> Any:
    return {"optional": None, "repeated": ()}.get(label, zero)


def _read(content: bytes, fields: Mapping[int, _Field], absent: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: [] if value == () else value for name, value in absent.items()}
    for number, wire, found in _parts(content):
        field = fields.get(number)
        if field is None:
            continue
        if field.repeated and wire == _BYTES != field.wire:
            row[field.name] += [field.value(one) for one in _packed(found, field.wire)]
        elif wire != field.wire:
            raise ValueError(f"field {field.name} is of another type")
        elif field.repeated:
            row[field.name].append(field.value(found))
        else:
            row[field.name] = field.value(found)
    return row


def _parts(content: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and content of each field, in their order."""
    at = 0
    while at < len(content):
        tag, at = read_varint(content, at)
        found, at = _content(content, at, tag & 7)
        yield tag >> 3, tag & 7, found


def _content(content: bytes, at: int, wire: int) -> tuple[Any, int]:
    if wire == _VARINT:
        return read_varint(content, at)
    size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
    if wire == _BYTES:
        size, at = read_varint(content, at)
    if size is None:
        raise ValueError(f"there is no wire type {wire} in proto3")
    if at + size > len(content):
        raise ValueError("the message is cut off")
    return content[at : at + size], at + size


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """The number without sign, of 64 bits, that is at a place, and the place after it. Raises ValueError for none."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            raise ValueError("the message is cut off")
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
    raise ValueError("a number is longer than ten bytes")


def _packed(content: bytes, wire: int) -> Iterator[Any]:
    at = 0
    while at < len(content):
        found, at = _content(content, at, wire)
        yield found


def _numbers(content: bytes) -> tuple[int, int, int, int]:
    """The integers in fields 1 to 4; 0 for one that is not there."""
    found = {number: value for number, wire, value in _parts(content) if wire == _VARINT}
    first, second, third, fourth = (_signed(found.get(number, 0)) for number in (1, 2, 3, 4))
    return first, second, third, fourth


def _decimal(content: bytes) -> str:
    return in_base64(next((value for number, wire, value in _parts(content) if (number, wire) == (1, _BYTES)), b""))


def _timestamp(content: bytes) -> int:
    seconds, nanos, *_ = _numbers(content)
    return seconds * 1000 + nanos // 1_000_000


def _date(content: bytes) -> int:
    year, month, day, _ = _numbers(content)
    return date(year, month, day).toordinal() - _EPOCH


def _time(content: bytes) -> int:
    hours, minutes, seconds, nanos = _numbers(content)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 1_000_000


def _wrapped(scalar: str) -> _Value:
    wire, value, zero = _SCALARS[scalar]

    def read(content: bytes) -> Any:
        return next((value(found) for number, given, found in _parts(content) if (number, given) == (1, wire)), zero)

    return read


_LOGICAL: Final[Mapping[str, _Value]] = {
    "confluent.type.Decimal": _decimal,
    "google.type.Date": _date,
    "google.type.TimeOfDay": _time,
    "google.protobuf.Timestamp": _timestamp,
}
_WRAPPERS: Final = {f"google.protobuf.{name}": scalar for scalar, name in WRAPPED.items()}
