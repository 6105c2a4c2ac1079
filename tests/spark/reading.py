"""What a test reads of the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
from minercdc.schema.table import TableSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lake(spark: SparkSession, config: ConnectorConfig, table: TableSchema) -> list[dict[str, Any]]:
    """The rows of a lake table without `__cdc`, as any reader of Delta sees them."""
    path = f"{config.lake.minercdc_lake_path}/{table.id.schema}/{table.id.table}"
    rows = [r.asDict() for r in spark.read.format("delta").load(path).collect()]
    return sorted(({k: v for k, v in r.items() if k != "__cdc"} for r in rows), key=str)
