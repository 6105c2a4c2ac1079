"""Sinks other than Kafka: where they keep the history, what they need, and what has no effect."""

from __future__ import annotations

from pathlib import Path

from tests.unit.config.test_load import GOOD, problems

from minercdc.config.load import parse_properties

WITHOUT_KAFKA = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
}


def test_a_sink_without_kafka_needs_no_brokers_and_keeps_its_history_beside_the_records() -> None:
    segments = {**WITHOUT_KAFKA, "debezium.sink.type": "Segments", "minercdc.sink.path": "/data/s"}
    config = parse_properties(segments)
    assert not config.sink.is_kafka
    assert config.history.file == Path("/data/s/connector.schema-history")
    lines = {**WITHOUT_KAFKA, "debezium.sink.type": "json", "minercdc.sink.path": "out/c.jsonl"}
    assert parse_properties(lines).history.file == Path("out/c.jsonl.schema-history")
    stdout = parse_properties({**lines, "minercdc.sink.path": "-", "name": "n", "minercdc.state.dir": "state"})
    assert stdout.sink.file is None
    assert stdout.history.file == Path("state/stdout-n.schema-history")
    given = {"schema.history.internal": "file", "schema.history.internal.file.filename": "h"}
    assert parse_properties({**segments, **given}).history.file == Path("h")


def test_properties_of_kafka_are_without_effect_on_another_sink() -> None:
    config = parse_properties({**GOOD, "debezium.sink.type": "segments", "minercdc.sink.path": "s"})
    assert set(config.ignored.values()) == {"debezium.sink.type is segments"}
    assert "schema.history.internal.kafka.topic" in config.ignored
    assert parse_properties({**GOOD, "minercdc.sink.path": "s"}).ignored == {
        "minercdc.sink.path": "debezium.sink.type is kafka"
    }


def test_what_a_sink_lacks_or_cannot_be_without_kafka_is_named() -> None:
    assert problems(WITHOUT_KAFKA) == [
        "minercdc.kafka.bootstrap.servers: needed (or schema.history.internal.kafka.bootstrap.servers)"
    ]
    assert problems({**WITHOUT_KAFKA, "debezium.sink.type": "segments"}) == [
        "minercdc.sink.path: needed with debezium.sink.type=segments"
    ]
    segments = {**WITHOUT_KAFKA, "debezium.sink.type": "segments", "minercdc.sink.path": "s"}
    assert "not standard output" in problems({**segments, "minercdc.sink.path": "-"})[0]
    found = problems(
        {**segments, "signal.enabled.channels": "kafka,file", "schema.history.internal": "kafka", "database.port": "no"}
    )
    assert [line.split(":")[0] for line in found] == [
        "database.port",
        "schema.history.internal",
        "signal.enabled.channels",
    ]
