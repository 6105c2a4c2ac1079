"""The topic of offsets as a standby follows it: who claimed the name last, and whether something is stored still."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.codes import classify
from minercdc.sinks.kafka.ownership import Claim, claim_from_bytes, claim_key

_BATCH = 1000
_SAFE = {KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}


class Claims:
    """Reads the claims of connector `name` from the begin of the topic, until `close`; records of undecided transactions,
    too, since claims and signs of the owner are wanted early.

    :param topic: of offsets; it must exist.
    :raises DeliveryError, SinkError: the topic cannot be read.
    :ivar latest: the last claim read, None for none.
    :ivar moved: when a record came last that was not there at the begin, by `monotonic`; before the first one, when this was made.
    :ivar complete: everything that was there at the begin has been read.
    """

    def __init__(self, client: KafkaClient, topic: str, name: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._key = claim_key(name)
        settings = {
            "group.id": "minercdc-reader",
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
        self._end = client.end_offset(topic)
        self._consumer: Any = client.consumer(settings)
        self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        self.latest: Claim | None = None
        self.moved = monotonic()
        self.complete = False

    def follow(self) -> None:
        """Read what has come: waits 0.2 s for it until `complete`, then not at all. Raises DeliveryError or SinkError when
        the topic cannot be read."""
        full = True
        while full:
            messages = self._consumer.consume(_BATCH, 0.0 if self.complete else 0.2)
            full = len(messages) == _BATCH
            for message in messages:
                self._take(message)

    def _take(self, message: Any) -> None:
        if error := message.error():
            self.complete |= error.code() == KafkaError._PARTITION_EOF
            if error.code() not in _SAFE:
                raise classify(error, "reading claims")
            return
        if self.complete:
            self.moved = self._monotonic()
        self.complete |= message.offset() + 1 >= self._end
        if message.key() == self._key:
            self.latest = claim_from_bytes(message.value())

    def close(self) -> None:
        """Release the connection."""
        self._consumer.close()


def latest_claim(client: KafkaClient, topic: str, name: str) -> Claim | None:
    """The last claim of a connector's name; None for none. Raises DeliveryError or SinkError when the topic cannot be read."""
    key, found = claim_key(name), None
    for message in client.read_since(topic, 0):
        if message.key() == key:
            found = claim_from_bytes(message.value())
    return found
