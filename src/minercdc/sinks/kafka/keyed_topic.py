"""A compacted topic of the connector's own in which a key has one value: what survives this machine beside the offset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.codes import classify

_MARGIN_S: Final = 5.0  # librdkafka gives up first, and says why
_ROOM_S: Final = 1.0


class KafkaKeyedTopic:
    """See `contracts.KeyedTopic`. Nothing is connected before the first call; the topic is made by the first `put`. `put` waits
    while librdkafka's queue is full; nothing has to be closed."""

    def __init__(self, client: KafkaClient, topic: str) -> None:
        self._client, self._topic = client, topic
        self._producer: Producer | None = None
        self._undelivered: list[KafkaError] = []

    def put(self, key: str, value: bytes | None) -> None:
        """Queue the value of a key, or with None its removal; the first call makes the topic. Waits for room while
        librdkafka holds as many records as it takes. Durable after `flush`, which reports what does not arrive.

        :raises DeliveryError, SinkError: the topic cannot be made, or librdkafka refuses the record.
        """
        if self._producer is None:
            self._client.ensure_topic(self._topic, partitions=1, compacted=True)
            self._producer = self._client.producer(None, self._failed)
        while True:
            try:
                self._producer.produce(self._topic, value, key.encode(), 0)
                return
            except BufferError:  # as much is under way as librdkafka holds; each record ends by its timeout
                self._producer.poll(_ROOM_S)
            except KafkaException as error:
                raise classify(error.args[0], self._doing) from None

    def flush(self) -> None:
        """Wait until what was put is durable. Raises DeliveryError or SinkError when some of it may not have arrived; a
        later call does not report it again."""
        if self._producer is None:
            return
        left = self._producer.flush(self._client.timeout + _MARGIN_S)
        failed, self._undelivered = self._undelivered, []
        if failed:
            raise classify(failed[0], self._doing)
        if left:
            raise DeliveryError(f"{self._doing}: no answer from {self._client.brokers}")

    def records(self) -> Iterator[tuple[str, bytes | None]]:
        """The committed records of the topic to its present end, oldest first: of a key the last value counts, None for a
        removed one. Nothing is yielded when there is no topic. Raises DeliveryError or SinkError when it cannot be read."""
        if not self._client.existing([self._topic]):
            return
        begin, end = self._client.first_offset(self._topic), self._client.end_offset(self._topic)
        for message in self._client.read_range(self._topic, 0, begin, end) if begin < end else ():
            if (key := message.key()) is not None:
                yield key.decode(errors="replace"), message.value()

    @property
    def _doing(self) -> str:
        return f"writing to topic {self._topic}"

    def _failed(self, error: KafkaError, _: Any) -> None:
        self._undelivered.append(error)
