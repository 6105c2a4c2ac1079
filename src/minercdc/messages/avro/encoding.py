"""Writes payloads of Connect's JSON in Avro's binary form (Avro 1.12, "Binary encoding"), by fastavro.

fastavro gets values in which the branch of each union is named, so it compares none with the types of a union: whether a value fits is
decided here.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from io import BytesIO
from operator import index
from typing import Any, Final, TypeAlias

import fastavro

from minercdc.messages.formats.connect import Schema

Write: TypeAlias = Callable[[Any], bytes]
UNFIT: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, struct.error)
"""What a writer raises for a value of another schema."""

_Convert: TypeAlias = Callable[[Any], Any]
"""From a payload, as `json.loads` gives it, to what fastavro takes. It raises one of UNFIT, as fastavro does."""
_FLOAT: Final = struct.Struct("<f").pack
_NULL: Final = ("null", None)


def compile_writer(schema: Schema) -> Write:
    """A function that writes payloads of `schema`, as `json.loads` gives them.

    It raises one of UNFIT for a payload of another schema.
    """
    avro, convert = _typed(schema, "r")
    parsed = fastavro.parse_schema(avro)

    def write(payload: Any) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, parsed, convert(payload))
        return out.getvalue()

    return write


def _typed(schema: Schema, name: str) -> tuple[Any, _Convert]:
    """The Avro type of a schema, with nothing in it but what bytes depend on, and how its payloads are converted.

    :param name: of the type, if it is a record; names of those in it begin with it.
    """
    branch, avro, convert = _base(schema, name)
    if not schema.get("optional"):
        return avro, convert
    union = ["null", avro] if schema.get("default") is None else [avro, "null"]
    return union, lambda payload: _NULL if payload is None else (branch, convert(payload))


def _base(schema: Schema, name: str) -> tuple[str, Any, _Convert]:
    """The name of a type in a union, the type, and how payloads that are not null are converted."""
    kind = schema["type"]
    if kind == "struct":
        return _record(schema, name)
    if kind == "array":
        items, item = _typed(schema["items"], f"{name}_0")
        return "array", {"type": "array", "items": items}, lambda payload: [item(one) for one in payload]
    if kind == "map":
        values, entry = _typed(schema["values"], f"{name}_0")
        return "map", {"type": "map", "values": values}, lambda payload: {key: entry(one) for key, one in payload.items()}
    avro, convert = _PRIMITIVE[kind]
    return avro, avro, convert


def _record(schema: Schema, name: str) -> tuple[str, Any, _Convert]:
    fields, members = [], []
    for i, field in enumerate(schema["fields"]):
        avro, convert = _typed(field, f"{name}_{i}")
        fields.append({"name": f"f{i}", "type": avro})
        members.append((f"f{i}", field["field"], convert))
    record = {"type": "record", "name": name, "fields": fields}
    return name, record, lambda payload: {own: convert(payload[member]) for own, member, convert in members}


def _integer(bits: int) -> _Convert:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def checked(value: int) -> int:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        return index(value)

    return checked


def _single(value: float | str) -> float:
    number = float(value)  # NaN and the infinities are texts in our JSON
    _FLOAT(number)  # raises OverflowError for one beyond a FLOAT, of which fastavro makes an infinity
    return number


_PRIMITIVE: Final[Mapping[str, tuple[str, _Convert]]] = {
    "boolean": ("boolean", bool),
    "int8": ("int", _integer(8)),
    "int16": ("int", _integer(16)),
    "int32": ("int", _integer(32)),
    "int64": ("long", _integer(64)),
    "float": ("float", _single),
    "double": ("double", float),
    "string": ("string", lambda text: text),
    "bytes": ("bytes", base64.b64decode),
}
