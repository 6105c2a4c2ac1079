"""The model of Kafka and a real broker: the same clients' calls, the same answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType
from tests.simulate.kafka import Cluster, SimAdmin, SimConsumer, SimProducer
from tests.simulate.tasks import Process

SECONDS = 30.0


class Broker:
    """A real one."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._settings = {"bootstrap.servers": bootstrap_servers}
        self.admin: Any = AdminClient(self._settings)

    def producer(self, transactional_id: str) -> Any:
        return Producer({**self._settings, "transactional.id": transactional_id})

    def consumer(self, isolation: str = "read_committed") -> Any:
        more = {"group.id": "model", "enable.partition.eof": True, "isolation.level": isolation, "fetch.wait.max.ms": 5}
        return Consumer({**self._settings, **more})

    def send(self, producer: Any) -> None:
        """What was produced reaches the broker."""
        assert producer.flush(SECONDS) == 0


class Model:
    """In memory; no fault happens."""

    def __init__(self) -> None:
        process = Process("one")
        self._early = False
        self._cluster = Cluster(lambda: 0.0, self._call, lambda least, most: least, lambda seconds: None, lambda: process)
        self.admin: Any = SimAdmin(self._cluster)

    def _call(self, what: str, *faults: str) -> str:
        return "early" if self._early and "early" in faults else ""

    def producer(self, transactional_id: str) -> Any:
        return SimProducer(self._cluster, {"transactional.id": transactional_id})

    def consumer(self, isolation: str = "read_committed") -> Any:
        return SimConsumer(self._cluster, {"isolation.level": isolation})

    def send(self, producer: Any) -> None:
        assert producer.flush(SECONDS) == 0


@pytest.fixture(params=["model", "broker"])
def kafka(request: pytest.FixtureRequest) -> Any:
    return Model() if request.param == "model" else Broker(request.getfixturevalue("broker").bootstrap_servers)


@pytest.fixture
def topic(kafka: Any) -> str:
    return made(kafka, "delete")


def made(kafka: Any, policy: str) -> str:
    name = f"t{uuid.uuid4().hex[:10]}"
    kafka.admin.create_topics([NewTopic(name, 2, 1, config={"cleanup.policy": policy})])[name].result()
    places = {TopicPartition(name, number): OffsetSpec.latest() for number in range(2)}
    deadline = time.monotonic() + SECONDS
    while any(one.exception() for one in kafka.admin.list_offsets(places).values()):  # a real one has no leader for a moment
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return name


@pytest.fixture
def begun(kafka: Any) -> Callable[..., Any]:
    """Makes a producer within a transaction; one that is made again with the same id fences the former."""
    prefix = uuid.uuid4().hex[:8]

    def make(name: str = "a") -> Any:
        producer = kafka.producer(f"{prefix}-{name}")
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        return producer

    return make


def read(kafka: Any, topic: str, begin: int = OFFSET_BEGINNING, isolation: str = "read_committed") -> Iterator[Any]:
    """Messages of partition 0 up to where a reader comes to at present; then the offset of that."""
    consumer = kafka.consumer(isolation)
    try:
        consumer.assign([TopicPartition(topic, 0, begin)])
        while True:
            message = consumer.poll(SECONDS)
            assert message is not None, "no end"
            if (error := message.error()) is None:
                yield message
                continue
            assert error.code() == KafkaError._PARTITION_EOF
            return
    finally:
        consumer.close()


def values(kafka: Any, topic: str, **more: Any) -> list[bytes]:
    return [message.value() for message in read(kafka, topic, **more)]


def end(kafka: Any, topic: str) -> int:
    place = TopicPartition(topic, 0)
    return int(kafka.admin.list_offsets({place: OffsetSpec.latest()})[place].result().offset)


def test_records_are_seen_after_the_commit_all_together(kafka: Any, topic: str, begun: Any) -> None:
    producer = begun()
    producer.produce(topic, b"1", b"k", 0, headers=[("h", b"x")])
    producer.produce(topic, b"2", b"k", 0)
    kafka.send(producer)
    assert values(kafka, topic) == []
    assert values(kafka, topic, isolation="read_uncommitted") == [b"1", b"2"]
    producer.commit_transaction(SECONDS)
    first, second = read(kafka, topic)
    assert [(one.topic(), one.partition(), one.offset(), one.key(), one.value()) for one in (first, second)] == [
        (topic, 0, 0, b"k", b"1"),
        (topic, 0, 1, b"k", b"2"),
    ]
    assert (first.headers(), second.headers()) == ([("h", b"x")], None)


