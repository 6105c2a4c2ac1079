"""Sends signals to connectors that run elsewhere, by the channels that their configuration enables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError
from minercdc.observe.http.client import post_signal
from minercdc.observe.http.token import http_token
from minercdc.oracle.connect import connect, of_database
from minercdc.signals.channels import append
from minercdc.signals.stage_builder import signal_table, signal_topic
from minercdc.sinks.kafka.signal_topic import create_signal_topic, produce_signal
from minercdc.snapshot.incremental.database import insert_signal
from minercdc.stream.offset import JsonValue
from minercdc.stream.signal import SignalRefused, action_of, signal_of_json


def check_signal(signal: Mapping[str, JsonValue]) -> None:
    """Raise ConfigError for a signal that every connector refuses: it is incomplete, or of no known type."""
    try:
        action_of(signal_of_json(json.dumps(signal), ""))
    except SignalRefused as refused:
        raise ConfigError([f"signal: {refused.reason}"]) from None


def usable_channel(config: ConnectorConfig, without: str = "") -> str:
    """The first enabled channel that can be used from another process.

    `kafka` and `file` always can; `source` with `signal.data.collection`, `http` with a port other than 0.

    :param without: a channel that will not do; '' for none.

    :raises ConfigError: there is none; the message says what to enable.
    """
    signals = config.signals
    usable = {
        "source": signals.signal_data_collection is not None,
        "kafka": True,
        "file": True,
        "http": bool(signals.minercdc_http_port),
    }
    for channel in signals.signal_enabled_channels:
        if usable.get(channel) and channel != without:
            return channel
    raise ConfigError(
        [
            "signal.enabled.channels: none of its channels can be used from this process: add kafka (or file, or http with minercdc.http.port),"
            " or set signal.data.collection for source; then restart the connector"
        ]
    )


def send_signal(config: ConnectorConfig, channel: str, signal: Mapping[str, JsonValue]) -> None:
    """Send a signal to a connector that runs elsewhere. Creates the topic of channel `kafka` if `topic.creation.enable` is true.

    :param channel: source, kafka, file or http.
    :param signal: `id`, `type` and `data`.
    :raises ConfigError: the channel is not enabled, or cannot be used from outside; of `source`, also as `oracle.connect.connect`.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses the row.
    :raises SinkError: the topic cannot be created, or the record may not have arrived.
    :raises OSError: the file cannot be written.
    :raises LocalServiceError: no connector answers at the port, it refuses, or the token cannot be kept.
    """
    if channel not in config.signals.signal_enabled_channels:
        raise ConfigError([f"signal.enabled.channels: does not have {channel}, so the signal would not be read"])
    if channel == "source":
        table = signal_table(config)
        if table is None:
            raise ConfigError(["signal.data.collection: needed for channel source"])
        with closing(connect(of_database(config.database, table.database), "pdb")) as connection:
            insert_signal(connection, table, str(signal["id"]), str(signal["type"]), json.dumps(signal["data"]))
    elif channel == "kafka":
        topic = signal_topic(config)
        if topic.create:
            create_signal_topic(topic.settings, topic.name)
        produce_signal(topic.settings, topic.name, topic.key, json.dumps(signal))
    elif channel == "file":
        append(config.signals.signal_file, json.dumps(signal))
    elif channel == "http":
        port = config.signals.minercdc_http_port
        if not port:
            raise ConfigError(
                ["minercdc.http.port: 0 means any free port, which only the connector knows: give a port number"]
            )
        post_signal(config.signals.minercdc_http_host, port, signal, http_token(config))
    else:
        raise ConfigError([f"signal.enabled.channels: {channel} cannot be used from another process"])
