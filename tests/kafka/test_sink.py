"""The transactional sink on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kafka.consume import read_committed, read_so_many

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import DeliveryError, FencedError, SharedTopicError, SinkError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.partition_reader import PartitionReader
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.stream.contracts import Record
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import ChunkProgress, Offset, PartialTransaction, SnapshotState, TableProgress

MakeSink = Callable[[], KafkaSink]


def settings(prefix: str, bootstrap: str, **more: str) -> ConnectorConfig:
    return parse_properties(
        {
            "name": prefix,
            "topic.prefix": prefix,
            "database.hostname": "localhost",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": bootstrap,
            "minercdc.kafka.timeout.ms": "15000",
            **more,
        }
    )


def topics_of(config: ConnectorConfig) -> TopicNames:
    return TopicNames(config)


def client_of(config: ConnectorConfig) -> KafkaClient:
    return KafkaClient(config.kafka, config.topics, config.kafka_client)


def sink_of(config: ConnectorConfig, ownership: Ownership | None = None) -> KafkaSink:
    """A sink of a process of its own, unless it is given the process's ownership."""
    name = config.identity.name
    return KafkaSink(client_of(config), topics_of(config), name, ownership or Ownership(name))


@pytest.fixture
def make_sink(broker: KafkaBroker, prefix: str) -> MakeSink:
    return lambda: sink_of(settings(prefix, broker.bootstrap_servers))


OFFSET = Offset("logminer", position={"threads": {"1": {"resume_scn": "9007199254740993"}}})


def test_records_become_visible_with_their_offset_and_not_before(
    make_sink: MakeSink, broker: KafkaBroker, prefix: str
) -> None:
    sink = make_sink()
    topic = f"{prefix}.S.T"
    sink.write(Record(topic, b"k", b"v1"))
    assert sink.load_offset() is None
    sink.commit(OFFSET)
    sink.write(Record(topic, b"k", None, (("h", b"x"),)))
    messages = read_so_many(broker.bootstrap_servers, topic, 1)
    assert [(m.key(), m.value()) for m in messages] == [(b"k", b"v1")]
    sink.commit(Offset("logminer", position={"x": 1}))
    messages = read_so_many(broker.bootstrap_servers, topic, 2)
    assert [(m.key(), m.value(), m.headers()) for m in messages] == [(b"k", b"v1", None), (b"k", None, [("h", b"x")])]
    sink.close()


def test_what_was_not_committed_is_never_seen_and_the_offset_stays(
    make_sink: MakeSink, broker: KafkaBroker, prefix: str
) -> None:
    topic = f"{prefix}.S.T"
    first = make_sink()
    first.write(Record(topic, b"1", b"kept"))
    first.commit(OFFSET)
    first.write(Record(topic, b"2", b"lost"))
    second = make_sink()  # as after a kill: the first was never closed
    assert second.load_offset() == OFFSET
    second.write(Record(topic, b"3", b"kept too"))
    second.commit(OFFSET)
    assert [m.value() for m in read_so_many(broker.bootstrap_servers, topic, 2)] == [b"kept", b"kept too"]
    with pytest.raises(FencedError, match="another instance"):
        first.commit(OFFSET)
    first.close()
    second.close()


def test_an_idle_instance_finds_out_that_it_was_replaced(make_sink: MakeSink) -> None:
    first = make_sink()
    first.check_owner()
    second = make_sink()
    with pytest.raises(FencedError, match="another instance"):
        first.check_owner()
    second.check_owner()


def test_a_replaced_instance_that_restarts_does_not_fence_its_successor(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers)
    old = Ownership(prefix)
    sink_of(config, old).commit(OFFSET)
    successor = sink_of(config)
    with pytest.raises(FencedError, match="another instance"):
        sink_of(config, old)
    successor.commit(OFFSET)


def test_a_restart_within_the_process_is_no_other_instance(broker: KafkaBroker, prefix: str) -> None:
    config, ownership = settings(prefix, broker.bootstrap_servers), Ownership(prefix)
    left = sink_of(config, ownership)
    left.write(Record(f"{prefix}.S.T", b"1", b"lost"))
    again = sink_of(config, ownership)
    again.commit(OFFSET)
    with pytest.raises(DeliveryError):  # its producer is fenced by ours: a restart is right, an end would be wrong
        left.commit(OFFSET)


def test_an_offset_survives_with_all_its_parts(make_sink: MakeSink) -> None:
    offset = Offset(
        "logminer",
        position=None,
        partial=PartialTransaction("0a00", 2**60, 7),
        snapshot=SnapshotState(
            2**61,
            {"a": "b"},
            (
                TableProgress("S.T", 5, (ChunkProgress(None, "AAB", "AAA"), ChunkProgress("AAB", None, None, True)), 9),
                TableProgress("S.U"),
            ),
        ),
    )
    sink = make_sink()
    sink.commit(offset)
    sink.close()
    again = make_sink()
    assert again.load_offset() == offset
    again.close()