def test_the_end_of_a_transaction_takes_an_offset(kafka: Any, topic: str, begun: Any) -> None:
    producer = begun()
    for number in range(2):
        producer.produce(topic, str(number).encode(), None, 0)
        producer.commit_transaction(SECONDS)
        producer.begin_transaction()
    assert [message.offset() for message in read(kafka, topic)] == [0, 2]
    assert end(kafka, topic) == 4
    assert [message.offset() for message in read(kafka, topic, begin=1)] == [2], "a marker is no record"
    assert values(kafka, topic, begin=4) == []


def test_what_is_aborted_is_never_seen_and_its_offsets_are_gone(kafka: Any, topic: str, begun: Any) -> None:
    producer = begun()
    producer.produce(topic, b"aborted", b"k", 0)
    kafka.send(producer)
    producer.abort_transaction(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"kept", b"k", 0)
    producer.commit_transaction(SECONDS)
    assert [(message.offset(), message.value()) for message in read(kafka, topic)] == [(2, b"kept")]


def test_a_second_producer_aborts_what_the_first_left_open_and_fences_it(kafka: Any, topic: str, begun: Any) -> None:
    former = begun()
    former.produce(topic, b"open", b"k", 0)
    kafka.send(former)
    later = begun()
    later.produce(topic, b"new", b"k", 0)
    later.commit_transaction(SECONDS)
    former.produce(topic, b"too late", b"k", 0)
    with pytest.raises(KafkaException) as caught:
        former.commit_transaction(SECONDS)
    error = caught.value.args[0]
    assert (error.code(), error.fatal()) == (KafkaError._FENCED, True)
    former.flush(SECONDS)
    for isolation in ("read_committed", "read_uncommitted"):
        assert values(kafka, topic, isolation=isolation)[-1] == b"new", "what was produced too late arrived"


def test_readers_of_what_is_committed_wait_for_an_earlier_transaction_of_another(kafka: Any, topic: str, begun: Any) -> None:
    slow, fast = begun("slow"), begun("fast")
    slow.produce(topic, b"first", b"k", 0)
    kafka.send(slow)
    fast.produce(topic, b"second", b"k", 0)
    fast.produce(topic, b"elsewhere", b"k", 1)
    fast.commit_transaction(SECONDS)
    assert values(kafka, topic) == []
    assert end(kafka, topic) == 3
    slow.commit_transaction(SECONDS)
    assert values(kafka, topic) == [b"first", b"second"]


def test_a_tombstone_and_a_record_without_key(kafka: Any, topic: str, begun: Any) -> None:
    producer = begun()
    producer.produce(topic, None, b"k", 0)
    producer.produce(topic, b"v", None, 0)
    producer.commit_transaction(SECONDS)
    assert [(message.key(), message.value()) for message in read(kafka, topic)] == [(b"k", None), (None, b"v")]


def test_a_compacted_topic_takes_no_record_without_key(kafka: Any, begun: Any) -> None:
    compacted, producer = made(kafka, "compact"), begun()
    producer.produce(compacted, b"v", None, 0)
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(SECONDS)
    error = caught.value.args[0]
    assert (error.code(), error.txn_requires_abort()) == (KafkaError.INVALID_RECORD, True)
    again = begun()
    again.produce(compacted, b"v", b"k", 0)
    again.commit_transaction(SECONDS)
    assert values(kafka, compacted) == [b"v"]


def test_an_empty_transaction_writes_nothing(kafka: Any, topic: str, begun: Any) -> None:
    begun().commit_transaction(SECONDS)
    assert end(kafka, topic) == 0


def test_topics_are_listed_made_once_and_described(kafka: Any, topic: str) -> None:
    with pytest.raises(KafkaException) as caught:
        kafka.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    assert caught.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    listed = kafka.admin.list_topics(timeout=SECONDS).topics
    assert sorted(listed[topic].partitions) == [0, 1]
    assert listed[topic].error is None
    assert "none" not in listed
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = kafka.admin.describe_configs([resource])[resource].result()
    assert settings["cleanup.policy"].value == "delete"


def test_ends_of_a_topic_that_is_not_there_are_an_error_of_that_place(kafka: Any, topic: str) -> None:
    there, nowhere = TopicPartition(topic, 1), TopicPartition(f"{topic}-none", 0)
    for which in (OffsetSpec.earliest(), OffsetSpec.latest()):
        found = kafka.admin.list_offsets({there: which, nowhere: which})
        assert found[there].result().offset == 0
        with pytest.raises(KafkaException) as caught:
            found[nowhere].result()
        assert caught.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
