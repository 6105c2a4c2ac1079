"""What the transformations make of records, drawn: a function of the options (and the side) for each that the extension can do.

Each says of a record that was transformed in Python how its key, value and headers are made of what they were made of before. Where
that depends on more than which rows an envelope has, NotDrawn is raised, and Python transforms all such records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from minercdc.config.messages.registries import Side
from minercdc.config.transforms import field_options
from minercdc.config.transforms import options as options_of
from minercdc.config.transforms.option_form import Options
from minercdc.messages.formats.connect import Schema
from minercdc.messages.transforms.drawn import (
    Constant,
    Document,
    Drawn,
    DrawnRecord,
    Masked,
    NotDrawn,
    OrNull,
    Place,
    Quoted,
    Struct,
)
from minercdc.messages.transforms.fields import masked
from minercdc.messages.transforms.record import ConnectRecord, Typed, to_json
from minercdc.messages.transforms.unwrap import DELETED, Reference, deletes_become

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@dataclass(frozen=True, slots=True)
class Seen:
    """A transformation of one record.

    :param before, after: the record in Python.
    """

    before: ConnectRecord
    after: ConnectRecord
    document: Document


Draw: TypeAlias = Callable[[Seen, DrawnRecord], DrawnRecord | None]
"""What becomes of a drawn record; None where it is left out. Raises NotDrawn."""


def draw_of(options: Options, side: Side) -> Draw | None:
    """How a transformation is drawn; None for one that only Python does."""
    made = _DRAWINGS.get(type(options))
    return None if made is None else made(options, side)


def _keeps_defaults(options: Any, schema: Schema) -> None:
    """Raises NotDrawn where fields' defaults may stand for their nulls."""
    if options.replace_null_with_default and any("default" in field for field in schema.get("fields", ())):
        raise NotDrawn


def _side(record: DrawnRecord, side: Side) -> Drawn | None:
    return record.key if side == "key" else record.value


def _typed(record: ConnectRecord, side: Side) -> Typed:
    found = record.key if side == "key" else record.value
    assert found is not None
    return found


Change: TypeAlias = Callable[[Seen, Drawn, Schema], Drawn]
"""What becomes of a drawn key or value, with its schema before."""


def _on(side: Side, change: Change) -> Draw:
    """A transformation of the key, or the value, where there is one."""

    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        content = _side(record, side)
        if content is None:
            return record
        made = change(seen, content, _typed(seen.before, side).schema)
        return replace(record, key=made) if side == "key" else replace(record, value=made)

    return draw


def _regex_router(_options: options_of.Router, _side: Side) -> Draw:
    return lambda seen, record: replace(record, topic=seen.after.topic)


def _logical_table(options: options_of.LogicalTable, _side: Side) -> Draw:
    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        made = replace(record, topic=seen.after.topic)
        if seen.after is seen.before or record.key is None or not options.key_enforce_uniqueness:
            return made
        assert seen.after.key is not None
        table = Constant(to_json(seen.after.key.value[options.key_field_name]))
        return replace(made, key=seen.document.with_members(record.key, [(options.key_field_name, table)]))

    return draw


def _insert_header(options: options_of.InsertHeader, _side: Side) -> Draw:
    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        content = seen.after.headers[-1][1]
        assert isinstance(content, Typed)
        return replace(record, headers=(*record.headers, (options.header, Constant(to_json(content.value)))))

    return draw


def _drop_headers(options: options_of.DropHeaders, _side: Side) -> Draw:
    def draw(_seen: Seen, record: DrawnRecord) -> DrawnRecord:
        return replace(record, headers=tuple(header for header in record.headers if header[0] not in options.headers))

    return draw


def _drop_all(_options: options_of.DropAll, _side: Side) -> Draw:
    return lambda _seen, _record: None


def _value_to_key(options: field_options.ValueToKey, _side: Side) -> Draw:
    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        assert record.value is not None
        _keeps_defaults(options, _typed(seen.before, "value").schema)
        values = dict(seen.document.members(record.value))
        return replace(record, key=Struct(None, tuple((name, values[name]) for name in options.fields_)))

    return draw


