"""Messages of each type, mode and kind of event in each format, as text that was reviewed: golden-types.txt and golden-events.txt.

`python -m tests.unit.messages.formats.golden` writes them again; then review what changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.unit.messages.formats.test_avro import parts
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, TX, encoder, event

from minercdc.messages.avro.encoding import compile_writer as avro_writer
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.envelope import connect_schema
from minercdc.messages.envelope.encoder import EnvelopeEncoder
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.connect import Schema
from minercdc.messages.formats.converting import Format, RecordConverter, Side
from minercdc.messages.formats.ext_json import ExtJsonFormat
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.formats.plain import StringFormat
from minercdc.messages.heartbeat import KafkaHeartbeat
from minercdc.messages.notification import NotificationEncoder
from minercdc.messages.protobuf.encoding import compile_writer as protobuf_writer
from minercdc.messages.protobuf.records import ProtobufFormat
from minercdc.messages.protobuf.schema import ProtobufOptions, protobuf_file
from minercdc.messages.protobuf.text import protobuf_text
from minercdc.messages.registries.apicurio import ApicurioRegistry, ApicurioSchemas, Artifact, artifact_names
from minercdc.messages.registries.confluent import SchemaRegistry, SchemaText
from minercdc.messages.registries.registered import ConfluentSchemas
from minercdc.messages.registries.subjects import TOPIC, subject_names
from minercdc.messages.transaction_metadata import TransactionEncoder
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import (
    ChangeEvent,
    Notification,
    Op,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionMark,
)
from minercdc.values.codec import ValueHandling

HERE = Path(__file__).parent
_DECIMAL = {"decimal": ("precise", "string", "double")}
_TIME = {"time_precision": ("adaptive", "connect", "isostring", "microseconds", "nanoseconds")}
_INTERVAL = {"interval": ("numeric", "string")}
_BINARY = {"binary": ("bytes", "base64", "base64-url-safe", "hex")}
OPTIONAL = ProtobufOptions(optional=True)


class Typed(NamedTuple):
    shown: str
    column: Column
    text: str
    modes: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def _column(kind: str, length: int | None = None, scale: int | None = None) -> Column:
    return Column("V", kind, length, scale)


TYPES = (
    Typed("NUMBER(2)", _column("NUMBER", 2, 0), "-7", _DECIMAL),
    Typed("NUMBER(4)", _column("NUMBER", 4, 0), "1234", _DECIMAL),
    Typed("NUMBER(9)", _column("NUMBER", 9, 0), "123456789", _DECIMAL),
    Typed("NUMBER(18)", _column("NUMBER", 18, 0), "123456789012345678", _DECIMAL),
    Typed("NUMBER(38)", _column("NUMBER", 38, 0), "12345678901234567890123456789012345678", _DECIMAL),
    Typed("NUMBER(12,2)", _column("NUMBER", 12, 2), "-12.3", _DECIMAL),
    Typed("NUMBER", _column("NUMBER"), "1234567890.125", _DECIMAL),
    Typed("NUMBER(5,-2)", _column("NUMBER", 5, -2), "1200", _DECIMAL),
    Typed("NUMBER(19)", _column("NUMBER", 19, 0), "-1234567890123456789", _DECIMAL),
    Typed("FLOAT(126)", _column("FLOAT", 126), "0.1", _DECIMAL),
    Typed("BINARY_FLOAT", _column("BINARY_FLOAT"), "1.5"),
    Typed("BINARY_FLOAT, not a number", _column("BINARY_FLOAT"), "NaN"),
    Typed("BINARY_DOUBLE", _column("BINARY_DOUBLE"), "-0.1"),
    Typed("VARCHAR2(10)", _column("VARCHAR2", 10), "grün"),
    Typed("CHAR(4)", _column("CHAR", 4), "ab  "),
    Typed("NVARCHAR2(10)", _column("NVARCHAR2", 10), "Ж€"),
    Typed("NCHAR(4)", _column("NCHAR", 4), "Ж   "),
    Typed("CLOB", _column("CLOB"), "long"),
    Typed("NCLOB", _column("NCLOB"), "Ж"),
    Typed("XMLTYPE", _column("XMLTYPE"), "<a>1</a>"),
    Typed("JSON", _column("JSON"), '{"a":[1.50,"\\u00fc"]}'),
    Typed("RAW(4)", _column("RAW", 4), "00FF10", _BINARY),
    Typed("BLOB", _column("BLOB"), "FBFF", _BINARY),
    Typed("DATE", _column("DATE"), "2026-09-21 10:30:00", _TIME),
    Typed("TIMESTAMP(3)", _column("TIMESTAMP", None, 3), "2026-09-21 10:30:00.123000000", _TIME),
    Typed("TIMESTAMP(6)", _column("TIMESTAMP", None, 6), "1969-12-31 23:59:59.500001000", _TIME),
    Typed("TIMESTAMP(9)", _column("TIMESTAMP", None, 9), "2026-09-21 10:30:00.123456789", _TIME),
    Typed(
        "TIMESTAMP(6) WITH TIME ZONE", _column("TIMESTAMP WITH TIME ZONE", None, 6), "2026-09-21 10:30:00.250000000 +05:30"
    ),
    Typed(
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        _column("TIMESTAMP WITH LOCAL TIME ZONE", None, 6),
        "2026-09-21 10:30:00.250000000",
    ),
    Typed("INTERVAL YEAR TO MONTH", _column("INTERVAL YEAR TO MONTH", 2), "+01-02", _INTERVAL),
    Typed("INTERVAL DAY TO SECOND", _column("INTERVAL DAY TO SECOND", 2, 6), "-03 04:05:06.780000000", _INTERVAL),
    Typed("ROWID", _column("ROWID"), "AAAR3sAAEAAAACXAAA"),
    Typed("BOOLEAN", _column("BOOLEAN"), "true"),
)


def _value(column: Column, text: str | None, **modes: str) -> tuple[Schema, Any]:
    """Schema and payload of one column."""
    table = TableSchema(ORDERS.id, (ORDERS.columns[0], column), key=(0,), stored=("ORDER_ID", "V"))
    handling = ValueHandling(**modes)  # type: ignore[arg-type]
    made = encoder(lambda: 0, handling, value_converter_schemas_enable="true", lob_enabled="true")
    (record,) = made.encode(event(Op.CREATE, None, ("1", text), table))
    schema, payload = parts(record.value)
    after = next(field for field in schema["fields"] if field["field"] == "after")
    return after["fields"][1], json.loads(payload)["after"]["V"]


def types_text() -> Iterator[str]:
    """Each type in each of its modes, with a value and with null."""
    yield "# Oracle's type, a value of it, and the mode; then the value, and null, in each format."
    for one in TYPES:
        for family, modes in (one.modes or {"": ("",)}).items():
            for mode in modes:
                given = {family: mode} if family else {}
                yield f"\n{one.shown}  {one.text}  {family.replace('_', ' ')} {mode}".rstrip()
                schema, value = _value(one.column, one.text, **given)
                row = connect_schema.struct([schema], name="Row")
                yield f"  connect   {json.dumps({k: v for k, v in schema.items() if k != 'field'}, ensure_ascii=False)}"
                yield f"  json      {json.dumps(value, ensure_ascii=False)}"
                avro: Any = avro_schema(row)
                hexes = (avro_writer(row)({"V": v}).hex() for v in (value, None))
                yield f"  avro      {avro_text(avro['fields'][0]['type'])}"
                yield f"            {' '.join(hexes)}"
                file = protobuf_file(row, OPTIONAL)
                lines = protobuf_text(file).partition("{\n")[2].rstrip("}\n")
                written, null = (protobuf_writer(file)({"V": v}).hex() for v in (value, None))
                yield f"  protobuf  {' '.join(lines.split())}"
                yield f"            {written} {null or 'nothing'}"


class Registry(SchemaRegistry):
    """Numbers schemas, and keeps them."""

    def __init__(self) -> None:
        self.url = "http://registry"
        self.schemas: dict[tuple[str, str], int] = {}

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        del normalize
        return self.schemas.setdefault((subject, schema.text), len(self.schemas) + 1)


def _records() -> Iterator[tuple[str, Callable[[EnvelopeEncoder], Iterable[Record]]]]:
    """Kinds of events, and how an encoder with schemas makes their records."""
    moved = ("70022", *PAID[1:])
    read = event(Op.READ, None, NEW)
    read.tx, read.snapshot = None, SnapshotMark.FIRST
    wider = replace(ORDERS, columns=(*ORDERS.columns, Column("CHANNEL", "VARCHAR2", 12, default="'WEB'")), version=2)
    ddl = "ALTER TABLE SALES.ORDERS ADD (CHANNEL VARCHAR2(12) DEFAULT 'WEB')"
    changes: dict[str, ChangeEvent | SchemaChange] = {
        "read": read,
        "create": event(Op.CREATE, None, NEW),
        "update": event(Op.UPDATE, NEW, PAID),
        "update of the key": event(Op.UPDATE, PAID, moved),
        "delete": event(Op.DELETE, PAID, None),
        "truncate": SchemaChange(
            ORDERS.id, ORDERS, ORDERS, "TRUNCATE TABLE ORDERS", Scn(8842017), TX.commit_us, truncate=True
        ),
        "schema change": SchemaChange(ORDERS.id, ORDERS, wider, ddl, Scn(8842020), TX.commit_us),
    }
    for kind, change in changes.items():
        yield kind, partial(_encoded, change)
    marks = TransactionEncoder("shop.transaction", key_schemas=True, value_schemas=True)
    yield "begin of a transaction", lambda _: [marks.encode(TransactionMark(TX, TX.commit_us))]
    counts = {"SHOPPDB.SALES.ORDERS": 2, "SHOPPDB.SALES.ORDER_LINES": 1}
    yield "end of a transaction", lambda _: [marks.encode(TransactionMark(TX, TX.commit_us, counts))]
    beats = KafkaHeartbeat(
        "__debezium-heartbeat.shop", "shop", 1, key_schemas=True, value_schemas=True, clock_ms=lambda: 1789990222017
    )
    yield "heartbeat", lambda _: filter(None, [beats.beat()])
    note = Notification(
        "id-1", "Initial Snapshot", "COMPLETED", 1_789_990_222_017_000, {"scanned_collection": "SHOPPDB.SALES.ORDERS"}
    )
    notes = NotificationEncoder("notes", "shop", key_schemas=True, value_schemas=True)
    yield "notification", lambda _: [notes.encode(note)]


def _encoded(change: ChangeEvent | SchemaChange, made: EnvelopeEncoder) -> Iterable[Record]:
    return made.encode(change)


class Artifacts(ApicurioRegistry):
    """Numbers schemas as Apicurio's registry does."""

    def __init__(self) -> None:
        self.url = "http://registry"
        self.schemas: dict[tuple[str, str], int] = {}

    def register(self, group: str, artifact: str, schema: SchemaText, if_exists: str) -> Artifact:
        del group, if_exists
        number = self.schemas.setdefault((artifact, schema.text), len(self.schemas) + 1)
        return Artifact({"globalId": number, "contentId": number})


