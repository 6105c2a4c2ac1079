"""`minercdc lake rebuild`: one table is made again, for any cause of its quarantine, while the lake runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, WITH_ROWS, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.connector import Connector
from tests.spark.histories import Killed, killed
from tests.spark.reading import TABLE, frame, lake, name_in_sql
from tests.spark.source import lake_config, running, scn_of
from tests.spark.source import sync as sync_to

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.maintain.rebuild import rebuild
from minercdc.lake.maintain.verify import verify
from minercdc.lake.merge import scheduler as merger
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op
from minercdc.stream.offset import SuspendedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TableSchema(
    TableId("PDB", "LAB", "T"), (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)), key=(0,)
)
OTHER = replace(T, id=T.id._replace(table="OTHER"))


def test_a_table_that_was_spoilt_is_made_from_the_change_log_killed_anywhere_beside_a_running_lake(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merger, "_LOOK_S", 0.0)
    connector.found(T, OTHER)
    connector.read(("1", "read"), T, "R1")
    connector.change(Op.CREATE, None, ("2", "new"), T, "R2")
    connector.change(Op.UPDATE, ("1", "read"), ("1", "changed"), T, "R1")
    connector.commit()
    running_lake = start(spark, config)
    try:
        running_lake.process_all_available()
        expected = [{"ID": 1, "V": "changed"}, {"ID": 2, "V": "new"}]
        for after in (False, True):  # killed before the table's commit, or between it and that of the record
            spark.sql(f"DELETE FROM {name_in_sql(spark, config, 'LAB', 'T')} WHERE ID = 1")
            with killed(monkeypatch, TABLE, "replace", after=after) as calls, suppress(Killed):
                rebuild(spark, config, "LAB.T")
            assert calls
            key = str(10 + after)
            connector.change(Op.CREATE, None, (key, "between"), T, f"R{key}")
            expected.append({"ID": int(key), "V": "between"})
            connector.commit()
            running_lake.process_all_available()
            done = rebuild(spark, config, "LAB.T")
            assert (done.scn, done.rows, done.source) == (connector.scn, len(expected), "the change log")
            assert lake(spark, config, T) == sorted(expected, key=str)
        connector.change(Op.DELETE, ("1", "changed"), None, T, "R1")
        suspended = SuspendedTable("LAB.OTHER", connector.scn, "MC-4001", "a row cannot be decoded")
        connector.commit(suspended=[suspended])
        running_lake.process_all_available()
        assert lake(spark, config, T) == sorted(expected[1:], key=str)
        with pytest.raises(LakeError, match="LAB.OTHER cannot be rebuilt now: the connector leaves its rows out"):
            rebuild(spark, config, "LAB.OTHER")
        with pytest.raises(LakeError, match="has no table LAB.NONE"):
            rebuild(spark, config, "LAB.NONE")
    finally:
        running_lake.stop()
    assert tables(spark, config)["LAB.T"].count() == len(expected) - 1


def test_tables_whose_rows_went_without_redo_are_read_again_from_oracle_beside_a_running_lake(
    spark: SparkSession, sandbox: SandboxProcess, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merger, "_LOOK_S", 0.0)
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    statements = (
        *WITH_ROWS,
        "CREATE TABLE HEAP (A NUMBER(5), B VARCHAR2(20))",
        "CREATE TABLE PARTED (ID NUMBER(9) PRIMARY KEY, B VARCHAR2(20)) PARTITION BY RANGE (ID)"
        " (PARTITION LOW VALUES LESS THAN (10), PARTITION HIGH VALUES LESS THAN (MAXVALUE))",
        *(LOGGED.format(name) for name in ("HEAP", "PARTED")),
        *(f"INSERT INTO {name} VALUES ({number}, 'first')" for name in ("HEAP", "PARTED") for number in (1, 2, 11)),
    )
    lab: Lab = made_lab(sandbox, broker.bootstrap_servers, tmp_path, statements)
    config = lake_config(lab, minercdc_lake_table_modes=".*[.]HEAP:append, .*[.]PARTED:scd2")
    with running(lab):
        sync_to(spark, config, scn_of(lab))
        lab.execute("ALTER TABLE HEAP MOVE")
        lab.execute("ALTER TABLE PARTED DROP PARTITION LOW")
        lab.execute("UPDATE HEAP SET B = 'moved' WHERE A = 1", "INSERT INTO PARTED VALUES (12, 'later')")
        sync_to(spark, config, scn_of(lab))
        report = verify(spark, config)
        assert sorted(one.name for one in report.tables if one.failure) == [f"{lab.schema}.HEAP", f"{lab.schema}.PARTED"]
        running_lake = start(spark, config)
        try:
            assert rebuild(spark, config, f"{lab.schema}.PARTED").source == "Oracle"
            file = str(lab.directory / "connector.yaml")
            with MinerCdc(["lake", "rebuild", file, "--table", f"{lab.schema}.HEAP"], tmp_path / "rebuild.log") as command:
                ended = command.await_end(150)
            assert ended.status == 0, ended.errors
            assert ended.output.startswith(f"rebuilt: {lab.schema}.HEAP, 3 rows at SCN ")
            lab.execute("UPDATE HEAP SET B = 'again' WHERE A = 2", "DELETE FROM PARTED WHERE ID = 11")
        finally:
            running_lake.stop()
        sync_to(spark, config, scn_of(lab))
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary() == "verified: 3 tables, 7 rows, 0 differences"
    # What is known of rows that went stays.
    versions = kept(spark, config, f"{lab.schema}/PARTED", "ID", "__cdc.valid_to_scn IS NULL")
    assert versions == [(1, False), (2, False), (11, False), (12, True)]
    changes = kept(spark, config, f"{lab.schema}/HEAP", "__cdc.op", "A")
    assert [op for op, _ in changes] == ["r"] * 6 + ["t", "u"], changes


def kept(spark: SparkSession, config: ConnectorConfig, table: str, *columns: str) -> list[tuple[object, ...]]:
    rows = frame(spark, config, *table.split("/")).selectExpr(*columns)
    return sorted((tuple(row) for row in rows.collect()), key=lambda row: (str(row[0]).zfill(9), str(row[1:])))
