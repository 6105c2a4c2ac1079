"""Answers to a signal, read from the topic of notifications in the format that it has."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError
from minercdc.messages.formats import reading
from minercdc.messages.notification import NotificationEncoder, document
from minercdc.operate.signals import answers as signal_answers
from minercdc.operate.signals.answers import notifications_of
from minercdc.stream.events import Notification

PROPERTIES = {
    "name": "c",
    "topic.prefix": "shop",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "ORCL",
    "minercdc.kafka.bootstrap.servers": "b:9092",
    "notification.enabled.channels": "sink",
    "notification.sink.topic.name": "notes",
}
AVRO = {
    f"{side}.converter{name}": value
    for side in ("key", "value")
    for name, value in (("", "io.confluent.connect.avro.AvroConverter"), (".schema.registry.url", "http://127.0.0.1:1"))
}
SCHEMA = {
    "type": "record",
    "name": "Notification",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "type", "type": "string"},
        {"name": "aggregate_type", "type": "string"},
        {"name": "additional_data", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "timestamp", "type": "long"},
    ],
}
NOTE = Notification("s1", "Signal", "COMPLETED", 5_000_000, {"status": "ok"})


class Topic:
    """In place of the client: a topic with these values."""

    def __init__(self, *values: bytes | None) -> None:
        self._values = values

    def __call__(self, *_: Any) -> Topic:
        return self

    def ensure_topic(self, topic: str, *, partitions: int) -> None:
        pass

    def end_offset(self, topic: str) -> int:
        return 0

    def read_since(self, topic: str, offset: int, *, committed: bool) -> list[Any]:
        values = list(enumerate(self._values))[offset:]
        return [SimpleNamespace(offset=lambda i=i: i, value=lambda value=value: value) for i, value in values]


class Registry:
    id_bytes = 4

    def schema(self, number: int) -> str:
        return json.dumps(SCHEMA)


def config(**more: str) -> ConnectorConfig:
    return parse_properties(PROPERTIES | more)


def avro() -> bytes:
    content = io.BytesIO(b"\0\0\0\0\1")
    content.seek(5)
    fastavro.schemaless_writer(content, fastavro.parse_schema(SCHEMA), document(NOTE, "shop"))
    return content.getvalue()


def test_notifications_in_avro_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_answers, "KafkaClient", Topic(avro()))
    monkeypatch.setattr(reading, "schemas_of", lambda *_: Registry())
    source = notifications_of(config(**AVRO))
    assert source.latest() == [document(NOTE, "shop")]
    assert source.latest() == []


@pytest.mark.parametrize("schemas", [False, True])
def test_records_that_are_no_notifications_are_passed_over(monkeypatch: pytest.MonkeyPatch, schemas: bool) -> None:
    value = NotificationEncoder("notes", "shop", key_schemas=schemas, value_schemas=schemas).encode(NOTE).value
    monkeypatch.setattr(signal_answers, "KafkaClient", Topic(None, b"\xff", b"[1]", b'{"id":"s1"}', value))
    assert notifications_of(config()).latest() == [document(NOTE, "shop")]


def test_a_format_that_is_not_read_back_is_refused() -> None:
    texts = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    with pytest.raises(ConfigError, match="not read back"):
        notifications_of(config(**texts))
