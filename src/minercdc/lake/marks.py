"""Up to which commit SCN the change log is complete.

The connector stores, with its offset, the SCN up to which it has delivered every commit. The stored offset is in the same Kafka
transaction as the records. So whoever reads that SCN, then looks where the partitions end, then reads the partitions to there,
has all records of these commits: a mark is such an SCN with such ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from minercdc.config.load import ConnectorConfig
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.topics import TopicNames

Ends = Mapping[tuple[str, int], int]  # (topic, partition) -> offset that its next record will have


@dataclass(frozen=True, slots=True)
class Mark:
    """An SCN, and where the partitions end that hold all records up to it.

    :param snapshot: it is the SCN of an initial snapshot that is not complete: its rows are known, but not all are delivered.
    """

    scn: int
    ends: Ends
    snapshot: bool = False

    def is_reached(self, read: Ends) -> bool:
        """Whether partitions that are read up to `read` hold all records up to it."""
        return all(read.get(partition, 0) >= end for partition, end in self.ends.items())


def topic_pattern(config: ConnectorConfig) -> str:
    """Java regular expression of the table topics."""
    prefix, delimiter = re.escape(config.identity.topic_prefix), re.escape(config.topics.topic_delimiter)
    return f"{prefix}{delimiter}.+{delimiter}.+"


class Marks:
    """Reads the marks of one connector."""

    def __init__(self, config: ConnectorConfig, client: KafkaClient) -> None:
        names = TopicNames(config.identity, config.topics, config.kafka)
        self._client = client
        self._topic = names.offsets
        self._name = config.identity.name.encode()
        self._pattern = re.compile(topic_pattern(config))
        self._own = re.compile(re.escape(self._topic))
        self._read_to = 0
        self._scn = 0
        self._snapshot = False

    def newest(self) -> Mark | None:
        """The newest mark; None when there is none since the last call. Raises DeliveryError or SinkError."""
        end = self._client.all_ends(self._own).get(
            (self._topic, 0), 0
        )  # there is no topic before the connector's first start
        if end < self._read_to:  # the topic was made again
            self._read_to = 0
        if end == self._read_to:
            return None
        for message in self._client.read_range(self._topic, 0, self._read_to, end):
            if message.key() == self._name and message.value() is not None:
                self._read(message.value())
        mark = Mark(self._scn, self._client.all_ends(self._pattern), self._snapshot) if self._scn else None
        self._read_to = end
        return mark

    def _read(self, value: bytes) -> None:
        offset = json.loads(value)
        snapshot = offset.get("snapshot") or {}
        if "complete_scn" in offset:
            self._scn, self._snapshot = int(offset["complete_scn"]), False
        elif "scn" in snapshot and (self._snapshot or not self._scn):
            self._scn, self._snapshot = int(snapshot["scn"]), True
