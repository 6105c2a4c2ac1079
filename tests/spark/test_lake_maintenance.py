"""Small files are joined, what is older than the retention goes, and what remains is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import FORMAT, lake

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import tables
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.maintain.status import status
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUSY = TableSchema(
    TableId("PDB", "LAB", "BUSY"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)),
    key=(0,),
)
IDLE = replace(BUSY, id=BUSY.id._replace(table="IDLE"))


def test_small_files_and_merged_records_go_and_newer_ones_are_merged_as_before(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None], tmp_path: Path
) -> None:
    for table in (BUSY, IDLE):
        connector.structure(table)
        for number in range(4):
            connector.change(Op.CREATE, None, (str(number), "first"), table)
    connector.commit()
    sync()
    old = connector.scn
    for turn in range(3):
        for number in range(2):
            connector.change(Op.UPDATE, None, (str(number), f"turn {turn}"), BUSY)
        connector.commit()
        sync()
    before = status(spark, config)
    assert [(one.name, one.rows, one.waiting, one.scn >= old) for one in before.tables] == [
        ("LAB.BUSY", 4, 0, True),
        ("LAB.IDLE", 4, 0, True),
    ]
    assert before.readable_from <= old
    assert before.complete_scn == before.delivered_scn == connector.scn

    present = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_retention_ms": 0}))
    later = datetime.now(UTC) + timedelta(seconds=1)
    with pytest.raises(LakeError, match="has no table LAB.NOPE") as refused:
        Maintenance(spark, present, clock=lambda: later).run("LAB.NOPE")
    assert refused.value.hint == "It has: LAB.BUSY, LAB.IDLE"
    elsewhere = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_path": f"{tmp_path}/none"}))
    with pytest.raises(LakeError, match="there is no lake at .*/none"):
        Maintenance(spark, elsewhere).refuse_absent()
    Maintenance(spark, present).refuse_absent()
    reports = {one.name: one for one in Maintenance(spark, present, clock=lambda: later).run()}
    assert reports["LAB.BUSY"].files[0] > reports["LAB.BUSY"].files[1] == 1
    root = Path(config.lake.minercdc_lake_path)
    assert len([path for path in (root / "LAB" / "BUSY").rglob("*.parquet") if "_delta_log" not in path.parts]) == 1
    after = status(spark, config)
    assert after.records == 0
    assert after.readable_from == connector.scn
    assert tables(spark, config)["LAB.BUSY"].where("V = 'turn 2'").count() == 2
    assert tables(spark, config)["LAB.IDLE"].count() == 4
    with pytest.raises(LakeError, match=f"SCN {old} is older than what the lake keeps"):
        tables(spark, config, old)
    own = "_delta_log" if FORMAT == "delta" else "metadata"
    idle, aside = root / "LAB" / "IDLE" / own, root / "aside"
    idle.rename(aside)
    idle.mkdir()  # as a kill leaves it before the first version
    assert [(one.name, one.rows) for one in status(spark, config).tables] == [("LAB.BUSY", 4), ("LAB.IDLE", 0)]
    found = tables(spark, config)
    assert (set(found), set(found.incomplete)) == ({"LAB.BUSY"}, {"LAB.IDLE"})
    idle.rmdir()
    aside.rename(idle)

    connector.change(Op.UPDATE, None, ("1", "last"), BUSY)
    connector.change(Op.DELETE, ("3", "first"), None, IDLE)
    connector.commit()
    sync()
    expected = [{"ID": 0, "V": "turn 2"}, {"ID": 1, "V": "last"}, *({"ID": n, "V": "first"} for n in (2, 3))]
    assert lake(spark, config, BUSY) == expected
    assert lake(spark, config, IDLE) == [{"ID": n, "V": "first"} for n in range(3)]


def test_optimize_and_vacuum_by_hand_take_no_version_that_is_read(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(BUSY)
    for number in range(3):
        connector.change(Op.CREATE, None, (str(number), "v"), BUSY)
        connector.commit()
        sync()
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    name = f"delta.`{config.lake.minercdc_lake_path}/LAB/BUSY`"
    session.sql(f"OPTIMIZE {name}")
    session.sql(f"VACUUM {name} RETAIN 0 HOURS")
    connector.change(Op.CREATE, None, ("9", "after"), BUSY)
    connector.commit()
    assert tables(spark, config)["LAB.BUSY"].count() == 3
    sync()
    assert tables(spark, config)["LAB.BUSY"].count() == 4


def clustering(spark: SparkSession, config: ConnectorConfig, table: TableSchema) -> list[str]:
    name = f"delta.`{config.lake.minercdc_lake_path}/LAB/{table.id.table}`"
    found: list[str] = spark.sql(f"DESCRIBE DETAIL {name}").select("clusteringColumns").collect()[0][0]
    return found


def test_tables_are_clustered_by_the_key_that_they_have(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:

    def maintain(cluster: str = "key") -> None:
        changed = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_cluster": cluster}))
        assert not [one.failure for one in Maintenance(spark, changed).run() if one.failure]

    first = replace(BUSY, id=BUSY.id._replace(table="CLUSTERED"), columns=(*BUSY.columns, Column("W odd", "NUMBER", 9, 0)))
    connector.structure(first)
    for number in range(4):
        connector.change(Op.CREATE, None, (str(number), "v", "7"), first)
    connector.commit()
    sync()
    maintain("none")
    assert clustering(spark, config, first) == []
    maintain()
    assert clustering(spark, config, first) == ["ID"]

    # Columns of the key are renamed and widened; the key gets another one.
    wide = (Column("NEW ID", "NUMBER", 18, 0, nullable=False), *first.columns[1:])
    renamed = replace(first, columns=wide, version=2)
    connector.alter(first, 'ALTER TABLE lab.clustered RENAME COLUMN id TO "NEW ID"', renamed)
    rekeyed = replace(renamed, key=(2,), version=3)
    connector.alter(renamed, 'ALTER TABLE lab.clustered DROP PRIMARY KEY ADD PRIMARY KEY ("W odd")', rekeyed)
    connector.change(Op.CREATE, None, ("9", "v", "8"), rekeyed)
    connector.commit()
    sync()
    maintain()
    assert clustering(spark, config, first) == ["`W odd`"]

    # Without the column that it is clustered by.
    back = replace(rekeyed, key=(0,), version=4)
    connector.alter(rekeyed, 'ALTER TABLE lab.clustered DROP PRIMARY KEY ADD PRIMARY KEY ("NEW ID")', back)
    dropped = replace(back, columns=back.columns[:2], version=5)
    connector.alter(back, 'ALTER TABLE lab.clustered DROP COLUMN "W odd"', dropped)
    connector.change(Op.UPDATE, ("9", "v"), ("9", "changed"), dropped)
    connector.commit()
    sync()
    before = connector.scn
    maintain()
    assert clustering(spark, config, first) == ["`NEW ID`"]
    assert tables(spark, config, before)["LAB.CLUSTERED"].where("V = 'changed'").count() == 1
    assert [row["NEW ID"] for row in lake(spark, config, dropped)][-1] == 9

    # A table that is made again.
    connector.truncate(dropped)
    connector.change(Op.CREATE, None, ("1", "after"), dropped)
    connector.commit()
    sync()
    maintain()
    assert clustering(spark, config, first) == ["`NEW ID`"]
    assert lake(spark, config, dropped) == [{"NEW ID": 1, "V": "after"}]
