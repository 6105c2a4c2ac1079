"""Compiles, per schema, the function that writes a payload of Connect's JSON as Avro's binary form (Avro 1.12, "Binary encoding")."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from minercdc.formats.connect import Schema

Write: TypeAlias = Callable[[Any], bytes]

_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_SHORT = tuple(bytes([n]) for n in range(128))  # varints of one byte
_NULL_FIRST, _NULL_LAST = (_SHORT[0], _SHORT[2]), (_SHORT[2], _SHORT[0])  # branches of null and of the type, as zigzag


def compile_writer(schema: Schema) -> Write:
    """A function that writes payloads of `schema`, as `json.loads` gives them.

    It raises KeyError, TypeError, ValueError or OverflowError for a payload of another schema.
    """
    base = _base_writer(schema)
    if not schema.get("optional"):
        return base
    null, there = _NULL_FIRST if schema.get("default") is None else _NULL_LAST
    return lambda value: null if value is None else there + base(value)


def _base_writer(schema: Schema) -> Write:
    kind = schema["type"]
    if kind == "struct":
        return _record_writer(schema)
    if kind == "array":
        item = compile_writer(schema["items"])
        return lambda value: _block([item(one) for one in value])
    if kind == "map":
        entry = compile_writer(schema["values"])
        return lambda value: _block([_string(key) + entry(one) for key, one in value.items()])
    return _WRITERS[kind]


def _record_writer(schema: Schema) -> Write:
    """The fields one after another, without anything between them."""
    writers = {f"write{i}": compile_writer(field) for i, field in enumerate(schema["fields"])}
    calls = "".join(f"write{i}(row[{field['field']!r}])," for i, field in enumerate(schema["fields"]))
    made: Write = eval(f"lambda row: b''.join(({calls}))", {**writers})
    return made


def varint(number: int) -> bytes:
    """A long in zigzag form."""
    number = (number << 1) ^ (number >> 63)
    if number < 128:
        return _SHORT[number]
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def _bounded(lowest: int, highest: int) -> Write:
    def write(value: int) -> bytes:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        return varint(value)

    return write


def _string(value: str) -> bytes:
    text = value.encode()
    return varint(len(text)) + text


def _bytes(value: str) -> bytes:
    raw = base64.b64decode(value)
    return varint(len(raw)) + raw


def _block(items: list[bytes]) -> bytes:
    return varint(len(items)) + b"".join(items) + _SHORT[0] if items else _SHORT[0]


_WRITERS: dict[str, Write] = {
    "boolean": lambda value: _SHORT[1 if value else 0],
    "int8": _bounded(-(1 << 7), (1 << 7) - 1),
    "int16": _bounded(-(1 << 15), (1 << 15) - 1),
    "int32": _bounded(-(1 << 31), (1 << 31) - 1),
    "int64": _bounded(-(1 << 63), (1 << 63) - 1),
    "float": lambda value: _FLOAT(float(value)),  # NaN and the infinities are texts in our JSON
    "double": lambda value: _DOUBLE(float(value)),
    "string": _string,
    "bytes": _bytes,
}
