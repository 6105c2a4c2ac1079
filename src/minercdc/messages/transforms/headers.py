"""Transformations of headers: HeaderToValue, HeaderFrom, InsertHeader, DropHeaders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minercdc.config.messages.registries import Side
from minercdc.config.transforms.field_options import HeaderFrom
from minercdc.config.transforms.options import DropHeaders, HeaderToValue, InsertHeader
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import Schema
from minercdc.messages.transforms.fields import members
from minercdc.messages.transforms.header_values import inferred
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Transform, Typed, typed
from minercdc.messages.transforms.schemas import STRING, bare, field_of, fields_of, member, struct_like


def header_to_value(options: HeaderToValue) -> Transform:
    """The transformation HeaderToValue: fields of the value with the values of headers, which stay with `copy` only. A
    field may stand in a struct, `after.NAME`: one that is null stays null, and lacks it. A record without value, or without
    such headers, stays as it is. It raises DecodeError for a record that it does not fit."""
    pairs = [(header, tuple(field.split("."))) for header, field in zip(options.headers, options.fields_, strict=True)]
    # By the value's schema and those of the headers.
    made: dict[tuple[int, ...], tuple[Schema, tuple[Schema, ...]]] = {}

    def transform(record: ConnectRecord) -> ConnectRecord:
        if record.value is None:
            return record
        found = {name: _typed(content) for name, content in record.headers if name in options.headers}
        added = [(path, found[header]) for header, path in pairs if header in found]
        if not added:
            return record
        schemas = (record.value.schema, *(content.schema for _, content in added))
        key = tuple(map(id, schemas))
        if key not in made:
            schema = schemas[0]
            for path, content in added:
                schema = _with_field(schema, path, content.schema)
            made[key] = (schema, schemas)  # with those it is made of, whose addresses are taken as long as they are there
        value: Mapping[str, Any] | None = record.value.value
        for path, content in added:
            value = _with_value(value, path, content.value)
        headers = record.headers
        if options.operation == "move":
            headers = tuple((name, content) for name, content in headers if name not in options.headers)
        return replace(record, value=typed(made[key][0], value), headers=headers)

    return transform


def _typed(content: Typed | bytes) -> Typed:
    return typed(STRING, content.decode()) if isinstance(content, bytes) else content


def _with_field(schema: Schema, path: tuple[str, ...], added: Schema) -> Schema:
    """The schema with one more field at the end of a path. As Debezium, a whole key or value is not optional then; a struct within it
    stays so, since `before` and `after` may be null."""
    name, *rest = path
    fields = fields_of(schema, "HeaderToValue")
    others: Schema = {"field": schema["field"], "optional": bool(schema.get("optional"))} if "field" in schema else {}
    if not rest:
        return struct_like(schema, [*fields, member(added, name)], **others)
    if all(field["field"] != name for field in fields):
        raise ValueDecodeError(f"the value has no struct {name}")
    inner = [_with_field(field, tuple(rest), added) if field["field"] == name else field for field in fields]
    return struct_like(schema, inner, **others)


def _with_value(value: Mapping[str, Any] | None, path: tuple[str, ...], added: Any) -> Mapping[str, Any] | None:
    if value is None:  # an optional struct, as `before` of an insert
        return None
    name, *rest = path
    return {**value, name: _with_value(value[name], tuple(rest), added) if rest else added}


def header_from(options: HeaderFrom, side: Side) -> Transform:
    """The transformation HeaderFrom: headers with the values of fields, after those that there are; the fields stay with `copy` only. A
    record that lacks the side stays as it is. It raises DecodeError for a record that it does not fit."""
    pairs = list(zip(options.fields_, options.headers, strict=True))

    def compiled(schema: Schema) -> tuple[Schema, tuple[tuple[str, str, Schema], ...]]:
        found = tuple((name, header, bare(field_of(schema, name, f"the {side}"))) for name, header in pairs)
        if options.operation == "copy":
            return schema, found
        return struct_like(schema, [field for field in schema["fields"] if field["field"] not in options.fields_]), found

    by_schema = BySchema(compiled)

    def transform(record: ConnectRecord) -> ConnectRecord:
        content = record.key if side == "key" else record.value
        if content is None:
            return record
        schema, found = by_schema(content.schema)
        values = members(content, options.replace_null_with_default)
        headers = record.headers + tuple((header, typed(kind, values[name])) for name, header, kind in found)
        if options.operation == "move":
            content = typed(schema, {name: value for name, value in values.items() if name not in options.fields_})
        return replace(record.with_key(content) if side == "key" else record.with_value(content), headers=headers)

    return transform


def insert_header(options: InsertHeader) -> Transform:
    """The transformation InsertHeader: one more header with a constant, after those that there are. Its type is the one that Connect
    infers from the literal."""
    added = ((options.header, inferred(options.value_literal)),)
    return lambda record: replace(record, headers=record.headers + added)


def drop_headers(options: DropHeaders) -> Transform:
    """The transformation DropHeaders: the record without the headers of some names."""

    def transform(record: ConnectRecord) -> ConnectRecord:
        kept = tuple(header for header in record.headers if header[0] not in options.headers)
        return record if len(kept) == len(record.headers) else replace(record, headers=kept)

    return transform
