"""A running connector's answers to a signal, read from its HTTP port or from the topic of its notifications."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.converters import JSON
from minercdc.errors import ConfigError, LocalServiceError
from minercdc.messages.formats.reading import json_payload, record_readers
from minercdc.observe.http.client import fetch_notifications
from minercdc.observe.http.token import http_token
from minercdc.sinks.kafka.client import KafkaClient

Document: TypeAlias = Mapping[str, Any]
_INTERVAL_SECONDS = 0.2
_FINAL = ("COMPLETED", "REFUSED", "ABORTED")
_MEMBERS = {"id", "type", "aggregate_type", "additional_data"}
_FAILED = ("SQL_EXCEPTION", "UNKNOWN_SCHEMA", "NO_PRIMARY_KEY")


class Notifications(Protocol):
    """Where a running connector's notifications are read, as Debezium's documents. Used by one thread, for one signal."""

    def latest(self) -> Sequence[Document]:
        """Notifications so far, or those since the last call; may repeat some.

        :raises LocalServiceError, SinkError: the port, or Kafka, does not answer or refuses.
        """


class PortNotifications:
    """Notifications as GET /notifications of the connector's HTTP port shows them."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._address = host, port, token

    def latest(self) -> Sequence[Document]:
        """The latest thousand of the connector's process, oldest first, at each call. Raises LocalServiceError when no
        connector answers there, or it refuses."""
        return fetch_notifications(*self._address)


class TopicNotifications:
    """The topic of channel `sink`: notifications written after construction. Makes the topic when it is missing and
    `topic.creation.enable` is true.

    :raises ConfigError: values are in a format that is not read back, or a certificate of the registry cannot be read.
    :raises DeliveryError, SinkError: Kafka cannot be used.
    """

    def __init__(self, config: ConnectorConfig, topic: str) -> None:
        self._client = KafkaClient(config.kafka, config.topics, config.kafka_client)
        self._topic = topic
        self._read = json_payload if config.converters.value_converter == JSON else record_readers(config)[1]
        self._client.ensure_topic(topic, partitions=1)
        self._next = self._client.end_offset(topic)

    def latest(self) -> Sequence[Document]:
        """The notifications since the last call, each once; records that are no notifications are passed over. Raises SinkError
        when the topic, or the schema registry, cannot be read."""
        found = []
        for message in self._client.read_since(self._topic, self._next, committed=True):
            self._next = message.offset() + 1
            try:
                document = self._read(message.value() or b"")
            except ValueError:
                continue
            if isinstance(document, dict) and document.keys() >= _MEMBERS:
                found.append(document)
        return found


def notifications_of(config: ConnectorConfig) -> Notifications:
    """The notifications of this connector, for another process: those of its HTTP port, else those of its topic.

    :raises ConfigError: neither an HTTP port (0, a free one, does not count) nor a topic is configured, or the topic's values are in
        a format that is not read back.
    :raises StateDirectoryError: the port's token is neither configured nor can be kept.
    :raises DeliveryError, SinkError: the topic cannot be used.
    """
    signals = config.signals
    if signals.minercdc_http_port:
        return PortNotifications(signals.minercdc_http_host, signals.minercdc_http_port, http_token(config))
    if config.sink.is_kafka and (topic := config.notifications.sink_topic):
        return TopicNotifications(config, topic)
    raise ConfigError(
        [
            "--wait: needs minercdc.http.port, or notification.enabled.channels=sink with notification.sink.topic.name in Kafka, to read the answer"
        ]
    )


def is_failure(document: Document) -> bool:
    """Whether a notification says that a table could not be read."""
    return document["additional_data"].get("status") in _FAILED


def answers(
    source: Notifications, identity: str, seconds: float, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[Document]:
    """Notifications about a signal as they come, each once, up to its final answer: COMPLETED, REFUSED or ABORTED of aggregate
    `Signal`.

    :param source: where the notifications are read, five times a second.
    :param identity: id of the signal.
    :param monotonic: seconds of a clock that never goes back.
    :param seconds: how long to wait for the next one.
    :raises LocalServiceError: none came in that time, or the port does not answer.
    :raises SinkError: the topic cannot be read.
    """
    seen: list[Document] = []
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        for document in source.latest():
            if document["id"] != identity or document in seen:
                continue
            seen.append(document)
            deadline = monotonic() + seconds
            yield document
            if document["aggregate_type"] == "Signal" and document["type"] in _FINAL:
                return
        time.sleep(_INTERVAL_SECONDS)
    raise LocalServiceError(
        f"signal {identity}: no answer within {seconds:.0f} s",
        hint="Check that the connector is running. The signal is not lost: it waits in its channel.",
    )
