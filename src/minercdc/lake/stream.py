"""The topics as a streaming DataFrame, and envelopes decoded to typed rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.lake.structures import Structure
from minercdc.lake.types import LakeColumn, decimal_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWID_KEY = "ROWID"
COMMIT_SCN, SEQUENCE = "__commit_scn", "__tx_seq"


def read_changes(spark: SparkSession, config: ConnectorConfig) -> DataFrame:
    """All table topics of a connector as one stream: Spark's Kafka columns (topic, key, value, partition, offset, ...).

    Only committed records are read, from the beginning; topics that are created later join by themselves.
    """
    prefix, delimiter = re.escape(config.identity.topic_prefix), re.escape(config.topics.topic_delimiter)
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config.kafka.bootstrap_servers)
        .option("subscribePattern", f"{prefix}{delimiter}.+{delimiter}.+")
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .option("kafka.metadata.max.age.ms", "2000")  # how soon a new table's topic is seen
        .option("maxOffsetsPerTrigger", config.lake.minercdc_lake_max_offsets_per_trigger)
        .load()
    )


def register_functions(spark: SparkSession) -> None:
    """Register the SQL functions that `decode` uses with a session; call it once before."""
    spark.udf.register("decimal_text", decimal_text, "string")


def quoted(name: str) -> str:
    """A name as a Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def envelope_type(structure: Structure) -> str:
    """Spark type of the JSON envelope of a table, as far as the lake needs it."""
    row = "STRUCT<" + ", ".join(f"{quoted(c.name)}: {c.json_type}" for c in structure.columns.values()) + ">"
    source = "STRUCT<scn: STRING, commit_scn: STRING, row_id: STRING, txSeq: BIGINT>"
    return f"STRUCT<before: {row}, after: {row}, source: {source}, op: STRING>"


def _value(column: LakeColumn) -> str:
    value = column.value(f"image.{quoted(column.name)}")
    if column.fill is None:
        return value
    # rows older than the column got its default by the DDL that added it, with no row in redo
    return f"if({COMMIT_SCN} < {column.since}, {column.fill}, {value})"


def decode(records: DataFrame, structure: Structure, *, with_schemas: bool, rowid_key: bool) -> DataFrame:
    """Records of one table -> one row each: op, partition, offset, `COMMIT_SCN`, `SEQUENCE`, and the row image as columns.

    The image is `after`, for deletes `before`. Tombstones are left out.
    """
    parsed_type = envelope_type(structure)
    if with_schemas:
        parsed_type = f"STRUCT<payload: {parsed_type}>"
    path = "e.payload" if with_schemas else "e"
    values = [f"{_value(column)} AS {quoted(column.name)}" for column in structure.columns.values()]
    if rowid_key:
        values.append(f"row_id AS {quoted(ROWID_KEY)}")
    return (
        records.where("value IS NOT NULL")
        .selectExpr(
            "partition", "offset", f"from_json(CAST(value AS STRING), '{parsed_type}', map('mode', 'FAILFAST')) AS e"
        )
        .selectExpr(
            "partition",
            "offset",
            f"{path}.op AS op",
            f"CAST(coalesce({path}.source.commit_scn, {path}.source.scn) AS DECIMAL(20,0)) AS {COMMIT_SCN}",
            f"coalesce({path}.source.txSeq, 0) AS {SEQUENCE}",
            f"{path}.source.row_id AS row_id",
            f"if({path}.op = 'd', {path}.before, {path}.after) AS image",
        )
        .selectExpr("op", "partition", "offset", COMMIT_SCN, SEQUENCE, *values)
    )
