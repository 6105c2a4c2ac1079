"""Avro with a real schema registry: read by Confluent's own deserializer, it is what a JSON connector writes of the same redo."""

from __future__ import annotations

import base64
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.e2e.lab import LOGGED, Lab
from tests.kafka.consume import await_committed, read_committed

from minercdc.local.ports import free_port
from minercdc.local.schema_registry import LocalRegistry

with warnings.catch_warnings():  # it names a library's newer sibling
    warnings.simplefilter("ignore")
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer

AVRO = "io.confluent.connect.avro.AvroConverter"
WIDE = (
    "CREATE TABLE W (ID NUMBER(9) NOT NULL, TINY NUMBER(2), AMOUNT NUMBER(12,2), ANY_NUMBER NUMBER, BF BINARY_FLOAT,"
    " R RAW(16), CREATED DATE, AT_TIME TIMESTAMP(6), V VARCHAR2(40 CHAR), CONSTRAINT W_PK PRIMARY KEY (ID))"
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("registry") / "registry.log") as running:
        yield running


def converters(url: str) -> dict[str, Any]:
    both = {"": AVRO, ".schema.registry.url": url}
    return {f"{side}_converter{name.replace('.', '_')}": value for side in ("key", "value") for name, value in both.items()}


def avro_records(url: str, brokers: str, topic: str, *, keys: bool = True) -> list[tuple[Any, Any]]:
    """Keys and values, read as an application with Confluent's client reads them.

    :param keys: they are in Avro; else None stands for them.
    """
    with SchemaRegistryClient({"url": url, "timeout": 30}) as client:
        deserialize = AvroDeserializer(client)

        def parsed(content: bytes | None, field: MessageField) -> Any:
            return None if content is None else deserialize(content, SerializationContext(topic, field))

        return [
            (parsed(m.key() if keys else None, MessageField.KEY), parsed(m.value(), MessageField.VALUE))
            for m in read_committed(brokers, topic)
        ]


def deliver(lab: Lab, config: Path, topic: str, count: int) -> None:
    """Run a connector until a topic has so many records."""
    with lab.run(config) as connector:
        found = await_committed(lab.brokers, topic, lambda messages: len(messages) >= count, 60)
        assert len(found) >= count, connector.story()
        connector.stop_in_order()


def as_json(value: Any) -> Any:
    """What JSON has in place of Avro's values."""
    if isinstance(value, dict):
        return {name: as_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def without_times(record: tuple[Any, Any]) -> Any:
    """A record without what differs between two connectors: their name, and engine time."""
    key, value = json.loads(json.dumps(record, default=str))
    if value is not None:
        for name in ("ts_ms", "ts_us", "ts_ns"):
            value.pop(name)
        value["source"].pop("name")
        if value["op"] == "r":  # snapshots of their own
            for name in ("scn", "ts_ms", "ts_us", "ts_ns"):
                value["source"].pop(name)
    return key, value


def test_records_equal_those_of_a_json_connector(lab: Lab, registry: LocalRegistry) -> None:
    lab.execute(
        WIDE,
        LOGGED.format("W"),
        "INSERT INTO W VALUES (1, -7, 12.34, 123456789012345678901234567890.5, 1.5, '00FF10', DATE '2026-09-21',"
        " TIMESTAMP '2026-09-21 10:30:00.123456', 'grün')",
        "INSERT INTO W (ID) VALUES (2)",
    )
    # AMOUNT is text in both: a Decimal has its scale in the schema only.
    common: dict[str, Any] = {"table_include_list": f"{lab.schema}.W", "decimal_handling_mode": "string"}
    avro = lab.config("avro.yaml", **common, **converters(registry.url))
    written_to, expected_in = lab.topic("W"), f"j{lab.name}.{lab.schema}.W"
    plain = lab.config("json.yaml", **common, name=f"j{lab.name}", topic_prefix=f"j{lab.name}")
    with lab.run(avro, "avro.log") as one, lab.run(plain, "json.log") as other:
        for connector in (one, other):
            connector.await_log("streaming: ")
        lab.execute("UPDATE W SET TINY = 5, V = NULL WHERE ID = 1", "INSERT INTO W (ID, V) VALUES (3, 'x')")
        lab.execute("UPDATE W SET ID = 4 WHERE ID = 3", "DELETE FROM W WHERE ID = 2")
        for connector, topic in ((one, written_to), (other, expected_in)):
            found = await_committed(lab.brokers, topic, lambda messages: len(messages) >= 9, 60)
            assert len(found) == 9, connector.story()  # with tombstones
            connector.stop_in_order()
    written = [
        without_times((as_json(key), as_json(value)))
        for key, value in avro_records(registry.url, lab.brokers, lab.topic("W"))
    ]
    expected = [
        without_times((json.loads(m.key() or b"null"), json.loads(m.value() or b"null")))
        for m in read_committed(lab.brokers, expected_in)
    ]
    assert len(expected) == 9
    for one, other in zip(written, expected, strict=True):
        assert one == other
    verified = lab.minercdc("verify", str(avro))
    assert verified.status == 0, verified.errors
    assert verified.output.splitlines()[-1] == "verified: 1 tables, 2 rows, 0 differences"
    subjects = httpx2.get(f"{registry.url}/subjects").json()
    assert {f"{lab.topic('W')}-key", f"{lab.topic('W')}-value"} <= set(subjects)


def test_a_registry_that_is_away_is_waited_for(lab: Lab, tmp_path: Path) -> None:
    port = free_port()
    config = lab.config(**converters(f"http://127.0.0.1:{port}/apis/ccompat/v7"), minercdc_kafka_timeout_ms=1000)
    with lab.run(config) as connector:
        connector.await_log("does not answer", 30)
        with LocalRegistry(tmp_path / "registry.log", port=port) as running:
            deadline = time.monotonic() + 60
            while not read_committed(lab.brokers, lab.topic()):
                assert time.monotonic() < deadline, connector.story()
                time.sleep(0.02)
            assert len(avro_records(running.url, lab.brokers, lab.topic())) == 3


def test_an_incompatible_change_names_the_field_and_loses_nothing(lab: Lab, registry: LocalRegistry) -> None:
    """Its table would be suspended by default; here the connector stops, and goes on where it was."""
    config = lab.config(**converters(registry.url), event_processing_failure_handling_mode="fail")
    deliver(lab, config, lab.topic(), 3)
    subject = f"{lab.topic()}-value"
    httpx2.put(f"{registry.url}/config/{subject}", json={"compatibility": "BACKWARD"}).raise_for_status()
    lab.execute("ALTER TABLE T ADD (N NUMBER(4))", "INSERT INTO T VALUES (50, 'before', 1)")
    lab.execute("ALTER TABLE T DROP COLUMN V", "ALTER TABLE T ADD (V DATE)", "INSERT INTO T VALUES (51, 1, SYSDATE)")
    ended = lab.run_to_end(config)
    assert ended.status == 1
    said = f"MC-4501: records of topic {lab.topic()}: the schema registry refuses the new schema of subject {subject} as not compatible"
    assert f"{said} (BACKWARD): before.V was null or string and is null or long" in ended.errors
    httpx2.put(f"{registry.url}/config/{subject}", json={"compatibility": "NONE"}).raise_for_status()
    deliver(lab, config, lab.topic(), 5)
    keys = [key["ID"] for key, _ in avro_records(registry.url, lab.brokers, lab.topic())]
    assert keys == [0, 1, 2, 50, 51]
