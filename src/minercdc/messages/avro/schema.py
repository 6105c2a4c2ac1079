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
from collections.abc import Mapping
from typing import Any, TypeAlias

from minercdc.errors import RecordSchemaError
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.formats.naming import NOT_ADJUSTED, Naming
from minercdc.schema.name_adjustment import NAME

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
_RULE = "names have only letters, digits and _, and do not begin with a digit"


def avro_schema(schema: Schema, naming: Naming = NOT_ADJUSTED, *, meta_data: bool = True) -> Avro:
    """The Avro schema of a Connect schema.

    :param naming: for the hints of errors.
    :param meta_data: with the properties `connect.*`.
    :raises RecordSchemaError: a name in it is none of Avro's, two structs of one name differ, or a number has a negative scale.
    :raises SinkError: a name is none of Avro's in a part that the names of all tables have (`topic.prefix`).
    """
    return _Conversion(naming, meta_data).typed(schema, "")


def avro_text(schema: Avro) -> str:
    """An Avro schema as it is registered."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


class _Conversion:
    def __init__(self, naming: Naming, meta_data: bool) -> None:
        self._naming = naming
        self._properties = _properties if meta_data else _no_properties
        self._known: dict[str, Schema] = {}  # structs that are defined by now, by their full names

    def typed(self, schema: Schema, namespace: str) -> Avro:
        """The Avro of a schema, in a union with null where it is optional.

        :param namespace: of the enclosing record.
        """
        base = self._base(schema, namespace)
        if not schema.get("optional"):
            return base
        return ["null", base] if schema.get("default") is None else [base, "null"]

    def _base(self, schema: Schema, namespace: str) -> Avro:
        kind: str = schema["type"]
        if kind == "struct":
            return self._record(schema, namespace)
        if kind == "array":
            typed: dict[str, Any] = {"type": "array", "items": self.typed(schema["items"], namespace)}
        elif kind == "map":
            typed = {"type": "map", "values": self.typed(schema["values"], namespace)}
        else:
            typed = {"type": _TYPES[kind]}
        name = schema.get("name")
        if name == DECIMAL:
            typed |= _decimal(schema)
        typed |= self._properties(schema)
        if name == DECIMAL:
            typed["logicalType"] = "decimal"
        elif isinstance(name, str) and name in _LOGICAL:
            typed["logicalType"] = _LOGICAL[name]
        return typed["type"] if len(typed) == 1 else typed

    def _record(self, schema: Schema, namespace: str) -> Avro:
        full = schema.get("name") or f"{_NAMESPACE}.{_DEFAULT_NAME}"
        own, _, name = full.rpartition(".")
        if (known := self._known.get(full)) is not None:
            if known["fields"] != schema["fields"]:
                raise RecordSchemaError(
                    f"two structs have the schema name {full} and not the same fields: {known.get('field')} and {schema.get('field')}",
                    hint="A step of transforms must change both or neither, or follow ExtractNewRecordState.",
                )
            return name if own == namespace else full
        for part in full.split("."):
            if not NAME.fullmatch(part):
                raise self._naming.refused_schema(full, part, f"has a part that is not valid in Avro: {_RULE}")
        self._known[full] = schema
        record: dict[str, Any] = {"type": "record", "name": name}
        if own != namespace:
            record["namespace"] = own
        names = [field["field"] for field in schema["fields"]]
        if twice := next((one for one in names if names.count(one) > 1), None):
            raise RecordSchemaError(f"two fields of {full} are named {twice}")
        record["fields"] = [self._field(field, own) for field in schema["fields"]]
        return record | self._properties(schema)

    def _field(self, schema: Schema, namespace: str) -> dict[str, Any]:
        name = schema["field"]
        if not NAME.fullmatch(name):
            raise RecordSchemaError(f"the field name {name} is not valid in Avro: {_RULE}", hint=self._naming.of_field())
        field: dict[str, Any] = {"name": name, "type": self.typed(schema, namespace)}
        if schema.get("default") is not None:
            field["default"] = _default(schema)
        elif schema.get("optional"):
            field["default"] = None
        return field


def _decimal(schema: Schema) -> dict[str, int]:
    parameters = schema.get("parameters", {})
    scale = int(parameters["scale"])
    if scale < 0:
        raise RecordSchemaError(
            f"column {schema.get('field')} is a number of scale {scale}, which Avro does not support",
            hint="decimal.handling.mode=string or double publishes it.",
        )
    return {"scale": scale, "precision": int(parameters.get("connect.decimal.precision", _UNKNOWN_PRECISION))}


def _properties(schema: Schema) -> dict[str, Any]:
    """What Avro has no words for, in the converter's order."""
    found: dict[str, Any] = {}
    if schema["type"] in ("int8", "int16"):
        found["connect.type"] = schema["type"]
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


def _no_properties(_: Schema) -> dict[str, Any]:
    return {}


def _default(schema: Schema) -> Any:
    """A default as Avro writes it: bytes as text of one character each."""
    value = schema["default"]
    if schema["type"] == "bytes":
        return base64.b64decode(value).decode("latin-1")
    if schema["type"] == "struct":
        return {field["field"]: _default({**field, "default": value[field["field"]]}) for field in schema["fields"]}
    return value
