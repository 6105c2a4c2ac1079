"""ExtractNewRecordState: the row in place of the envelope; and ExtractChangedRecordState, headers with the changed fields' names.

The row is cut out of the text of an envelope that the encoder printed: within JSON no text has a quote that a comma or brace stands
right before, so `},"after":` and `,"source":{"version":"` are members of the envelope, or of a struct in a column of such a name. An
envelope of which another step left a member out, or to which one added a struct, is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from minercdc.config.transforms.options import ChangedFields, Unwrap, added_name
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import Schema
from minercdc.messages.transforms.record import (
    BySchema,
    ConnectRecord,
    Headers,
    Transform,
    Typed,
    to_json,
    typed,
)
from minercdc.messages.transforms.schemas import (
    OPTIONAL_STRING,
    bare,
    field_of,
    fields_of,
    member,
    optional,
    struct_like,
    with_defaults,
)
from minercdc.stream.events import Op

_NO_BEFORE, _AFTER, _BEFORE = b'{"before":null,"after":', b'},"after":', b'{"before":'
_SOURCE = b',"source":{"version":"'
_TRANSACTION = ("id", "total_order", "data_collection_order")
_OF_ENVELOPE = ("op", "ts_ms", "ts_us", "ts_ns")
_ROWS = ("before", "after")
_NESTED = ("struct", "array", "map")
_PRINTED_FIRST = ("before", "after", "source")
_VALUE = rb'("(?:[^"\\]|\\.)*"|[^,}]*)'
_NO_TRANSACTION = b',"transaction":null'
DELETED = "__deleted"
_NAMES: Schema = {"type": "array", "items": {"type": "string", "optional": True}, "optional": True}

Cut: TypeAlias = tuple[bytes | None, bytes | None, bytes]
"""JSON of the row before, of the row after, and of an envelope with the members from `source` on."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A member of the envelope that is added to rows or headers.

    :param struct: that holds it, None for the envelope itself.
    :param name: in the row, or of the header.
    """

    struct: str | None
    field: str
    name: str

    @classmethod
    def parse(cls, text: str, prefix: str) -> Reference:
        """The member that an entry of add.fields or add.headers names: `op`, `source.ts_ms`, or `op:OPERATION` to give it a
        name."""
        struct, dot, field = text.partition(":")[0].rpartition(".")
        if dot:
            return cls(struct, field, added_name(text, prefix))
        found = None if field in _OF_ENVELOPE else "transaction" if field in _TRANSACTION else "source"
        return cls(found, field, added_name(text, prefix))

    @property
    def is_of_row(self) -> bool:
        """Whether it is of the row before or after, which a `Cut` has apart from the envelope's other members."""
        return self.struct in _ROWS or self.field in _ROWS

    def schema_in(self, envelope: Schema) -> Schema | None:
        """The schema of the added field, which allows null; None when the envelope does not have the member."""
        parent = _find(envelope, self.struct) if self.struct else envelope
        found = (_find(parent, self.field) if parent is not None else None) or _find(envelope, self.field)
        return None if found is None else optional(bare(found))

    def value_in(self, envelope: dict[str, Any]) -> Any:
        parent = envelope.get(self.struct) if self.struct else envelope
        if parent is None:
            return None
        return parent[self.field] if self.field in parent else envelope.get(self.field)

    def cut_in(self, envelope: Schema) -> Callable[[bytes], bytes] | None:
        """A function that takes the member's JSON out of an envelope's members from `source` on; None where it has to be parsed.

        The member of `source` is the first of its name, that of the envelope the last.
        """
        if not _is_as_printed(envelope):
            return None
        parent = _find(envelope, self.struct) if self.struct else envelope
        field = _find(parent, self.field) if parent is not None else None
        if field is None or field["type"] in _NESTED or self.struct not in (None, "source", "transaction"):
            return None
        name = f"{encode_basestring(self.field)}:".encode()
        find = re.compile(re.escape(name) + _VALUE).search
        if self.struct is None:
            return lambda rest: _group(find(rest, rest.rindex(name)))
        if self.struct == "transaction":
            return lambda rest: b"null" if _NO_TRANSACTION in rest else _group(find(rest))
        return lambda rest: _group(find(rest))


def _group(match: re.Match[bytes] | None) -> bytes:
    if match is None:
        raise ValueDecodeError("the envelope lacks a member that add.fields names")
    return match[1]


def _find(schema: Schema, name: str) -> Schema | None:
    return next((field for field in schema.get("fields", ()) if field["field"] == name), None)


