"""A Spark application for `test_direct_kill`: one query of format("minercdc") into a Delta table, until it is killed.

python direct_query.py CONFIG TABLE DIRECTORY
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pyspark.errors import StreamingQueryException

from minercdc.lake.stream.passing import started_late
from minercdc.local.spark import local_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

T = TypeVar("T")


def started(spark: SparkSession, config: str, table: str, directory: Path) -> StreamingQuery:
    """The query, with its checkpoint and its Delta table below the directory."""
    changes = spark.readStream.format("minercdc").option("config", config).option("table", table).load()
    return (
        changes.writeStream.format("delta")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .start(str(directory / "changes"))
    )


def in_time(run: Callable[[], T]) -> T:
    """What `run` returns, which starts a query and waits for it. It is called again where Spark did not wait long enough for the process of the
    query's source, as whoever runs such a query starts it again."""
    while True:
        try:
            return run()
        except StreamingQueryException as error:
            if not started_late(str(error)):
                raise


if __name__ == "__main__":
    session = local_spark("direct")
    in_time(lambda: started(session, sys.argv[1], sys.argv[2], Path(sys.argv[3])).awaitTermination())
