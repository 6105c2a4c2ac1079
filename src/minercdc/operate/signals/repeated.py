"""Finds the signals that a connector executes again when its offset, which has the read position of the signal topic, is removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, SinkError
from minercdc.signals.stage_builder import SignalTopicAddress, signal_topic
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.offset import SignalState
from minercdc.stream.signal import SignalRefused, printable, signal_of_json


def repeated_lines(config: ConnectorConfig, before: SignalState) -> Iterator[str]:
    """What to know before the offset is removed, as lines; none when no signal of channel `kafka` comes again.

    The topic is read for them; when it cannot be, they say what is certain without it.

    :param before: of the stored offset.
    """
    taken = before.taken.get("kafka")
    if "kafka" not in config.signals.signal_enabled_channels or not taken:
        return
    topic, until = signal_topic(config), int(taken)
    try:
        types = _types(config, topic, until)
    except (SinkError, ConfigError) as error:
        what = f"all with key {topic.key} before offset {until}; their number is unknown: {error.message}"
    else:
        if not types:
            return
        what = f"{types.total()} that it has read before: " + ", ".join(f"{types[name]} {name}" for name in sorted(types))
    yield f"signals: topic {topic.name} is read from its beginning; these signals are executed AGAIN: {what}"
    yield (
        f"  to prevent that, before the next start: delete the records of partition 0 of {topic.name} before offset {until}"
        " (kafka-delete-records.sh), or name another topic in signal.kafka.topic"
    )


def _types(config: ConnectorConfig, topic: SignalTopicAddress, until: int) -> Counter[str]:
    """How many signals of each type the topic holds for the connector before an offset, without those that it has
    refused. Reads the topic from its beginning."""
    found: Counter[str] = Counter()
    kafka = config.kafka.model_copy(update={"minercdc_kafka_bootstrap_servers": topic.settings["bootstrap.servers"]})
    client = KafkaClient(kafka, config.topics, topic.settings)
    if not client.ends(topic.name):
        return found
    for message in client.read_since(topic.name, 0, committed=True):
        if message.offset() >= until:
            break
        if message.key() == topic.key.encode():
            try:
                found[printable(signal_of_json(message.value() or b"", "kafka").type)] += 1
            except SignalRefused:
                continue  # it was refused, and will be
    return found
