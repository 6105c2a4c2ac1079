"""What a connector wrote, read as its consumers do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_END, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.kafka.consume import await_committed, read_committed

from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes


@dataclass(frozen=True, slots=True)
class Read:
    """One record, parsed; `value` None is a tombstone."""

    key: Any
    value: Any
    headers: dict[str, Any]


def parsed(message: Message) -> Read:
    key, value = message.key(), message.value()
    headers = {name: (content or b"").decode() for name, content in message.headers() or ()}
    return Read(None if key is None else json.loads(key), None if value is None else json.loads(value), headers)


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one connector."""

    brokers: str
    prefix: str

    def records(self, topic: str) -> list[Read]:
        """Everything committed so far; nothing when there is no such topic."""
        return [parsed(message) for message in read_committed(self.brokers, topic)]

    def await_records(self, topic: str, enough: Callable[[list[Read]], bool] | int, timeout: float = 120) -> list[Read]:
        """Until there are enough.

        :param enough: how many, or a question about them.
        """

        known: dict[tuple[int | None, int | None], Read] = {}  # all are looked at again each time that some have come

        def read(message: Message) -> Read:
            place = message.partition(), message.offset()
            if place not in known:
                known[place] = parsed(message)
            return known[place]

        def is_enough(messages: list[Message]) -> bool:
            return len(messages) >= enough if isinstance(enough, int) else enough([*map(read, messages)])

        messages = await_committed(self.brokers, topic, is_enough, timeout)
        found = [*map(read, messages)]
        assert is_enough(messages), f"not in time; {topic} has {found[-3:]}"
        return found

    def delete(self, topic: str) -> None:
        """The topic is gone when this returns."""
        admin = AdminClient({"bootstrap.servers": self.brokers})
        admin.delete_topics([topic])[topic].result()
        deadline = time.monotonic() + 30
        while topic in admin.list_topics(timeout=10).topics:
            assert time.monotonic() < deadline, f"{topic} is still there"
            time.sleep(0.02)

    def corrupt(self, topic: str, value: bytes = b"\x00garbage") -> None:
        """Append a record that belongs to no connector."""
        producer = Producer({"bootstrap.servers": self.brokers})
        producer.produce(topic, value, partition=0)
        assert producer.flush(30) == 0

    def truncate(self, topic: str) -> None:
        """Delete all records that are there now, as retention does."""
        admin = AdminClient({"bootstrap.servers": self.brokers})
        end = TopicPartition(topic, 0, OFFSET_END)
        admin.delete_records([end])[end].result()

    def offset(self) -> Offset | None:
        """The connector's, as stored."""
        found = [
            m.value() for m in read_committed(self.brokers, f"{self.prefix}-offsets") if m.key() == self.prefix.encode()
        ]
        return offset_from_bytes(found[-1], "test") if found and found[-1] else None


def ops(records: list[Read]) -> list[tuple[str, Any]]:
    """(op, key column or row) pairs, for tables whose whole row is short."""
    return [(record.value["op"], record.value["after"] or record.value["before"]) for record in records if record.value]
