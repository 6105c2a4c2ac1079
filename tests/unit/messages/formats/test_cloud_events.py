"""CloudEvents, as Debezium 3.6.1 wrote them for the same change."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO
from typing import Any

import fastavro
import pytest
from tests.unit.messages.formats.registry_server import registry_server
from tests.unit.messages.test_envelope import NEW, PAID, encoder, event

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError, RecordSchemaError
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.envelope import connect_schema
from minercdc.messages.envelope.connect_schema import SOURCE
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.configured import record_converter
from minercdc.messages.formats.connect import split
from minercdc.messages.formats.converting import Side
from minercdc.messages.registries.confluent import SchemaText
from minercdc.messages.registries.registered import Identity
from minercdc.schema.name_adjustment import schema_name
from minercdc.stream.contracts import Record
from minercdc.stream.events import Op

SOURCE_OF_INSERT: dict[str, Any] = {
    "version": "3.6.1.Final",
    "connector": "oracle",
    "name": "ce",
    "ts_ms": 1795416890000,
    "snapshot": "false",
    "db": "ORCLPDB1",
    "sequence": None,
    "ts_us": 1795416890000000,
    "ts_ns": 1795416890000000000,
    "schema": "BENCH",
    "table": "T",
    "txId": "0500020082010000",
    "scn": "2000125",
    "commit_scn": "2000128",
    "lcr_position": None,
    "rs_id": "0x000001.00000012.01e6",
    "ssn": 0,
    "redo_thread": 1,
    "user_name": "BENCH",
    "redo_sql": None,
    "row_id": "AAAR39AAMAAAACDAAB",
    "commit_ts_ms": 1795416890000,
    "start_scn": "2000125",
    "start_ts_ms": 1795416890000,
    "txSeq": 1,
}
AFTER = '{"ID":2,"AMOUNT":"/2o=","NAME":"two","AT":null}'
# Debezium's own, with data but without its schema; its id ends after `lcr_position`.
WRITTEN = (
    '{"id":"name:ce;scn:2000125;commit_scn:2000128;lcr_position:null;table:ORCLPDB1.BENCH.T;op:c;change:0500020082010000/1","source":"/debezium/oracle/ce","specversion":"1.0",'
    '"type":"io.debezium.connector.oracle.DataChangeEvent","time":"2026-11-23T06:54:50.000Z","datacontenttype":"application/json",'
    '"iodebeziumop":"c","iodebeziumversion":"3.6.1.Final","iodebeziumconnector":"oracle","iodebeziumname":"ce",'
    '"iodebeziumtsms":"1795416890000","iodebeziumsnapshot":"false","iodebeziumdb":"ORCLPDB1","iodebeziumsequence":null,'
    '"iodebeziumtsus":"1795416890000000","iodebeziumtsns":"1795416890000000000","iodebeziumschema":"BENCH","iodebeziumtable":"T",'
    '"iodebeziumtxId":"0500020082010000","iodebeziumscn":"2000125","iodebeziumcommitscn":"2000128","iodebeziumlcrposition":null,'
    '"iodebeziumrsid":"0x000001.00000012.01e6","iodebeziumssn":"0","iodebeziumredothread":1,"iodebeziumusername":"BENCH",'
    '"iodebeziumredosql":null,"iodebeziumrowid":"AAAR39AAMAAAACDAAB","iodebeziumcommittsms":"1795416890000",'
    '"iodebeziumstartscn":"2000125","iodebeziumstarttsms":"1795416890000","iodebeziumtxSeq":"1","iodebeziumtxid":null,'
    '"iodebeziumtxtotalorder":null,"iodebeziumtxdatacollectionorder":null,"data":{"before":null,"after":' + AFTER + "}}"
)


def structure(name: str, field: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"type": "int32", "optional": False, "field": "ID"}], "name": name, "field": field}


SCHEMA = {
    "type": "struct",
    "name": "ce.BENCH.T.Envelope",
    "fields": [
        {**structure("ce.BENCH.T.Value", "before"), "optional": True},
        {**structure("ce.BENCH.T.Value", "after"), "optional": True},
        {**SOURCE, "field": "source"},
        {"type": "string", "field": "op"},
    ],
}


def documents(payload: str, **options: Any) -> Any:
    side = Side(CloudEventsFormat(CloudEventsOptions(**options)))
    text = f'{{"schema":{json.dumps(SCHEMA, separators=(",", ":"))},"payload":{payload}}}'
    return side.rewritten("ce.BENCH.T", text.encode()).decode()


PAYLOAD = f'{{"before":null,"after":{AFTER},"source":{json.dumps(SOURCE_OF_INSERT, separators=(",", ":"))},"transaction":null,"op":"c"}}'


def test_a_change_is_what_debezium_writes() -> None:
    assert documents(PAYLOAD) == WRITTEN


def test_data_may_have_its_schema_and_attributes_may_be_left_out() -> None:
    found = json.loads(documents(PAYLOAD, schemas=True, extensions=False))
    assert found["data"]["payload"] == {"before": None, "after": json.loads(AFTER)}
    schema = found["data"]["schema"]
    assert (schema["name"], [field["field"] for field in schema["fields"]]) == (
        "io.debezium.connector.oracle.Data",
        ["before", "after"],
    )
    assert not [name for name in found if name.startswith("iodebezium")]


def test_a_column_named_source_is_data() -> None:
    row = '{"ID":1,"source":{"scale":0,"value":"BA=="}}'
    found = json.loads(documents(PAYLOAD.replace(AFTER, row)))
    assert found["data"]["after"] == json.loads(row)
    assert found["iodebeziumtable"] == "T"


def test_the_place_in_a_transaction_is_an_attribute() -> None:
    block = '{"id":"0500","total_order":2,"data_collection_order":1}'
    found = json.loads(documents(PAYLOAD.replace('"transaction":null', f'"transaction":{block}')))
    assert [found[f"iodebeziumtx{name}"] for name in ("id", "totalorder", "datacollectionorder")] == ["0500", "2", "1"]


def configured(more: dict[str, str]) -> Any:
    given = {
        "name": "n",
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "minercdc.kafka.bootstrap.servers": "b:1",
        "value.converter": "io.debezium.converters.CloudEventsConverter",
    }
    return parse_properties({**given, **more})


def test_records_of_a_connector_keep_keys_tombstones_and_other_records() -> None:
    config = configured({"value.converter.json.schemas.enable": "false"})
    converter = record_converter(config.converters, 1)
    assert converter is not None
    printing = encoder(value_converter_schemas_enable="true", key_converter_schemas_enable="false")
    made = [*printing.encode(event(Op.CREATE, None, NEW)), *printing.encode(event(Op.DELETE, PAID, None))]
    keys = [record.key for record in made]
    change, deletion, tombstone = (converter.record(record) for record in made)
    assert json.loads(change.value or b"")["iodebeziumop"] == "c"
    assert json.loads(deletion.value or b"")["data"]["after"] is None
    assert tombstone.value is None
    assert [change.key, deletion.key, tombstone.key] == keys
    head, tail = connect_schema.wrapped(
        True, {"type": "struct", "name": "io.debezium.connector.common.Heartbeat", "fields": []}
    )
    heartbeat = Record("h", b"{}", f'{head}{{"ts_ms":1}}{tail}'.encode())
    assert converter.record(heartbeat).value == b'{"ts_ms":1}'
    assert split(b'{"ts_ms":1}') is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"value.converter.serializer.type": "avro"}, "json does not go with value.converter.serializer.type=avro"),
        ({"value.converter.data.serializer.type": "avro"}, "value.converter.avro.schema.registry.url: needed"),
        (
            {"value.converter.data.serializer.type": "avro", "value.converter.avro.apicurio.registry.url": "http://r:1"},
            "http://HOST:PORT/apis/registry/v3",
        ),
        ({"value.converter.metadata.source": "header"}, "value.converter.metadata.source"),
        (
            {
                "value.converter.serializer.type": "avro",
                "value.converter.data.serializer.type": "avro",
                "value.converter.avro.schema.registry.url": "http://r:1",
                "minercdc.cloudevents.mode": "binary",
            },
            "binary has no envelope",
        ),
        (
            {
                "debezium.sink.type": "json",
                "minercdc.sink.path": "-",
                "value.converter.data.serializer.type": "avro",
                "value.converter.avro.schema.registry.url": "http://r:1",
                "minercdc.cloudevents.mode": "binary",
            },
            "debezium.sink.type: json writes lines of JSON",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        configured(given)


@pytest.mark.parametrize("predicate", [{}, {"transforms.t.predicate": "p", "predicates": "p", "predicates.p.pattern": "x"}])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("io.debezium.transforms.ExtractNewRecordState", {}),
        ("io.debezium.transforms.outbox.EventRouter", {}),
        ("org.apache.kafka.connect.transforms.ExtractField$Value", {"field": "after"}),
        ("org.apache.kafka.connect.transforms.HoistField$Value", {"field": "x"}),
        ("org.apache.kafka.connect.transforms.Flatten$Value", {}),
    ],
)
def test_a_step_that_leaves_no_envelope_is_refused(kind: str, options: dict[str, str], predicate: dict[str, str]) -> None:
    """Debezium's converter makes nulls of such rows, without an error."""
    given = {"transforms": "t", "transforms.t.type": kind, **{f"transforms.t.{name}": v for name, v in options.items()}}
    if predicate:
        predicate = predicate | {"predicates.p.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"}
    with pytest.raises(ConfigError, match=re.escape(f"transforms.t.type: {kind} removes the envelope")):
        configured(given | predicate)
    assert configured(given | predicate | {"value.converter": "org.apache.kafka.connect.json.JsonConverter"})


