"""Table structures in records of the schema-change topic, as Debezium writes them, and of the schema history, which has our types
and attributes besides; and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from minercdc.schema.table import Column, Key, NotNull, TableId, TableSchema
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import JsonValue

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
    "RAW": -3,
    "CLOB": 2005,
    "NCLOB": 2011,
    "BLOB": 2004,
    "XMLTYPE": 2009,
    "ROWID": -8,
}
_OTHER = 1111
# The sequence of an identity column, which the dictionary gives as its DEFAULT.
_IDENTITY = re.compile(r'"[^"]+"\."ISEQ\$\$_\d+"\.nextval', re.IGNORECASE)
# DATA_LENGTH of types that have no other length: of large ones what fits into the row.
_BYTES = {"BINARY_FLOAT": 4, "BINARY_DOUBLE": 8, "CLOB": 4000, "NCLOB": 4000, "BLOB": 4000, "XMLTYPE": 2000}


def published(change: SchemaChange) -> list[JsonValue]:
    """`tableChanges` of a record of the schema-change topic; a DROP has None for its structure, a TRUNCATE gives []."""
    if change.truncate:
        return []
    kind = "DROP" if change.after is None else "CREATE" if change.before is None else "ALTER"
    structure = _structure(change.after, _as_debezium) if change.after else None
    return [{"type": kind, "id": _identity(change.table), "table": structure}]


def _identity(table: TableId) -> str:
    return f'"{table.database}"."{table.schema}"."{table.table}"'


def _structure(table: TableSchema, written: Callable[[Column], _Written]) -> dict[str, JsonValue]:
    return {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": [table.columns[i].name for i in table.key],
        "columns": [_column(column, i, written(column)) for i, column in enumerate(table.columns, 1)],
        "comment": table.comment,
    }


class _Written(NamedTuple):
    """How a column's type is written."""

    name: str
    length: int | None
    scale: int | None


def _as_it_is(column: Column) -> _Written:
    return _Written(column.type_name, column.length, column.scale)


def _as_debezium(column: Column) -> _Written:
    """The type as Debezium has it from JDBC's metadata: the arguments of temporal types in the name, sizes in bytes as
    lengths."""
    name, length, scale = column.type_name, column.length, column.scale
    if name.startswith("TIMESTAMP"):
        digits = 6 if scale is None else scale
        length, scale = {"TIMESTAMP": (digits, None), "TIMESTAMP WITH TIME ZONE": (13, digits)}.get(name, (11, digits))
        name = name.replace("TIMESTAMP", f"TIMESTAMP({digits})")
    elif name == "INTERVAL YEAR TO MONTH":
        name = f"INTERVAL YEAR({2 if length is None else length}) TO MONTH"
    elif name == "INTERVAL DAY TO SECOND":
        name = f"INTERVAL DAY({2 if length is None else length}) TO SECOND({6 if scale is None else scale})"
    elif name == "NUMBER" and length is None:
        length = 0 if scale is None else 38
    return _Written(name, _BYTES.get(name, length), scale)


def _column(column: Column, position: int, written: _Written) -> dict[str, JsonValue]:
    return {
        "name": column.name,
        "jdbcType": _JDBC_TYPES.get(column.type_name, _OTHER),
        "nativeType": None,
        "typeName": written.name,
        "typeExpression": written.name,
        "charsetName": None,
        "length": written.length,
        "scale": written.scale,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": bool(_IDENTITY.match(column.default or "")),
        "generated": False,
        "comment": column.comment,
        "defaultValueExpression": column.default,
        "enumValues": None,
    }


def remembered(change: SchemaChange) -> list[JsonValue]:
    """`tableChanges` of a record of the schema history: absent values left out, identity and version as attributes, and the old
    name of a renamed table as `previousId`. A DROP has the structure that was dropped; a TRUNCATE gives []."""
    changes = published(change)
    for item in changes:
        assert isinstance(item, dict)
        if table := change.after or change.before:
            item["table"] = _structure(table, _as_it_is)
        if change.before and change.after and change.before.id != change.after.id:
            item["previousId"] = _identity(change.before.id)
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
        structure["attributes"] = [{"name": name, "value": value} for name, value in _attributes(table).items()]
    return changes


def _attributes(table: TableSchema) -> dict[str, str]:
    found = {
        "OBJECT_ID": str(table.object_id),
        "VERSION": str(table.version),
        "STORED_COLUMNS": json.dumps(table.stored),
    }
    if table.hidden_known:
        found["HIDDEN_COLUMNS_KNOWN"] = "true"
    if table.parts is not None:
        found["PARTITION_IDS"] = _as_ranges(table.parts)
    if table.keys is not None:
        found["KEYS"] = json.dumps(table.keys)
    if table.not_nulls is not None:
        found["NOT_NULLS"] = json.dumps(table.not_nulls)
    if table.read_at is not None:
        found["READ_AT"] = table.read_at.isoformat()
    if table.parts_from:
        found["PARTITIONS_FROM"] = table.parts_from
    if table.listed_at is not None:
        found["PARTITIONS_LISTED_AT"] = table.listed_at.isoformat()
    return found


