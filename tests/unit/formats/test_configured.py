"""What a configuration with a registry makes of records."""

from __future__ import annotations

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError
from minercdc.formats.configured import record_converter
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


def test_topics_in_avro_are_not_taken_for_json_when_they_are_read_back() -> None:
    """Keys would not match, and every row of a table that is read again would count as vanished."""
    avro, json = config(), parse_properties(GOOD)
    client = KafkaClient(avro.kafka, avro.topics, {})
    assert topic_records(avro, client) is None
    assert "Avro" in not_read_back(avro)
    assert topic_records(json, client) is client


def test_a_certificate_that_is_not_there_is_named_at_the_start() -> None:
    chosen = config(value_converter_schema_registry_ssl_ca_location="/no/such/ca.pem")
    with pytest.raises(ConfigError, match=r"schema.registry.ssl(.|\n)*No such file"):
        record_converter(chosen.converters, 1)
