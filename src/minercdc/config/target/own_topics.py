"""The connector's own topics, besides those of tables: their content, and the property with the name.

Two of them never share a name, and no table's topic has one of these names. A reader of one would get records of the other; and a topic
with state that gets messages loses it: an offset, a schema history or a signal would be read from a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class OwnTopic(NamedTuple):
    """A topic of the connector.

    :param names: the property that names it.
    :param holds: what is in it, for messages.
    :param is_state: whether it holds what the connector itself needs, or rows for repair; else messages for readers.
    """

    topic: str
    names: str
    holds: str
    is_state: bool = False


def own_topics(sections: Mapping[str, Any]) -> Iterator[OwnTopic]:
    """The topics in use: `topic.prefix` only with `include.schema.changes`, and so on.

    :param sections: by name, as in `config.load.SECTIONS`: `identity`, `topics` and `kafka` are needed; topics of other sections
        that are missing are left out, but for that of the schema history.
    """
    prefix, kafka = sections["identity"].topic_prefix, sections["kafka"]
    yield OwnTopic(offset_topic(kafka, prefix), "minercdc.offset.topic", "the offset", is_state=True)
    history = sections.get("history")
    if history is None or history.file is None:
        name = history_topic(kafka, prefix)
        yield OwnTopic(name, "schema.history.internal.kafka.topic", "the schema history", is_state=True)
    mining = sections.get("log_mining")
    if mining is not None and (name := open_transactions_topic(mining, prefix)):
        holds = "rows of open transactions"
        yield OwnTopic(name, "minercdc.log.mining.buffer.durable.topic", holds, is_state=True)
    yield from _of_signals(sections, prefix)
    run, notifications = sections.get("run"), sections.get("notifications")
    if run is not None and run.minercdc_dead_letter_topic:
        yield OwnTopic(run.minercdc_dead_letter_topic, "minercdc.dead.letter.topic", "dead letters", is_state=True)
    if sections["topics"].include_schema_changes:
        yield OwnTopic(prefix, "topic.prefix", "schema changes")
    if notifications is not None and notifications.sink_topic:
        yield OwnTopic(notifications.sink_topic, "notification.sink.topic.name", "notifications")
    yield from _of_times(sections, prefix)


def offset_topic(kafka: Any, prefix: str) -> str:
    """Topic of the offset: as configured, else `PREFIX-offsets`.

    :param kafka: section `kafka`.
    """
    return str(kafka.minercdc_offset_topic or f"{prefix}-offsets")


def history_topic(kafka: Any, prefix: str) -> str:
    """Topic of the schema history, where it is in Kafka: as configured, else `PREFIX-schema-history`.

    :param kafka: section `kafka`.
    """
    return str(kafka.schema_history_internal_kafka_topic or f"{prefix}-schema-history")


def open_transactions_topic(mining: Any, prefix: str) -> str:
    """Topic with copies of the rows of open transactions; '' where there is none. Its name is as configured, else
    `PREFIX-open-transactions`.

    :param mining: section `log_mining`.
    """
    if mining.minercdc_log_mining_buffer_durable != "topic":
        return ""
    return str(mining.minercdc_log_mining_buffer_durable_topic or f"{prefix}-open-transactions")


def signal_topic_name(signals: Any, prefix: str) -> str:
    """Topic of channel `kafka`: as configured, else `PREFIX-signal`.

    :param signals: section `signals`.
    """
    return str(signals.signal_kafka_topic or f"{prefix}-signal")


def transaction_topic(sections: Mapping[str, Any]) -> str:
    """Topic of the begin and end of source transactions: `PREFIX.NAME`, with `topic.delimiter` between both.

    :param sections: with `identity`, `topics` and `messages`.
    """
    names = (sections["identity"].topic_prefix, sections["messages"].topic_transaction)
    return str(sections["topics"].topic_delimiter.join(names))


def _of_signals(sections: Mapping[str, Any], prefix: str) -> Iterator[OwnTopic]:
    signals = sections.get("signals")
    if signals is None or "kafka" not in signals.signal_enabled_channels:
        return
    if signals.signal_kafka_bootstrap_servers in (None, "", sections["kafka"].bootstrap_servers):
        yield OwnTopic(signal_topic_name(signals, prefix), "signal.kafka.topic", "signals", is_state=True)


def _of_times(sections: Mapping[str, Any], prefix: str) -> Iterator[OwnTopic]:
    """Topics of heartbeats and transactions, as far as they are configured."""
    heartbeat, messages = sections.get("heartbeat"), sections.get("messages")
    if heartbeat is not None and heartbeat.heartbeat_interval_ms > 0:
        name = heartbeat.topic(sections["topics"].topic_delimiter, prefix)
        yield OwnTopic(name, heartbeat.names_topic(), "heartbeats")
    if messages is not None and messages.provide_transaction_metadata:
        yield OwnTopic(transaction_topic(sections), "topic.transaction", "begin and end of transactions")


def topics_of_their_own(sections: Mapping[str, Any]) -> Iterator[str]:
    """A problem for each name that two of the connector's topics have, where Kafka is the sink."""
    if not sections["sink"].is_kafka:
        return
    found: dict[str, OwnTopic] = {}
    for one in own_topics(sections):
        other = found.setdefault(one.topic, one)
        if other is not one:
            yield (
                f"{one.names}: the topic {one.topic} would hold {one.holds}, and {other.holds} ({other.names}); give one of them"
                " another name"
            )
