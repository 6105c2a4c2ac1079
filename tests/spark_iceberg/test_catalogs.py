"""Iceberg tables of a lake in a catalog that other programs share: a JDBC catalog, read by Spark with SQL and by pyiceberg."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.maintain.status import status
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


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The file of the catalog's database."""
    return tmp_path / "catalog.db"


@pytest.fixture
def config(broker: KafkaBroker, prefix: str, tmp_path: Path, database: Path) -> ConnectorConfig:
    return parse_properties(
        {
            "name": prefix,
            "topic.prefix": prefix,
            "database.hostname": "x",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "D",
            "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
            "minercdc.lake.path": str(tmp_path / "lake"),
            "minercdc.lake.trigger.interval.ms": "0",
            "minercdc.lake.format": "iceberg",
            "minercdc.lake.catalog.name": f"shared_{prefix}".replace("-", "_"),
            "minercdc.lake.catalog.type": "jdbc",
            "minercdc.lake.catalog.uri": f"jdbc:sqlite:{database}",
            "minercdc.lake.catalog.warehouse": str(tmp_path / "warehouse"),
            "minercdc.lake.catalog.jdbc.schema-version": "V1",
        }
    )


def merged(spark: SparkSession, config: ConnectorConfig) -> None:
    lake = start(spark, config)
    try:
        lake.process_all_available()
    finally:
        lake.stop()


def by_pyiceberg(name: str, database: Path, warehouse: Path) -> list[dict[str, Any]]:
    """Rows as pyiceberg reads them, without Java."""
    from pyiceberg.catalog.sql import SqlCatalog  # type: ignore[import-not-found,unused-ignore]

    catalog = SqlCatalog(name, uri=f"sqlite:///{database}", warehouse=str(warehouse))
    rows: list[dict[str, Any]] = catalog.load_table("SHOP.ORDERS").scan().to_arrow().to_pylist()
    return sorted(({column: row[column] for column in ("ID", "STATE")} for row in rows), key=lambda row: row["ID"])


def test_tables_of_a_shared_catalog_are_read_by_name_and_by_other_programs(
    spark: SparkSession, config: ConnectorConfig, database: Path, tmp_path: Path
) -> None:
    catalog = config.lake.minercdc_lake_catalog_name
    connector = Connector(config)
    try:
        connector.structure(ORDERS)
        for key in range(4):
            connector.change(Op.CREATE, None, (str(key), "new"), ORDERS, f"R{key}")
        connector.commit()
        merged(spark, config)
        connector.change(Op.UPDATE, ("1", "new"), ("1", "sent"), ORDERS, "R1")
        connector.change(Op.DELETE, ("2", "new"), None, ORDERS, "R2")
        connector.commit()
        merged(spark, config)
    finally:
        connector.sink.close()
    expected = [{"ID": 0, "STATE": "new"}, {"ID": 1, "STATE": "sent"}, {"ID": 3, "STATE": "new"}]
    assert {name: frame.count() for name, frame in tables(spark, config).items()} == {"SHOP.ORDERS": 3}

    plain = spark.newSession()  # of a user who has the catalog, and nothing of ours
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": f"jdbc:sqlite:{database}"}
    settings |= {".warehouse": str(tmp_path / "warehouse"), ".jdbc.schema-version": "V1"}
    for end, value in settings.items():
        plain.conf.set(f"spark.sql.catalog.{catalog}{end}", value)
    read = plain.sql(f"SELECT ID, STATE FROM {catalog}.SHOP.ORDERS ORDER BY ID")
    assert [row.asDict() for row in read.collect()] == expected
    assert by_pyiceberg(catalog, database, tmp_path / "warehouse") == expected


def test_two_lakes_of_one_catalog_mix_no_rows(spark: SparkSession, config: ConnectorConfig, tmp_path: Path) -> None:
    """Two connectors whose tables, or whose lakes' own tables, would have the same names."""
    first = Connector(config)
    try:
        first.structure(ORDERS)
        first.change(Op.CREATE, None, ("1", "new"), ORDERS, "R1")
        first.commit()
    finally:
        first.sink.close()
    merged(spark, config)
    for name, refused in ((f"other_{config.identity.name}", False), (config.identity.name, True)):
        prefix = f"of-another-{config.identity.topic_prefix}"
        identity = config.identity.model_copy(update={"name": name, "topic_prefix": prefix})
        lake = config.lake.model_copy(update={"minercdc_lake_path": str(tmp_path / f"lake-of-{refused}")})
        other = replace(config, identity=identity, lake=lake)
        second = Connector(other)
        try:
            second.structure(ORDERS)
            second.change(Op.CREATE, None, ("2", "of another database"), ORDERS, "R2")
            second.commit()
        finally:
            second.sink.close()
        if refused:
            with pytest.raises(LakeError, match="`changes` belongs to the lake of connector"):
                merged(spark, other)
        else:
            merged(spark, other)
            assert "belongs to the lake of connector" in status(spark, other).tables[0].failure
    assert [row["ID"] for row in tables(spark, config)["SHOP.ORDERS"].collect()] == [1]
