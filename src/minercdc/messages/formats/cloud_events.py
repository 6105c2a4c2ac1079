"""Values as CloudEvents 1.0, as Debezium's CloudEventsConverter writes them; and in binary mode, which it does not have.

    id                        Debezium's, and after it what differs between changes of one SCN; the same again when a change is sent again
    source, time              of the change, made of the members of `source`
    iodebezium<member>        op, the members of `source` and of `transaction`, without the underscores of their names; int64 as text
    data                      before and after: JSON, with their schema where it is wanted, or Avro as bytes

Records that are no changes (DDL, heartbeats, notifications, transaction metadata) stay JSON; Debezium makes tombstones of them. Their
schemas have names of Debezium's; a value with another name, which is no envelope, is a row that a transformation changed. It is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from minercdc import native
from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.formats.cloud_events_native import EventPlan
from minercdc.messages.formats.connect import Schema, schema_of
from minercdc.messages.formats.converting import MakeHeaders, NativeHeaders, NativeWrite, Write
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.transforms.drawn import NotDrawn

_DEBEZIUM = "io.debezium."
_DATA = "io.debezium.connector.oracle.Data"
_TYPE = "io.debezium.connector.oracle.DataChangeEvent"
_ENVELOPE = "CloudEvents.Envelope"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD, _REST = b'{"before":', b',"source":{'
_TRANSACTION = {"id": "txid", "total_order": "txtotalorder", "data_collection_order": "txdatacollectionorder"}
_REQUIRED = ("id", "source", "specversion", "type", "time", "datacontenttype")
Attributes: TypeAlias = Callable[[Mapping[str, Any], bytes], dict[str, Any]]
"""Makes attributes of an envelope's members from `source` on, and the text of those before."""


@dataclass(frozen=True, slots=True)
class CloudEventsOptions:
    """What the converter lets one choose.

    :param schemas: `data` in JSON has a schema.
    :param extensions: there are `iodebezium` attributes.
    :param avro_envelope: the event itself is in Avro.
    :param name: of its schema, '' for the default.
    :param adjusted: makes that name one of Avro's.
    :param binary: the value is `data`, and the attributes are headers.
    """

    schemas: bool = False
    extensions: bool = True
    avro_envelope: bool = False
    name: str = ""
    adjusted: Callable[[str], str] = str
    binary: bool = False


