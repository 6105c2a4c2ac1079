"""The sink without Kafka transactions: every record arrives at least once, in order.

    records, schema history .. flush -> offset .. flush

A kill before the offset is there sends records again. The offset says how many records of the schema history belong to it.
"""

from __future__ import annotations

import time
from typing import Any

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka.codes import classify, classify_lost
from minercdc.sinks.kafka.sink import KafkaSink


class AtLeastOnceSink(KafkaSink):
    """A `KafkaSink` without Kafka transactions: the same records, visible as soon as they are sent, and the offset after
    them."""

    def _join(self) -> Any:
        return self._client.producer(None, self._note_undelivered)

    def _begin(self) -> None:
        self._open = True

    def _commit(self, stored: bytes | None) -> None:
        """Wait until everything that was written is durable, and store the offset."""
        self._flush("sending to Kafka")
        self.check_owner()
        self._produce(self._topics.offsets, self._name.encode(), stored, (), 0)
        self._flush("storing the offset")
        self._open = False

    def close(self) -> None:
        """Drop what waits to be sent; what is under way may arrive, and is waited for 0.1 s. Safe to call twice."""
        self._open = False
        self._producer.purge(in_flight=False)
        self._producer.flush(0.1)

    def _flush(self, doing: str) -> None:
        deadline = time.monotonic() + self._client.timeout + 5
        while self._producer.flush(0.5):
            if self._undelivered is not None or time.monotonic() > deadline:
                break
        if (refused := self._of_refused_topic()) is not None:
            raise refused
        if (lost := self._undelivered) is not None:
            raise classify_lost(lost.error, f"{doing} ({lost.record})")
        if len(self._producer):
            raise DeliveryError(f"{doing} failed: {len(self._producer)} records were not taken in time")

    def _failed(self, error: Any, doing: str) -> Any:
        return classify(error, doing)
