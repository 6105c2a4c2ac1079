"""minercdc and Debezium read the same redo of the same sandbox: what they write must be equal, field by field.

docs/debezium-parity.md lists what is not compared, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e.connector import properties, run, write
from tests.e2e.topics import Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.parity.comparison import differences
from tests.parity.debezium import Debezium, Emitted
from tests.parity.history import LOB_TABLES, MARKER, PARTLY_LOGGED, SNAPSHOT_ROWS, TABLES, history, large_values, prepare

from minercdc.errors import LocalServiceError
from minercdc.local.kafka_broker import KafkaBroker


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration of both.

    :param more: properties beside the common ones; the last ones given win.
    """

    mode: str
    profile: str = "23ai"
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def lobs(self) -> bool:
        return self.more.get("lob.enabled") == "true"


# Debezium does not take lob.enabled with `hybrid`, and with `online_catalog` it stops at rows older than an ALTER TABLE.
_LOBS = {"lob.enabled": "true", "log.mining.strategy": "online_catalog"}
CASES = {
    "logminer": Case("logminer"),
    "logminer_unbuffered": Case("logminer_unbuffered"),
    "19c, large values": Case("logminer", "19c", _LOBS),
    "19c, large values as base64": Case("logminer", "19c", {**_LOBS, "binary.handling.mode": "base64"}),
    "text": Case(
        "logminer",
        "19c",
        {
            "decimal.handling.mode": "string",
            "time.precision.mode": "isostring",
            "interval.handling.mode": "string",
            "binary.handling.mode": "hex",
        },
    ),
    "connect": Case(
        "logminer_unbuffered",
        "23ai",
        {"decimal.handling.mode": "double", "time.precision.mode": "connect", "binary.handling.mode": "base64"},
    ),
    "values hidden and described, transactions numbered": Case(
        "logminer",
        "23ai",
        {
            "provide.transaction.metadata": "true",
            "column.mask.with.7.chars": "PAR[.]ITEM[.]NAME",
            "column.truncate.to.3.chars": "PAR[.]TYPED[.]NV",
            "column.mask.hash.SHA-256.with.salt.CzQMA0cB5K": "PAR[.]ALTERED[.]V",
            "datatype.propagate.source.type": ".*[.]NUMBER",
            "skip.messages.without.change": "true",
        },
    ),
    "flat rows": Case(
        "logminer",
        "23ai",
        {
            "transforms": "flat",
            "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.flat.delete.tombstone.handling.mode": "rewrite",
            "transforms.flat.add.fields": "op,table,source.schema",
            "include.schema.changes": "false",
        },
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def source(case: Case) -> Iterator[SandboxProcess]:
    server = SandboxProcess((), "--profile", case.profile)
    prepare(server, lobs=case.lobs)
    yield server
    server.stop()


def connector_settings(source: SandboxProcess, case: Case, prefix: str) -> dict[str, str]:
    return {
        "database.connection.adapter": case.mode,
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
        **case.more,
    }


def has_marker(records: list[Emitted], number: int) -> bool:
    """Whether the marker has come, as a number or as text."""
    found = [json.loads(r.value)["payload"] for r in records if r.topic.endswith(".MARKER") and r.value]
    return any(float((row.get("after") or row)["N"]) == number for row in found)


def change(source: SandboxProcess, round_number: int, case: Case) -> None:
    if case.lobs:
        large_values(source, round_number)
    history(source, round_number, ddl=not case.lobs)


def test_the_same_messages(source: SandboxProcess, broker: KafkaBroker, tmp_path: Path, case: Case, prefix: str) -> None:
    settings = connector_settings(source, case, prefix)
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
        change(source, 1, case)
        debezium.await_records(lambda records: has_marker(records, 1))
        topics.await_records(f"{prefix}.PAR.MARKER", 1, timeout=60)
        debezium.stop()
        connector.stop_in_order()
    change(source, 2, case)
    with run(config, tmp_path / "again.log") as connector:
        debezium.run()
        debezium.await_records(lambda records: has_marker(records, 2))
        topics.await_records(f"{prefix}.PAR.MARKER", 2, timeout=60)
        debezium.stop()
        connector.stop_in_order()
    debezium.close()
    tables = [*TABLES, *PARTLY_LOGGED, *(LOB_TABLES if case.lobs else ()), MARKER]
    not_compared = ["txSeq"] if case.mode == "logminer_unbuffered" else ["row_id", "rs_id", "scn"] if case.lobs else []
    also = ["transaction"] if "provide.transaction.metadata" in case.more else []
    found = differences(debezium.records, topics, prefix, tables, not_compared, also)
    (tmp_path / "differences.txt").write_text("\n".join(found))
    assert not found, "\n".join(sorted(set(found))[:80])
