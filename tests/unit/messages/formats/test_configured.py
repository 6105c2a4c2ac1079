"""What a configuration with a registry makes of records."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.config.test_load import GOOD
from tests.unit.messages.formats.registry_server import registry_server
from tests.unit.messages.test_envelope import NEW, ORDERS, event

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.encoder import OtherEvents
from minercdc.messages.formats.configured import record_converter
from minercdc.messages.formats.topic_reading import readable
from minercdc.messages.topics import TopicNames
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.pipeline.factory import converter_of
from minercdc.schema.table import Column
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.opening import not_read_back, topic_records
from minercdc.stream.contracts import Record, RecordEncoder
from minercdc.stream.events import ChangeEvent, Op

AVRO = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://127.0.0.1:1",
}


def config(**more: str) -> ConnectorConfig:
    return parse_properties({**GOOD, **AVRO, **{name.replace("_", "."): value for name, value in more.items()}})


def test_json_needs_no_converter() -> None:
    assert record_converter(parse_properties(GOOD).converters, 1) is None


def test_topics_that_are_not_read_back_are_not_taken_for_json() -> None:
    """Keys would not match, and every row of a table that is read again would count as vanished."""
    avro, json = config(), parse_properties(GOOD)
    client = KafkaClient(avro.kafka, avro.topics, {})
    assert topic_records(json, client) is client
    assert topic_records(avro, client) is client
    assert readable(json, client) is client
    assert readable(avro, client) is not client
    for converter in ("io.confluent.connect.protobuf.ProtobufConverter", "io.debezium.converters.CloudEventsConverter"):
        other = config(**{"value.converter": converter})
        assert topic_records(other, client) is None
        assert "cannot be read back" in not_read_back(other)


def test_topics_whose_partitions_are_chosen_by_columns_are_not_read_back() -> None:
    """The delete of a vanished row has its key only, and would go to another partition than the row."""
    partitioned = parse_properties({**GOOD, "minercdc.topic.partition.columns": "SHOP.ORDER_LINES:ORDER_ID"})
    assert "partition" in not_read_back(partitioned)
    assert topic_records(partitioned, KafkaClient(partitioned.kafka, partitioned.topics, {})) is None


def test_a_certificate_that_is_not_there_is_named_at_the_start() -> None:
    chosen = config(value_converter_schema_registry_ssl_ca_location="/no/such/ca.pem")
    with pytest.raises(ConfigError, match=r"schema.registry.ssl(.|\n)*No such file"):
        record_converter(chosen.converters, 1)


def test_headers_of_the_application_stay_as_they_are() -> None:
    """An outbox makes headers of columns: only those that hold a key are printed with a schema."""
    converter = record_converter(
        config(**{"key.converter": "org.apache.kafka.connect.storage.StringConverter"}).converters, 1
    )
    assert converter is not None
    key = b'{"schema":{"type":"int32"},"payload":1}'
    own = (("META", b'{"schema":"v1","x":1}'), ("KEY", key))
    record = converter.record(Record("t", None, None, (*own, ("__debezium.newkey", key), ("__debezium.oldkey", key))))
    assert record.headers == (*own, ("__debezium.newkey", b"1"), ("__debezium.oldkey", b"1"))


WIDER = replace(
    ORDERS,
    columns=(*ORDERS.columns, Column("CHANNEL", "VARCHAR2", 12, default="'WEB'"), Column("N", "NUMBER", 4, 0, default="7")),
    stored=(*ORDERS.stored, "CHANNEL", "N"),
    version=2,
)
OF_JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}


OF_KEYS = {"key.converter": "org.apache.kafka.connect.json.JsonConverter"}
AVRO_KEYS = {
    "key.converter": "io.confluent.connect.avro.AvroConverter",
    "key.converter.schema.registry.url": "http://ADDRESS",
}
FLAT = {
    **OF_KEYS,
    "transforms": "t",
    "transforms.t.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key",
    "transforms.t.schema.name": "a.B",
}


def written(properties: dict[str, str], *events: ChangeEvent) -> list[Record]:
    """Records of events as a connector with these properties writes them."""
    config = parse_properties({**GOOD, **properties})
    topics = TopicNames(config)
    encoder: RecordEncoder = envelope_encoder(config, topics, OtherEvents(schema_changes=False), clock_ns=lambda: 0)
    if config.transforms:
        encoder = RecordTransformer(chain_of(config.transforms)).encoder(encoder)
    if (converter := converter_of(config)) is not None:
        encoder = converter.encoder(encoder)
    return [record for one in events for record in encoder.encode(one)]


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_nulls_are_written_as_defaults_where_that_is_wanted_only(schemas: str) -> None:
    null = event(Op.UPDATE, (*NEW, "TEL", None), (*NEW, None, "5"), WIDER)
    for named in (OF_JSON, {}):
        given = {**named, "value.converter.schemas.enable": schemas}
        rows = []
        for wanted in ("true", "false", ""):
            more = {"value.converter.replace.null.with.default": wanted} if wanted else {}
            (record,) = written({**given, **more}, null)
            document = json.loads(record.value or b"")
            rows.append(document["payload"] if schemas == "true" else document)
        assert (rows[0]["before"]["N"], rows[0]["after"]["CHANNEL"]) == (7, "WEB")
        assert rows[1]["before"] == rows[2]["before"] == {**rows[0]["before"], "N": None}
        assert rows[1]["after"] == rows[2]["after"] == {**rows[0]["after"], "CHANNEL": None}
        assert rows[0]["source"] == rows[1]["source"]


def test_a_text_that_looks_like_a_null_stays_as_it_is() -> None:
    row = event(Op.CREATE, None, ("70021", '"N":null', "15", None, "TEL", "5"), WIDER)
    replacing = {**OF_JSON, "value.converter.replace.null.with.default": "true"}
    assert [record.value for record in written(replacing, row)] == [record.value for record in written(OF_JSON, row)]


def test_topics_with_defaults_in_place_of_nulls_are_not_read_back() -> None:
    replacing = parse_properties({**GOOD, "value.converter.replace.null.with.default": "true"})
    assert "defaults in place of nulls" in not_read_back(replacing)
    assert (
        "defaults in place of nulls"
        in config(**{"value.converter.ignore.default.for.nullables": "false"}).converters.not_read_back()
    )
    assert not parse_properties({**GOOD, "key.converter.replace.null.with.default": "true"}).converters.not_read_back()


def test_avro_writes_defaults_for_nulls_where_that_is_wanted_only() -> None:
    null = event(Op.CREATE, None, (*NEW, None, None), WIDER)
    with registry_server(lambda _: (200, {"id": 5})) as server:
        avro = {**AVRO, "value.converter.schema.registry.url": f"http://{server.address}"}
        (kept,), (replaced,) = (
            written({**avro, "value.converter.ignore.default.for.nullables": ignore}, null) for ignore in ("true", "false")
        )
    assert b"WEB" not in (kept.value or b"")
    assert b"WEB" in (replaced.value or b"")


def test_schemas_in_avro_are_without_connects_properties_where_that_is_wanted() -> None:
    texts = []

    def answer(_: str) -> tuple[int, object]:
        return 200, {"id": 5}

    for meta_data in ("true", "false"):
        with registry_server(answer) as server:
            avro = {**AVRO, "value.converter.schema.registry.url": f"http://{server.address}"}
            written(
                {
                    **avro,
                    "value.converter.connect.meta.data": meta_data,
                    "value.converter.enhanced.avro.schema.support": "true",
                },
                event(Op.CREATE, None, (*NEW, "TEL", "5"), WIDER),
            )
            texts += server.contents
    with_it, without = (json.loads(json.loads(text)["schema"]) for text in texts)
    assert "connect." in json.dumps(with_it)
    assert "connect." not in json.dumps(without)
    assert without["name"] == with_it["name"] == "Envelope"
    assert '"logicalType": "decimal"' in json.dumps(without)


@pytest.mark.parametrize("properties", [{}, {"key.converter.schemas.enable": "true"}, OF_KEYS, AVRO_KEYS, FLAT], ids=str)
def test_the_headers_of_a_change_of_the_key_hold_keys_without_schemas(properties: dict[str, str]) -> None:
    """In each format, as SimpleHeaderConverter writes them: Debezium's JDBC sink fails at a header with schema and payload."""
    moved = event(Op.UPDATE, NEW, ("70022", *NEW[1:]))
    with registry_server(lambda _: (200, {"id": 5})) as server:
        address = {name: value.replace("ADDRESS", server.address) for name, value in properties.items()}
        headers = [record.headers for record in written(address, moved)]
    assert headers == [
        (("__debezium.newkey", b'{"ORDER_ID":70022}'),),
        (("__debezium.newkey", b'{"ORDER_ID":70022}'),),
        (("__debezium.oldkey", b'{"ORDER_ID":70021}'),),
    ]
