"""Tracks the commit SCN up to which the change log is complete.

The connector stores, with its offset, the SCN up to which it has delivered every commit. The stored offset is in the same Kafka
transaction as the records. So whoever reads that SCN, then looks where the partitions end, then reads the partitions to there,
has all records of these commits: a mark is such an SCN with such ends.

The same offset says which tables' rows are left out: those that are suspended, that are read again after a suspension, or that
the initial snapshot could not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minercdc.config.load import ConnectorConfig
from minercdc.lake.table.state import Entry
from minercdc.messages.topics import TopicNames
from minercdc.sinks.kafka.client import KafkaClient

_INITIAL = re.compile(r"initial-(\d+)")  # id of the snapshot of what the initial one could not read

_BEFORE_TRIGGER_S = 0.15
_FREQUENT_S = 0.5
_SELDOM_S = 10.0  # an SCN without changes is not older

Ends = Mapping[tuple[str, int], int]  # (topic, partition) -> offset that its next record will have


@dataclass(frozen=True, slots=True)
class Mark:
    """An SCN, and where the partitions end that hold all records up to it.

    :param snapshot: it is the SCN of an initial snapshot that is not complete: not all of its rows are delivered.
    :param topics: topic -> Kafka's id of it; one that is made again has another id.
    :param left_out: tables whose rows began or ceased to be left out since the last mark, in order.
    """

    scn: int
    ends: Ends
    snapshot: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[Entry] = ()

    def is_reached(self, read: Ends) -> bool:
        """Whether `read`, how far the partitions are read, covers all records up to the mark's SCN."""
        return all(read.get(partition, 0) >= end for partition, end in self.ends.items())

    def without_vanished(self, topics: Mapping[str, str]) -> Mark:
        """The mark without the ends of topics that are gone, or were made again, by the ids of those that are there."""
        gone = {topic for topic, number in self.topics.items() if topics.get(topic) != number}
        ends = {place: end for place, end in self.ends.items() if place[0] not in gone}
        return replace(self, ends=ends, topics=topics) if gone else self


def until_mark(asked: float, now: float, interval: float) -> float:
    """Seconds until a mark is to be asked for, which takes some requests to Kafka: shortly before each trigger of the stream, since of what the
    micro-batch reads all is complete up to that mark. Spark has the triggers at the multiples of their interval.

    :param asked, now: when a mark was asked for the last time, and the present, in seconds since 1970.
    :param interval: of the triggers in seconds, 0 for as soon as may be.
    """
    if interval <= _FREQUENT_S:
        step, left = _FREQUENT_S, asked + _FREQUENT_S - now
    else:
        trigger = (asked + _BEFORE_TRIGGER_S + 0.01) // interval * interval + interval  # the one after that of the last mark
        step, left = interval, min(trigger - _BEFORE_TRIGGER_S, asked + _SELDOM_S) - now
    return left if left <= step else 0.0  # the clock was set back


