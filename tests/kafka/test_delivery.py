"""Records that are too large, and the sink without Kafka transactions, on a real broker."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.kafka.consume import read_so_many
from tests.kafka.test_sink import OFFSET, client_of, settings, topics_of

from minercdc.config.load import ConnectorConfig
from minercdc.errors import FencedError, SchemaHistoryError, SinkError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.at_least_once import AtLeastOnceSink
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.sinks.opening import open_sink
from minercdc.stream.contracts import Record
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import Offset

NOISE = os.urandom(60_000).hex().encode()  # does not become small when it is compressed
PLAIN = {"minercdc.kafka.transactional": "false"}
BOTH = pytest.mark.parametrize("more", [{}, PLAIN], ids=["transactional", "plain"])


def opened(config: ConnectorConfig) -> KafkaSink:
    sink = open_sink(config, client_of(config), topics_of(config), Ownership(config.identity.name))
    assert isinstance(sink, KafkaSink)
    assert isinstance(sink, AtLeastOnceSink) != config.kafka.minercdc_kafka_transactional
    return sink


@BOTH
def test_a_record_that_the_broker_refuses_is_named(broker: KafkaBroker, prefix: str, more: dict[str, str]) -> None:
    config = settings(prefix, broker.bootstrap_servers, **more, **{"topic.creation.default.max.message.bytes": "20000"})
    sink = opened(config)
    sink.write(Record(f"{prefix}.S.T", b'{"ID":1}', b"small"))
    sink.write(Record(f"{prefix}.S.T", b'{"ID":2}', NOISE))
    with pytest.raises(SinkError) as caught:
        sink.commit(OFFSET)
    assert f'topic {prefix}.S.T, key {{"ID":2}}, {len(NOISE)} bytes' in caught.value.message
    assert "minercdc.kafka.record.too.large" in caught.value.hint
    sink.close()


@BOTH
def test_a_large_value_is_checked_in(broker: KafkaBroker, prefix: str, tmp_path: Path, more: dict[str, str]) -> None:
    claims = {
        "minercdc.kafka.record.too.large": "claim_check",
        "minercdc.kafka.record.max.bytes": "20000",
        "minercdc.claim.check.path": str(tmp_path / "claims"),
        "topic.creation.default.max.message.bytes": "30000",
    }
    sink = opened(settings(prefix, broker.bootstrap_servers, **more, **claims))
    for value in (b"small", NOISE, NOISE):
        sink.write(Record(f"{prefix}.S.T", b"k", value, (("h", b"x"),)))
    sink.commit(OFFSET)
    sink.close()
    small, *large = read_so_many(broker.bootstrap_servers, f"{prefix}.S.T", 3)
    assert small.value() == b"small"
    (file,) = (tmp_path / "claims").iterdir()
    assert file.read_bytes() == NOISE
    for message in large:
        assert json.loads(message.value()) == {
            "size": len(NOISE),
            "sha256": hashlib.sha256(NOISE).hexdigest(),
            "__minercdc.claim.check": str(file),
        }
        assert (message.key(), dict(message.headers())) == (b"k", {"h": b"x", "__minercdc.claim.check": str(file).encode()})


@pytest.mark.parametrize("kept", [True, False])
def test_a_large_record_becomes_a_dead_letter(broker: KafkaBroker, prefix: str, tmp_path: Path, kept: bool) -> None:
    more = {
        "minercdc.kafka.record.too.large": "dead_letter",
        "minercdc.kafka.record.max.bytes": "20000",
        "minercdc.dead.letter.topic": f"{prefix}-dead",
        **({"minercdc.claim.check.path": str(tmp_path)} if kept else {}),
    }
    sink = opened(settings(prefix, broker.bootstrap_servers, **more))
    sink.write(Record(f"{prefix}.S.T", b"k", NOISE))
    sink.write(Record(f"{prefix}.S.T", b"k", b"next"))
    sink.commit(OFFSET)
    sink.close()
    assert [message.value() for message in read_so_many(broker.bootstrap_servers, f"{prefix}.S.T", 1)] == [b"next"]
    (letter,) = read_so_many(broker.bootstrap_servers, f"{prefix}-dead", 1)
    document = json.loads(letter.value())
    assert (document["topic"], document["key"], document["size"]) == (f"{prefix}.S.T", "k", len(NOISE))
    assert "larger than minercdc.kafka.record.max.bytes=20000" in document["error"]
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [NOISE] * kept


def test_a_claim_that_cannot_be_stored_stops_the_sink(broker: KafkaBroker, prefix: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    claims = {
        "minercdc.kafka.record.too.large": "claim_check",
        "minercdc.claim.check.path": str(tmp_path / "file"),
        "minercdc.kafka.record.max.bytes": "20000",
    }
    sink = opened(settings(prefix, broker.bootstrap_servers, **claims))
    with pytest.raises(SinkError, match="cannot be stored in"):
        sink.write(Record(f"{prefix}.S.T", b"k", NOISE))
    sink.close()


def test_without_transactions_the_offset_comes_last(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers, **PLAIN)
    sink, topic = opened(config), f"{prefix}.S.T"
    sink.write(Record(topic, b"k", b"1"))
    sink.commit(OFFSET)
    for number in range(1000):
        sink.write(Record(topic, b"k", str(number).encode()))
    sink.close()  # as a kill: the offset is not stored
    again = opened(config)
    assert again.load_offset() == OFFSET
    with pytest.raises(FencedError):
        sink.commit(Offset("logminer", position={"x": 1}))
    again.write(Record(topic, b"k", b"2"))
    again.commit(Offset("logminer", position={"x": 2}))
    values = [message.value() for message in read_so_many(broker.bootstrap_servers, topic, 2)]
    assert (values[0], values[-1]) == (b"1", b"2")
    assert again.load_offset() == Offset("logminer", position={"x": 2})
    again.close()


def table(*columns: str) -> TableSchema:
    return TableSchema(TableId("D", "S", "T"), tuple(Column(name, "NUMBER") for name in columns))


def test_without_transactions_the_offset_counts_the_schema_history(broker: KafkaBroker, prefix: str) -> None:
    """What was stored before a kill does not count, and its DDL comes again."""
    config = settings(prefix, broker.bootstrap_servers, **PLAIN)
    first, second, third = (
        SchemaChange(table().id, before, after, "ddl", Scn(scn), 0)
        for scn, (before, after) in enumerate(
            [(None, table("A")), (table("A"), table("A", "B")), (table("A", "B"), table("A", "B", "C"))]
        )
    )

    def history(*, transactional: bool = False) -> KafkaSchemaHistory:
        names: dict[str, Any] = {"topic": f"{prefix}-schema-history", "server": prefix, "clock_ms": lambda: 0}
        return KafkaSchemaHistory(client_of(config), **names, transactional=transactional)

    def columns(mark: int | None, *, transactional: bool = False) -> list[int]:
        changes = history(transactional=transactional).recover(mark)
        return [len(change.after.columns) for change in changes if change.after]

    def stored(recovered: KafkaSchemaHistory, *changes: SchemaChange) -> int:
        sink = opened(config)
        for change in changes:
            record = recovered.entry(change, {})
            assert record is not None
            sink.write(record)
        sink.commit(OFFSET)
        sink.close()
        mark = recovered.mark()
        assert mark is not None
        return mark

    mark = stored(history(), first)
    assert stored(history(), second, third) > mark  # sent; then killed before the offset was stored
    assert columns(mark) == [1]
    again = history()
    assert len(list(again.recover(mark))) == 1
    mark = stored(again, second)
    assert columns(mark) == [1, 2, 3, 2]  # the last one counts
    assert columns(None, transactional=True) == columns(mark, transactional=True) == [1, 2, 3, 2]
    assert columns(1, transactional=True) == [1]


def test_records_of_before_are_counted_too(broker: KafkaBroker, prefix: str) -> None:
    """As those of Debezium, whose history goes on as ours."""
    config = settings(prefix, broker.bootstrap_servers, **PLAIN)
    topic = f"{prefix}-schema-history"
    sink = opened(config)
    for document in (
        {"source": {"server": prefix}, "position": {}},
        {"source": {"server": "other"}},
        {"source": {"server": prefix}},
    ):
        sink.write(Record(topic, None, json.dumps(document).encode(), partition=0))
    history = KafkaSchemaHistory(client_of(config), topic=topic, server=prefix, clock_ms=lambda: 0, transactional=False)
    sink.commit(OFFSET)
    with pytest.raises(SchemaHistoryError):
        next(iter(history.recover(None)))
    history.forget()
    record = history.entry(SchemaChange(table().id, None, table("A"), "", Scn(1), 0, snapshot=True), {})
    assert record is not None
    sink.write(record)
    sink.commit(OFFSET)
    sink.close()
    assert history.mark() == 3
    again = KafkaSchemaHistory(client_of(config), topic=topic, server=prefix, clock_ms=lambda: 0, transactional=False)
    assert [change.after for change in again.recover(3)] == [table("A")]