_EVENTS = ("cloud events", "cloud events in binary mode")


def formats_of(registry: SchemaRegistry, side: Any) -> dict[str, Format]:
    schemas = ConfluentSchemas(registry, subject_names(TOPIC, side), auto_register=True, use_latest=False, normalize=False)
    artifacts = ApicurioSchemas(
        Artifacts(),
        artifact_names("TopicIdStrategy", side, ""),
        auto_register=True,
        if_exists="FIND_OR_CREATE_VERSION",
        find_latest=False,
        kind="globalId",
        as_confluent=False,
        header_prefix="",
    )
    others: dict[str, Format] = {
        "json": JsonFormat(schemas=False),
        "avro": AvroFormat(schemas),
        "protobuf": ProtobufFormat(schemas, OPTIONAL, skip_known=True),
        "apicurio's avro": AvroFormat(artifacts),
        "apicurio's json": ExtJsonFormat(artifacts),
        "text": StringFormat(),
    }
    if side == "key":
        return others | dict.fromkeys((*_EVENTS, "cloud events in avro"), others["json"])
    return others | {
        "cloud events": CloudEventsFormat(CloudEventsOptions()),
        "cloud events in binary mode": CloudEventsFormat(CloudEventsOptions(binary=True)),
        "cloud events in avro": CloudEventsFormat(CloudEventsOptions(avro_envelope=True), AvroFormat(schemas)),
    }