def test_steps_that_keep_the_envelope_are_taken() -> None:
    kept = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.RegexRouter"}
    assert configured({**kept, "transforms.t.regex": "a", "transforms.t.replacement": "b"}).transforms
    key = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.ExtractField$Key"}
    assert configured({**key, "transforms.t.field": "ID"}).transforms


@pytest.mark.parametrize(
    "schema",
    [
        {**SCHEMA, "name": "ce.BENCH.T.Value"},
        {**SCHEMA, "name": None},
        {**SCHEMA, "fields": SCHEMA["fields"][:2]},
        {"type": "string", "optional": False},
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_a_row_that_is_no_envelope_is_an_error_of_its_table(schema: Any, binary: bool) -> None:
    side = Side(CloudEventsFormat(CloudEventsOptions(binary=binary)))
    with pytest.raises(
        RecordSchemaError, match="values of topic t are of .* CloudEventsConverter makes events of envelopes"
    ):
        side.rewritten("t", f'{{"schema":{json.dumps(schema)},"payload":{{}}}}'.replace(": ", ":").encode())


def test_members_of_source_that_become_one_attribute_are_refused() -> None:
    fields = [*json.loads(json.dumps(SOURCE))["fields"], {"type": "string", "field": "tx_id"}]
    schema = {
        **SCHEMA,
        "fields": [*SCHEMA["fields"][:2], {**SOURCE, "fields": fields, "field": "source"}, SCHEMA["fields"][3]],
    }
    document = f'{{"schema":{json.dumps(schema)},"payload":{PAYLOAD}}}'.replace(": ", ":").encode()
    with pytest.raises(RecordSchemaError, match="transaction.id and source.tx_id both become the attribute iodebeziumtxid"):
        Side(CloudEventsFormat(CloudEventsOptions())).rewritten("t", document)
    assert Side(CloudEventsFormat(CloudEventsOptions(extensions=False))).rewritten("t", document)


def test_debeziums_default_sources_of_attributes_are_taken() -> None:
    default = "value,id:generate,type:generate,traceparent:header"
    for given in (default, f"{default},dataSchemaName:generate"):
        assert configured({"value.converter.metadata.source": given}).converters.value_converter_metadata_source == given


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_the_registrys_password_is_in_no_event(mode: str) -> None:
    with registry_server(lambda _: (200, {"id": 5})) as server:
        config = configured(
            {
                "value.converter.data.serializer.type": "avro",
                "value.converter.avro.schema.registry.url": f"http://user:s3cret@{server.address}",
                "minercdc.cloudevents.mode": mode,
            }
        )
        converter = record_converter(config.converters, 1)
        assert converter is not None
        (made,) = encoder(value_converter_schemas_enable="true").encode(event(Op.CREATE, None, NEW))
        record = converter.record(made)
    url = f"http://{server.address}/schemas/ids/5"
    if mode == "binary":
        assert dict(record.headers)["ce_dataschema"] == url.encode()
    else:
        assert json.loads(record.value or b"")["dataschema"] == url
    assert "s3cret" not in repr(record)


def test_in_binary_mode_the_value_is_data_and_attributes_are_headers() -> None:
    converter = record_converter(configured({"minercdc.cloudevents.mode": "binary"}).converters, 1)
    assert converter is not None
    text = f'{{"schema":{json.dumps(SCHEMA, separators=(",", ":"))},"payload":{PAYLOAD}}}'
    record = converter.record(Record("ce.BENCH.T", b"{}", text.encode(), (("other", b"kept"),)))
    assert json.loads(record.value or b"")["payload"] == {"before": None, "after": json.loads(AFTER)}
    headers = dict(record.headers)
    assert headers.pop("other") == b"kept"
    assert headers["content-type"] == b"application/json"
    structured = json.loads(WRITTEN)
    for name in ("data", "datacontenttype"):
        structured.pop(name)
    expected = {f"ce_{name}": str(value).encode() for name, value in structured.items() if value is not None}
    assert {name: value for name, value in headers.items() if name != "content-type"} == expected
    tombstone = converter.record(Record("ce.BENCH.T", b"{}", None))
    assert (tombstone.value, tombstone.headers) == (None, ())


class Numbered:
    """A registry that gives each schema a number of its own."""

    url = "http://r:1"
    has_headers = False

    def __init__(self) -> None:
        self.schemas: dict[tuple[str, str], str] = {}

    def identity(self, topic: str, name: str, schema: SchemaText, same: object) -> Identity:
        self.schemas[topic, name] = schema.text
        number = list(self.schemas).index((topic, name)) + 1
        return Identity(number, b"\0" + number.to_bytes(4, "big"))


def read_avro(content: bytes, schemas: Numbered) -> tuple[str, Any]:
    (_, name), text = list(schemas.schemas.items())[int.from_bytes(content[1:5], "big") - 1]
    return name, fastavro.schemaless_reader(BytesIO(content[5:]), fastavro.parse_schema(json.loads(text)), None)


AFTER_OF_SCHEMA = '{"ID":2}'


def test_data_in_avro_is_bytes_with_the_schemas_address() -> None:
    schemas = Numbered()
    side = Side(CloudEventsFormat(CloudEventsOptions(), AvroFormat(schemas)))
    text = f'{{"schema":{json.dumps(SCHEMA)},"payload":{PAYLOAD.replace(AFTER, AFTER_OF_SCHEMA)}}}'.replace(
        ', "payload"', ',"payload"'
    )
    found = json.loads(side.rewritten("ce.BENCH.T", text.encode()))
    assert (found["datacontenttype"], found["dataschema"]) == ("application/avro", "http://r:1/schemas/ids/1")
    assert read_avro(base64.b64decode(found["data"]), schemas) == (
        "io.debezium.connector.oracle.Data",
        {"before": None, "after": {"ID": 2}},
    )


def test_an_event_in_avro_holds_its_data_in_avro() -> None:
    schemas = Numbered()
    options = CloudEventsOptions(avro_envelope=True, adjusted=schema_name("avro"))
    side = Side(CloudEventsFormat(options, AvroFormat(schemas)))
    text = f'{{"schema":{json.dumps(SCHEMA)},"payload":{PAYLOAD.replace(AFTER, AFTER_OF_SCHEMA)}}}'.replace(
        ', "payload"', ',"payload"'
    )
    name, event_ = read_avro(side.rewritten("ce.BENCH.T", text.encode()), schemas)
    assert name == "ce.ORCLPDB1.CloudEvents.Envelope"
    expected = {**json.loads(WRITTEN), "datacontenttype": "application/avro", "dataschema": "http://r:1/schemas/ids/1"}
    assert {**event_, "data": None} == {**expected, "data": None}
    assert read_avro(event_["data"], schemas)[1] == {"before": None, "after": {"ID": 2}}
    assert list(schemas.schemas) == [("ce.BENCH.T-data", "io.debezium.connector.oracle.Data"), ("ce.BENCH.T", name)]


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_no_two_events_have_one_id_and_an_event_that_is_sent_again_has_its_own(mode: str) -> None:
    """Readers that pass over ids they know would lose the rows of one statement, which have one SCN, or a create after a change of the
    key."""
    converter = record_converter(configured({"minercdc.cloudevents.mode": mode}).converters, 1)
    assert converter is not None
    moved = ("70022", *PAID[1:])
    changes = [event(Op.CREATE, None, NEW), event(Op.CREATE, None, PAID), event(Op.UPDATE, PAID, moved)]
    for number, change in enumerate(changes):
        change.seq = number
    reads = [event(Op.READ, None, NEW, row_id=row_id) for row_id in ("AAAR3sAAEAAAACXAAA", "AAAR3sAAEAAAACXAAB")]
    reads += [event(Op.READ, None, row, row_id=None) for row in (NEW, PAID)]
    for read in reads:
        read.tx = None

    def ids() -> list[str]:
        printing = encoder(value_converter_schemas_enable="true")
        made = [converter.record(record) for one in (*changes, *reads) for record in printing.encode(one) if record.value]
        if mode == "binary":
            return [(dict(record.headers)["ce_id"] or b"").decode() for record in made]
        return [json.loads(record.value or b"")["id"] for record in made]

    found = ids()
    assert len(found) == len(set(found)) == 8
    assert found == ids()
    assert all(one.startswith("name:shop;scn:8842017;commit_scn:") for one in found)
