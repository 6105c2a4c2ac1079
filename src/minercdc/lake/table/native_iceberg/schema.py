"""The schema of an Iceberg table as Arrow types, by its JSON (Iceberg's specification, "Schemas" of appendix C)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.table.native.fields import FileField

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
_STRUCT = re.compile(r"STRUCT<(.*)>")
_NAMES = {
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamptz",
    "TIMESTAMP_NTZ": "timestamp",
    "STRING": "string",
    "BINARY": "binary",
}
_KNOWN = frozenset(("id", "name", "type", "required", "doc"))


def fields_of(schema: str) -> tuple[FileField, ...] | None:
    """The columns of a schema; None where rows of it need more than their types say, as a column does that has a default.

    :param schema: as Iceberg's `SchemaParser` writes it.
    """
    return _fields(json.loads(schema)["fields"])


def _fields(found: Sequence[Mapping[str, Any]]) -> tuple[FileField, ...] | None:
    import pyarrow as pa

    fields = []
    for one in found:
        if one["required"] or not set(one) <= _KNOWN:
            return None
        members: tuple[FileField, ...] | None = ()
        if isinstance(one["type"], str):
            kind = _arrow_type(one["type"])
        else:
            members = _fields(one["type"]["fields"]) if one["type"]["type"] == "struct" else None
            kind = None if members is None else pa.struct([member.arrow() for member in members])
        if kind is None or members is None:
            return None
        fields.append(FileField(one["name"], one["name"], int(one["id"]), kind, members))
    return tuple(fields)


def schema_of(columns: Iterable[tuple[str, str, str]]) -> str | None:
    """The schema, in Iceberg's JSON, of columns (name, type as Spark SQL names it, comment); None for a type that is not known here. Its ids are
    those of a table to be made, which gives others."""
    fields = _json_fields(columns, itertools.count(1))
    return None if fields is None else json.dumps({"type": "struct", "schema-id": 0, "fields": fields})


def _json_fields(columns: Iterable[tuple[str, str, str]], numbers: Iterator[int]) -> list[dict[str, Any]] | None:
    fields = []
    for name, kind, comment in columns:
        number, found = next(numbers), _json_type(kind, numbers)
        if found is None:
            return None
        doc = {"doc": comment} if comment else {}
        fields.append({"id": number, "name": name, "required": False, "type": found, **doc})
    return fields


def _json_type(kind: str, numbers: Iterator[int]) -> Any:
    if found := _STRUCT.fullmatch(kind):
        members = _json_fields(((*member.split(": "), "") for member in found[1].split(", ")), numbers)
        return None if members is None else {"type": "struct", "fields": members}
    if found := _DECIMAL.fullmatch(kind.lower()):
        return f"decimal({found[1]}, {found[2]})"
    return _NAMES.get(kind)


def _arrow_type(name: str) -> pa.DataType | None:
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamptz": pa.timestamp("us", "UTC"),
        "timestamp": pa.timestamp("us"),
        "string": pa.string(),
        "binary": pa.binary(),
    }.get(name)
