"""What a configuration with a registry makes of records."""

from __future__ import annotations

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.contracts import Record
from minercdc.errors import ConfigError
from minercdc.formats.configured import record_converter
from minercdc.formats.topic_reading import readable
from minercdc.kafka.client import KafkaClient
from minercdc.sink.opening import not_read_back, topic_records

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
