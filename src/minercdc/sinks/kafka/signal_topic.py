"""Signals from a topic: partition 0, key equal to `topic.prefix`, as Debezium's channel `kafka`.

How far the topic is read is not kept by a consumer group but in our own offset, with what became of the signals.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from minercdc.sinks.kafka.codes import classify
from minercdc.sinks.kafka.single_record import produce_record

_log = logging.getLogger(__name__)

_AT_MOST = 100  # records per look
_SEND_S = 10.0
_NAMED_KEYS = 20
_PASSING = {KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT}


class SignalTopic:
    """Reads the records that are meant for one connector.

    :param settings: of librdkafka: brokers, and what the user gave (`signal.consumer.*`).
    :param key: topic.prefix; records of other connectors are passed over.
    :param create: create the topic at the first poll unless it exists.
    """

    def __init__(self, settings: Mapping[str, Any], topic: str, key: str, *, create: bool = True) -> None:
        self._settings = settings
        self._create = create
        self._topic = topic
        self._key = key.encode()
        self._others: set[bytes | None] = set()
        self._consumer: Any = None

    def poll(self, taken: str) -> tuple[list[bytes], str]:
        """Values of the connector's next records, at most a hundred, without waiting (the first call may create the topic).

        Each call goes on after the one before.

        :param taken: offset at which the first call begins, '' for the topic's beginning.
        :returns: values, b'' for null, and the offset after all records that were read; `taken` when there was none.
        :raises DeliveryError, SinkError: the topic cannot be read or created.
        """
        try:
            if self._consumer is None:
                self._open(taken)
            return self._read(taken)
        except KafkaException as error:
            raise classify(error.args[0], f"reading signals from topic {self._topic}") from None

    def close(self) -> None:
        """Release the client; safe to call twice. A later `poll` begins at its `taken`."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _open(self, taken: str) -> None:
        if self._create:
            create_signal_topic(self._settings, self._topic)
        self._consumer = Consumer(
            {
                "group.id": "minercdc-signals",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",  # also when what comes next was deleted meanwhile
                "logger": logging.getLogger("librdkafka"),
                **self._settings,
            }
        )
        self._consumer.assign([TopicPartition(self._topic, 0, int(taken) if taken else OFFSET_BEGINNING)])

    def _read(self, taken: str) -> tuple[list[bytes], str]:
        values = []
        for message in self._consumer.consume(_AT_MOST, timeout=0):
            if error := message.error():
                if error.code() in _PASSING or error.retriable():
                    continue
                if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    _log.debug("there is no topic %s yet", self._topic)
                    continue
                raise KafkaException(error)
            taken = str(message.offset() + 1)
            if message.key() == self._key:
                values.append(message.value() or b"")
            else:
                self._name(message.key(), message.offset())
        return values, taken

    def _name(self, key: bytes | None, offset: int) -> None:
        """Log that a record is not for this connector: once for each key, of the first ones."""
        if key in self._others or len(self._others) >= _NAMED_KEYS:
            return
        self._others.add(key)
        shown = "no key" if key is None else f"the key {key.decode(errors='replace')[:80]!r}"
        _log.info(
            "signal topic %s: the record at offset %d has %s, so it is passed over; signals for this connector have the key %r, its"
            " topic.prefix",
            self._topic,
            offset,
            shown,
            self._key.decode(),
        )


def create_signal_topic(settings: Mapping[str, Any], topic: str) -> None:
    """Create the topic, with one partition, unless it exists.

    :raises DeliveryError, SinkError: it cannot be created within 10 s.
    """
    try:
        admin = AdminClient({"logger": logging.getLogger("librdkafka"), **settings})
        admin.create_topics([NewTopic(topic, num_partitions=1)], request_timeout=10)[topic].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise classify(error.args[0], f"creating topic {topic}") from None


def produce_signal(settings: Mapping[str, Any], topic: str, key: str, value: str) -> None:
    """Write a signal to partition 0; the broker has it when this returns, after 15 s at the latest.

    :param settings: of librdkafka, as of `SignalTopic`.
    :param key: topic.prefix of the connector; `value` is the signal as JSON.
    :raises DeliveryError, SinkError: it may not have arrived, or librdkafka refuses it or a setting.
    """
    produce_record(settings, topic, key.encode(), value.encode(), seconds=_SEND_S)
