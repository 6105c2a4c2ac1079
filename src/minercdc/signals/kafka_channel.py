"""Channel `kafka`: reads the records of the signal topic as signals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from minercdc.signals.channels import Received
from minercdc.stream.signal import SignalRefused, signal_of_json


class Topic(Protocol):
    """The topic of channel `kafka`; `kafka.signal_topic.SignalTopic` fits, and says what its methods raise."""

    def poll(self, taken: str) -> tuple[Sequence[bytes], str]:
        """Values of the next records, at the first call those after the mark `taken`, without waiting, and the mark after
        them."""

    def close(self) -> None:
        """Leave the topic; a later `poll` opens it again."""


class TopicChannel:
    """The `channels.SignalChannel` of `kafka`; its mark is the offset of the next record.

    :param topic: closed by `close`.
    """

    name = "kafka"

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        """Signals of the next records, as `Topic.poll`, and the mark after them, `taken` when there are none; for records that
        hold no signal, refusals. Raises as `kafka.signal_topic.SignalTopic`."""
        values, mark = self._topic.poll(taken)
        return list(_received(values)), mark

    def stored(self, taken: str) -> None:
        """No effect: the topic keeps its records."""

    def close(self) -> None:
        """Close the topic; a later `poll` opens it again."""
        self._topic.close()


def _received(values: Sequence[bytes]) -> Iterator[Received]:
    for value in values:
        try:
            yield signal_of_json(value, "kafka")
        except SignalRefused as refused:
            yield refused
