"""Iceberg tables of which another process, or another program, takes versions away: what the lake knows of a version is not taken for
another one's."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.lake.test_iceberg import NEEDED

from minercdc.config.load import parse_properties
from minercdc.lake.merge.rows import CDC_TYPE
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.format import Applied, LakeTable, Overtaken, changed_since
from minercdc.lake.table.formats import format_of
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ID = TableColumn("ID", "INT", "ID@1")
T = TableId("D", "SHOP", "T")


def rows(spark: SparkSession, *ids: int, scn: int) -> DataFrame:
    cdc = (
        f"named_struct('op', 'c', 'scn', {scn}L, 'commit_scn', {scn}L, 'seq', 1L, 'commit_time', CAST(NULL AS TIMESTAMP),"
        " 'row_id', CAST(NULL AS STRING), 'deleted', false)"
    )
    given = spark.createDataFrame([(one,) for one in ids], "ID INT").coalesce(1)
    return given.selectExpr("ID", f"CAST({cdc} AS {CDC_TYPE}) AS {CDC}")


def slow(begun: Path, goes_on: Path) -> Any:
    """A function of SQL of a number, by which a task that writes says that it has begun, and waits until it is to go on."""
    from pyspark.sql.functions import udf

    def waited(number):  # type: ignore[no-untyped-def]  # Spark would read the hints
        with begun.open("w"), goes_on.open("r"):
            return number

    return udf(waited, "int")


def test_a_version_that_was_written_over_is_not_taken_for_the_one_that_is_there(spark: SparkSession, tmp_path: Path) -> None:
    config = parse_properties(
        {**NEEDED, "minercdc.lake.path": str(tmp_path / "lake"), "minercdc.lake.catalog.name": "replaced"}
    )
    one, other = (own_session(spark) for _ in range(2))
    lake, again = (format_of(config).table(session, T) for session in (one, other))
    lake.create([ID], CDC_TYPE, "mirror", Applied(5, 1))
    begun, goes_on = tmp_path / "begun", tmp_path / "goes_on"
    for pipe in (begun, goes_on):
        os.mkfifo(pipe)

    def replaced(table: LakeTable) -> None:
        table.replace(rows(other, 1, scn=5).withColumn("ID", slow(begun, goes_on)("ID")), [ID], Applied(5, 1), "mirror")

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(replaced, again)
        with begun.open("r"):
            lake.append(rows(one, 1, 2, scn=6), Applied(6, 2))
            recorded = lake.reached(Applied(6, 2))
        with goes_on.open("w"):
            pass
        made.result()
    assert changed_since(lake, recorded, Applied(6, 2)) == Applied(5, 1)


def test_changes_are_not_appended_to_a_table_that_another_process_has_made_with_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    config = parse_properties(
        {**NEEDED, "minercdc.lake.path": str(tmp_path / "lake"), "minercdc.lake.catalog.name": "appended"}
    )
    form = format_of(config)
    one, other = (own_session(spark) for _ in range(2))
    lake, again = (form.table(session, T) for session in (one, other))
    lake.create([ID], CDC_TYPE, "append", Applied(5, 1))
    lake.append(rows(one, 1, scn=6), Applied(6, 2), known=Applied(5, 1))
    assert (lake.applied(), lake.read().count()) == (Applied(6, 2), 1)
    begun, goes_on = tmp_path / "begun", tmp_path / "goes_on"
    for pipe in (begun, goes_on):
        os.mkfifo(pipe)
    added = rows(one, 2, scn=7).withColumn("ID", slow(begun, goes_on)("ID"))
    with ThreadPoolExecutor(1) as pool:
        appended = pool.submit(lake.append, added, Applied(7, 3), known=Applied(6, 2))
        with begun.open("r"):
            again.replace(rows(other, 1, 2, scn=7), [ID], Applied(7, 3), "append")
        with goes_on.open("w"):
            pass
        error = appended.exception()
    assert error is not None
    assert form.is_conflict(error)
    with pytest.raises(Overtaken) as caught:
        lake.append(rows(one, 2, scn=7), Applied(7, 3), known=Applied(6, 2))
    assert form.is_conflict(caught.value)
    assert sorted(row["ID"] for row in lake.read().collect()) == [1, 2]


def test_the_mode_of_a_table_outlives_the_snapshot_that_says_it(spark: SparkSession, tmp_path: Path) -> None:
    """As where another program keeps the newest snapshot of each table of a catalog: deleted rows would be the source's."""
    config = parse_properties(
        {**NEEDED, "minercdc.lake.path": str(tmp_path / "lake"), "minercdc.lake.catalog.name": "expired"}
    )
    table = format_of(config).table(spark, T)
    table.create([ID], CDC_TYPE, "soft_delete", Applied(5, 1))
    table.append(rows(spark, 1, scn=6), Applied(6, 2))
    version = table.reached(Applied(6, 2))
    spark.sql("CALL expired.system.expire_snapshots(table => 'SHOP.T', older_than => TIMESTAMP '2100-01-01 00:00:00')")
    assert spark.sql(f"SELECT 1 FROM {table.name}.snapshots").count() == 1
    assert (table.mode(), table.mode(version), table.applied()) == ("soft_delete", "soft_delete", Applied(6, 2))
    table.create([ID], CDC_TYPE, "mirror", Applied(7, 2))
    assert table.mode() == "mirror"