def events_text() -> Iterator[str]:
    """Each kind of event in each format, and the schemas."""
    yield "# Kind of event; then key and value of its records in each format: text of JSON, else hexadecimal."
    for kind, records in _records():
        yield f"\n## {kind}"
        for name in formats_of(Registry(), "value"):
            registry = Registry()
            converter = RecordConverter(*(Side(formats_of(registry, side)[name]) for side in ("key", "value")))
            made = encoder(
                key_converter_schemas_enable="true",
                value_converter_schemas_enable="true",
                skipped_operations="none",
            )
            for record in [converter.record(one) for one in records(made)]:
                yield f"{name}"
                yield f"  {_shown(record.key)}"
                yield f"  {_shown(record.value)}"
                yield from (f"  {header} {_shown(value)}" for header, value in _headers(record))
    for name in ("avro", "protobuf", "cloud events in avro"):
        registry = Registry()
        converter = RecordConverter(*(Side(formats_of(registry, side)[name]) for side in ("key", "value")))
        made = encoder(key_converter_schemas_enable="true", value_converter_schemas_enable="true")
        for record in made.encode(event(Op.CREATE, None, NEW)):
            converter.record(record)
        for (subject, text), number in registry.schemas.items():
            yield f"\n## schema {number} of {name}: {subject}"
            yield text.rstrip()


def _headers(record: Record) -> list[tuple[str, bytes | None]]:
    return [(name, value) for name, value in record.headers if not name.startswith("__debezium.context.")]


def _shown(content: bytes | None) -> str:
    if content is None:
        return "null"
    return content.decode() if content[:1] == b"{" else content.hex()


FILES = {"golden-types.txt": types_text, "golden-events.txt": events_text}

if __name__ == "__main__":
    for file_name, lines in FILES.items():
        (HERE / file_name).write_text("\n".join(lines()) + "\n")
