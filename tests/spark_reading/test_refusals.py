"""What a session of Spark Connect, or of Spark 3.5, refuses by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import LakeError
from minercdc.lake import read_changes, snapshot, start, tables
from minercdc.lake.read.avro import AvroTopics
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECTS = "MINERCDC_SPARK_CONNECT" in os.environ
REASON = "Spark Connect is not supported: .*JVM" if CONNECTS else "the lake needs Spark 4.0 or later, .* is one of Spark 3.5"


@pytest.mark.parametrize("use", [start, tables, snapshot], ids=lambda use: use.__name__)
def test_what_keeps_or_reads_lake_tables_is_refused_with_the_reason(
    spark: SparkSession, config: ConnectorConfig, use: Callable[[SparkSession, ConnectorConfig], object], tmp_path: Path
) -> None:
    with pytest.raises(LakeError, match=REASON):
        use(spark, config)
    assert not (tmp_path / "lake").exists()


def test_columns_whose_names_differ_in_case_only_are_read_or_take_a_setting(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, prefix: str
) -> None:
    columns = (Column("ID", "NUMBER", 9, 0, nullable=False), Column("N", "NUMBER", 9, 0), Column("n", "NUMBER", 9, 0))
    connector.structure(TableSchema(TableId("PDB", "LAB", "T"), columns, key=(0,)))
    connector.change(Op.CREATE, None, ("1", "7", "8"))
    connector.commit()
    if CONNECTS:
        with pytest.raises(LakeError, match=r"columns of LAB.T differ in the case of their names only") as refused:
            read_changes(spark, config, table="LAB.T")
        assert refused.value.hint == 'spark.conf.set("spark.sql.caseSensitive", "true")'
        spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        rows = read_changes(spark, config, table="LAB.T").selectExpr("to_json(after) AS after")
        query = rows.writeStream.format("memory").queryName(prefix).start()
        query.processAllAvailable()
        query.stop()
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert [row["after"] for row in spark.table(prefix).collect()] == ['{"ID":1,"N":7,"n_2":8}']


def test_topics_in_avro_are_refused_where_spark_cannot_read_them(spark: SparkSession, properties: dict[str, str]) -> None:
    avro = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://h:1",
    }
    reason = "topics in Avro are not read over Spark Connect" if CONNECTS else "Spark's Avro reader is not installed"
    with pytest.raises(LakeError, match=reason):
        AvroTopics(spark, parse_properties(properties | avro))
