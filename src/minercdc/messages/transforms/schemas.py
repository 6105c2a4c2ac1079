"""Schemas made from other schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minercdc.errors import RecordSchemaError, ValueDecodeError
from minercdc.messages.formats.connect import Schema

STRING: Schema = {"type": "string", "optional": False}
OPTIONAL_STRING: Schema = {"type": "string", "optional": True}
# What Connect keeps of a struct's schema when it makes another one of it: not whether it is optional.
_BASICS = ("name", "version", "doc", "parameters")


def member(schema: Schema, field: str) -> Schema:
    """The schema as that of a struct's member of this name."""
    return {**schema, "field": field}


def bare(schema: Schema) -> Schema:
    """A member's schema without its name in the struct."""
    return {name: value for name, value in schema.items() if name != "field"}


def optional(schema: Schema) -> Schema:
    """A schema that allows null, without a default."""
    return {name: value for name, value in {**schema, "optional": True}.items() if name != "default"}


def distinct(fields: Iterable[Schema]) -> list[Schema]:
    """The fields of a struct. Raises RecordSchemaError where two have one name, as Connect's SchemaBuilder does, which Debezium's and
    Kafka's transformations make their structs with ("Cannot create field because of field name duplication")."""
    found: dict[str, Schema] = {}
    for field in fields:
        if found.setdefault(field["field"], field) is not field:
            raise RecordSchemaError(
                f"field {field['field']} would exist twice",
                hint="Use another name in the step, or remove the other field before it (ReplaceField's exclude, or column.exclude.list).",
            )
    return list(found.values())


def basics(schema: Schema) -> Schema:
    """Name, version, doc and parameters of a schema, as far as it has them."""
    return {name: schema[name] for name in _BASICS if schema.get(name) is not None}


def struct_like(schema: Schema, fields: Iterable[Schema], **others: Any) -> Schema:
    """A struct with other fields and the name of `schema`, not optional. Raises RecordSchemaError as `distinct`."""
    made: Schema = {"type": "struct", "fields": distinct(fields), "optional": False, **basics(schema), **others}
    return {name: value for name, value in made.items() if value is not None}


def fields_of(schema: Schema, what: str) -> Sequence[Schema]:
    """The fields of a struct. Raises ValueDecodeError for another type.

    :param what: needs a struct, for the message.
    """
    if schema["type"] != "struct":
        raise ValueDecodeError(f"{what} needs a struct, not {schema['type']}")
    found: Sequence[Schema] = schema["fields"]
    return found


def field_of(schema: Schema, name: str, what: str) -> Schema:
    """The schema of a field. Raises ValueDecodeError when there is none, or no struct."""
    fields = fields_of(schema, what)
    for field in fields:
        if field["field"] == name:
            return field
    near = [field["field"] for field in fields if field["field"].lower() == name.lower()]
    hint = f"; there is {near[0]}" if near else ""
    raise ValueDecodeError(f"{what} has no field {name}{hint}")


def with_defaults(schema: Schema, value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A struct's value with its fields' defaults in place of nulls; None for None."""
    if value is None:
        return None
    return {
        field["field"]: field["default"] if value[field["field"]] is None and "default" in field else value[field["field"]]
        for field in schema["fields"]
    }
