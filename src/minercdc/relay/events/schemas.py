"""Avro schemas of tables, as Databus's schema generator writes them; and what a column's values are in them.

type of the column             lossless                          databus
NUMBER(p, 0), p <= 18          long                              long
NUMBER, NUMBER(*, 0)           long, string from the first value on that is none    (of both)
NUMBER(p, 0), p > 18           string                            long, string from the first value on that is none
NUMBER(p, s), s > 0            string                            float (s <= 6), double (s <= 17), string
FLOAT                          string                            double
BINARY_FLOAT, BINARY_DOUBLE    float, double                     float, double
DATE                           long, milliseconds since 1970     the same
TIMESTAMP(n)                   long (n <= 3), string             long, milliseconds
RAW, BLOB, LONG RAW            bytes                             bytes
BOOLEAN                        boolean                           boolean
all others                     string                            string
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from hashlib import md5
from typing import Any, Final, Literal, TypeAlias

from minercdc.schema.table import Column, TableSchema

AvroSchema: TypeAlias = dict[str, Any]
Types: TypeAlias = Literal["lossless", "databus"]

_LONG_DIGITS: Final = 18
_BINARY: Final = frozenset({"RAW", "LONG RAW", "BLOB"})
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")


def avro_type(column: Column, types: Types) -> str:
    """Avro's type for the column, without null, by the table of the module."""
    kind, scale = column.type_name, column.scale
    if kind == "NUMBER":
        return _number(column, types)
    if kind in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        return kind.removeprefix("BINARY_").lower()
    if kind == "FLOAT":
        return "double" if types == "databus" else "string"
    if kind == "DATE" or (kind == "TIMESTAMP" and (types == "databus" or (scale if scale is not None else 6) <= 3)):
        return "long"
    if kind == "BOOLEAN":
        return "boolean"
    return "bytes" if kind in _BINARY else "string"


def _number(column: Column, types: Types) -> str:
    scale = column.scale or 0
    if scale <= 0:
        digits = column.length if column.length is not None else 0
        return "long" if digits <= _LONG_DIGITS or types == "databus" else "string"
    if types == "lossless" or scale > 17:
        return "string"
    return "float" if scale <= 6 else "double"


def lower_camel(name: str) -> str:
    """`FIRST_NAME` -> `firstName`; `_` as of `upper_camel`."""
    made = upper_camel(name)
    return made[:1].lower() + made[1:] if made[:1] != "_" else made


def upper_camel(name: str) -> str:
    """`SY$PERSON_NAME` -> `SyPersonName`; `_` is put before what would be empty or begin with a digit."""
    parts = [part for part in _SEPARATORS.split(name) if part]
    made = "".join(part[:1].upper() + (part[1:].lower() if part.isupper() or part.islower() else part[1:]) for part in parts)
    return made if made and not made[0].isdigit() else f"_{made}"


def record_name(table: str) -> str:
    """Name of the record of a table or view, without Databus's prefix: `SY$PERSON` -> `Person`."""
    return upper_camel(re.sub(r"(?i)^sy\$", "", table))


def generated(
    table: TableSchema,
    positions: Sequence[int],
    *,
    name: str,
    version: int,
    types: Types,
    widened: Collection[str] = (),
    now: datetime | None = None,
) -> AvroSchema:
    """The schema of a table's rows.

    :param positions: of the columns that it has.
    :param name: of the source, `namespace.Record`. `version` is the number that the record's name ends with.
    :param types: which column of the table above the types are of.
    :param widened: columns of numbers that are strings, since a value was no long.
    :param now: time of generation, default the present.
    """
    namespace, _, record = name.rpartition(".")
    shown = _shown(table.id.table)
    taken: set[str] = set()
    fields = []
    for number, position in enumerate(positions):
        column = table.columns[position]
        kind = "string" if column.name in widened else avro_type(column, types)
        field = lower_camel(column.name)
        while field in taken:
            field += "_"
        taken.add(field)
        meta = f"dbFieldName={column.name};dbFieldPosition={number};"
        fields.append({"name": field, "type": [kind, "null"], "meta": meta})
    return {
        "name": f"{record}_V{version}",
        "doc": f"Auto-generated Avro schema for {shown}. Generated at {_time(now or datetime.now(UTC))}",
        "type": "record",
        "meta": f"dbFieldName={shown};",
        "namespace": namespace,
        "fields": fields,
    }


def _shown(table: str) -> str:
    return table.lower() if table.isupper() else table


def _time(now: datetime) -> str:
    return now.strftime("%b %d, %Y %I:%M:%S %p %Z")


def compact(schema: AvroSchema) -> str:
    """The schema's text as clients get it, of which the schema id is made."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def schema_id(text: str) -> bytes:
    """The schema id of events: MD5 of the schema's compact text."""
    return md5(text.encode(), usedforsecurity=False).digest()


def base_type(field: dict[str, Any]) -> str:
    """The type of a field beside null, whichever comes first."""
    kind = field["type"]
    found = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
    return str(found[0])


def column_of(field: dict[str, Any]) -> str:
    """The column that a field has by its `meta`, '' when it does not say."""
    found = re.search(r"dbFieldName=([^;]*);", str(field.get("meta", "")))
    return found[1] if found else ""
