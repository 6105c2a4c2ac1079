"""Ranges of several partitions that one consumer reads, again and again."""

from __future__ import annotations

import random
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kafka.test_sink import client_of, settings

from minercdc.errors import DeliveryError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.sinks.kafka import range_reader
from minercdc.sinks.kafka.range_reader import RangeReader

Place = tuple[str, int]


class Topic:
    """A topic of two partitions, written in transactions."""

    def __init__(self, broker: KafkaBroker, name: str) -> None:
        self.name = name
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        self._admin.create_topics([NewTopic(name, 2, 1)])[name].result()
        self._producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
        self._producer.init_transactions()

    def write(self, *values: str, partition: int = 0, commit: bool = True) -> None:
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(self.name, value.encode(), partition=partition)
        self._producer.flush()
        self._producer.commit_transaction() if commit else self._producer.abort_transaction()

    def delete_before(self, offset: int) -> None:
        place = TopicPartition(self.name, 0, offset)
        self._admin.delete_records([place])[place].result()


def read(reader: RangeReader, ranges: dict[Place, tuple[int, int]]) -> list[tuple[int, int, str]]:
    return sorted((one.partition(), one.offset(), one.value().decode()) for one in reader.messages(ranges))


def test_committed_messages_within_the_ranges_are_read(broker: KafkaBroker, prefix: str) -> None:
    """Each transaction ends with a marker, which has an offset of its own."""
    topic = Topic(broker, f"{prefix}.S.T")
    first, second = (topic.name, 0), (topic.name, 1)
    topic.write("a", "b")  # 0, 1; marker 2
    topic.write("gone", commit=False)  # 3, 4
    topic.write("c")  # 5, 6
    topic.write("x", "y", partition=1)  # 0, 1, 2
    topic.write("gone", partition=1, commit=False)  # 3, 4
    with closing(RangeReader(client_of(settings(prefix, broker.bootstrap_servers)))) as reader:
        assert list(reader.messages({})) == []
        assert read(reader, {first: (0, 7), second: (0, 5)}) == [
            (0, 0, "a"),
            (0, 1, "b"),
            (0, 5, "c"),
            (1, 0, "x"),
            (1, 1, "y"),
        ]
        assert read(reader, {first: (1, 5), second: (2, 5)}) == [(0, 1, "b")]
        topic.write("d", "e")  # 7, 8, 9
        assert read(reader, {first: (7, 8)}) == [(0, 7, "d")]
        abandoned = reader.messages({first: (0, 9)})
        assert next(abandoned).value() == b"a"
        abandoned.close()
        topic.delete_before(5)
        assert read(reader, {first: (0, 8)}) == [(0, 5, "c"), (0, 7, "d")]


def test_no_message_is_left_out_by_what_was_fetched_ahead(broker: KafkaBroker, prefix: str) -> None:
    """Of a range that was read before, and of one that was given up: a later message would tell that a partition is read to its end."""
    topic, chance = Topic(broker, f"{prefix}.S.T"), random.Random(4)
    for _ in range(60):
        values = ["v" * 100] * chance.randrange(1, 100)
        topic.write(*values, partition=chance.randrange(2), commit=chance.random() < 0.9)
    places = [(topic.name, 0), (topic.name, 1)]
    with closing(RangeReader(client_of(settings(prefix, broker.bootstrap_servers)))) as reader:
        ends = {place: reader_end(broker, place) for place in places}
        whole = {(one.partition(), one.offset()) for one in reader.messages({place: (0, ends[place]) for place in places})}
        assert len(whole) > 1_500
        at, found = dict.fromkeys(places, 0), []
        while at != ends:
            ranges = {place: (begin, min(begin + chance.randrange(1, 60), ends[place])) for place, begin in at.items()}
            new = {place: both for place, both in ranges.items() if both[0] < both[1]}
            if chance.random() < 0.2:
                with closing(reader.messages(new)) as abandoned:
                    next(abandoned, None)
            found += [(one.partition(), one.offset()) for one in reader.messages(new)]
            at = {place: end for place, (_, end) in ranges.items()}
    assert sorted(found) == sorted(whole)


def reader_end(broker: KafkaBroker, place: Place) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "ends"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(*place), 30)[1])
    finally:
        consumer.close()


def test_what_never_comes_is_an_error(broker: KafkaBroker, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic(broker, f"{prefix}.S.T")
    topic.write("a")
    monkeypatch.setattr(range_reader, "_PROGRESS_S", 0.1)
    with closing(RangeReader(client_of(settings(prefix, broker.bootstrap_servers)))) as reader:
        with pytest.raises(DeliveryError, match="made no progress"):
            read(reader, {(topic.name, 0): (0, 1000)})
        monkeypatch.undo()
        assert read(reader, {(topic.name, 0): (0, 2)}) == [(0, 0, "a")]
