"""Reads topics as a `read_committed` consumer does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

_LOOK_SECONDS = 0.02  # between looks for a topic that is not there yet


def read_committed(bootstrap_servers: str, topic: str) -> list[Message]:
    """All committed messages of a topic, partition after partition, to its present end."""
    with closing(_consumer(bootstrap_servers, longest_fetch_ms=5)) as consumer:
        if not (partitions := _partitions(consumer, topic)):
            return []
        reading = _Reading(consumer, topic, partitions)
        assert reading.to_the_end(time.monotonic() + 30), f"no end of {topic} within 30 s"
        return reading.messages()


def await_committed(
    bootstrap_servers: str, topic: str, enough: Callable[[list[Message]], object], seconds: float
) -> list[Message]:
    """As `read_committed`, until there is enough, or the time is over.

    One consumer follows the topic: new ones for each look would take more CPU than the connector that is waited for.

    :param enough: asked about all messages, each time that the end of the topic is reached.
    """
    deadline = time.monotonic() + seconds
    with closing(_consumer(bootstrap_servers, longest_fetch_ms=100)) as consumer:
        while not (partitions := _partitions(consumer, topic)):
            if enough([]) or time.monotonic() > deadline:
                return []
            time.sleep(_LOOK_SECONDS)
        reading = _Reading(consumer, topic, partitions)
        while reading.to_the_end(deadline) and not enough(reading.messages()):
            if not reading.goes_on(deadline):
                break
        return reading.messages()


def read_so_many(bootstrap_servers: str, topic: str, count: int) -> list[Message]:
    """The committed messages of a topic once there are `count` of them, or after 30 s: a broker answers that a transaction is committed
    before it has marked its partitions."""
    return await_committed(bootstrap_servers, topic, lambda found: len(found) >= count, 30)


def _consumer(bootstrap_servers: str, *, longest_fetch_ms: int) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "test",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": longest_fetch_ms,
        }
    )


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    """Those of a topic; none where there is no such topic."""
    found = consumer.list_topics(topic, timeout=20).topics[topic]
    return sorted(found.partitions) if found.error is None else []


class _Reading:
    """What a consumer has read of a topic, from its beginning."""

    def __init__(self, consumer: Consumer, topic: str, partitions: Iterable[int]) -> None:
        self._consumer = consumer
        self._found: dict[int, list[Message]] = {partition: [] for partition in partitions}
        self._open = set(self._found)  # whose end is not reached
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in self._found])

    def messages(self) -> list[Message]:
        """All of them, partition after partition."""
        return [message for found in self._found.values() for message in found]

    def to_the_end(self, deadline: float) -> bool:
        """Read until the end of each partition; whether that was in time."""
        while self._open:
            if not self._take(deadline):
                return False
        return True

    def goes_on(self, deadline: float) -> bool:
        """Wait for the next message; whether it came in time."""
        while not self._open:
            if not self._take(deadline):
                return False
        return True

    def _take(self, deadline: float) -> bool:
        message = self._consumer.poll(max(deadline - time.monotonic(), 0))
        if message is None:
            return False
        partition = message.partition()
        if error := message.error():
            assert error.code() == KafkaError._PARTITION_EOF, error
            self._open.discard(partition)
        else:
            self._found[partition].append(message)
            self._open.add(partition)
        return True