def test_a_record_too_large_for_kafka_is_refused_by_name(make_sink: MakeSink, prefix: str) -> None:
    sink = make_sink()
    with pytest.raises(SinkError, match=f"{prefix}.S.BIG") as caught:
        sink.write(Record(f"{prefix}.S.BIG", None, b"x" * 20_000_000))
    assert "minercdc.kafka.client.message.max.bytes" in caught.value.hint
    assert "20000000 bytes" in caught.value.message
    sink.close()


def test_records_that_are_too_large_together_are_said_to_be(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers, **{"topic.creation.default.max.message.bytes": "1500"})
    sink = sink_of(config)
    for number in range(3):
        sink.write(Record(f"{prefix}.S.T", b"k", bytes([number]) * 700))
    with pytest.raises(SinkError, match="MSG_SIZE_TOO_LARGE") as caught:
        sink.commit(OFFSET)
    assert "minercdc.kafka.client.batch.size" in caught.value.hint
    sink.close()


def test_a_topic_that_kafka_refuses_is_remembered(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers, **{"topic.creation.default.cleanup.policy": "compact"})
    client = client_of(config)
    sink = KafkaSink(client, topics_of(config), prefix, Ownership(prefix))
    sink.write(Record(f"{prefix}.S.T", None, b"v"))
    with pytest.raises(DeliveryError, match="INVALID_RECORD") as caught:
        sink.commit(OFFSET)
    assert "no record without a key" in caught.value.hint
    sink.close()
    client.ensure_topic(f"{prefix}.S.D.X")
    with pytest.raises(DeliveryError, match="collides with existing topic"):
        client.ensure_topic(f"{prefix}.S.D_X")
    for topic in (f"{prefix}.S.T", f"{prefix}.S.D_X"):
        assert client.refused.refusal(topic, "table S.T") is not None
    assert client.refused.refusal(f"{prefix}.S.D.X", "") is None


@pytest.mark.parametrize("key", [b"k", None])
@pytest.mark.parametrize("records", [1, 3])
def test_a_record_whose_time_kafka_does_not_take_is_of_a_topic_that_is_remembered(
    broker: KafkaBroker, prefix: str, records: int, key: bytes | None
) -> None:
    """The client says INVALID_RECORD of those that were sent together."""
    config = settings(prefix, broker.bootstrap_servers, **{"topic.creation.default.message.timestamp.before.max.ms": "0"})
    client = client_of(config)
    sink = KafkaSink(client, topics_of(config), prefix, Ownership(prefix))
    for _ in range(records):
        sink.write(Record(f"{prefix}.S.T", key, b"v"))
    with pytest.raises(DeliveryError, match=r"INVALID_.*message\.timestamp\.before\.max\.ms") as caught:
        sink.commit(OFFSET)
    assert "--delete-config message.timestamp.before.max.ms" in caught.value.hint
    assert ("compacted" in caught.value.message) <= (key is None)
    sink.close()
    assert client.refused.refusal(f"{prefix}.S.T", "table S.T") is not None


def test_a_record_has_its_time_in_kafka(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers)
    client = client_of(config)
    sink = KafkaSink(client, topics_of(config), prefix, Ownership(prefix))
    sink.write(Record(f"{prefix}.S.T", b"k", b"v", timestamp_ms=1_772_286_359_123))
    sink.commit(OFFSET)
    sink.close()
    (found,) = client.read_since(f"{prefix}.S.T", 0, committed=True)
    assert found.timestamp()[1] == 1_772_286_359_123


def test_no_broker_is_one_clear_error(prefix: str) -> None:
    config = settings(prefix, f"127.0.0.1:{free_port()}", **{"minercdc.kafka.timeout.ms": "1000"})
    with pytest.raises(DeliveryError, match="reaching Kafka at 127.0.0.1"):
        sink_of(config)


def test_the_end_of_a_topic_that_has_just_been_created(broker: KafkaBroker, prefix: str) -> None:
    """Its partition has no leader for a moment."""
    client = client_of(settings(prefix, broker.bootstrap_servers))
    for number in range(30):
        topic = f"{prefix}-new-{number}"
        client.ensure_topic(topic, partitions=1)
        assert client.end_offset(topic) == 0


