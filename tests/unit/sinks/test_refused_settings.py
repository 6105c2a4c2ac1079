"""Settings that librdkafka refuses."""

from __future__ import annotations

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import SinkError
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.signal_topic import create_signal_topic, produce_signal

SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "no.such.setting": "1"}


def test_a_setting_that_librdkafka_refuses_is_named() -> None:
    with pytest.raises(SinkError, match=r"no\.such\.setting"):
        create_signal_topic(SETTINGS, "signals")
    with pytest.raises(SinkError, match=r"no\.such\.setting"):
        produce_signal(SETTINGS, "signals", "shop", "{}")


def test_a_setting_of_the_data_that_librdkafka_refuses_is_named() -> None:
    properties = {"name": "c", "topic.prefix": "shop", "minercdc.kafka.bootstrap.servers": SETTINGS["bootstrap.servers"]}
    database = {"hostname": "h", "user": "u", "password": "p", "dbname": "D"}
    config = parse_properties(properties | {f"database.{name}": value for name, value in database.items()})
    with pytest.raises(SinkError, match=r"no\.such\.setting"):
        KafkaClient(config.kafka, config.topics, SETTINGS).produce("offsets", b"k", b"v")
