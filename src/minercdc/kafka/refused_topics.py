"""Topics that Kafka refuses, or whose records it refuses, so that a table is set aside for one and the others go on.

    refused by Kafka -> noted, and the stream restarts from its offset -> the table's next row has no topic -> it is suspended

Kafka answers a record after others were sent, in one transaction: it can be left out by a new one only.
"""

from __future__ import annotations

from typing import Final

from minercdc.errors import DeliveryError, RecordSchemaError, SinkError

_FIX: Final = "Correct the topic: one that is compacted takes no record without a key."


class RefusedTopics:
    """What Kafka refused in this process, by topic. Only names that are looked at (`refusal`) are set aside."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def note(self, topic: str, reason: str) -> SinkError:
        """Remember that Kafka refuses a topic. Returns the error to be raised: a DeliveryError, after which the stream goes on
        without its table; a SinkError when it was known, since it is no table's.

        :param reason: Kafka's text, with what was tried.
        """
        known = topic in self._reasons
        self._reasons[topic] = reason
        return SinkError(reason, hint=_FIX) if known else DeliveryError(reason, hint=_FIX)

    def refusal(self, topic: str, where: str) -> RecordSchemaError | None:
        """The error for a row of a topic that Kafka refuses; None for another topic.

        :param where: names the row's table.
        """
        reason = self._reasons.get(topic)
        return None if reason is None else RecordSchemaError(reason, where=where, hint=_FIX)

    def forget(self) -> None:
        """Try all topics again, as when a table is resumed."""
        self._reasons.clear()
