"""Describes a message to the compiled writer (`native/protobuf.h`)."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP
from minercdc.messages.protobuf.schema import SCALARS, Message
from minercdc.messages.protobuf.schema import Field as MessageField

Field: TypeAlias = tuple[int, int, int, int, int, bool, bytes, int]
"""Kind, number, presence, bits of an integer, scale, whether it may be null, text before the value, number of the first field that is not
below."""

_KINDS: Mapping[str, tuple[str, int]] = {
    "boolean": ("BOOLEAN", 0),
    "int8": ("INTEGER", 8),
    "int16": ("INTEGER", 16),
    "int32": ("INTEGER", 32),
    "int64": ("INTEGER", 64),
    "float": ("FLOAT", 0),
    "double": ("DOUBLE", 0),
    "string": ("STRING", 0),
    "bytes": ("BYTES", 0),
}
_LOGICAL = {DECIMAL: "DECIMAL", DATE: "DATE", TIME: "TIME", TIMESTAMP: "STAMP"}
_DEEPEST = 16  # the compiled writer calls itself for each message in a message


def described(root: Message, constants: Mapping[str, int]) -> list[Field] | None:
    """The fields of a schema, each before those below it, the outermost message first; None for one with arrays, maps or more than 16
    levels of messages, which Python writes.

    :param constants: of the compiled code, by name.
    """
    kind, presence = constants["PROTOBUF_MESSAGE"], constants["PROTOBUF_PLAIN"]
    fields: list[Field] = [(kind, 0, presence, 0, 0, False, b"", 0)]
    if not _describe(root, 0, fields, constants):
        return None
    return [(kind, 0, presence, 0, 0, False, b"", len(fields)), *fields[1:]]


def _describe(message: Message, depth: int, fields: list[Field], constants: Mapping[str, int]) -> bool:
    """Add the fields of a message; False for one that Python writes."""
    for i, field in enumerate(message.fields):
        schema = field.schema
        if field.label == "repeated" or depth > _DEEPEST:
            return False
        kind, bits = _kind(field)
        presence = "WRAPPED" if field.wrapped else "EXPLICIT" if field.label == "optional" else "PLAIN"
        before = f"{',' if i else '{'}{encode_basestring(field.member)}:".encode()
        scale = int(schema["parameters"]["scale"]) if kind == "DECIMAL" else 0
        described_ = (constants[f"PROTOBUF_{kind}"], field.number, constants[f"PROTOBUF_{presence}"], bits, scale)
        place, may_be_null = len(fields), bool(schema.get("optional"))
        fields.append((*described_, may_be_null, before, 0))
        if field.message is not None and not _describe(field.message, depth + 1, fields, constants):
            return False
        fields[place] = (*described_, may_be_null, before, len(fields))
    return True


def _kind(field: MessageField) -> tuple[str, int]:
    """The kind of a field's value, without its prefix, and the bits of an integer."""
    if field.message is not None:
        return "MESSAGE", 0
    if field.wrapped or field.type in SCALARS.values():
        return _KINDS[field.schema["type"]]
    return _LOGICAL[field.schema["name"]], 0
