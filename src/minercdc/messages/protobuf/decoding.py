"""Compiles, from the text of a schema, the function that reads messages of Protocol Buffers back to Connect's JSON.

What is not in a message is null where the schema can say so (label `optional`, messages), else the zero or empty value of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, TypeAlias

from minercdc.messages.formats.json_values import in_base64, json_number, shortest
from minercdc.messages.protobuf.descriptors import KNOWN, SCALAR_TYPES, message_class, path_of
from minercdc.messages.protobuf.schema import WRAPPED
from minercdc.messages.protobuf.text import Outline, messages

Read: TypeAlias = Callable[[bytes], Any]
"""Reads a message. Raises ValueError for bytes that are none of its schema."""
_Value: TypeAlias = Callable[[Any], Any]

_EPOCH: Final = date(1970, 1, 1).toordinal()
_CONVERTED: Final[Mapping[str, _Value]] = {"float": shortest, "double": json_number, "bytes": in_base64}
_ZEROS: Final[Mapping[str, Any]] = {"bool": False, "float": 0.0, "double": 0.0, "string": "", "bytes": ""}  # 0 of others


@dataclass(frozen=True, slots=True)
class _Fields:
    """Of one message: names of its fields and how their values are read, by number; and the row of one that has none, by name."""

    read: dict[int, tuple[str, _Value]] = field(default_factory=dict)
    absent: dict[str, Any] = field(default_factory=dict)


def compile_reader(text: str) -> Read:
    """A function that reads records of the first message in the text of a schema.

    :raises ValueError: this is no schema of Protobuf, or it has what is not read here.
    """
    from google.protobuf.message import DecodeError

    outline = messages(text)
    made = message_class(outline)
    read = _Compiled(outline).reader(next(iter(outline)))

    def read_content(content: bytes) -> Any:
        try:
            message = made.FromString(content)
        except DecodeError as error:
            raise ValueError(str(error)) from None
        return read(message)

    return read_content


class _Compiled:
    """The messages of one schema, each compiled once."""

    def __init__(self, outline: Outline) -> None:
        from google.protobuf.unknown_fields import UnknownFieldSet

        self._outline = outline
        self._unknown: Callable[[Any], Iterable[Any]] = UnknownFieldSet
        self._readers: dict[str, _Value] = {}

    def reader(self, path: str) -> _Value:
        """How the message at a path is read."""
        if path in _LOGICAL:
            return _LOGICAL[path]
        if path not in self._readers:
            fields = _Fields()
            self._readers[path] = lambda message: self._row(message, fields)
            # Only now: a field may be of this message.
            for number, (label, kind, name) in self._outline[path].items():
                fields.read[number] = name, self._value(path, label, kind)
                fields.absent[name] = _absent(label, kind)
        return self._readers[path]

    def _value(self, within: str, label: str, kind: str) -> _Value:
        scalar = _CONVERTED.get(kind, _as_it_is) if kind in SCALAR_TYPES else None
        read = scalar or self.reader(path_of(within, kind, self._outline))
        return (lambda values: [read(one) for one in values]) if label == "repeated" else read

    def _row(self, message: Any, fields: _Fields) -> dict[str, Any]:
        row = {name: [] if value == () else value for name, value in fields.absent.items()}
        for found, value in message.ListFields():
            name, read = fields.read[found.number]
            row[name] = read(value)
        for unknown in self._unknown(message):  # fields of later versions, too, which are passed over
            if unknown.field_number in fields.read:
                raise ValueError(f"field {fields.read[unknown.field_number][0]} is of another type")
        return row


def _absent(label: str, kind: str) -> Any:
    zero = _ZEROS.get(kind, 0) if kind in SCALAR_TYPES else None
    return {"optional": None, "repeated": ()}.get(label, zero)


def _as_it_is(value: Any) -> Any:
    return value


def _timestamp(message: Any) -> int:
    return int(message.seconds * 1000 + message.nanos // 1_000_000)


def _date(message: Any) -> int:
    return date(message.year, message.month, message.day).toordinal() - _EPOCH


def _time(message: Any) -> int:
    return int(((message.hours * 60 + message.minutes) * 60 + message.seconds) * 1000 + message.nanos // 1_000_000)


def _wrapped(scalar: str) -> _Value:
    read = _CONVERTED.get(scalar, _as_it_is)
    return lambda message: read(message.value)


_LOGICAL: Final[Mapping[str, _Value]] = {
    "confluent.type.Decimal": lambda message: in_base64(message.value),
    "google.type.Date": _date,
    "google.type.TimeOfDay": _time,
    "google.protobuf.Timestamp": _timestamp,
    **{f"google.protobuf.{name}": _wrapped(scalar) for scalar, name in WRAPPED.items()},
}
assert _LOGICAL.keys() == KNOWN.keys()
