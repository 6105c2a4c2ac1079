"""Kafka Connect's schemas as JSON, for converters with `schemas.enable=true`.

Field names, schema names and versions are those of Debezium's Oracle connector.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from minercdc.stream.offset import JsonValue
from minercdc.values.codec import FieldType

Schema: TypeAlias = dict[str, JsonValue]

# Connect's JSON converter has its own words for two types, and keeps a schema's documentation.
_WRITTEN = {"float32": "float", "float64": "double"}
_DOCS = {"io.debezium.data.VariableScaleDecimal": "Variable scaled decimal"}
_SNAPSHOT_WORDS = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"


def field_schema(
    name: str, field: FieldType, *, optional: bool, default: JsonValue = None, doc: str | None = None
) -> Schema:
    """The schema of one column inside a row's struct; `default` None for no default.

    :param doc: the column's comment, in place of what the type says of itself.
    """
    schema: Schema = {"type": _WRITTEN.get(field.type, field.type), "optional": optional, "field": name}
    if field.fields:
        schema["fields"] = [field_schema(inner, kind, optional=False) for inner, kind in field.fields]
    if field.name:
        schema["name"] = field.name
    if field.version is not None:
        schema["version"] = field.version
    if field.parameters:
        schema["parameters"] = dict(field.parameters)
    if doc := doc or _DOCS.get(field.name or ""):
        schema["doc"] = doc
    if default is not None:
        schema["default"] = default
    return schema


def struct(
    fields: Sequence[Schema], *, name: str, optional: bool = False, version: int | None = None, field: str | None = None
) -> Schema:
    """The schema of a struct; `field` is its name as a member of another one, None when it is none. `version` None for none."""
    schema: Schema = {"type": "struct", "fields": list(fields), "optional": optional, "name": name}
    if version is not None:
        schema["version"] = version
    if field is not None:
        schema["field"] = field
    return schema


def plain(field: str, kind: str, *, optional: bool = False) -> Schema:
    """The schema of a struct's member `field` of a primitive type `kind`, such as `int64`."""
    return {"type": kind, "optional": optional, "field": field}


def wrapped(enabled: bool, schema: Schema) -> tuple[str, str]:
    """Text before and after a payload: `{"schema":..,"payload":` and `}` when `enabled` (`schemas.enable`), else two empty
    texts."""
    if not enabled:
        return "", ""
    return f'{{"schema":{json.dumps(schema, separators=(",", ":"))},"payload":', "}"


SOURCE = struct(
    [
        plain("version", "string"),
        plain("connector", "string"),
        plain("name", "string"),
        plain("ts_ms", "int64"),
        {
            "type": "string",
            "optional": True,
            "name": "io.debezium.data.Enum",
            "version": 1,
            "parameters": {"allowed": _SNAPSHOT_WORDS},
            "default": "false",
            "field": "snapshot",
        },
        plain("db", "string"),
        plain("sequence", "string", optional=True),
        plain("ts_us", "int64", optional=True),
        plain("ts_ns", "int64", optional=True),
        plain("schema", "string"),
        plain("table", "string"),
        plain("txId", "string", optional=True),
        plain("scn", "string", optional=True),
        plain("commit_scn", "string", optional=True),
        plain("lcr_position", "string", optional=True),
        plain("rs_id", "string", optional=True),
        plain("ssn", "int64", optional=True),
        plain("redo_thread", "int32", optional=True),
        plain("user_name", "string", optional=True),
        plain("redo_sql", "string", optional=True),
        plain("row_id", "string", optional=True),
        plain("commit_ts_ms", "int64", optional=True),
        plain("start_scn", "string", optional=True),
        plain("start_ts_ms", "int64", optional=True),
        plain("txSeq", "int64", optional=True),
    ],
    name="io.debezium.connector.oracle.Source",
    version=1,
    field="source",
)

TRANSACTION = struct(
    [plain("id", "string"), plain("total_order", "int64"), plain("data_collection_order", "int64")],
    name="event.block",
    version=1,
    optional=True,
    field="transaction",
)


def envelope(topic: str, row_fields: Sequence[Schema]) -> Schema:
    """Schema of a table topic's values.

    :param topic: the topic's name as schemas have it; their names begin with it.
    """
    return struct(
        [
            struct(row_fields, name=f"{topic}.Value", optional=True, field="before"),
            struct(row_fields, name=f"{topic}.Value", optional=True, field="after"),
            SOURCE,
            TRANSACTION,
            plain("op", "string"),
            plain("ts_ms", "int64", optional=True),
            plain("ts_us", "int64", optional=True),
            plain("ts_ns", "int64", optional=True),
        ],
        name=f"{topic}.Envelope",
        version=2,
    )


def key(topic: str, key_fields: Sequence[Schema]) -> Schema:
    """Schema of a table topic's keys; for the parameter see `envelope`."""
    return struct(key_fields, name=f"{topic}.Key")


_COLUMN = struct(
    [
        plain("name", "string"),
        plain("jdbcType", "int32"),
        plain("nativeType", "int32", optional=True),
        plain("typeName", "string"),
        plain("typeExpression", "string", optional=True),
        plain("charsetName", "string", optional=True),
        plain("length", "int32", optional=True),
        plain("scale", "int32", optional=True),
        plain("position", "int32"),
        plain("optional", "boolean", optional=True),
        plain("autoIncremented", "boolean", optional=True),
        plain("generated", "boolean", optional=True),
        plain("comment", "string", optional=True),
        plain("defaultValueExpression", "string", optional=True),
        {"type": "array", "items": {"type": "string", "optional": False}, "optional": True, "field": "enumValues"},
    ],
    name="io.debezium.connector.schema.Column",
    version=1,
)
_TABLE = struct(
    [
        plain("defaultCharsetName", "string", optional=True),
        {
            "type": "array",
            "items": {"type": "string", "optional": False},
            "optional": True,
            "field": "primaryKeyColumnNames",
        },
        {"type": "array", "items": _COLUMN, "optional": False, "field": "columns"},
        plain("comment", "string", optional=True),
    ],
    name="io.debezium.connector.schema.Table",
    version=1,
    optional=True,
    field="table",
)
_CHANGE = struct(
    [plain("type", "string"), plain("id", "string"), _TABLE], name="io.debezium.connector.schema.Change", version=1
)

SCHEMA_CHANGE_KEY = struct([plain("databaseName", "string")], name="io.debezium.connector.oracle.SchemaChangeKey", version=1)
SCHEMA_CHANGE_VALUE = struct(
    [
        SOURCE,
        plain("ts_ms", "int64"),
        plain("databaseName", "string", optional=True),
        plain("schemaName", "string", optional=True),
        plain("ddl", "string", optional=True),
        {"type": "array", "items": _CHANGE, "optional": False, "field": "tableChanges"},
    ],
    name="io.debezium.connector.oracle.SchemaChangeValue",
    version=1,
)
