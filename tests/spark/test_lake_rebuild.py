"""`minercdc lake rebuild`: one table is made again, for any cause of its quarantine, while the lake runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, WITH_ROWS, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.connector import Connector
from tests.spark.histories import Killed, killed
from tests.spark.reading import FORMAT, TABLE, frame, lake, name_in_sql
from tests.spark.source import lake_config, running, scn_of
from tests.spark.source import sync as sync_to
from tests.spark.test_lake_modes import MODES

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.maintain.rebuild import rebuild
from minercdc.lake.maintain.verify import verify
from minercdc.lake.merge import scheduler as merger
from minercdc.lake.merge.table_merge import TableMerge
from minercdc.lake.source import oracle_table
from minercdc.lake.source.snapshot import _Loading, _NoProgress, _Task
from minercdc.lake.table.format import Applied
from minercdc.lake.table.history import Field, TableVersion
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op
from minercdc.stream.offset import SuspendedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TableSchema(
    TableId("PDB", "LAB", "T"), (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)), key=(0,)
)
CONFLICT = "DELTA_CONCURRENT_APPEND" if FORMAT == "delta" else "CommitFailedException"
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


def test_a_rebuild_that_is_made_again_has_what_came_meanwhile(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lake merges another version of the table, and one of the two commits is refused."""
    connector.found(T)
    connector.change(Op.CREATE, None, ("1", "old"), T)
    connector.change(Op.CREATE, None, ("2", "gone"), T)
    connector.commit()
    running_lake, run = start(spark, config), TableMerge.run
    wide = replace(T, columns=(*T.columns, Column("W", "NUMBER", 9, 0)), version=2)
    tries: list[Applied] = []

    def refused(merge: TableMerge, *given: Any, again: bool = False, **more: Any) -> None:
        if again:
            tries.append(given[-1])
            if len(tries) == 1:
                connector.truncate(T)
                connector.alter(T, "ALTER TABLE lab.t ADD (w NUMBER(9))", wide)
                connector.change(Op.CREATE, None, ("3", "new", "7"), wide)
                connector.commit()
                running_lake.process_all_available()
                raise RuntimeError(CONFLICT)
        run(merge, *given, again=again, **more)

    try:
        running_lake.process_all_available()
        monkeypatch.setattr(TableMerge, "run", refused)
        done = rebuild(spark, config, "LAB.T")
    finally:
        running_lake.stop()
    assert (len(tries), done.scn, done.source) == (2, connector.scn, "the change log")
    assert lake(spark, config, wide) == [{"ID": 3, "V": "new", "W": 7}]


def test_what_the_lake_merges_between_two_steps_of_a_rebuild_is_there_once(
    spark: SparkSession, properties: dict[str, str], connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": "append", "skipped.operations": "none"})
    connector.found(T)
    connector.change(Op.CREATE, None, ("1", "before"), T)
    connector.truncate(T)  # what comes after it is a step of its own
    connector.change(Op.CREATE, None, ("2", "after"), T)
    connector.commit()
    running_lake, replace_ = start(spark, config), TABLE.replace

    def replaced(*given: Any) -> None:
        replace_(*given)
        connector.change(Op.CREATE, None, ("3", "meanwhile"), T)
        connector.commit()
        running_lake.process_all_available()

    try:
        running_lake.process_all_available()
        monkeypatch.setattr(TABLE, "replace", replaced)
        rebuild(spark, config, "LAB.T")
        running_lake.process_all_available()
    finally:
        running_lake.stop()
    changes = kept(spark, config, "LAB/T", "__cdc.op", "ID")
    assert changes == [("c", 1), ("c", 2), ("c", 3), ("t", None)]


def test_what_the_lake_merges_while_rows_are_read_from_oracle_is_there_once_and_stays(
    spark: SparkSession, properties: dict[str, str], connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merger, "_LOOK_S", 0.0)
    modes = ",".join(f"LAB[.]{mode.upper()}:{mode}" for mode in MODES)
    config = parse_properties({**properties, "minercdc.lake.table.modes": modes})
    tables_of = {mode: replace(T, id=T.id._replace(table=mode.upper())) for mode in MODES}
    for table in tables_of.values():
        connector.structure(table)
        connector.change(Op.CREATE, None, ("1", "first"), table, "R1")
    connector.commit()
    running_lake, scn = start(spark, config), connector.scn

    def read(session: SparkSession, _config: ConnectorConfig, schema: TableSchema, *_: Any, **__: Any) -> DataFrame:
        table = replace(T, id=schema.id)
        connector.change(Op.UPDATE, ("1", "first"), ("1", "later"), table, "R1")
        connector.change(Op.CREATE, None, ("2", "new"), table, "R2")
        connector.commit()
        running_lake.process_all_available()
        return session.sql("SELECT 'R1' AS row_id, '1' AS c0, 'first' AS c1")

    monkeypatch.setattr(oracle_table, "oracle_rows", read)
    try:
        running_lake.process_all_available()
        loading = _Loading(spark, config, _NoProgress())
        for table in tables_of.values():
            version = TableVersion(scn, table, tuple(Field(f"{one.name}@100", one) for one in table.columns))
            shape = loading._decoder.shape(version)
            task = _Task(str(table.id), table, shape, (), {field.id for field in version.fields}, 0)
            assert loading._load(task, scn) > 0
        running_lake.process_all_available()
    finally:
        running_lake.stop()
    rows = [(1, "later"), (2, "new")]
    assert kept(spark, config, "LAB/MIRROR", "ID", "V") == rows
    assert kept(spark, config, "LAB/SOFT_DELETE", "ID", "V", "__cdc.deleted") == [(*row, False) for row in rows]
    assert kept(spark, config, "LAB/SCD2", "ID", "V", "__cdc.valid_to_scn IS NULL") == [
        (1, "first", False),
        *((*row, True) for row in rows),
    ]
    changes = [op for op, _ in kept(spark, config, "LAB/APPEND", "__cdc.op", "ID")]
    assert changes == ["c", "c", "r", "t", "u"]
    found = tables(spark, config)
    assert {name: sorted(map(tuple, found[name].select("ID", "V").collect())) for name in found} == {
        str(table.id): rows for table in tables_of.values()
    }


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
