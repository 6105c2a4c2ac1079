"""Heartbeat records and their topic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minercdc.config.target.heartbeat import HeartbeatConfig
from minercdc.messages.heartbeat import KafkaHeartbeat


def beat(*, schemas: bool) -> tuple[Any, Any]:
    made = KafkaHeartbeat(
        "beats", "shop", 1.0, key_schemas=schemas, value_schemas=schemas, clock_ms=lambda: 1_789_990_222_017
    )
    record = made.beat()
    assert record is not None
    assert (record.topic, record.partition) == ("beats", 0)
    return json.loads(record.key or b""), json.loads(record.value or b"")


def test_a_heartbeat_is_debeziums_record() -> None:
    assert beat(schemas=False) == ({"serverName": "shop"}, {"ts_ms": 1_789_990_222_017})


def test_converters_with_schemas_wrap_key_and_value() -> None:
    key, value = beat(schemas=True)
    assert key["schema"]["name"] == "io.debezium.connector.common.ServerNameKey"
    assert value["schema"]["name"] == "io.debezium.connector.common.Heartbeat"
    assert value["payload"] == {"ts_ms": 1_789_990_222_017}


@pytest.mark.parametrize(
    ("properties", "topic"),
    [
        ({}, "__debezium-heartbeat.shop"),
        ({"heartbeat.topics.prefix": "old"}, "old.shop"),
        ({"heartbeat.topics.prefix": "old", "topic.heartbeat.prefix": "new"}, "new.shop"),
        ({"topic.heartbeat.prefix": "new", "topic.heartbeat.name": "beats"}, "beats"),
    ],
)
def test_the_topic_is_named_as_debeziums(properties: dict[str, str], topic: str) -> None:
    assert HeartbeatConfig.model_validate(properties).topic(".", "shop") == topic
