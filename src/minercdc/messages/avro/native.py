"""Describes a schema to the compiled writer (`native/avro.h`)."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc.messages.formats.connect import Schema

Field: TypeAlias = tuple[int, int, int, bytes, int]
"""Kind, place of null in the union, bits of an integer, text before the value, number of the first field that is not below."""

_BOOLEAN, _INTEGER, _FLOAT, _DOUBLE, _STRING, _BYTES, _RECORD = range(7)  # enum avro_kind
_KINDS: Mapping[str, tuple[int, int]] = {
    "boolean": (_BOOLEAN, 0),
    "int8": (_INTEGER, 8),
    "int16": (_INTEGER, 16),
    "int32": (_INTEGER, 32),
    "int64": (_INTEGER, 64),
    "float": (_FLOAT, 0),
    "double": (_DOUBLE, 0),
    "string": (_STRING, 0),
    "bytes": (_BYTES, 0),
    "struct": (_RECORD, 0),
}
_REQUIRED, _NULL_FIRST, _NULL_LAST = range(3)  # enum avro_null
_DEEPEST = 16  # the compiled writer calls itself for each record in a record


def described(schema: Schema) -> list[Field] | None:
    """The fields of a schema, each before those below it; None for one with arrays, maps or more than 16 levels of records, which
    Python writes."""
    fields: list[Field] = []
    return fields if _describe(schema, b"", 0, fields) else None


def _describe(schema: Schema, member: bytes, depth: int, fields: list[Field]) -> bool:
    if schema["type"] not in _KINDS or depth > _DEEPEST:
        return False
    kind, bits = _KINDS[schema["type"]]
    null = _REQUIRED if not schema.get("optional") else _NULL_FIRST if schema.get("default") is None else _NULL_LAST
    place = len(fields)
    fields.append((kind, null, bits, member, 0))
    for i, inner in enumerate(schema.get("fields", ())):
        before = f"{',' if i else '{'}{encode_basestring(inner['field'])}:".encode()
        if not _describe(inner, before, depth + 1, fields):
            return False
    fields[place] = (kind, null, bits, member, len(fields))
    return True
