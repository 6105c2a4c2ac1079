"""minercdc and Debezium read the same redo of the same sandbox: what they write must be equal, field by field.

docs/debezium-parity.md lists what is not compared, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.connector import properties, run, write
from tests.e2e.topics import Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.parity.comparison import differences
from tests.parity.debezium import Debezium, Emitted
from tests.parity.history import MARKER, SNAPSHOT_ROWS, TABLES, history, prepare

from minercdc.errors import LocalServiceError
from minercdc.local.kafka_broker import KafkaBroker


@pytest.fixture
def source(request: pytest.FixtureRequest) -> Iterator[SandboxProcess]:
    server = SandboxProcess((), "--profile", request.param)
    prepare(server)
    yield server
    server.stop()


def connector_settings(source: SandboxProcess, mode: str, prefix: str) -> dict[str, str]:
    return {
        "database.connection.adapter": mode,
        "topic.prefix": prefix,
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.user": "c##minercdc",
        "database.password": "minercdc",
        "database.dbname": source.root_service,
        "database.pdb.name": source.service,
        "schema.include.list": "PAR",
        "log.mining.strategy": "hybrid",
        "decimal.handling.mode": "precise",
        "include.schema.changes": "true",
        "tombstones.on.delete": "true",
    }


def has_marker(records: list[Emitted], number: int) -> bool:
    return any(
        r.topic.endswith(".MARKER") and r.value and json.loads(r.value)["payload"]["after"]["N"] == number for r in records
    )


@pytest.mark.parametrize("mode", ["logminer", "logminer_unbuffered"])
@pytest.mark.parametrize("source", ["23ai"], indirect=True)
def test_the_same_messages(source: SandboxProcess, broker: KafkaBroker, tmp_path: Path, mode: str, prefix: str) -> None:
    settings = connector_settings(source, mode, prefix)
    try:
        debezium = Debezium(settings, tmp_path)
    except LocalServiceError as error:
        pytest.skip(f"Debezium cannot be had: {error}")
    topics = Topics(broker.bootstrap_servers, prefix)
    ours = properties(source, broker.bootstrap_servers, prefix, tmp_path)
    ours |= settings
    ours |= {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
    ours |= {f"{part}.converter.schemas.enable": "true" for part in ("key", "value")}
    config = write(ours, tmp_path / "connector.yaml")
    with run(config, tmp_path / "run.log") as connector:
        debezium.run()
        connector.await_log("streaming", timeout=60)
        debezium.await_records(lambda records: len([r for r in records if r.topic != prefix]) >= SNAPSHOT_ROWS)
        history(source, 1)
        debezium.await_records(lambda records: has_marker(records, 1))
        topics.await_records(f"{prefix}.PAR.MARKER", 1, timeout=60)
        debezium.stop()
        connector.stop_in_order()
    history(source, 2)
    with run(config, tmp_path / "again.log") as connector:
        debezium.run()
        debezium.await_records(lambda records: has_marker(records, 2))
        topics.await_records(f"{prefix}.PAR.MARKER", 2, timeout=60)
        debezium.stop()
        connector.stop_in_order()
    debezium.close()
    found = differences(
        debezium.records, topics, prefix, [*TABLES, MARKER], ["txSeq"] if mode == "logminer_unbuffered" else []
    )
    (tmp_path / "differences.txt").write_text("\n".join(found))
    assert not found, "\n".join(sorted(set(found))[:80])