class CloudEventsFormat:
    """CloudEvents of values (formats.converting.FormatWithHeaders).

    :param avro: writes `data`, and the event where that is in Avro; None for JSON.
    """

    def __init__(self, options: CloudEventsOptions, avro: AvroFormat | None = None) -> None:
        self._options = options
        self._avro = avro
        self.has_headers = options.binary
        self._others = JsonFormat(schemas=options.schemas)

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that makes CloudEvents of envelopes, and writes other payloads as JSON. It raises DecodeError for a
        document of another form. With an Avro envelope it registers schemas, too, and raises the same errors.

        :raises RecordSchemaError: the registry refuses a schema, values are rows and no envelopes, or two members give one
            attribute.
        :raises SinkError, DeliveryError: the registry refuses us, or does not answer.
        """
        connect = schema_of(schema)
        fields = _change_fields(connect)
        if fields is None:
            _check_other(topic, connect)
            return self._others.compile(topic, schema)
        data, data_schema = self._data(topic, fields)
        plan = self._plan(connect, fields)
        if self._options.binary:
            return _in_binary(topic, data, plan, self._data_frame(fields))
        attributes = _attributes(fields, data_schema, self._content_type, extensions=self._options.extensions)
        if self._options.avro_envelope:
            return self._in_avro(topic, fields, attributes, data)

        def written(document: bytes, begin: int, end: int) -> bytes:
            at = _place(topic, document, begin, end)
            found = attributes(_rest(document, at, end), document[begin:at])
            text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
            content = data(document, begin, at)
            if self._avro is not None:
                content = b'"' + base64.b64encode(content) + b'"'
            return text[:-1].encode() + b',"data":' + content + b"}"

        if native.rows is None or plan is None:
            return written
        events = plan.structured(
            self._content_type, plan.data(*self._data_frame(fields)), extensions=self._options.extensions
        )
        return NativeWrite(native.rows.PiecesWriter(plan.nodes(native.rows.Nodes), events), written)

    def _plan(self, envelope: Schema, fields: Mapping[str, Schema]) -> EventPlan | None:
        """How the extension writes these envelopes; None where Python does."""
        if native.rows is None or self._avro is not None:
            return None
        try:
            return EventPlan(envelope, fields, native.rows.CONSTANTS, _extension, tuple(_TRANSACTION.values()))
        except NotDrawn:
            return None

    def compile_headers(self, topic: str, schema: bytes) -> MakeHeaders | None:
        """A function that makes the attributes of an event as headers, in binary mode; None in structured mode, and for
        schemas that are no envelopes. Raises as `compile`."""
        fields = _change_fields(schema_of(schema)) if self._options.binary else None
        if fields is None:
            return None
        _, data_schema = self._data(topic, fields)
        attributes = _attributes(fields, data_schema, self._content_type, extensions=self._options.extensions)

        def made(document: bytes, begin: int, end: int) -> tuple[tuple[str, bytes], ...]:
            at = _place(topic, document, begin, end)
            found = attributes(_rest(document, at, end), document[begin:at])
            content = ("content-type", found.pop("datacontenttype").encode())
            return (content, *((f"ce_{name}", str(value).encode()) for name, value in found.items() if value is not None))

        plan = self._plan(schema_of(schema), fields)
        if native.rows is None or plan is None:
            return made
        headers = plan.headers(self._content_type, extensions=self._options.extensions)
        return NativeHeaders(native.rows.HeaderPrint(plan.nodes(native.rows.Nodes), headers, False), made)

    @property
    def _content_type(self) -> str:
        return "application/json" if self._avro is None else "application/avro"

    def _data(self, topic: str, fields: Mapping[str, Schema]) -> tuple[Callable[[bytes, int, int], bytes], str]:
        """A function that writes `data` of what is before `source`, and the URL of its schema or '' for none; the schema
        is registered, or found, at once."""
        if self._avro is not None:
            schema = _data_schema(fields)
            subject = f"{topic}-data" if self._options.avro_envelope else topic
            write, number = self._avro.compiled(subject, schema)
            url = f"{self._avro.schemas.url}/schemas/ids/{number}"

            def in_avro(document: bytes, begin: int, at: int) -> bytes:
                payload = document[begin:at] + b"}"
                return write(payload, 0, len(payload))

            return in_avro, url
        head, tail = (text.encode() for text in self._data_frame(fields))
        return lambda document, begin, at: head + document[begin:at] + b"}" + tail, ""

    def _data_frame(self, fields: Mapping[str, Schema]) -> tuple[str, str]:
        """Texts before and after `data` in JSON."""
        if not self._options.schemas:
            return "", ""
        return f'{{"schema":{json.dumps(_data_schema(fields), separators=(",", ":"), ensure_ascii=False)},"payload":', "}"

    def _in_avro(
        self, topic: str, fields: Mapping[str, Schema], attributes: Attributes, data: Callable[[bytes, int, int], bytes]
    ) -> Write:
        """The event as a record of Avro, whose schema is named by its `source` unless a name is given. It is compiled with
        the first event of each name, where the function raises as `compile`; and DecodeError for an event that does not
        fit."""
        assert self._avro is not None
        avro, writers = self._avro, dict[str, Write]()

        def written(document: bytes, begin: int, end: int) -> bytes:
            at = _place(topic, document, begin, end)
            rest = _rest(document, at, end)
            source = rest["source"]
            name = self._options.name or f"{source['name']}.{source['db']}.{_ENVELOPE}"
            if name not in writers:
                schema = _event_schema(fields, self._options.adjusted(name), extensions=self._options.extensions)
                writers[name] = avro.compile(topic, json.dumps(schema).encode())
            event = {**attributes(rest, document[begin:at]), "data": base64.b64encode(data(document, begin, at)).decode()}
            payload = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
            return writers[name](payload, 0, len(payload))

        return written


def _in_binary(
    topic: str, data: Callable[[bytes, int, int], bytes], plan: EventPlan | None, frame: tuple[str, str]
) -> Write:
    """A function that writes `data` alone."""

    def written(document: bytes, begin: int, end: int) -> bytes:
        return data(document, begin, _place(topic, document, begin, end))

    if native.rows is None or plan is None:
        return written
    nodes = plan.nodes(native.rows.Nodes, data_only=True)
    return NativeWrite(native.rows.PiecesWriter(nodes, [plan.pieces(plan.data(*frame))]), written)


def _data_schema(fields: Mapping[str, Schema]) -> Schema:
    return {"type": "struct", "fields": [fields["before"], fields["after"]], "optional": False, "name": _DATA}


def _change_fields(schema: Schema) -> dict[str, Schema] | None:
    """The members of an envelope by their names; None for records that are no changes."""
    fields = {field["field"]: field for field in schema.get("fields", ())}
    is_change = str(schema.get("name", "")).endswith(".Envelope") and {"before", "after", "source", "op"} <= fields.keys()
    return fields if is_change else None


def _check_other(topic: str, schema: Schema) -> None:
    """Raises RecordSchemaError for the schema of a row that is no envelope any more."""
    name = str(schema.get("name") or "")
    if not name.startswith(_DEBEZIUM):
        found = f"schema {name}" if name else f"type {schema['type']} without a name"
        raise RecordSchemaError(
            f"values of topic {topic} are of {found}, and CloudEventsConverter makes events of envelopes with before, after, source and op",
            hint="Remove the step of transforms that changes the envelope, or make it keep these members.",
        )


def _place(topic: str, document: bytes, begin: int, end: int) -> int:
    """Where `before` and `after` end, and `source` and the others begin."""
    at = document.rfind(_REST, begin, end)
    if at < 0 or not document.startswith(_HEAD, begin):
        raise DecodeError(f"a record of topic {topic} is not a change event, although it has the schema of one")
    return at


def _rest(document: bytes, at: int, end: int) -> Any:
    return json.loads(b"{" + document[at + 1 : end])


def _attributes(fields: Mapping[str, Schema], data_schema: str, content_type: str, *, extensions: bool) -> Attributes:
    """A function that makes the attributes of an event of what it has beside `before` and `after`. With `extensions` it
    raises as `_check_extensions`."""
    # A CloudEvents integer has 32 bits.
    texts = frozenset(member["field"] for member in fields["source"]["fields"] if member["type"] == "int64")
    if extensions:
        _check_extensions([member["field"] for member in fields["source"]["fields"]])

    def attributes(rest: Mapping[str, Any], rows: bytes) -> dict[str, Any]:
        source = rest["source"]
        found: dict[str, Any] = {
            "id": _id(source, rest["op"], rows),
            "source": f"/debezium/oracle/{source['name']}",
            "specversion": "1.0",
            "type": _TYPE,
            "time": _time(source["ts_ms"]),
            "datacontenttype": content_type,
        }
        if data_schema:
            found["dataschema"] = data_schema
        if extensions:
            found["iodebeziumop"] = rest["op"]
            for name, value in source.items():
                found[_extension(name)] = str(value) if name in texts and value is not None else value
            transaction = rest.get("transaction") or {}
            for name, short in _TRANSACTION.items():
                value = transaction.get(name)
                found[_extension(short)] = None if value is None else str(value)
        return found

    return attributes


def _check_extensions(members: list[str]) -> None:
    """Raises RecordSchemaError where a member of `source` gives the attribute of another one, of `op` or of the transaction."""
    known: dict[str, str] = {_extension(short): f"transaction.{name}" for name, short in _TRANSACTION.items()}
    known["iodebeziumop"] = "op"
    for name in members:
        if (other := known.setdefault(_extension(name), f"source.{name}")) != f"source.{name}":
            raise RecordSchemaError(
                f"the members {other} and source.{name} both become the attribute {_extension(name)} of a CloudEvent",
                hint="Change the name in the step of transforms that adds one of them; or value.converter.extension.attributes.enable=false.",
            )


def _event_schema(fields: Mapping[str, Schema], name: str, *, extensions: bool) -> Schema:
    """The Connect schema of an event with `data` as bytes."""
    members = [_member(required, "string") for required in (*_REQUIRED, "dataschema")]
    if extensions:
        members.append(_member("iodebeziumop", "string"))
        for one in fields["source"]["fields"]:
            kind = (
                one["type"]
                if one["type"] == "boolean"
                else "int32"
                if one["type"] in ("int8", "int16", "int32")
                else "string"
            )
            members.append(_member(_extension(one["field"]), kind, optional=bool(one.get("optional"))))
        members += [_member(_extension(short), "string", optional=True) for short in _TRANSACTION.values()]
    return {"type": "struct", "fields": [*members, _member("data", "bytes")], "optional": False, "name": name}


def _member(name: str, kind: str, *, optional: bool = False) -> Schema:
    return {"type": kind, "optional": optional, "field": name}


def _extension(name: str) -> str:
    return "iodebezium" + name.replace("_", "")


def _id(source: Mapping[str, Any], op: str, rows: bytes) -> str:
    """The id of an event. Debezium's is that of the SCN, which all rows of a statement share; readers that pass over ids they know would
    lose them. A change has its number within its transaction, with its operation, since a change of the key is a delete and a create;
    a row of a snapshot its ROWID, and where there is none the digest of its values."""
    places = [f"{name}:{_shown(source.get(name))}" for name in ("name", "scn", "commit_scn", "lcr_position")]
    places += [f"table:{'.'.join(_shown(source.get(name)) for name in ('db', 'schema', 'table'))}", f"op:{op}"]
    if source.get("txSeq") is not None:
        places.append(f"change:{_shown(source.get('txId'))}/{source['txSeq']}")
    else:
        places.append(f"row:{source.get('row_id') or hashlib.sha256(rows).hexdigest()[:32]}")
    return ";".join(places)


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def _time(milliseconds: int) -> str:
    return f"{(_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec='milliseconds')[:-6]}Z"
