"""Transformations of the fields of a key or value: ReplaceField, MaskField, InsertField, ExtractField, HoistField, Flatten,
SetSchemaMetadata; and ValueToKey.

Each but ValueToKey is a function of the options and the side (`key` or `value`) that makes the transformation; where a record
lacks that side, as the value of a tombstone, it stays as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from minercdc.config.messages.registries import Side
from minercdc.config.transforms import field_options as options_of
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import DECIMAL, Schema
from minercdc.messages.transforms.record import (
    BySchema,
    ConnectRecord,
    Transform,
    Typed,
    floating,
    to_json,
    typed,
)
from minercdc.messages.transforms.schemas import (
    OPTIONAL_STRING,
    STRING,
    bare,
    distinct,
    field_of,
    fields_of,
    member,
    struct_like,
    with_defaults,
)

Change: TypeAlias = Callable[[Typed, ConnectRecord], "Typed | None"]
"""What becomes of a key or value, in its record."""
_FLOATS = ("float", "double")
_INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_CONTAINERS: Mapping[str, Any] = {"array": [], "map": {}}


def on(side: Side, change: Change) -> Transform:
    """A transformation that changes the key, or the value, where there is one."""

    def of_value(record: ConnectRecord) -> ConnectRecord:
        return record if record.value is None else record.with_value(change(record.value, record))

    def of_key(record: ConnectRecord) -> ConnectRecord:
        return record if record.key is None else record.with_key(change(record.key, record))

    return of_key if side == "key" else of_value


def members(content: Typed, defaults: bool) -> Mapping[str, Any]:
    """The values of a struct, with the fields' defaults in place of nulls where wanted."""
    found: Mapping[str, Any] = content.value
    return with_defaults(content.schema, found) or {} if defaults else found


def replace_field(options: options_of.ReplaceField, side: Side) -> Transform:
    """The transformation ReplaceField: leaves fields out, and gives others new names; of fields that are both excluded and
    included none is kept. It raises DecodeError for a record that it does not fit."""
    excluded, included = {*options.exclude, *options.blacklist}, {*options.include, *options.whitelist}
    renamed = {pair[0]: pair[1] for pair in options.renames}

    def compiled(schema: Schema) -> tuple[Schema, Sequence[tuple[str, str]]]:
        fields = fields_of(schema, "ReplaceField")
        kept: list[tuple[Schema, str]] = [
            (field, renamed.get(field["field"]) or field["field"])
            for field in fields
            if field["field"] not in excluded and (not included or field["field"] in included)
        ]
        made = struct_like(schema, [member(field, name) for field, name in kept])
        return made, [(field["field"], name) for field, name in kept]

    by_schema = BySchema(compiled)

    def change(content: Typed, _: ConnectRecord) -> Typed:
        schema, names = by_schema(content.schema)
        values = members(content, options.replace_null_with_default)
        return typed(schema, {new: values[old] for old, new in names})

    return on(side, change)


def mask_field(options: options_of.MaskField, side: Side) -> Transform:
    """The transformation MaskField: values of the named fields become what `masked` gives; null, and fields that a record
    does not have, stay as they are. It raises DecodeError for a record that it does not fit."""

    def compiled(schema: Schema) -> Mapping[str, Any]:
        # A field that the record does not have is no mistake: one chain serves all tables.
        found = [field for field in fields_of(schema, "MaskField") if field["field"] in options.fields_]
        return {field["field"]: masked(field, options.replacement) for field in found}

    by_schema = BySchema(compiled)

    def change(content: Typed, _: ConnectRecord) -> Typed:
        masks = by_schema(content.schema)
        values = members(content, options.replace_null_with_default)
        if not masks:
            return content
        shown = {name: masks[name] if name in masks and value is not None else value for name, value in values.items()}
        return typed(content.schema, shown)

    return on(side, change)


def masked(schema: Schema, replacement: str | None) -> Any:
    """What stands for all values of a field: an empty text, a zero, or the replacement as a value of the field's type.

    :raises ValueDecodeError: the type cannot be masked, or the replacement is none of its values.
    """
    kind, name = schema["type"], schema["field"]
    try:
        if schema.get("name") == DECIMAL:
            return _decimal(Decimal(replacement or 0), int(schema["parameters"]["scale"]))
        if kind in _INTEGERS:
            return _integer(int(replacement or 0), _INTEGERS[kind])
        if kind in _FLOATS:
            return floating(float(replacement or 0))
    except (ValueError, InvalidOperation):
        raise ValueDecodeError(f"field {name}: the replacement {replacement} is no value of {kind}") from None
    if kind == "string":
        return replacement or ""
    if replacement is None and kind == "boolean":
        return False
    if replacement is None and kind in _CONTAINERS:
        return _CONTAINERS[kind]
    with_it = " with a replacement" if replacement is not None else ""
    raise ValueDecodeError(f"field {name}: values of type {kind} cannot be masked{with_it}")


