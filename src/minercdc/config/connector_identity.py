"""Identifies the connector on its machine."""

from __future__ import annotations

import json

from minercdc.config.load import ConnectorConfig


def running_identity(config: ConnectorConfig) -> str:
    """What is this connector's only, for `state_directory.owning_name`: where `minercdc.state.dir` is relative, it does not say who
    runs here. '' where it is absolute, since others that differ are meant to, and without Kafka as the sink."""
    if config.capture.minercdc_state_dir.is_absolute() or not config.sink.is_kafka:
        return ""
    brokers = sorted(one.strip() for one in config.kafka.bootstrap_servers.split(","))
    return json.dumps([config.identity.name, config.identity.topic_prefix, brokers])
