"""A Spark application for `test_direct_kill`: one query of format("minercdc") into a Delta table, until it is killed.

python direct_query.py CONFIG TABLE DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minercdc.local.spark import local_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


def started(spark: SparkSession, config: str, table: str, directory: Path) -> StreamingQuery:
    """The query, with its checkpoint and its Delta table below the directory."""
    changes = spark.readStream.format("minercdc").option("config", config).option("table", table).load()
    return (
        changes.writeStream.format("delta")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .start(str(directory / "changes"))
    )


if __name__ == "__main__":
    started(local_spark("direct"), sys.argv[1], sys.argv[2], Path(sys.argv[3])).awaitTermination()
