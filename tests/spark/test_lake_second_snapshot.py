"""After a second initial snapshot the lake equals the source, also where rows or tables are gone without a record of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.lab import LOGGED, WITH_ROWS, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.connector import Connector
from tests.spark.reading import lake
from tests.spark.source import lake_config, running, scn_of
from tests.spark.source import sync as sync_to

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import tables
from minercdc.lake.maintain.verify import verify
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = TableSchema(TableId("PDB", "LAB", "KEPT"), (Column("ID", "NUMBER", 9, 0, nullable=False),), key=(0,))
EMPTIED = replace(KEPT, id=KEPT.id._replace(table="EMPTIED"))
DROPPED = replace(KEPT, id=KEPT.id._replace(table="DROPPED"))


def test_rows_and_tables_that_went_while_no_redo_was_read_are_gone(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.found(KEPT, EMPTIED, DROPPED)
    for table in (KEPT, EMPTIED, DROPPED):
        for number in ("1", "2"):
            connector.read((number,), table, f"R{number}")
    connector.commit()
    connector.change(Op.CREATE, None, ("3",), KEPT)
    connector.commit()
    sync()
    seen = connector.scn
    connector.scn += 50
    connector.found(KEPT, EMPTIED)
    connector.read(("2",), KEPT, "R2")
    connector.read(("4",), KEPT, "R4")
    connector.commit()
    sync()
    assert lake(spark, config, KEPT) == [{"ID": 2}, {"ID": 4}]
    assert lake(spark, config, EMPTIED) == []
    assert lake(spark, config, DROPPED) == [{"ID": 1}, {"ID": 2}]  # as of a table whose DROP was seen
    assert {name: found.count() for name, found in tables(spark, config).items()} == {"LAB.KEPT": 2, "LAB.EMPTIED": 0}
    assert {name: found.count() for name, found in tables(spark, config, seen).items()} == {
        "LAB.KEPT": 3,
        "LAB.EMPTIED": 2,
        "LAB.DROPPED": 2,
    }
    with pytest.raises(LakeError, match=f"SCN {seen + 1} lies between {seen} and {connector.scn}"):
        tables(spark, config, seen + 1)


def test_a_connector_that_takes_a_snapshot_at_every_start_keeps_the_lake_equal(
    spark: SparkSession, sandbox: SandboxProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    others = [statement for name in ("E", "D") for statement in (f"CREATE TABLE {name} (A NUMBER(5))", LOGGED.format(name))]
    rows = [f"INSERT INTO {name} VALUES ({number})" for name in ("E", "D") for number in (1, 2)]
    lab: Lab = made_lab(sandbox, broker.bootstrap_servers, tmp_path, (*WITH_ROWS, *others, *rows))
    config = lake_config(lab, snapshot_mode="always")
    with running(lab):
        lab.execute("INSERT INTO T VALUES (10, 'streamed')")
        sync_to(spark, config, scn_of(lab))
    lab.execute("DELETE FROM T WHERE ID < 2", "DELETE FROM E", "INSERT INTO T VALUES (11, 'not streamed')")
    lab.execute("DROP TABLE D")
    with running(lab):
        sync_to(spark, config, scn_of(lab))
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary() == "verified: 2 tables, 3 rows, 0 differences"
