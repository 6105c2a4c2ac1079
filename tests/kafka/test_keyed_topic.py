"""A topic in which a key has one value, on a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kafka.test_sink import client_of, settings

from minercdc.errors import DeliveryError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.sinks.kafka.keyed_topic import KafkaKeyedTopic


def test_the_last_value_of_a_key_is_read_back(broker: KafkaBroker, prefix: str) -> None:
    client = client_of(settings(prefix, broker.bootstrap_servers))
    topic = KafkaKeyedTopic(client, f"{prefix}-keyed")
    assert dict(topic.records()) == {}  # there is no topic
    large = bytes(range(256)) * 1024
    for key, value in (("a/0", b"first"), ("b", large), ("a/0", b"last"), ("c", b"x"), ("c", None)):
        topic.put(key, value)
    topic.flush()
    again = KafkaKeyedTopic(client, f"{prefix}-keyed")
    assert dict(again.records()) == {"a/0": b"last", "b": large, "c": None}
    assert client.states([f"{prefix}-keyed"])[f"{prefix}-keyed"].settings["cleanup.policy"] == "compact"


def test_nothing_is_taken_for_durable_that_did_not_arrive(tmp_path: Path, prefix: str) -> None:
    with KafkaBroker(tmp_path) as broker:
        config = settings(prefix, broker.bootstrap_servers, **{"minercdc.kafka.timeout.ms": "2000"})
        topic = KafkaKeyedTopic(client_of(config), f"{prefix}-keyed")
        topic.put("a", b"there")
        topic.flush()
        broker.kill()
        topic.put("b", b"lost")
        with pytest.raises(DeliveryError, match=f"writing to topic {prefix}-keyed"):
            topic.flush()
        with pytest.raises(DeliveryError):
            list(topic.records())
