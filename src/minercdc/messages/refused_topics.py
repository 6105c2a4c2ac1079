"""Topics that Kafka refuses, or whose records it refuses, so that a table is set aside for one and the others go on.

    refused by Kafka -> noted, and the stream restarts from its offset -> the table's next row has no topic -> it is suspended

Kafka answers a record after others were sent, in one transaction: it can be left out by a new one only.
"""

from __future__ import annotations

from typing import NamedTuple

from minercdc.errors import DeliveryError, RecordSchemaError, SinkError


class Refusal(NamedTuple):
    """That Kafka does not take what a topic is to have.

    :param reason: what it refuses, and its cause.
    :param hint: what to do.
    """

    reason: str
    hint: str


class RefusedTopics:
    """What Kafka refused in this process, by topic. Only names that are looked at (`refusal`) are set aside."""

    def __init__(self) -> None:
        self._refusals: dict[str, Refusal] = {}

    def note(self, topic: str, refusal: Refusal) -> SinkError:
        """Remember that Kafka refuses a topic, or a record in it. Returns the error to be raised: a DeliveryError, after which the
        stream goes on without its table; a SinkError when it was known, since it is no table's."""
        error = SinkError if topic in self._refusals else DeliveryError
        self._refusals[topic] = refusal
        return error(refusal.reason, hint=refusal.hint)

    def refusal(self, topic: str, where: str) -> RecordSchemaError | None:
        """The error for a row of a topic that Kafka refuses; None for another topic.

        :param where: names the row's table.
        """
        found = self._refusals.get(topic)
        return None if found is None else RecordSchemaError(found.reason, where=where, hint=found.hint)

    def forget(self) -> None:
        """Try all topics again, as when a table is resumed."""
        self._refusals.clear()