def _replace_field(options: field_options.ReplaceField, side: Side) -> Draw:
    excluded, included = {*options.exclude, *options.blacklist}, {*options.include, *options.whitelist}
    renamed = {pair[0]: pair[1] for pair in options.renames}

    def change(seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        _keeps_defaults(options, schema)
        kept = (
            (renamed.get(name) or name, value)
            for name, value in seen.document.members(content)
            if name not in excluded and (not included or name in included)
        )
        return Struct(None, tuple(kept))

    return _on(side, change)


def _mask_field(options: field_options.MaskField, side: Side) -> Draw:
    def change(seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        _keeps_defaults(options, schema)
        fields = {field["field"]: field for field in schema["fields"] if field["field"] in options.fields_}
        if not fields:
            return content
        masks = {name: to_json(masked(field, options.replacement)) for name, field in fields.items()}
        members = seen.document.members(content)
        return Struct(None, tuple((name, _mask(value, masks[name]) if name in masks else value) for name, value in members))

    return _on(side, change)


def _mask(value: Drawn, mask: bytes) -> Drawn:
    if isinstance(value, Constant):
        return value if value.text == b"null" else Constant(mask)
    if isinstance(value, Struct | OrNull):
        raise NotDrawn
    return Masked(value.number, mask)


def _insert_field(options: field_options.InsertField, side: Side) -> Draw:
    def change(seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        _keeps_defaults(options, schema)
        wanted = ((options.topic_field, seen.before.topic), (options.static_field, options.static_value))
        added = [(name.rstrip("!?"), Constant(to_json(text))) for name, text in wanted if name]
        return seen.document.with_members(content, added)

    return _on(side, change)


def _hoist_field(options: field_options.HoistField, side: Side) -> Draw:
    return _on(side, lambda _seen, content, _schema: Struct(None, ((options.field, content),)))


def _set_schema_metadata(options: field_options.SetSchemaMetadata, side: Side) -> Draw:
    def change(_seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        _keeps_defaults(options, schema)
        return content

    return _on(side, change)


def _flatten(_options: field_options.Flatten, side: Side) -> Draw:
    def change(seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        made = _typed(seen.after, side).schema["fields"]
        leaves = list(_leaves(seen.document, content, schema))
        return Struct(None, tuple((field["field"], leaf) for field, leaf in zip(made, leaves, strict=True)))

    return _on(side, change)


def _leaves(document: Document, content: Drawn, schema: Schema) -> list[Drawn]:
    if isinstance(content, Struct):
        pairs = zip(document.members(content), schema["fields"], strict=True)
        members: list[tuple[Drawn, Schema]] = [(one, field) for (_, one), field in pairs]
    elif isinstance(content, Place | OrNull):
        members = [(OrNull(document.child_or_null(content.number, field["field"])), field) for field in schema["fields"]]
    else:
        raise NotDrawn
    found: list[Drawn] = []
    for one, field in members:
        found += _leaves(document, one, field) if field["type"] == "struct" else [one]
    return found


def _cast(options: field_options.Cast, side: Side) -> Draw:
    wanted = {part[0]: part[1].lower() for part in options.spec if len(part) == 2}

    def change(seen: Seen, content: Drawn, schema: Schema) -> Drawn:
        if any(len(part) == 1 for part in options.spec):
            raise NotDrawn
        _keeps_defaults(options, schema)
        types = {field["field"]: field for field in schema["fields"]}
        members = seen.document.members(content)
        made = ((name, _as(value, types[name], wanted[name]) if name in wanted else value) for name, value in members)
        return Struct(None, tuple(made))

    return _on(side, change)


def _as(value: Drawn, schema: Schema, target: str) -> Drawn:
    kind = schema["type"]
    if kind == target and kind in ("string", "boolean"):
        return value
    if kind in _INTEGERS and _INTEGERS.get(target, 0) >= _INTEGERS[kind]:
        return value
    if target == "string" and (kind in _INTEGERS or kind == "boolean") and isinstance(value, Place):
        return Quoted(value.number)
    raise NotDrawn


def _header_from(options: field_options.HeaderFrom, side: Side) -> Draw:
    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        content = _side(record, side)
        if content is None:
            return record
        _keeps_defaults(options, _typed(seen.before, side).schema)
        values = dict(seen.document.members(content))
        added = ((header, values[name]) for name, header in zip(options.fields_, options.headers, strict=True))
        made = replace(record, headers=(*record.headers, *added))
        if options.operation == "copy":
            return made
        kept = Struct(None, tuple((name, value) for name, value in values.items() if name not in options.fields_))
        return replace(made, key=kept) if side == "key" else replace(made, value=kept)

    return draw


def _header_to_value(options: options_of.HeaderToValue, _side: Side) -> Draw:
    pairs = [(header, tuple(field.split("."))) for header, field in zip(options.headers, options.fields_, strict=True)]

    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord:
        if seen.after is seen.before or record.value is None:
            return record
        found = {name: content for name, content in record.headers if name in options.headers}
        value: Drawn = record.value
        for header, path in pairs:
            if header in found:
                content = found[header]
                drawn = Constant(to_json(content.decode())) if isinstance(content, bytes) else content or Constant(b"null")
                value = _with_value(seen.document, value, path, drawn)
        kept = record.headers
        if options.operation == "move":
            kept = tuple(header for header in kept if header[0] not in options.headers)
        return replace(record, value=value, headers=kept)

    return draw


def _with_value(document: Document, content: Drawn, path: tuple[str, ...], added: Drawn) -> Drawn:
    name, *rest = path
    if not rest:
        return document.with_members(content, [(name, added)])
    members = document.members(content)
    if isinstance(content, Place) and content.number == 0 and name in ("before", "after") and not document.has_row(name):
        return content
    return Struct(
        None,
        tuple((one, _with_value(document, inner, tuple(rest), added) if one == name else inner) for one, inner in members),
    )


def _unwrap(options: options_of.Unwrap, _side: Side) -> Draw:
    """Of envelopes that are printed whole: one that lacks both rows is left to Python."""
    deletes, keeps_tombstones = deletes_become(options)
    fields = [Reference.parse(text, options.add_fields_prefix) for text in options.add_fields]
    headers = [Reference.parse(text, options.add_headers_prefix) for text in options.add_headers]

    def draw(seen: Seen, record: DrawnRecord) -> DrawnRecord | None:
        if options.route_by_field or options.drop_fields_header_name:
            raise NotDrawn
        if record.value is None:
            if not keeps_tombstones:
                return None
            added = tuple((r.name, Constant(b'"d"')) for r in headers if (r.struct, r.field) == (None, "op"))
            return replace(record, headers=record.headers + added)
        if not seen.before.is_envelope:
            return record
        if record.value != Place(0):
            raise NotDrawn
        deleted = not seen.document.has_row("after")
        if deleted and deletes == "drop":
            return None
        schema = _typed(seen.before, "value").schema
        made = replace(
            record, headers=(*record.headers, *((r.name, _member(seen.document, r)) for r in headers if r.schema_in(schema)))
        )
        if deleted and deletes == "null":
            return replace(made, value=None)
        row = seen.document.child(0, "before" if deleted else "after")
        _keeps_defaults(options, seen.document.schema(row))
        members: list[tuple[str, Drawn]] = []
        if deletes == "rewrite":
            members.append((DELETED, Constant(b'"true"' if deleted else b'"false"')))
        members += ((r.name, _member(seen.document, r)) for r in fields if r.schema_in(schema) is not None)
        return replace(made, value=seen.document.with_members(Place(row), members) if members else Place(row))

    return draw


def _member(document: Document, reference: Reference) -> Drawn:
    """As `Reference.value_in`."""
    envelope = document.schema(0)
    names = {field["field"]: field for field in envelope["fields"]}
    if not reference.struct:
        return Place(document.child(0, reference.field))
    parent = names.get(reference.struct)
    if parent is None or (reference.struct in ("before", "after") and not document.has_row(reference.struct)):
        return Constant(b"null")
    number = document.child(0, reference.struct)
    if any(field["field"] == reference.field for field in parent.get("fields", ())):
        return OrNull(document.child_or_null(number, reference.field))
    if parent.get("optional") and reference.struct not in ("before", "after"):
        raise NotDrawn
    return Place(document.child(0, reference.field)) if reference.field in names else Constant(b"null")


_DRAWINGS: Mapping[type[Options], Callable[[Any, Side], Draw]] = {
    options_of.Unwrap: _unwrap,
    options_of.Router: _regex_router,
    options_of.LogicalTable: _logical_table,
    options_of.InsertHeader: _insert_header,
    options_of.DropHeaders: _drop_headers,
    options_of.HeaderToValue: _header_to_value,
    options_of.DropAll: _drop_all,
    field_options.ValueToKey: _value_to_key,
    field_options.ReplaceField: _replace_field,
    field_options.MaskField: _mask_field,
    field_options.InsertField: _insert_field,
    field_options.HoistField: _hoist_field,
    field_options.SetSchemaMetadata: _set_schema_metadata,
    field_options.Flatten: _flatten,
    field_options.HeaderFrom: _header_from,
    field_options.Cast: _cast,
}
