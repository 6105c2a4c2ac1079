"""Partitions, order and tags of the lake's Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.histories import Killed, killed
from tests.spark.lakes import synced
from tests.spark.reading import lake, name_in_sql

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.table.iceberg.layout import TAG
from minercdc.lake.table.iceberg.tables import IcebergTable
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = TableSchema(
    TableId("D", "SHOP", "ORDERS"),
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("CREATED", "DATE"),
        Column("REGION", "VARCHAR2", 20),
        Column("STATE", "VARCHAR2", 20),
    ),
    key=(0,),
)


@pytest.fixture
def config(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties(
        {
            **properties,
            "minercdc.lake.iceberg.partitions": r"SHOP\.ORDERS:months(CREATED),REGION,bucket(4,ID)",
            "minercdc.lake.iceberg.sort": r"SHOP\.ORDERS:STATE DESC,ID",
            "minercdc.lake.iceberg.tags": "true",
            "minercdc.lake.retention.ms": "0",
        }
    )


def metadata(spark: SparkSession, name: str) -> Any:
    session: Any = spark
    return session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)


def test_partitions_order_and_tags(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None], tmp_path: Path
) -> None:
    rows: dict[int, tuple[str, ...]] = {}

    def put(key: int, *values: str) -> None:
        before = rows.get(key)
        rows[key] = values
        op = Op.CREATE if before is None else Op.UPDATE
        connector.change(op, None if before is None else (str(key), *before), (str(key), *values))

    def found() -> list[dict[str, Any]]:
        names = {column.name for column in connector.table.columns}
        rows = lake(spark, config, connector.table)
        return sorted(({key: str(value) for key, value in row.items() if key in names} for row in rows), key=str)

    def expected() -> list[dict[str, str]]:
        names = [column.name for column in connector.table.columns]
        return sorted((dict(zip(names, (str(k), *row), strict=True)) for k, row in rows.items()), key=str)

    connector.structure(ORDERS)
    for key in range(12):
        put(key, f"2026-{1 + key % 3:02}-01 00:00:00", f"R{key % 2}", f"S{key % 5}")
    connector.commit()
    sync()
    name = name_in_sql(spark, config, "SHOP", "ORDERS")
    first = connector.scn
    assert [str(field.name()) for field in metadata(spark, name).spec().fields()] == ["CREATED_month", "REGION", "ID_bucket"]
    assert spark.sql(f"SELECT count(DISTINCT partition) FROM {name}.files").collect()[0][0] > 5
    put(3, "2027-01-01 00:00:00", "R7", "moved")
    connector.commit()
    sync()
    assert found() == expected()
    at_first = spark.sql(f"SELECT REGION FROM {name} VERSION AS OF 'scn-{first}' WHERE ID = 3").collect()
    assert [row[0] for row in at_first] == ["R1"]
    assert spark.sql(f"SELECT REGION FROM {name} VERSION AS OF 'scn-{connector.scn}' WHERE ID = 3").collect()[0][0] == "R7"

    # A column of the partitions that goes, and one whose name changes: the first stays under another name.
    rows = {key: (row[0], row[2]) for key, row in rows.items()}
    dropped = replace(ORDERS, columns=(*ORDERS.columns[:2], ORDERS.columns[3]), version=2)
    connector.alter(ORDERS, "ALTER TABLE shop.orders DROP COLUMN region", dropped)
    renamed = replace(
        dropped, columns=(dropped.columns[0], replace(ORDERS.columns[1], name="MADE"), dropped.columns[2]), version=3
    )
    connector.alter(dropped, "ALTER TABLE shop.orders RENAME COLUMN created TO made", renamed)
    put(4, "2026-05-01 00:00:00", "later")
    connector.commit()
    sync()
    assert [str(field.name()) for field in metadata(spark, name).spec().fields()] == ["CREATED_month", "ID_bucket"]
    assert spark.table(name).columns == ["ID", "MADE", "REGION__1", "STATE", "__cdc"]
    assert found() == expected()

    snapshot = dict(metadata(spark, name).refs())[f"scn-{first}"].snapshotId()
    spark.sql(f"ALTER TABLE {name} CREATE TAG mine AS OF VERSION {snapshot}")
    (report,) = Maintenance(spark, config).run()
    assert not report.failure
    assert found() == expected()
    tags = {str(tag) for tag in dict(metadata(spark, name).refs())}
    assert {"main", "mine"} <= tags  # a user's tag keeps its version
    assert spark.sql(f"SELECT count(1) FROM {name} VERSION AS OF 'mine'").collect()[0][0] == 12
    files = [Path(row[0].removeprefix("file:")) for row in spark.sql(f"SELECT file_path FROM {name}.files").collect()]
    for file in files:
        states = [row[0] for row in spark.read.parquet(str(file)).select("STATE").collect()]
        assert states == sorted(states, reverse=True)


KEPT = replace(ORDERS, id=TableId("D", "SHOP", "KEPT"), columns=(ORDERS.columns[0], ORDERS.columns[3]))


def tagged(spark: SparkSession, config: ConnectorConfig) -> dict[str, list[tuple[int, str]]]:
    """The rows of each tag of the lake's, but those that are marked as deleted."""
    name = name_in_sql(spark, config, "SHOP", "KEPT")
    found = {}
    for tag in (str(one) for one in dict(metadata(spark, name).refs()) if str(one).startswith(TAG)):
        rows = spark.sql(f"SELECT ID, STATE FROM {name} VERSION AS OF '{tag}' WHERE NOT __cdc.deleted ORDER BY ID")
        found[tag] = [(row[0], row[1]) for row in rows.collect()]
    return found


def test_a_tag_has_all_up_to_its_scn_where_a_merge_makes_several_versions_and_where_it_is_killed(
    spark: SparkSession, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": "soft_delete", "minercdc.lake.iceberg.tags": "true"})
    connector = Connector(config)
    expected = {}
    try:
        connector.structure(KEPT)
        connector.change(Op.CREATE, None, ("1", "new"), KEPT)
        connector.change(Op.CREATE, None, ("2", "new"), KEPT)
        connector.commit()
        synced(spark, config)
        expected[f"{TAG}{connector.scn}"] = [(1, "new"), (2, "new")]

        # The merge marks the rows as deleted first, in a version that has not got the new row.
        connector.truncate(KEPT)
        connector.change(Op.CREATE, None, ("3", "new"), KEPT)
        connector.commit()
        synced(spark, config)
        expected[f"{TAG}{connector.scn}"] = [(3, "new")]
        assert tagged(spark, config) == expected

        connector.change(Op.UPDATE, ("3", "new"), ("3", "sent"), KEPT)
        connector.commit()
        with killed(monkeypatch, IcebergTable, "merge_rows", after=True) as calls, suppress(Killed):
            synced(spark, config)
        assert calls, "no merge"
        synced(spark, config)
        expected[f"{TAG}{connector.scn}"] = [(3, "sent")]
        assert tagged(spark, config) == expected
    finally:
        connector.sink.close()