def _is_as_printed(envelope: Schema) -> bool:
    """Whether the envelope has its rows and `source` first, as the encoder prints them, and no struct but `transaction` after them: no
    other member has the names that its text is searched for."""
    fields = envelope["fields"]
    if tuple(field["field"] for field in fields[:3]) != _PRINTED_FIRST or not fields[2].get("fields"):
        return False
    source, transaction = fields[2]["fields"], next((f["fields"] for f in fields if f["field"] == "transaction"), ())
    others = [field for field in fields[3:] if field["field"] != "transaction"]
    return bool(source[0]["field"] == "version" and source[0]["type"] == "string") and not any(
        field["type"] in _NESTED for field in (*source, *transaction, *others)
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """What is made of the envelopes of one schema.

    :param cut: takes an envelope apart.
    :param row: schema of its rows, as they are.
    :param written: schema of the rows that are written, with what is added.
    :param added: what is added to each row: the text before its value, and what takes that out of the envelope's text, if it can be.
    :param is_parsed: whether the envelope's members from `source` on have to be parsed.
    :param has_rows: whether the rows have to be parsed, too.
    :param headers: what becomes headers, with their schemas.
    """

    cut: Callable[[bytes], Cut]
    row: Schema
    written: Schema
    added: Sequence[tuple[bytes, Reference, Callable[[bytes], bytes] | None]]
    is_parsed: bool
    has_rows: bool
    headers: Sequence[tuple[Reference, Schema]]


def unknown_members(options: Unwrap, envelope: Schema) -> Iterator[tuple[str, str]]:
    """Option and text of what `add.fields` and `add.headers` name and an envelope of this schema does not have."""
    for option, texts in (("add.fields", options.add_fields), ("add.headers", options.add_headers)):
        for text in texts:
            if Reference.parse(text, "").schema_in(envelope) is None:
                yield option, text


def deletes_become(options: Unwrap) -> tuple[str, bool]:
    """(what a delete becomes: `drop`: nothing, `null`: a tombstone, `rewrite`: the row before; whether tombstones stay)."""
    if options.is_legacy:
        deletes = {"drop": "drop", "none": "null", "rewrite": "rewrite"}[options.delete_handling_mode or "drop"]
        return deletes, options.drop_tombstones is False
    mode = options.delete_tombstone_handling_mode or "tombstone"
    return "drop" if mode == "drop" else "rewrite" if mode.startswith(
        "rewrite"
    ) else "null", mode == "rewrite-with-tombstone"


def unwrap(options: Unwrap) -> Transform:
    """The transformation ExtractNewRecordState: the row in place of the envelope, with what is to be added; what deletes become,
    and whether tombstones stay, as the options say. A TRUNCATE is left out; records that are no envelopes stay. It raises
    DecodeError for a record that it does not fit."""
    return _Unwrap(options)


class _Unwrap:
    def __init__(self, options: Unwrap) -> None:
        self._options = options
        self._fields = [Reference.parse(text, options.add_fields_prefix) for text in options.add_fields]
        self._headers = [Reference.parse(text, options.add_headers_prefix) for text in options.add_headers]
        self._deletes, self._keeps_tombstones = deletes_become(options)
        self._rows = BySchema(self._compile)
        self._dropped: dict[tuple[int, tuple[str, ...]], Schema] = {}

    def _compile(self, envelope: Schema) -> _Row:
        after = field_of(envelope, "after", "the envelope")
        added, members = [], []
        if self._deletes == "rewrite":
            members.append(member(OPTIONAL_STRING, DELETED))
        for reference in self._fields:
            if (schema := reference.schema_in(envelope)) is not None:
                members.append(member(schema, reference.name))
                added.append((f",{encode_basestring(reference.name)}:".encode(), reference, reference.cut_in(envelope)))
        row = {**bare(after), "optional": False}  # as Debezium: a record has its row, or no value
        headers = [(reference, schema) for reference in self._headers if (schema := reference.schema_in(envelope))]
        names = {field["field"] for field in row["fields"]}
        cut = _parsed if names & {"after", "source"} or not _is_as_printed(envelope) else _cut
        is_parsed = bool(headers) or any(take is None for *_, take in added)
        has_rows = any(reference.is_of_row for reference in (*(r for _, r, _ in added), *(r for r, _ in headers)))
        written = struct_like(row, [*row["fields"], *members]) if members else row
        return _Row(cut, row, written, added, is_parsed, has_rows, headers)

    def __call__(self, record: ConnectRecord) -> ConnectRecord | None:
        if record.value is None:
            return self._tombstone(record)
        if not record.is_envelope:
            return record
        compiled = self._rows(record.value.schema)
        before, after, rest = compiled.cut(record.value.text)
        if before is None and after is None:
            return self._without_row(record, rest)
        envelope = json.loads(rest) if compiled.is_parsed else {}
        if compiled.has_rows:
            envelope |= {"before": _loaded(before), "after": _loaded(after)}
        headers = record.headers
        if compiled.headers:
            headers += tuple(
                (reference.name, typed(schema, reference.value_in(envelope))) for reference, schema in compiled.headers
            )
        row = before if after is None else after
        assert row is not None
        content: Typed | None
        if after is None and self._deletes == "drop":
            return None
        topic = self._topic(record.topic, compiled.row, row)
        if after is None and self._deletes == "null":
            return ConnectRecord(topic, record.key, None, headers, record.partition, record.timestamp_ms)
        content = self._content(compiled, row, rest, envelope, deleted=after is None)
        made = ConnectRecord(topic, record.key, content, headers, record.partition, record.timestamp_ms)
        return self._without_fields(made) if self._options.drop_fields_header_name else made

    def _without_row(self, record: ConnectRecord, rest: bytes) -> ConnectRecord | None:
        """What a TRUNCATE becomes: nothing; and the delete of a vanished row of which only the key is known: a tombstone, unless
        deletes are dropped."""
        if self._deletes == "drop" or json.loads(rest)["op"] != Op.DELETE.value:
            return None
        return replace(record, value=None)

    def _tombstone(self, record: ConnectRecord) -> ConnectRecord | None:
        if not self._keeps_tombstones:
            return None
        added = tuple((r.name, typed(OPTIONAL_STRING, "d")) for r in self._headers if (r.struct, r.field) == (None, "op"))
        return replace(record, headers=record.headers + added) if added else record

    def _topic(self, topic: str, schema: Schema, row: bytes) -> str:
        if not self._options.route_by_field:
            return topic
        field_of(schema, self._options.route_by_field, "route.by.field: the row")
        routed = json.loads(row)[self._options.route_by_field]
        return str(routed) if routed is not None and str(routed).strip() else topic

    def _content(self, compiled: _Row, row: bytes, rest: bytes, envelope: dict[str, Any], *, deleted: bool) -> Typed:
        # As Debezium 3.6: it passes the option to the step that inserts `__deleted`, and copies rows as they are otherwise.
        if self._options.replace_null_with_default and self._deletes == "rewrite":
            row = to_json(with_defaults(compiled.row, json.loads(row)))
        if compiled.written is compiled.row:
            return Typed(compiled.row, row)
        parts = [row[:-1]]
        if self._deletes == "rewrite":
            parts.append(b',"__deleted":"true"' if deleted else b',"__deleted":"false"')
        for name, reference, take in compiled.added:
            parts += (name, to_json(reference.value_in(envelope)) if take is None else take(rest))
        parts.append(b"}")
        if row == b"{}":
            parts[1] = parts[1][1:]  # no comma before the first member
        return Typed(compiled.written, b"".join(parts))

    def _without_fields(self, record: ConnectRecord) -> ConnectRecord:
        """Leave the fields out that a header lists, of which `keep.schema.compatible` keeps the required ones; a record without that header,
        or without a value, stays as it is."""
        header = next((c for name, c in record.headers if name == self._options.drop_fields_header_name), None)
        if not isinstance(header, Typed) or record.value is None or not header.value:
            return record
        names = tuple(header.value)
        made = replace(record, value=self._dropping(record.value, names))
        if self._options.drop_fields_from_key and made.key is not None:
            made.key = self._dropping(made.key, names)
        return made

    def _dropping(self, content: Typed, names: tuple[str, ...]) -> Typed:
        schema = content.schema
        made = self._dropped.get((id(schema), names))
        if made is None:
            fields = fields_of(schema, "drop.fields")
            only_optional = self._options.drop_fields_keep_schema_compatible
            kept = [
                field for field in fields if field["field"] not in names or (only_optional and not field.get("optional"))
            ]
            made = self._dropped[id(schema), names] = struct_like(schema, kept)
        return typed(made, {field["field"]: content.value[field["field"]] for field in made["fields"]})


def _cut(text: bytes) -> Cut:
    source = text.rfind(_SOURCE)
    if text.startswith(_NO_BEFORE):
        before, begin = None, len(_NO_BEFORE)
    else:
        at = text.index(_AFTER)
        before, begin = text[len(_BEFORE) : at + 1], at + len(_AFTER)
    after = text[begin:source]
    return before, None if after == b"null" else after, b"{" + text[source + 1 :]


def _parsed(text: bytes) -> Cut:
    envelope = json.loads(text)
    rows = [None if (row := envelope.pop(name, None)) is None else to_json(row) for name in ("before", "after")]
    return rows[0], rows[1], to_json(envelope)


def _loaded(row: bytes | None) -> dict[str, Any] | None:
    return None if row is None else json.loads(row)


def changed_fields(options: ChangedFields) -> Transform:
    """The transformation ExtractChangedRecordState: headers with the names of the fields that an update changed, and of
    those that it did not; both are empty for other changes. Records that are no envelopes stay."""

    def transform(record: ConnectRecord) -> ConnectRecord:
        if record.value is None or not record.is_envelope:
            return record
        envelope = record.value.value
        before, after = envelope["before"], envelope["after"]
        both = before is not None and after is not None
        names = list(before if before is not None else after or ())
        changed = [name for name in names if both and before[name] != after[name]]
        unchanged = [name for name in names if both and before[name] == after[name]]
        headers: Headers = tuple(
            (header, typed(_NAMES, found))
            for header, found in ((options.header_changed_name, changed), (options.header_unchanged_name, unchanged))
            if header
        )
        return replace(record, headers=record.headers + headers)

    return transform
