"""A lake whose catalog is a Hive metastore: begun, killed in a stream, gone on, and read by name in a user's own session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.connector import MinerCdc
from tests.spark.connector import Connector
from tests.spark_iceberg.hive_metastore import HiveMetastore

from minercdc.config.load import parse_properties
from minercdc.lake import start, tables
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = TableSchema(
    TableId("D", "SHOP", "ORDERS"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("STATE", "VARCHAR2", 20)),
    key=(0,),
)
_PATIENCE_S = 600.0  # what ends then hangs


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with HiveMetastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, tmp_path: Path, metastore: HiveMetastore) -> dict[str, str]:
    return {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": "x",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "D",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.lake.path": str(tmp_path / "lake"),
        "minercdc.lake.trigger.interval.ms": "0",
        "minercdc.lake.merge.interval.ms": "0",
        "minercdc.lake.format": "iceberg",
        "minercdc.lake.catalog.name": f"hive_{prefix}",
        "minercdc.lake.catalog.type": "hive",
        "minercdc.lake.catalog.uri": metastore.uri,
        "minercdc.lake.catalog.table.name": f"{prefix}_${{schema}}.${{table}}",
        "minercdc.lake.catalog.warehouse": str(tmp_path / "warehouse"),
    }


@pytest.mark.parametrize("locks", ["true", "false"])
def test_a_lake_in_a_hive_metastore_goes_on_after_a_kill(
    locks: str, spark: SparkSession, properties: dict[str, str], metastore: HiveMetastore, tmp_path: Path
) -> None:
    properties["minercdc.lake.catalog.hadoop.iceberg.engine.hive.lock-enabled"] = locks
    before = metastore.locks_taken()
    config = parse_properties(properties)
    catalog = config.lake.minercdc_lake_catalog_name
    file = tmp_path / "lake.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    connector = Connector(config)
    rows: dict[int, str] = {}

    def change(key: int) -> None:
        """Insert a row, or update it; every third one is deleted again."""
        new = f"state {connector.scn}"
        if key in rows and key % 3 == 0:
            connector.change(Op.DELETE, (str(key), rows.pop(key)), None)
        else:
            op, before = (Op.UPDATE, (str(key), rows[key])) if key in rows else (Op.CREATE, None)
            rows[key] = new
            connector.change(op, before, (str(key), new))
        connector.commit()

    try:
        connector.structure(ORDERS)
        for key in range(20):
            change(key)
        lake = MinerCdc(["lake", str(file)], tmp_path / "killed.log")
        try:
            lake.await_log("all tables are at SCN", _PATIENCE_S)
            for key in range(10):
                change(key)
        finally:
            lake.process.kill()
            lake.process.wait()
        for key in range(5, 25):
            change(key)
        again = start(spark, config)
        try:
            again.process_all_available()
        finally:
            again.stop()
    finally:
        connector.sink.close()
    found = tables(spark, config)["SHOP.ORDERS"].collect()
    assert {row["ID"]: row["STATE"] for row in found} == rows
    assert (metastore.locks_taken() > before) is (locks == "true")

    plain = spark.newSession()  # of a user who has the catalog, and nothing of ours
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hive", ".uri": metastore.uri}
    settings |= {".warehouse": str(tmp_path / "warehouse")}
    for end, value in settings.items():
        plain.conf.set(f"spark.sql.catalog.{catalog}{end}", value)
    assert {
        row["ID"]: row["STATE"] for row in plain.table(f"{catalog}.{config.identity.name}_SHOP.ORDERS").collect()
    } == rows
