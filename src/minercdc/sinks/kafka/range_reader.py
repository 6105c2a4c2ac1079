"""Reads ranges of several partitions at once, again and again, with one consumer."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka.codes import classify
from minercdc.sinks.kafka.connections import METADATA_S, Connections

_DOING = "reading the topics"
_PROGRESS_S = 20.0  # all that is asked for is there already
_AT_ONCE = 10_000
_AHEAD_KB = 16_384  # what is fetched beyond a range is thrown away


class RangeReader:
    """Reads committed messages with a consumer that stays connected; for one thread."""

    def __init__(self, cluster: Connections) -> None:
        self._cluster = cluster
        self._consumer: Any = None
        self._known: set[str] = set()

    def messages(self, ranges: Mapping[tuple[str, int], tuple[int, int]]) -> Generator[Any]:
        """The committed messages of each (topic, partition) from the first offset to before the second, of each partition in order. Those
        that retention has removed are left out.

        :raises DeliveryError: none comes for 20 s, or Kafka cannot be reached.
        :raises SinkError: Kafka refuses.
        """
        if not ranges:
            return
        try:
            self._assign(ranges)
            yield from self._until_ends(ranges)
        except KafkaException as error:
            self.close()
            raise classify(error.args[0], _DOING) from None
        except DeliveryError:
            self.close()
            raise
        finally:
            if self._consumer is not None:
                self._consumer.unassign()

    def close(self) -> None:
        """End the connection; the next call of `messages` makes another one."""
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = None
        self._known.clear()

    def _assign(self, ranges: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(
                {
                    "group.id": "minercdc-reader",
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                    "fetch.wait.max.ms": 20,
                    "auto.offset.reset": "earliest",
                    "queued.max.messages.kbytes": _AHEAD_KB,
                }
            )
        timeout = min(self._cluster.timeout, METADATA_S)
        new = {topic for topic, _ in ranges} - self._known
        if new:  # else it learns the leaders half a second later
            self._consumer.list_topics(next(iter(new)) if len(new) == 1 else None, timeout)
            self._known |= new
        self._consumer.assign([TopicPartition(*place, begin) for place, (begin, _) in ranges.items()])

    def _until_ends(self, ranges: Mapping[tuple[str, int], tuple[int, int]]) -> Iterator[Any]:
        """Markers of transactions are no messages: that a partition was read to its end is told by a later message, or an event of its end."""
        left, consumer = dict(ranges), self._consumer
        deadline = time.monotonic() + _PROGRESS_S
        while left:
            message = consumer.poll(0.5)
            if message is None:
                if time.monotonic() > deadline:
                    raise DeliveryError(f"{_DOING} made no progress for {_PROGRESS_S:.0f} s")
                continue
            for one in (message, *consumer.consume(_AT_ONCE, 0)):
                place, error = (one.topic(), one.partition()), one.error()
                if place not in left:
                    continue
                begin, end = left[place]
                if error is None:
                    deadline = time.monotonic() + _PROGRESS_S
                    if begin <= one.offset() < end:
                        yield one
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                if one.offset() + (error is None) >= end:
                    del left[place]  # not paused: that would outlast the assignment
