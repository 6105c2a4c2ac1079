"""What a test reads of the lake."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.unit.lake.delta_directory import Directory

from minercdc.config.load import ConnectorConfig
from minercdc.lake.table.columns import CDC
from minercdc.lake.table.delta import DeltaTable
from minercdc.lake.table.format import LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.iceberg.tables import IcebergTable
from minercdc.schema.table import TableId, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

FORMAT: Final = os.environ.get("MINERCDC_LAKE_FORMAT", "delta")
"""The format of the lakes of this run (tests/iceberg.py)."""
TABLE: Final[type[DeltaTable] | type[IcebergTable]] = DeltaTable if FORMAT == "delta" else IcebergTable


def lake_table(spark: SparkSession, config: ConnectorConfig, schema: str, table: str, database: str = "") -> LakeTable:
    """A lake table, in a session that knows its catalog then."""
    return format_of(config).table(spark, TableId(database, schema, table))


def name_in_sql(spark: SparkSession, config: ConnectorConfig, schema: str, table: str) -> str:
    """The name of a lake table, for SQL of a session, which knows its catalog then."""
    return lake_table(spark, config, schema, table).name


def frame(spark: SparkSession, config: ConnectorConfig, schema: str, table: str) -> DataFrame:
    """The rows of a lake table, as any reader of its format sees them."""
    return spark.table(name_in_sql(spark, config, schema, table))


def lake(spark: SparkSession, config: ConnectorConfig, table: TableSchema) -> list[dict[str, Any]]:
    """The rows of a lake table without `__cdc`, as Spark has their values. Those of Delta are read by PyArrow, from the files that its
    log names: Spark takes seconds for it."""
    if FORMAT == "delta":
        return in_order(_as_of_spark(row) for row in rows_in_files(spark, config, table))
    return of_source(frame(spark, config, table.id.schema, table.id.table).collect())


def rows_in_files(spark: SparkSession, config: ConnectorConfig, table: TableSchema) -> list[dict[str, Any]]:
    """The rows of a Delta table, as PyArrow has their values."""
    _, path, _ = name_in_sql(spark, config, table.id.schema, table.id.table).split("`")
    return Directory.there(Path(path)).rows()


def _as_of_spark(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.astimezone().replace(tzinfo=None)
        if isinstance(value, datetime) and value.tzinfo is not None
        else bytearray(value)
        if isinstance(value, bytes)
        else value
        for name, value in row.items()
    }


def of_source(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows without `__cdc`."""
    return in_order(row.asDict() for row in rows)


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without `__cdc`, in order of their text."""
    return sorted(({k: v for k, v in row.items() if k != CDC} for row in rows), key=str)
