"""CloudEvents, as Debezium 3.6.1 wrote them for the same change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.kafka.test_envelope import NEW, PAID, encoder, event

from minercdc.config.load import parse_properties
from minercdc.contracts import Record
from minercdc.errors import ConfigError
from minercdc.events import Op
from minercdc.formats.cloud_events import CloudEventsFormat
from minercdc.formats.configured import record_converter
from minercdc.formats.connect import split
from minercdc.formats.converting import Side
from minercdc.kafka import connect_schema
from minercdc.kafka.connect_schema import SOURCE

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
# Debezium's own, with data but without its schema.
WRITTEN = (
    '{"id":"name:ce;scn:2000125;commit_scn:2000128;lcr_position:null","source":"/debezium/oracle/ce","specversion":"1.0",'
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


def documents(payload: str, **options: bool) -> Any:
    side = Side(CloudEventsFormat(**{"schemas": False, "extensions": True, **options}))
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


def configured(**more: str) -> Any:
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
    return parse_properties({**given, **{name.replace("_", "."): value for name, value in more.items()}})


def test_records_of_a_connector_keep_keys_tombstones_and_other_records() -> None:
    config = configured(value_converter_json_schemas_enable="false")
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


def test_avro_in_cloud_events_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"value\.converter\.data\.serializer\.type"):
        configured(value_converter_data_serializer_type="avro")
