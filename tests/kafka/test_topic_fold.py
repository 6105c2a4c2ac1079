"""A table's topic as the memory of what its readers hold, on a real broker."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.kafka.test_sink import OFFSET, settings, sink_of, topics_of

from minercdc.errors import StateDirectoryError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.topic_fold import TopicFold, is_alive
from minercdc.stream.contracts import Record

TABLE = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER"),), (0,))


def value(op: str) -> bytes:
    return b'{"before":{"op":"d"},"after":{"op":"c"},"op":"' + op.encode() + b'","ts_ms":1}'


@pytest.mark.parametrize(
    ("record", "alive"), [(value("c"), True), (value("d"), False), (value("r"), True), (None, False), (b'{"abcd":1}', True)]
)
def test_the_operation_is_that_of_the_envelope(record: bytes | None, alive: bool) -> None:
    assert is_alive(record) == alive


def await_ready(fold: TopicFold) -> None:
    deadline = time.monotonic() + 30
    while not fold.ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_keys_that_were_not_written_since_the_mark_are_given_until_they_have_their_delete(
    broker: KafkaBroker, prefix: str, tmp_path: Path
) -> None:
    config = settings(prefix, broker.bootstrap_servers)
    sink, topics, topic = sink_of(config), topics_of(config), f"{prefix}.S.T"
    fold = TopicFold(KafkaClient(config.kafka, config.topics, config.kafka_client), topics, tmp_path, "a/b")
    assert fold.ends(TABLE) == ()
    keys = [str(number).encode() for number in range(40)]
    for key in keys:
        sink.write(Record(topic, key, value("c")))
    for key in keys[:5]:
        sink.write(Record(topic, key, value("d")))
        sink.write(Record(topic, key, None))
    sink.commit(OFFSET)
    marks = fold.ends(TABLE)
    for key in keys[10:]:
        sink.write(Record(topic, key, value("r")))
    sink.commit(OFFSET)
    fold.begin(TABLE, marks)
    await_ready(fold)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    sink.write(Record(topic, keys[5], value("c")))  # while it was folded
    sink.commit(OFFSET)
    first = fold.gone(3)
    assert len(first) == 3
    for key in first:
        sink.write(Record(topic, key, value("d")))
    sink.commit(OFFSET)
    rest = fold.gone(100)
    assert sorted([*first, *rest]) == keys[6:10]
    assert fold.limits() == ""
    fold.begin(TABLE, marks)  # as another run does
    await_ready(fold)
    assert sorted(fold.gone(100)) == sorted(rest)
    fold.close()
    assert list(tmp_path.iterdir()) == []
    sink.close()


def test_what_cannot_be_seen_is_said(broker: KafkaBroker, prefix: str, tmp_path: Path) -> None:
    config = settings(prefix, broker.bootstrap_servers)
    topic, client = f"{prefix}.S.T", KafkaClient(config.kafka, config.topics, config.kafka_client)
    client.ensure_topic(topic, partitions=1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key in (b"a", b"b", None):
        producer.produce(topic, value("c"), key)
    assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    cut = TopicPartition(topic, 0, 1)
    admin.delete_records([cut])[cut].result()
    left = tmp_path / "keys-c-left.sqlite"
    left.mkdir()  # what cannot be deleted stays
    fold = TopicFold(client, topics_of(config), tmp_path, "c")
    fold.begin(TABLE, fold.ends(TABLE))
    await_ready(fold)
    assert fold.gone(10) == [b"b"]
    assert "retention" in fold.limits()
    assert "without a key" in fold.limits()
    fold.close()
    (tmp_path / "full").write_text("")
    blocked = TopicFold(client, topics_of(config), tmp_path / "full", "c")
    blocked.begin(TABLE, ())
    with pytest.raises(StateDirectoryError):
        await_ready(blocked)
