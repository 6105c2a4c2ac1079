"""The lake on a connector's segments, with no broker: restarts, DDL, SCNs, tables that are left out, and records that are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException
from tests.spark.reading import FORMAT, frame, lake
from tests.spark.segments import SegmentConnector, opened, segment_config

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.maintain.status import status
from minercdc.lake.stream.app import Lake
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.segments.reader import SegmentLog, segment_file
from minercdc.stream.events import Op
from minercdc.stream.offset import SuspendedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TableSchema(
    TableId("PDB", "LAB", "T"), (Column("ID", "NUMBER", 9, 0, nullable=False), Column("C", "VARCHAR2", 20)), key=(0,)
)
U = replace(T, id=TableId("PDB", "LAB", "U"))


@pytest.fixture
def file(tmp_path: Path, prefix: str) -> Path:
    return segment_config(
        tmp_path,
        name=prefix,
        minercdc_sink_segment_bytes=4000,
        minercdc_lake_path=tmp_path / "lake",
        minercdc_lake_trigger_interval_ms=0,
        minercdc_lake_format=FORMAT,
        minercdc_lake_catalog_name=f"lake_{prefix}".replace("-", "_"),
    )


@pytest.fixture
def config(file: Path) -> ConnectorConfig:
    return load_config(file)


@pytest.fixture
def connector(file: Path) -> Iterator[SegmentConnector]:
    connector = opened(file)
    yield connector
    connector.sink.close()


@pytest.fixture
def sync(spark: SparkSession, config: ConnectorConfig) -> Callable[[], None]:
    """Each call is a restart from the checkpoint."""

    def run() -> None:
        running = start(spark, config)
        try:
            running.process_all_available()
        finally:
            running.stop()

    return run


def test_tables_are_the_source_over_restarts_ddl_and_new_segments(
    spark: SparkSession, config: ConnectorConfig, connector: SegmentConnector, sync: Callable[[], None]
) -> None:
    connector.structure(T)
    connector.structure(U)
    for number in range(40):
        connector.change(Op.CREATE, None, (str(number), "first"), T)
        connector.change(Op.CREATE, None, (str(number), "other"), U)
        connector.commit()
    sync()
    first = connector.scn
    wide = replace(T, columns=(*T.columns, Column("N", "NUMBER", 12, 2)), version=2)
    connector.alter(T, "ALTER TABLE lab.t ADD (n NUMBER(12,2))", wide)
    connector.change(Op.UPDATE, ("7", "first", None), ("7", "changed", "1.5"), wide)
    connector.change(Op.DELETE, ("8", "first", None), None, wide)
    connector.change(Op.DELETE, ("3", "other"), None, U)
    connector.commit()
    sync()
    rows = {row["ID"]: (row["C"], None if row["N"] is None else str(row["N"])) for row in lake(spark, config, wide)}
    assert rows == {number: ("first", None) for number in range(40) if number not in (7, 8)} | {7: ("changed", "1.50")}
    assert {row["ID"] for row in lake(spark, config, U)} == set(range(40)) - {3}
    as_of = tables(spark, config, scn=first)
    assert as_of["LAB.T"].count() == as_of["LAB.U"].count() == 40
    assert as_of["LAB.T"].where("C = 'first'").count() == 40
    found = status(spark, config)
    assert found.complete_scn == found.delivered_scn == connector.scn
    assert len(SegmentLog(config.sink.directory).numbers()) > 3
    assert not [one.failure for one in Maintenance(spark, config).run() if one.failure]


def test_the_stream_goes_on_where_spark_did_not_wait_for_its_python_process(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: SegmentConnector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connector.structure(T)
    connector.change(Op.CREATE, None, ("1", "first"), T)
    connector.commit()
    append, tries = Lake._append, []

    def late_twice(self: Lake, records: DataFrame, number: int) -> None:
        tries.append(number)
        if len(tries) < 3:
            raise RuntimeError("Python worker failed to connect back.")  # as Spark ends a query with it
        append(self, records, number)

    monkeypatch.setattr(Lake, "_append", late_twice)
    sync()
    assert tries == [0, 0, 0]
    assert lake(spark, config, T) == [{"ID": 1, "C": "first"}]


def test_a_table_whose_rows_are_left_out_is_no_longer_complete(
    spark: SparkSession, config: ConnectorConfig, connector: SegmentConnector, sync: Callable[[], None]
) -> None:
    connector.structure(T)
    connector.structure(U)
    connector.change(Op.CREATE, None, ("1", "first"), T)
    connector.change(Op.CREATE, None, ("1", "first"), U)
    connector.commit()
    sync()
    reason = SuspendedTable("LAB.T", connector.scn + 1, "MC-4001", "a column was not understood")
    connector.change(Op.CREATE, None, ("2", "second"), U)
    connector.commit(suspended=[reason])
    sync()
    assert frame(spark, config, "LAB", "U").count() == 2
    found = tables(spark, config)
    assert sorted(found) == ["LAB.U"]
    with pytest.raises(LakeError, match=r"LAB\.T is not complete at SCN .* a column was not understood"):
        _ = found["LAB.T"]


def test_records_that_were_deleted_before_they_were_read_end_the_lake(
    spark: SparkSession, config: ConnectorConfig, connector: SegmentConnector, sync: Callable[[], None]
) -> None:
    connector.structure(T)
    for number in range(40):
        connector.change(Op.CREATE, None, (str(number), "first"), T)
        connector.commit()
    segment_file(config.sink.directory, 1).unlink()
    with pytest.raises(
        StreamingQueryException, match=r"records 0 to \d+ of the segments in .* were deleted before the lake read them"
    ):
        sync()
