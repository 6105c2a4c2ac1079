"""EventRouter: rows that are inserted into an outbox table, or that a snapshot reads, become records of the events they hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minercdc.config.transforms.options import Outbox
from minercdc.errors import ConfigError, RecordSchemaError, ValueDecodeError
from minercdc.messages.formats.connect import TIMESTAMP, Schema
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Headers, Transform, Typed, typed
from minercdc.messages.transforms.routing import replacing
from minercdc.messages.transforms.schemas import bare, field_of, member, struct_like

_log = logging.getLogger(__name__)
_INT32 = 1 << 31
_PER_MS = {
    TIMESTAMP: 1,
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 10**3,
    "io.debezium.time.NanoTimestamp": 10**6,
}
_PAYLOAD = "payload"
# Which column has the key where no option names it and the table has it.
_KEY = "aggregateid"


@dataclass(frozen=True, slots=True)
class _Table:
    """What is made of the rows of one schema.

    :param key: column of the key, '' for none; `partition` likewise.
    :param per_ms: units in a millisecond of the column with the record's time; 0 without such a column.
    :param value: schema of values with additional fields; None where the payload alone is the value.
    """

    row: Schema
    payload: Schema
    id: Schema
    key: str
    partition: str
    per_ms: int
    headers: Sequence[tuple[str, str, Schema]]
    fields: Sequence[tuple[str, str]]
    value: Schema | None


def event_router(options: Outbox) -> Transform:
    """The transformation EventRouter: a row that was inserted into an outbox table, or that a snapshot read, becomes a record of
    the event in it; its other changes are left out, updates with a line in the log, and so are all tombstones. Other records that
    are no envelopes stay. It raises ConfigError for an update where that is `fatal`, DecodeError for a table or row that lacks
    what an option names."""
    return _Router(options)


class _Router:
    def __init__(self, options: Outbox) -> None:
        self._options = options
        self._tables = BySchema(self._compile)
        self._topic = replacing(options.route_topic_regex, options.route_topic_replacement)
        self._shapes: dict[str, Schema] = {}  # of payloads that are JSON
        self._values: dict[tuple[int, int, int, str], Schema] = {}  # of values with additional fields

    def _compile(self, envelope: Schema) -> _Table:
        options, what = self._options, "the outbox table"
        row = bare(field_of(envelope, "after", what))
        names = {field["field"] for field in row["fields"]}
        for name in (options.route_by_field, options.table_field_event_schema_version):
            if name:
                field_of(row, name, what)
        payload = field_of(row, options.table_field_event_payload, what)
        placed = options.table_fields_additional_placement
        if not options.table_fields_additional_error_on_missing:
            placed = tuple(one for one in placed if one[0] in names)
        found = [
            (one[0], one[1].lower(), one[-1] if len(one) == 3 else one[0], field_of(row, one[0], what)) for one in placed
        ]
        fields = [(name, alias) for name, place, alias, _ in found if place == "envelope"]
        members = [member(schema, alias) for _, place, alias, schema in found if place == "envelope"]
        key = options.table_field_event_key or (_KEY if _KEY in names else "")
        if key:
            field_of(row, key, what)
        return _Table(
            row,
            bare(payload),
            bare(field_of(row, options.table_field_event_id, what)),
            key,
            next((name for name, place, _, _ in reversed(found) if place == "partition"), ""),
            _units(row, options.table_field_event_timestamp),
            [(name, alias, bare(schema)) for name, place, alias, schema in found if place == "header"],
            fields,
            struct_like(row, [member(payload, _PAYLOAD), *members]) if fields else None,
        )

    def __call__(self, record: ConnectRecord) -> ConnectRecord | None:
        if record.value is None:
            return None
        if not record.is_envelope:
            return record
        envelope = record.value.value
        if envelope["op"] not in ("c", "r"):
            self._refuse_update(record, envelope["op"])
            return None
        table, row = self._tables(record.value.schema), envelope["after"]
        schema, payload = self._payload(table, row[self._options.table_field_event_payload])
        headers: Headers = (("id", typed(table.id, row[self._options.table_field_event_id])),)
        headers += tuple((alias, typed(kind, row[name])) for name, alias, kind in table.headers)
        key = row[table.key] if table.key else None
        return replace(
            record,
            topic=self._routed(row),
            key=None if key is None else typed(bare(field_of(table.row, table.key, "")), key),
            value=self._value(table, row, schema, payload),
            headers=record.headers + headers,
            partition=_partition(row[table.partition], table.partition) if table.partition else None,
            timestamp_ms=self._time(table, row) if table.per_ms else None,
        )

    def _time(self, table: _Table, row: Mapping[str, Any]) -> int | None:
        """The time of a record, None where the row has none."""
        name = self._options.table_field_event_timestamp
        value = row[name]
        if value is not None and value < 0:
            raise ValueDecodeError(f"table.field.event.timestamp: {name} is before 1970, which is not allowed for records")
        return None if value is None else int(value // table.per_ms)

    def _refuse_update(self, record: ConnectRecord, op: str) -> None:
        """Log that a row was updated, as a warning or error; other operations are passed over."""
        if op == "u":
            behavior, text = self._options.table_op_invalid_behavior, f"a row of the outbox topic {record.topic} was updated"
            if behavior == "fatal":
                raise ConfigError([f"table.op.invalid.behavior=fatal: {text}"])
            _log.log(logging.ERROR if behavior == "error" else logging.WARNING, "%s; its record is left out", text)

    def _routed(self, row: Mapping[str, Any]) -> str:
        by = row[self._options.route_by_field]
        if by is None:
            raise ValueDecodeError(f"route.by.field: {self._options.route_by_field} is null")
        return self._topic(str(by)) or str(by)

    def _payload(self, table: _Table, payload: Any) -> tuple[Schema, Any]:
        """The payload and its schema; those of the JSON in it, where that is wanted and it is an object or array. JSON that
        has no schema stays text, with a warning in the log."""
        if not (self._options.table_expand_json_payload and isinstance(payload, str) and payload.lstrip()[:1] in ("{", "[")):
            return table.payload, payload
        try:
            found = json.loads(payload)
            keeps_null = self._options.table_json_payload_null_behavior == "optional_bytes"
            schema = _inferred(found, self._options.table_field_event_payload, keeps_null)
        except ValueError as error:
            _log.warning("table.expand.json.payload: a payload stays text: %s", error)
            return table.payload, payload
        return self._shapes.setdefault(json.dumps(schema), schema), _fitting(found, schema)

    def _value(self, table: _Table, row: Mapping[str, Any], schema: Schema, payload: Any) -> Typed | None:
        is_tombstone = self._options.route_tombstone_on_empty_payload and not str(payload or "").strip()
        if is_tombstone or (payload is None and table.value is None):
            return None
        if table.value is None:
            return typed(schema, payload)
        version, by = self._options.table_field_event_schema_version, str(row[self._options.route_by_field])
        known = (id(table.value), id(schema), int(row[version]) if version else 0, by)
        if known not in self._values:
            fields = [member(schema, _PAYLOAD), *table.value["fields"][1:]]
            name = _named_after(str(table.value.get("name") or ""), by)
            self._values[known] = struct_like(table.value, fields, name=name, version=known[2] or None)
        return typed(self._values[known], {_PAYLOAD: payload, **{alias: row[name] for name, alias in table.fields}})


def _named_after(name: str, routed: str) -> str:
    """The name of a value's schema: that of the outbox's rows, with what the event is routed by before its last part, as Debezium has it."""
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{routed}.{last}" if name else routed


def _units(row: Schema, name: str) -> int:
    """Units in a millisecond of the times in a column; 0 without a name."""
    if not name:
        return 0
    kind = str(field_of(row, name, "the outbox table").get("name"))
    if kind not in _PER_MS:
        raise RecordSchemaError(
            f"table.field.event.timestamp: {name} is not a time in milliseconds, microseconds or nanoseconds since 1970",
            hint="Name a DATE or TIMESTAMP column, or set time.precision.mode to one that makes numbers of it.",
        )
    return _PER_MS[kind]


def _partition(value: Any, name: str) -> int:
    """The partition that a column names."""
    if not isinstance(value, int) or not 0 <= value < _INT32:
        raise ValueDecodeError(
            f"table.fields.additional.placement: {name} is {value!r}, which is not a number of a partition"
        )
    return value


def _inferred(value: Any, name: str, keeps_null: bool) -> Schema:
    """The schema of a JSON value. Structs have the names of their place, as Debezium gives them.

    :param name: of the member that holds it, with those it is in.
    :param keeps_null: members that are null are optional bytes; else they have no schema.
    """
    match value:
        case bool():
            return {"type": "boolean", "optional": True}
        case int():
            return {"type": "int32" if -_INT32 <= value < _INT32 else "int64", "optional": True}
        case float():
            return {"type": "double", "optional": True}
        case str():
            return {"type": "string", "optional": True}
        case dict():
            some = {key: inner for key, inner in value.items() if keeps_null or inner is not None}
            fields = [member(_inferred(inner, f"{name}.{key}", keeps_null), key) for key, inner in some.items()]
            return {"type": "struct", "fields": fields, "optional": True, "name": name}
        case list():
            schemas = [_inferred(item, name, keeps_null) for item in value if item is not None]
            if any(schema != schemas[0] for schema in schemas):
                raise ValueError("an array holds values of several types")
            of_nothing = "bytes" if value and keeps_null else "string"
            return {
                "type": "array",
                "items": schemas[0] if schemas else {"type": of_nothing, "optional": True},
                "optional": True,
            }
        case None if keeps_null:
            return {"type": "bytes", "optional": True}
    raise ValueError("it is null")


def _fitting(value: Any, schema: Schema) -> Any:
    """A value without the members that its schema does not have."""
    if isinstance(value, dict):
        return {field["field"]: _fitting(value[field["field"]], field) for field in schema["fields"]}
    if isinstance(value, list):
        return [None if item is None else _fitting(item, schema["items"]) for item in value]
    return value