def _integer(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(number)
    return number


def _decimal(number: Decimal, scale: int) -> str:
    """Connect's Decimal in JSON."""
    unscaled = number.scaleb(scale)
    if unscaled != int(unscaled):
        raise ValueError(number)
    whole = int(unscaled)
    return base64.b64encode(whole.to_bytes((8 + (whole + (whole < 0)).bit_length()) // 8, "big", signed=True)).decode()


def insert_field(options: options_of.InsertField, side: Side) -> Transform:
    """The transformation InsertField: adds fields with a constant or the topic, as texts, after the others. A name may end
    in `!` for a field that is not optional, or in `?`. It raises DecodeError for a record that it does not fit."""
    wanted = [
        (name, text) for name, text in ((options.topic_field, None), (options.static_field, options.static_value)) if name
    ]
    names = [(name.rstrip("!?"), text) for name, text in wanted]
    fields = [member(STRING if name.endswith("!") else OPTIONAL_STRING, name.rstrip("!?")) for name, _ in wanted]

    def compiled(schema: Schema) -> Schema:
        return struct_like(schema, [*fields_of(schema, "InsertField"), *fields])

    by_schema = BySchema(compiled)

    def change(content: Typed, record: ConnectRecord) -> Typed:
        schema = by_schema(content.schema)
        added = {name: record.topic if text is None else text for name, text in names}
        if options.replace_null_with_default:
            return typed(schema, {**members(content, True), **added})
        text = content.text
        return Typed(schema, text[:-1] + b"," + to_json(added)[1:] if text != b"{}" else to_json(added))

    return on(side, change)


def extract_field(options: options_of.ExtractField, side: Side) -> Transform:
    """The transformation ExtractField: the value of one field in place of the whole key or value; none at all where it is
    null, and has no default that is to stand for it. It raises DecodeError for a record that it does not fit."""
    path = options.field.split(".") if options.field_syntax_version == "V2" else [options.field]

    def compiled(schema: Schema) -> Schema:
        for name in path:
            schema = field_of(schema, name, f"the {side}")
        return bare(schema)

    by_schema = BySchema(compiled)

    def change(content: Typed, _: ConnectRecord) -> Typed | None:
        schema, value = by_schema(content.schema), content.value
        for name in path:
            value = None if value is None else value[name]
        if value is None and options.replace_null_with_default:
            value = schema.get("default")
        return None if value is None else typed(schema, value)

    return on(side, change)


def hoist_field(options: options_of.HoistField, side: Side) -> Transform:
    """The transformation HoistField: a struct whose only field is the whole key or value. It raises ValueDecodeError for a
    text with half a surrogate pair."""

    def compiled(schema: Schema) -> Schema:
        return {"type": "struct", "fields": [member(schema, options.field)], "optional": False}

    by_schema = BySchema(compiled)
    head = to_json({options.field: None})[: -len(b"null}")]
    return on(side, lambda content, _: Typed(by_schema(content.schema), head + content.text + b"}"))


def flatten(options: options_of.Flatten, side: Side) -> Transform:
    """The transformation Flatten: the fields of structs in structs beside each other, their names joined by the delimiter.
    It raises DecodeError for a record that it does not fit."""

    def leaves(schema: Schema, path: tuple[str, ...], nullable: bool) -> Iterator[tuple[tuple[str, ...], Schema]]:
        for field in fields_of(schema, "Flatten"):
            at, may_lack = (*path, field["field"]), nullable or bool(field.get("optional"))
            if field["type"] == "struct":
                yield from leaves(field, at, may_lack)
            else:
                yield at, {**field, "optional": may_lack, "field": options.delimiter.join(at)}

    def compiled(schema: Schema) -> tuple[Schema, Sequence[tuple[tuple[str, ...], str]]]:
        found = list(leaves(schema, (), bool(schema.get("optional"))))
        return struct_like(schema, [field for _, field in found]), [(path, field["field"]) for path, field in found]

    by_schema = BySchema(compiled)

    def change(content: Typed, _: ConnectRecord) -> Typed:
        schema, paths = by_schema(content.schema)
        return typed(schema, {name: _at(content.value, path) for path, name in paths})

    return on(side, change)


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if value is None:
            return None
        value = value[name]
    return value


def set_schema_metadata(options: options_of.SetSchemaMetadata, side: Side) -> Transform:
    """The transformation SetSchemaMetadata: another name, or version, of the schema of key or value. It raises
    ValueDecodeError for a text with half a surrogate pair."""
    given = {"name": options.schema_name or None, "version": options.schema_version}
    changes = {name: value for name, value in given.items() if value is not None}
    by_schema = BySchema(lambda schema: {**schema, **changes})

    def change(content: Typed, _: ConnectRecord) -> Typed:
        schema = by_schema(content.schema)
        if options.replace_null_with_default and schema["type"] == "struct":
            return typed(schema, with_defaults(content.schema, content.value))
        return Typed(schema, content.text)

    return on(side, change)


def value_to_key(options: options_of.ValueToKey) -> Transform:
    """The transformation ValueToKey: a key of some fields of the value. It raises ValueDecodeError for a record without
    value, or whose value does not have the fields; RecordSchemaError for a field that is listed twice."""

    def compiled(schema: Schema) -> Schema:
        fields = distinct(member(field_of(schema, name, "the value"), name) for name in options.fields_)
        return {"type": "struct", "fields": fields, "optional": False}

    by_schema = BySchema(compiled)

    def transform(record: ConnectRecord) -> ConnectRecord:
        if record.value is None:
            raise ValueDecodeError(
                "a record without a value (such as a tombstone) has no fields to build a key from",
                hint="Exclude tombstones: tombstones.on.delete=false, or a predicate RecordIsTombstone with negate=true.",
            )
        schema = by_schema(record.value.schema)
        values = members(record.value, options.replace_null_with_default)
        return record.with_key(typed(schema, {name: values[name] for name in options.fields_}))

    return transform
