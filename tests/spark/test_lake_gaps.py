"""Tables that lack changes: each says so, is left as it was, and stops no other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import tables
from minercdc.lake.stream.driver_scans import DriverScans, ScannedRecords
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op
from minercdc.stream.offset import SuspendedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = TableSchema(TableId("PDB", "LAB", "GOOD"), (Column("ID", "NUMBER", 9, 0, nullable=False),), key=(0,))
SUSPENDED, DELETED, TRIMMED, LATE, PARTED = (
    replace(GOOD, id=GOOD.id._replace(table=name)) for name in ("SUSPENDED", "DELETED", "TRIMMED", "LATE", "PARTED")
)
MOVED = replace(GOOD, id=GOOD.id._replace(table="MOVED"), key=())
ALL = (GOOD, SUSPENDED, DELETED, TRIMMED, LATE, PARTED, MOVED)


def trim(admin: AdminClient, topic: str) -> None:
    for place, deleted in admin.delete_records([TopicPartition(topic, 0, -1)]).items():
        assert deleted.result().low_watermark > 1, place


def test_a_table_that_lacks_changes_is_named_with_its_cause_and_the_others_go_on(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    broker: KafkaBroker,
    prefix: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for table in ALL:
        connector.structure(table)
        connector.change(Op.CREATE, None, ("1",), table, "R1")
    connector.commit()
    sync()
    whole = connector.scn
    connector.change(Op.CREATE, None, ("2",), GOOD)
    suspension = SuspendedTable("LAB.SUSPENDED", connector.scn + 1, "MC-4001", "a row cannot be decoded")
    connector.scn += 1
    connector.alter(PARTED, "ALTER TABLE lab.parted DROP PARTITION p1", PARTED)
    connector.alter(MOVED, "ALTER TABLE lab.moved MOVE", MOVED)
    for table in (PARTED, MOVED, TRIMMED, LATE):
        connector.change(Op.CREATE, None, ("2",), table, "R2")
    connector.commit(suspended=[suspension])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([f"{prefix}.LAB.DELETED"])[f"{prefix}.LAB.DELETED"].result()
    trim(admin, f"{prefix}.LAB.TRIMMED")
    read = DriverScans.read

    def trimmed(*given: Any) -> ScannedRecords | None:
        """Retention deletes records while a micro-batch is read."""
        trim(admin, f"{prefix}.LAB.LATE")
        return read(*given)

    monkeypatch.setattr(DriverScans, "read", trimmed)
    with caplog.at_level(logging.ERROR):
        sync()
    monkeypatch.setattr(DriverScans, "read", read)
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(messages) == 5, messages
    rebuild = "minercdc lake rebuild CONFIG --table LAB."
    for name, cause in (
        ("DELETED", f"its topic {prefix}.LAB.DELETED was deleted"),
        ("TRIMMED", "were deleted before the lake read them"),
        ("LATE", "were deleted before the lake read them"),
        ("PARTED", "ALTER TABLE lab.parted DROP PARTITION p1"),
        ("MOVED", "ALTER TABLE lab.moved MOVE"),
    ):
        (message,) = [one for one in messages if one.startswith(f"LAB.{name} is quarantined: it lacks changes from SCN ")]
        assert cause in message
        assert rebuild + name in message
    assert lake(spark, config, GOOD) == [{"ID": 1}, {"ID": 2}]
    assert all(lake(spark, config, table) == [{"ID": 1}] for table in ALL[1:])  # as of the gap's begin
    found = tables(spark, config)
    assert sorted(found) == ["LAB.GOOD"]
    assert sorted(found.incomplete) == sorted(str(table.id) for table in ALL[1:])
    with pytest.raises(LakeError, match="LAB.SUSPENDED is not complete at SCN .* a row cannot be decoded"):
        _ = found["LAB.SUSPENDED"]
    assert {name: rows.count() for name, rows in tables(spark, config, whole).items()} == {str(t.id): 1 for t in ALL}
    caplog.clear()
    again = Connector(config)  # a commit to a deleted topic fails, and the connector starts again
    again.scn = connector.scn
    again.change(Op.CREATE, None, ("3",), DELETED, "R3")
    again.change(Op.CREATE, None, ("3",), SUSPENDED)
    again.commit()
    again.sink.close()
    sync()
    found = tables(spark, config)
    assert sorted(found) == ["LAB.GOOD", "LAB.SUSPENDED"]
    assert found["LAB.SUSPENDED"].count() == 2
    assert tables(spark, config, whole)["LAB.DELETED"].count() == 1


def test_a_snapshot_that_retention_deleted_before_the_first_start_is_missed(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    broker: KafkaBroker,
    prefix: str,
) -> None:
    connector.found(GOOD, TRIMMED)
    for table in (GOOD, TRIMMED):
        for number in ("1", "9"):
            connector.read((number,), table, f"R{number}")
    connector.commit()
    trim(AdminClient({"bootstrap.servers": broker.bootstrap_servers}), f"{prefix}.LAB.TRIMMED")
    for table in (GOOD, TRIMMED):
        connector.change(Op.CREATE, None, ("2",), table, "R2")
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, ("3",), TRIMMED, "R3")
    connector.commit()
    sync()
    found = tables(spark, config)
    assert set(found) == {"LAB.GOOD"}
    assert "were deleted before the lake read them" in found.incomplete["LAB.TRIMMED"]
    assert found["LAB.GOOD"].count() == 3


@pytest.mark.parametrize(("snapshot", "changes"), [("before", 6), ("after", 0)])
def test_a_snapshot_in_a_topic_that_was_made_again_meanwhile_repairs_nothing(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    broker: KafkaBroker,
    prefix: str,
    snapshot: str,
    changes: int,
) -> None:
    """It was in the first one before that was deleted; or in the second one, below the offset up to which the first one was read, from which
    on Spark reads."""

    def read_all(rows: Sequence[str]) -> None:
        connector.scn += 10
        connector.found(GOOD)
        for number in rows:
            connector.read((number,), GOOD, f"R{number}")

    read_all("123")
    connector.commit()
    sync()
    admin, topic = AdminClient({"bootstrap.servers": broker.bootstrap_servers}), f"{prefix}.LAB.GOOD"
    if snapshot == "before":
        read_all("14")
        connector.commit()
    admin.delete_topics([topic])[topic].result()
    while topic in admin.list_topics(timeout=10).topics:
        time.sleep(0.02)
    first, connector = connector, Connector(config)  # a commit to a deleted topic fails, and the connector starts again
    connector.scn = first.scn
    if snapshot == "after":
        read_all("14")
    for number in range(changes):
        connector.change(Op.CREATE, None, (f"{50 + number}",), GOOD)
    connector.commit()
    connector.sink.close()
    sync()
    found = tables(spark, config)
    assert "deleted and recreated" in found.incomplete["LAB.GOOD"]
