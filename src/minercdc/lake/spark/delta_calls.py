"""What Delta itself is asked of a table at a path, or told to do to it, be it a lake table or one of the lake's own records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.sql import literal
from minercdc.lake.table.format import NO_TABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMMIT = re.compile(r"\d{20}\.")  # files of the log: a commit, or a checkpoint


def size_of(spark: SparkSession, name: str) -> tuple[int, int]:
    """(files of the newest version of a table by its name in SQL, their bytes)."""
    row = spark.sql(f"DESCRIBE DETAIL {name}").select("numFiles", "sizeInBytes").collect()[0]
    return int(row[0]), int(row[1])


def compact(spark: SparkSession, name: str, age: timedelta) -> None:
    """OPTIMIZE a table by its name in SQL, then VACUUM of what was replaced longer ago than `age`."""
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"VACUUM {name} RETAIN {age / timedelta(hours=1):.6f} HOURS")


def listed(properties: Mapping[str, str]) -> str:
    """SQL of properties, as TBLPROPERTIES has them."""
    return ", ".join(f"'{name}' = {literal(value)}" for name, value in properties.items())


def newest_version(spark: SparkSession, path: str) -> int:
    """Number of the newest version of the Delta table at `path`, of any process; `NO_TABLE` when there is none."""
    if not exists(spark, path):
        return NO_TABLE
    nothing = java_class(spark, "scala.Option").empty()
    return int(delta_log(spark, path).update(False, nothing, nothing).version())


def table_id(spark: SparkSession, path: str) -> str:
    """Delta's id of the table at `path`, which has to be there."""
    nothing = java_class(spark, "scala.Option").empty()
    return str(delta_log(spark, path).update(False, nothing, nothing).metadata().id())


def delta_log(spark: SparkSession, path: str) -> Any:
    """Delta's object of the log of a table at `path`."""
    session: Any = spark
    return java_class(spark, "org.apache.spark.sql.delta.DeltaLog").forTable(session._jsparkSession, path)


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a Delta table at `path`: a log with a commit. A first write that was cut off leaves a log without."""
    session: Any = spark
    path_of = java_class(spark, "org.apache.hadoop.fs.Path")
    log = path_of(f"{path}/_delta_log")
    files = log.getFileSystem(session._jsc.hadoopConfiguration())
    if any(files.exists(path_of(f"{path}/_delta_log/{name}")) for name in (f"{0:020}.json", "_last_checkpoint")):
        return True
    if not files.exists(log):
        return False
    return any(_COMMIT.match(str(file.getPath().getName())) for file in files.listStatus(log))
