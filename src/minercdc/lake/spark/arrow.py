"""Rows that this process has as Arrow columns, as DataFrames."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

_FIRST_VERSION = 4  # of Spark that takes Arrow's tables


def takes_arrow() -> bool:
    """Whether `from_arrow` works: PyArrow and Spark 4 or later are there."""
    import pyspark

    return find_spec("pyarrow") is not None and int(pyspark.__version__.split(".")[0]) >= _FIRST_VERSION


def from_arrow(spark: SparkSession, rows: pa.Table, schema: str) -> DataFrame:
    """The rows as a DataFrame, in columns of these Spark types. Up to Spark's `arrow.localRelationThreshold` (48 MB) they are part of the
    query's plan, so that no job reads them.

    :param schema: the columns of `rows` in their order, as Spark SQL.
    """
    # In one chunk: Spark reads no row after a chunk without rows.
    found: DataFrame = spark.createDataFrame(rows.combine_chunks(), schema)
    return found
