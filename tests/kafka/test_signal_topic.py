"""The topic of signals: records for this connector are given, others are named once in the log."""

from __future__ import annotations

import logging
import time

import pytest

from minercdc.local.kafka_broker import KafkaBroker
from minercdc.sinks.kafka.signal_topic import SignalTopic, produce_signal


def test_a_record_with_another_key_is_passed_over_and_named(
    broker: KafkaBroker, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="minercdc.sinks.kafka.signal_topic")
    settings, name = {"bootstrap.servers": broker.bootstrap_servers}, f"{prefix}-signal"
    subject = SignalTopic(settings, name, "shop")
    try:
        taken = subject.poll("")[1]
        for key, value in (("Shop", "{}"), ("Shop", "{}"), ("other\n", "{}"), ("shop", '{"type": "log"}')):
            produce_signal(settings, name, key, value)
        values: list[bytes] = []
        until = time.monotonic() + 30
        while not values and time.monotonic() < until:
            found, taken = subject.poll(taken)
            values += found
            time.sleep(0.02)
    finally:
        subject.close()
    assert (values, taken) == ([b'{"type": "log"}'], "4")
    first, second = caplog.messages
    assert "the record at offset 0 has the key 'Shop', so it is passed over" in first
    assert "signals for this connector have the key 'shop', its topic.prefix" in first
    assert r"the record at offset 2 has the key 'other\n'" in second
