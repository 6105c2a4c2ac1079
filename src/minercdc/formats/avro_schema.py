"""Avro schemas from Kafka Connect's, in the form that Connect's AvroConverter gives them.

struct                  record named by the last part of its name, in the namespace of the others; a second one is a reference
optional                union with null; null comes first, unless there is a default
name, version, ..       `connect.name`, `connect.version`, `connect.parameters`, `connect.default`, `connect.doc`
int8, int16             int with `connect.type`
Decimal, Date, Time, Timestamp of Connect    with Avro's logical type; Debezium's types have none
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from minercdc.errors import SinkError
from minercdc.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema

Avro: TypeAlias = str | dict[str, Any] | list[Any]

_TYPES: Mapping[str, str] = {
    "boolean": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
}
_LOGICAL: Mapping[str, str] = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}
_UNKNOWN_PRECISION = 64
_NAMESPACE, _DEFAULT_NAME = "io.confluent.connect.avro", "ConnectDefault"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def avro_schema(schema: Schema) -> Avro:
    """The Avro schema of a Connect schema.

    :raises SinkError: a name in it is none of Avro's, or a number has a negative scale.
    """
    return _typed(schema, "", set())


def avro_text(schema: Avro) -> str:
    """An Avro schema as it is registered."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def _typed(schema: Schema, namespace: str, known: set[str]) -> Avro:
    """
    :param namespace: of the enclosing record.
    :param known: full names of the records that are defined by now.
    """
    base = _base(schema, namespace, known)
    if not schema.get("optional"):
        return base
    return ["null", base] if schema.get("default") is None else [base, "null"]


def _base(schema: Schema, namespace: str, known: set[str]) -> Avro:
    kind: str = schema["type"]
    if kind == "struct":
        return _record(schema, namespace, known)
    if kind == "array":
        typed: dict[str, Any] = {"type": "array", "items": _typed(schema["items"], namespace, known)}
    elif kind == "map":
        typed = {"type": "map", "values": _typed(schema["values"], namespace, known)}
    else:
        typed = {"type": _TYPES[kind]}
    if kind in ("int8", "int16"):
        typed["connect.type"] = kind
    name = schema.get("name")
    if name == DECIMAL:
        typed |= _decimal(schema)
    typed |= _properties(schema)
    if name == DECIMAL:
        typed["logicalType"] = "decimal"
    elif isinstance(name, str) and name in _LOGICAL:
        typed["logicalType"] = _LOGICAL[name]
    return typed["type"] if len(typed) == 1 else typed


def _decimal(schema: Schema) -> dict[str, int]:
    parameters = schema.get("parameters", {})
    scale = int(parameters["scale"])
    if scale < 0:
        raise SinkError(
            f"column {schema.get('field')} is a number of scale {scale}, which Avro does not have",
            hint="decimal.handling.mode=string or double publishes it.",
        )
    return {"scale": scale, "precision": int(parameters.get("connect.decimal.precision", _UNKNOWN_PRECISION))}


def _properties(schema: Schema) -> dict[str, Any]:
    """What Avro has no words for, in the converter's order."""
    found = {}
    if "doc" in schema:
        found["connect.doc"] = schema["doc"]
    if "version" in schema:
        found["connect.version"] = schema["version"]
    if "parameters" in schema:
        found["connect.parameters"] = schema["parameters"]
    if schema.get("default") is not None:
        found["connect.default"] = _default(schema)
    if "name" in schema:
        found["connect.name"] = schema["name"]
    return found


def _record(schema: Schema, namespace: str, known: set[str]) -> Avro:
    full = schema.get("name") or f"{_NAMESPACE}.{_DEFAULT_NAME}"
    own, _, name = full.rpartition(".")
    if full in known:
        return name if own == namespace else full
    for part in full.split("."):
        _check(part, f"the schema name {full}", "schema.name.adjustment.mode")
    known.add(full)
    record: dict[str, Any] = {"type": "record", "name": name}
    if own != namespace:
        record["namespace"] = own
    record["fields"] = [_field(field, own, known) for field in schema["fields"]]
    return record | _properties(schema)


def _field(schema: Schema, namespace: str, known: set[str]) -> dict[str, Any]:
    name = schema["field"]
    _check(name, f"the field name {name}", "field.name.adjustment.mode")
    field: dict[str, Any] = {"name": name, "type": _typed(schema, namespace, known)}
    if schema.get("default") is not None:
        field["default"] = _default(schema)
    elif schema.get("optional"):
        field["default"] = None
    return field


def _default(schema: Schema) -> Any:
    """A default as Avro writes it: bytes as text of one character each."""
    value = schema["default"]
    if schema["type"] == "bytes":
        return base64.b64decode(value).decode("latin-1")
    if schema["type"] == "struct":
        return {field["field"]: _default({**field, "default": value[field["field"]]}) for field in schema["fields"]}
    return value


def _check(name: str, what: str, mode: str) -> None:
    if not _NAME.fullmatch(name):
        raise SinkError(
            f"{what} is none of Avro's: they have letters, digits and _ only, and begin with no digit",
            hint=f"{mode}=avro replaces other characters.",
        )