def _keys(text: str) -> tuple[Key, ...]:
    return tuple(map(_key, json.loads(text)))


def _key(found: Sequence[Any]) -> Key:
    kind, columns, name, enabled, validated, *more = found
    # Earlier releases stored neither whose an index is nor whether a constraint is deferrable.
    owner = [value for value in more if not isinstance(value, bool)]
    whose: str | None = owner[0] if owner else None if kind == "I" else ""
    states = bool(enabled), bool(validated)
    return Key(str(kind), tuple(map(str, columns)), str(name), *states, owner=whose, deferrable=True in more)


def _not_nulls(text: str) -> tuple[NotNull, ...]:
    return tuple(NotNull(str(column), str(name), *map(bool, states)) for column, name, *states in json.loads(text))


def _as_ranges(ids: frozenset[int]) -> str:
    """`7 10-12`: a table may have a hundred thousand subpartitions, whose ids mostly follow each other."""
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _from_ranges(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def table_id(text: str) -> TableId:
    """Back from `"DATABASE"."SCHEMA"."TABLE"`; Oracle allows no quote inside a name.

    :raises ValueError: it is not of that form.
    """
    parts = (
        [part.strip('"') for part in text.split('"."')] if isinstance(text, str) else []
    )  # what a topic holds may be anything
    if len(parts) != 3:
        raise ValueError(f'id {text} is not of the form "DATABASE"."SCHEMA"."TABLE"')
    return TableId(*parts)


def change_of(document: Mapping[str, Any]) -> tuple[TableId, TableSchema | None]:
    """The table that a document of `tableChanges` names, and its new structure, None for DROP. Takes documents of the
    schema-change topic and of the history.

    :raises KeyError, ValueError, TypeError, AttributeError: it is not of that form.
    """
    kind = str(document.get("type", "ALTER")).upper()
    if kind not in ("CREATE", "ALTER", "DROP"):
        raise ValueError(f"type {kind} is not one of CREATE, ALTER, DROP")
    if kind == "DROP":
        return table_id(document["id"]), None
    table = table_of(document)
    for column in table.columns:
        _check_form(column)
    return table.id, replace(table, columns=tuple(map(_from_debezium, table.columns)))


def _check_form(column: Column) -> None:
    """Raises ValueError when a member of a column has a value of another type."""
    for member, value, kinds, wanted in (
        ("name", column.name, (str,), "text"),
        ("typeName", column.type_name, (str,), "text"),
        ("length", column.length, (int, type(None)), "a whole number or null"),
        ("scale", column.scale, (int, type(None)), "a whole number or null"),
        ("optional", column.nullable, (bool,), "true or false"),
    ):
        if type(value) not in kinds or value == "":
            raise ValueError(f"{member} {value!r} of column {column.name!r} is not {wanted}")


_ARGUMENTS = re.compile(r"\((\d+)\)")


def _from_debezium(column: Column) -> Column:
    """The inverse of `_as_debezium`; other types stay as they are."""
    digits = [int(number) for number in _ARGUMENTS.findall(column.type_name)]
    name, length, scale = _ARGUMENTS.sub("", column.type_name), column.length, column.scale
    if digits and name.startswith("TIMESTAMP"):
        length, scale = None, digits[0]
    elif digits and name.startswith("INTERVAL"):
        length, scale = digits[0], digits[1] if len(digits) > 1 else None
    elif (name == "NUMBER" and length == 0) or name in _BYTES:
        length = None
    return replace(column, type_name=name, length=length, scale=scale)


def table_of(change: Mapping[str, Any]) -> TableSchema:
    """The table version in a document of `tableChanges`; version 1 and object id 0 where it lacks our attributes.

    :raises KeyError, ValueError, TypeError, AttributeError: it is not of the form we write.
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
            comment=column.get("comment"),
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
        comment=structure.get("comment") or change.get("comment"),
        parts=_from_ranges(attributes["PARTITION_IDS"]) if "PARTITION_IDS" in attributes else None,
        keys=_keys(attributes["KEYS"]) if "KEYS" in attributes else None,
        not_nulls=_not_nulls(attributes["NOT_NULLS"]) if "NOT_NULLS" in attributes else None,
        read_at=datetime.fromisoformat(attributes["READ_AT"]) if "READ_AT" in attributes else None,
        parts_from=attributes.get("PARTITIONS_FROM", ""),
        listed_at=datetime.fromisoformat(attributes["PARTITIONS_LISTED_AT"])
        if "PARTITIONS_LISTED_AT" in attributes
        else None,
        hidden_known=attributes.get("HIDDEN_COLUMNS_KNOWN") == "true",
    )