def test_a_topic_is_served_before_its_first_record(
    broker: KafkaBroker, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a broker that does not know yet that it leads it may lose the record."""
    served, await_leaders = list[str](), PartitionReader.await_leaders

    def noted(reader: PartitionReader, topic: str) -> None:
        await_leaders(reader, topic)
        served.append(topic)

    monkeypatch.setattr(PartitionReader, "await_leaders", noted)
    sink = sink_of(settings(prefix, broker.bootstrap_servers))
    produce = sink._produce

    def checked(topic: str, *rest: Any) -> None:
        assert topic in served
        produce(topic, *rest)

    monkeypatch.setattr(sink, "_produce", checked)
    for topic in ("one", "two", "one"):
        sink.write(Record(f"{prefix}.{topic}", b"k", b"v"))
    sink.commit(OFFSET)
    sink.close()
    assert sorted(served) == sorted({*served})


def test_claims_that_cannot_be_read_are_a_delivery_error(prefix: str) -> None:
    """An idle instance looks while the broker is away; the connector restarts then."""
    client = client_of(settings(prefix, f"127.0.0.1:{free_port()}", **{"minercdc.kafka.timeout.ms": "2000"}))
    with pytest.raises(DeliveryError):
        list(client.read_since("claims", 0))


def test_a_broker_that_goes_away_is_a_delivery_error_and_a_new_sink_goes_on(tmp_path: Path, prefix: str) -> None:
    broker = KafkaBroker(tmp_path).start()
    config = settings(prefix, broker.bootstrap_servers, **{"minercdc.kafka.timeout.ms": "15000"})
    topic = f"{prefix}.S.T"
    sink = sink_of(config)
    sink.write(Record(topic, b"1", b"one"))
    sink.commit(OFFSET)
    # A lone broker killed within milliseconds of a commit loses its markers (4.4.0 takes the fenced leader for a deleted topic).
    for name in (topic, f"{prefix}-offsets"):
        while not read_committed(broker.bootstrap_servers, name):
            pass
    broker.kill()
    sink.write(Record(topic, b"2", b"two"))
    with pytest.raises(DeliveryError):
        sink.commit(OFFSET)
    sink.close()
    broker.start()
    try:
        again = sink_of(settings(prefix, broker.bootstrap_servers))
        assert again.load_offset() == OFFSET
        again.write(Record(topic, b"2", b"two"))
        again.commit(OFFSET)
        again.close()
        assert [m.value() for m in read_so_many(broker.bootstrap_servers, topic, 2)] == [b"one", b"two"]
    finally:
        broker.stop()


def test_two_tables_may_not_share_a_topic(prefix: str) -> None:
    topics = topics_of(settings(prefix, "x"))
    assert topics.of_table(TableId("D", "S", "A$B")) == f"{prefix}.S.A_B"
    assert topics.of_table(TableId("D", "S", "A$B")) == f"{prefix}.S.A_B"
    with pytest.raises(SharedTopicError, match="share the topic"):
        topics.of_table(TableId("D", "S", "A#B"))


def test_schema_history_is_recovered_as_it_was_written(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers)
    client = KafkaClient(config.kafka, config.topics, {})
    sink = sink_of(config)
    history = KafkaSchemaHistory(client, topic=topics_of(config).schema_history, server=prefix, clock_ms=lambda: 1000)
    table = TableSchema(
        TableId("ORCLPDB1", "S", "Odd Name"),
        (Column("ID", "NUMBER", 10, 0, nullable=False), Column("T", "TIMESTAMP", None, 9, default="SYSTIMESTAMP")),
        key=(0,),
        version=3,
        object_id=77123,
    )
    changes = [
        SchemaChange(table.id, None, table, "", Scn(10), 1_000_000, snapshot=True),
        SchemaChange(table.id, table, None, "drop table ..", Scn(2**60), 1_000_000),
    ]
    for change in changes:
        sink.write(history.entry(change, {}))
    sink.commit(OFFSET)
    sink.close()
    assert list(history.recover(None)) == changes


def codec_of(broker: KafkaBroker, topic: str) -> int:
    """The codec of the first batch of a topic of one partition, by its number in Kafka's format: 0 none, 4 zstd."""
    (log,) = (broker.data).rglob(f"{topic}-0/*.log")
    return int.from_bytes(log.read_bytes()[21:23], "big") & 7


@pytest.mark.parametrize(("more", "codec"), [({}, 0), ({"minercdc.kafka.client.compression.type": "zstd"}, 4)])
def test_records_are_compressed_where_that_is_wanted_only(
    broker: KafkaBroker, prefix: str, more: dict[str, str], codec: int
) -> None:
    """kafka-python, aiokafka and kafkajs read no codec but gzip as they are installed."""
    sink = sink_of(settings(prefix, broker.bootstrap_servers, **more))
    for number in range(20):
        sink.write(Record(f"{prefix}.T", b'{"ID":%d}' % number, b'{"NAME":"the same text"}' * 20))
    sink.commit(Offset("logminer"))
    sink.close()
    assert codec_of(broker, f"{prefix}.T") == codec
