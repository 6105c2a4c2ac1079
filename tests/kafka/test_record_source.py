"""What a lake is told of the topics that it has not read for long, on a real broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kafka.test_sink import settings

from minercdc.lake.stream.record_source import KafkaSource
from minercdc.local.kafka_broker import KafkaBroker


def test_deletes_may_be_gone_of_a_compacted_topic_that_was_not_read_for_longer_than_it_keeps_them(
    broker: KafkaBroker, prefix: str
) -> None:
    compacted, other, quiet = (f"{prefix}.LAB.{name}" for name in ("COMPACTED", "OTHER", "QUIET"))
    policies = {compacted: "compact,delete", other: "delete", quiet: "compact"}
    topics = [NewTopic(name, 1, 1, config={"cleanup.policy": policy}) for name, policy in policies.items()]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for created in admin.create_topics(topics).values():
        created.result()
    now = datetime.now(UTC)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for topic, age in ((compacted, timedelta(hours=30)), (other, timedelta(hours=30)), (quiet, timedelta())):
        for number in range(2):
            producer.produce(topic, b"v", b"k", 0, timestamp=int((now - age).timestamp() * 1000) + number)
    assert producer.flush(30) == 0
    source = KafkaSource(settings(prefix, broker.bootstrap_servers))
    ends = {(topic, 0): 2 for topic in policies}
    read = dict.fromkeys(ends, 1)
    assert [topic for topic, _ in source.uncertain(read, {}, ends, now - timedelta(hours=48))] == [compacted]
    assert not list(source.uncertain(read, {}, ends, now - timedelta(hours=23)))
    assert not list(source.uncertain(ends, {}, ends, now - timedelta(hours=48))), "all is read"
    assert not list(source.uncertain({}, ends, ends, now - timedelta(hours=48))), (
        "the checkpoint is lost, the change log is not"
    )
    assert not list(source.uncertain({}, {}, ends, now - timedelta(hours=48))), "topics that the lake never read"
