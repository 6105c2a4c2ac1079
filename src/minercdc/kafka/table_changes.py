"""Table structures as Debezium writes them in schema-change and schema-history records, and back."""

from __future__ import annotations

import json
from typing import Any

from minercdc.events import SchemaChange
from minercdc.offset import JsonValue
from minercdc.schema.table import Column, TableId, TableSchema

# java.sql.Types and Oracle's own type codes, as Debezium prints them
_JDBC_TYPES = {
    "CHAR": 1,
    "NUMBER": 2,
    "FLOAT": 6,
    "VARCHAR2": 12,
    "NVARCHAR2": -9,
    "NCHAR": -15,
    "DATE": 93,
    "TIMESTAMP": 93,
    "TIMESTAMP WITH TIME ZONE": -101,
    "TIMESTAMP WITH LOCAL TIME ZONE": -102,
    "INTERVAL YEAR TO MONTH": -103,
    "INTERVAL DAY TO SECOND": -104,
    "BINARY_FLOAT": 100,
    "BINARY_DOUBLE": 101,
    "RAW": -2,
    "CLOB": 2005,
    "NCLOB": 2011,
    "BLOB": 2004,
    "XMLTYPE": 2009,
    "ROWID": -8,
}
_OTHER = 1111


def published(change: SchemaChange) -> list[JsonValue]:
    """`tableChanges` of a record of the schema-change topic."""
    if change.truncate:
        return []
    table = change.after or change.before
    kind = "DROP" if change.after is None else "CREATE" if change.before is None else "ALTER"
    return [{"type": kind, "id": _identity(change.table), "table": _structure(table) if table else None}]


def _identity(table: TableId) -> str:
    return f'"{table.database}"."{table.schema}"."{table.table}"'


def _structure(table: TableSchema) -> dict[str, JsonValue]:
    return {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": [table.columns[i].name for i in table.key],
        "columns": [_column(column, i) for i, column in enumerate(table.columns, 1)],
        "comment": None,
    }


def _column(column: Column, position: int) -> dict[str, JsonValue]:
    return {
        "name": column.name,
        "jdbcType": _JDBC_TYPES.get(column.type_name, _OTHER),
        "nativeType": None,
        "typeName": column.type_name,
        "typeExpression": column.type_name,
        "charsetName": None,
        "length": column.length,
        "scale": column.scale,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": False,
        "generated": False,
        "comment": None,
        "defaultValueExpression": column.default,
        "enumValues": None,
    }


def remembered(change: SchemaChange) -> list[JsonValue]:
    """`tableChanges` of a record of the schema history: absent values left out, identity and version as attributes, and
    the old name of a renamed table as `previousId`."""
    changes = published(change)
    for item in changes:
        assert isinstance(item, dict)
        if change.before and change.after and change.before.id != change.after.id:
            item["previousId"] = _identity(change.before.id)
        table = change.after or change.before
        structure = item.get("table")
        if not isinstance(structure, dict) or table is None:
            continue
        columns = structure["columns"]
        assert isinstance(columns, list)
        structure["columns"] = [
            {"hasDefaultValue": column["defaultValueExpression"] is not None}
            | {k: v for k, v in column.items() if v is not None}
            for column in columns
            if isinstance(column, dict)
        ]
        structure["attributes"] = [
            {"name": "OBJECT_ID", "value": str(table.object_id)},
            {"name": "VERSION", "value": str(table.version)},
            {"name": "STORED_COLUMNS", "value": json.dumps(table.stored)},
        ]
    return changes


def table_id(text: str) -> TableId:
    """Back from `"DATABASE"."SCHEMA"."TABLE"`; Oracle allows no quote inside a name."""
    database, schema, table = (part.strip('"') for part in text.split('"."'))
    return TableId(database, schema, table)


def table_of(change: dict[str, Any]) -> TableSchema:
    """The table version that a remembered change tells of.

    :raises KeyError, ValueError, TypeError: the record is not of the form we write.
    """
    structure = change["table"]
    columns = tuple(
        Column(
            name=column["name"],
            type_name=column["typeName"],
            length=column.get("length"),
            scale=column.get("scale"),
            nullable=column.get("optional", True),
            default=column.get("defaultValueExpression"),
        )
        for column in structure["columns"]
    )
    positions = {column.name: i for i, column in enumerate(columns)}
    attributes = {item["name"]: item["value"] for item in structure.get("attributes", ())}
    return TableSchema(
        id=table_id(change["id"]),
        columns=columns,
        key=tuple(positions[name] for name in structure["primaryKeyColumnNames"]),
        version=int(attributes.get("VERSION", 1)),
        object_id=int(attributes.get("OBJECT_ID", 0)),
        stored=tuple(json.loads(attributes.get("STORED_COLUMNS", "[]"))),
    )
