"""Settings that librdkafka refuses."""

from __future__ import annotations

import pytest

from minercdc.errors import SinkError
from minercdc.kafka.signal_topic import create_signal_topic, produce_signal

SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "no.such.setting": "1"}


def test_a_setting_that_librdkafka_refuses_is_named() -> None:
    with pytest.raises(SinkError, match=r"no\.such\.setting"):
        create_signal_topic(SETTINGS, "signals")
    with pytest.raises(SinkError, match=r"no\.such\.setting"):
        produce_signal(SETTINGS, "signals", "shop", "{}")
