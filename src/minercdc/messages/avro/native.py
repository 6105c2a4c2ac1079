"""Describes a schema to the compiled writer (`native/avro.h`)."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc.messages.formats.connect import Schema

Field: TypeAlias = tuple[int, int, int, bytes, int]
"""Kind, place of null in the union, bits of an integer, text before the value, number of the first field that is not below."""

_KINDS: Mapping[str, tuple[str, int]] = {
    "boolean": ("AVRO_BOOLEAN", 0),
    "int8": ("AVRO_INTEGER", 8),
    "int16": ("AVRO_INTEGER", 16),
    "int32": ("AVRO_INTEGER", 32),
    "int64": ("AVRO_INTEGER", 64),
    "float": ("AVRO_FLOAT", 0),
    "double": ("AVRO_DOUBLE", 0),
    "string": ("AVRO_STRING", 0),
    "bytes": ("AVRO_BYTES", 0),
    "struct": ("AVRO_RECORD", 0),
}
_DEEPEST = 16  # the compiled writer calls itself for each record in a record


def described(schema: Schema, constants: Mapping[str, int]) -> list[Field] | None:
    """The fields of a schema, each before those below it; None for one with arrays, maps or more than 16 levels of records, which
    Python writes.

    :param constants: of the compiled code, by name.
    """
    fields: list[Field] = []
    return fields if _describe(schema, b"", 0, fields, constants) else None


def _describe(schema: Schema, member: bytes, depth: int, fields: list[Field], constants: Mapping[str, int]) -> bool:
    if schema["type"] not in _KINDS or depth > _DEEPEST:
        return False
    name, bits = _KINDS[schema["type"]]
    place_of_null = "NULL_FIRST" if schema.get("default") is None else "NULL_LAST"
    kind, null = constants[name], constants[f"AVRO_{place_of_null if schema.get('optional') else 'REQUIRED'}"]
    place = len(fields)
    fields.append((kind, null, bits, member, 0))
    for i, inner in enumerate(schema.get("fields", ())):
        before = f"{',' if i else '{'}{encode_basestring(inner['field'])}:".encode()
        if not _describe(inner, before, depth + 1, fields, constants):
            return False
    fields[place] = (kind, null, bits, member, len(fields))
    return True