def left_out(offset: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """Table -> (SCN from which its rows are left out, cause), of one stored offset; SCN 0 where the offset does not say it."""
    signals = offset.get("signals") or {}
    found: dict[str, tuple[int, str]] = {}
    for snapshot in signals.get("snapshots", ()):
        since = _INITIAL.match(snapshot["id"])
        if snapshot.get("initial") and since is not None:
            for table in snapshot["tables"]:
                cause = f"the initial snapshot could not read it at SCN {since[1]}, and its rows are not read yet"
                found[table["table"]] = (int(since[1]), cause)
    for resumption in signals.get("resuming", ()):
        if resumption["phase"] != "done":
            found[resumption["table"]] = (0, "it was suspended, and the connector is reading it again")
    for table in offset.get("suspended", ()):
        cause = f"the connector leaves its rows out from SCN {table['since_scn']} on: {table['reason']}"
        found[table["table"]] = (int(table["since_scn"]), cause)
    return found


def topic_pattern(config: ConnectorConfig) -> str:
    """Regular expression, of Java or Python, that the names of the table topics match as a whole."""
    prefix, delimiter = re.escape(config.identity.topic_prefix), re.escape(config.topics.topic_delimiter)
    return f"{prefix}{delimiter}.+{delimiter}.+"


class Progress:
    """What a connector's offsets say, one after the other: up to which SCN everything is delivered, and which tables' rows are left out.

    :ivar scn: 0 before an offset that has one.
    :ivar is_unmarked: something was read that no mark says yet.
    """

    def __init__(self) -> None:
        self.scn = 0
        self.is_unmarked = False
        self._snapshot = False
        self._left_out: dict[str, tuple[int, str]] = {}
        self._changed: list[Entry] = []

    def read(self, value: bytes | str) -> None:
        """Read an offset, which is JSON."""
        offset = json.loads(value)
        self.is_unmarked = True
        snapshot = offset.get("snapshot") or {}
        if "complete_scn" in offset:
            self.scn, self._snapshot = int(offset["complete_scn"]), False
        elif "scn" in snapshot and (self._snapshot or not self.scn):
            self.scn, self._snapshot = int(snapshot["scn"]), True
        self._note_left_out(left_out(offset))

    def mark(self, ends: Ends, topics: Mapping[str, str]) -> Mark:
        """The mark of what was read until now, for records up to `ends`."""
        changed, self._changed, self.is_unmarked = self._changed, [], False
        return Mark(self.scn, ends, self._snapshot, topics, changed)

    def forget_left_out(self) -> None:
        """Begin again with no tables: the offsets are read from their first one again."""
        self._left_out.clear()

    def _note_left_out(self, found: Mapping[str, tuple[int, str]]) -> None:
        """Note which tables' rows began, or ceased, to be left out."""
        for name in sorted(self._left_out.keys() - found.keys()):
            del self._left_out[name]
            self._changed.append(Entry("resumed", name, scn=self.scn))
        for name, (since, cause) in found.items():
            if name not in self._left_out:
                self._left_out[name] = (since or self.scn, cause)
                self._changed.append(Entry("suspended", name, scn=since or self.scn, detail=cause))


class Marks:
    """Reads the marks of one connector, from its topic of offsets, each offset once; for one thread.

    :raises ConfigError: as `TopicNames`.
    """

    def __init__(self, config: ConnectorConfig, client: KafkaClient) -> None:
        names = TopicNames(config)
        self._client = client
        self._topic = names.offsets
        self._name = config.identity.name.encode()
        self._pattern = re.compile(topic_pattern(config))
        self._own = re.compile(re.escape(self._topic))
        self._read_to = 0
        self._progress = Progress()

    @property
    def missing(self) -> str:
        """What is waited for, as text for people, as of the last call of `newest`; '' once the connector has an offset with an SCN."""
        if self._progress.scn:
            return ""
        return f"connector {self._name.decode()} has no offset in topic {self._topic} yet; start it: minercdc run CONFIG"

    def newest(self) -> Mark | None:
        """The newest mark; None before an offset with an SCN, and when its topic has no record since the last call. Waits
        until open transactions there are decided. Raises DeliveryError or SinkError."""
        end = self._client.all_ends(self._own).get(
            (self._topic, 0), 0
        )  # there is no topic before the connector's first start
        if end < self._read_to:  # the topic was made again
            self._read_to = 0
            self._progress.forget_left_out()
        if end > self._read_to:
            for message in self._client.read_range(self._topic, 0, self._read_to, end):
                if message.key() == self._name and (value := message.value()) is not None:
                    self._progress.read(value)
            self._read_to, self._progress.is_unmarked = end, True
        if not self._progress.scn or not self._progress.is_unmarked:
            return None
        topics = self.topics()  # first: of a topic that is made again in between, the older id with the newer end is seen
        return self._progress.mark(self._client.all_ends(self._pattern), topics)

    def topics(self) -> Mapping[str, str]:
        """Table topic -> Kafka's id of it, of those that are there. Raises DeliveryError or SinkError."""
        return self._client.topic_ids(self._pattern)
