"""Comments of tables and columns: both connectors read the same COMMENT ON from redo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.connector import properties, run, write
from tests.e2e.topics import Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.parity.comparison import differences
from tests.parity.debezium import Debezium
from tests.parity.test_parity import Case, connector_settings

from minercdc.errors import LocalServiceError
from minercdc.local.kafka_broker import KafkaBroker

CASE = Case("logminer", more={"include.schema.comments": "true", "log.mining.strategy": "online_catalog"})


@pytest.fixture
def source() -> Iterator[SandboxProcess]:
    server = SandboxProcess(())
    with server.connect() as admin:
        admin.cursor().execute("alter database add supplemental log data")
    server.create_user("par")
    execute(
        server,
        "create table t (id number(9) primary key, v varchar2(20), d date)",
        "alter table t add supplemental log data (all) columns",
        "insert into t (id, v) values (1, 'one')",
    )
    yield server
    server.stop()


def execute(source: SandboxProcess, *statements: str) -> None:
    with source.connect("par", "par") as session, session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        session.commit()


def test_the_same_comments(source: SandboxProcess, broker: KafkaBroker, tmp_path: Path, prefix: str) -> None:
    settings = connector_settings(source, CASE, prefix)
    try:
        debezium = Debezium(settings, tmp_path)
    except LocalServiceError as error:
        pytest.skip(f"Debezium cannot be had: {error}")
    topics = Topics(broker.bootstrap_servers, prefix)
    ours = properties(source, broker.bootstrap_servers, prefix, tmp_path) | settings
    ours |= {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
    ours |= {f"{part}.converter.schemas.enable": "true" for part in ("key", "value")}
    topic = f"{prefix}.PAR.T"
    with run(write(ours, tmp_path / "connector.yaml"), tmp_path / "run.log") as connector:
        debezium.run()
        connector.await_log("streaming", timeout=60)
        debezium.await_records(lambda records: any(record.topic == topic for record in records))
        execute(
            source,
            "comment on table t is 'all of it'",
            "comment on column t.id is 'its number'",
            "comment on column par.t.v is 'a value'",
            "insert into t (id, v) values (2, 'two')",
        )
        debezium.await_records(lambda records: len([r for r in records if r.topic == topic]) == 2)
        topics.await_records(topic, 2)
        debezium.stop()
        connector.stop_in_order()
    debezium.close()
    found = differences(debezium.records, topics, prefix, ["T"], ["user_name"])
    # Debezium calls it the creation of a table that there is.
    expected = [f"{prefix} {number} value.payload.tableChanges[0].type: 'CREATE' != 'ALTER'" for number in (1, 2, 3)]
    assert found == expected, "\n".join(found)
