"""How long Delta keeps what it takes to read older versions of a table: as long as the lake's own retention says.

Files of the log: each commit leaves one, 43,000 a day at one every two seconds, and Delta keeps them for 30 days by default. Maintenance has
Delta remove those of before the oldest version that the lake's record has. By itself, at a checkpoint, Delta goes by the age of commits alone: a
table that had none for longer than its time may lose the version that was the newest one all the while.

Marks of files that went, by which VACUUM knows when, and all of which are in each checkpoint: where they go before the lake's retention,
VACUUM takes files that versions within it have.

Checkpoints: each takes Spark jobs of seconds, twenty times what a small merge takes, and of a table that is merged every two seconds came every
twenty seconds. Between two of them a reader reads a small file for each commit.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from minercdc.config.target.lake import LakeConfig
from minercdc.lake.spark.delta_calls import delta_log, listed
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.sql import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_TIMES: Final = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")  # the second may not be less
_CLEANUP: Final = "delta.enableExpiredLogCleanup"
_CHECKPOINTS: Final = {"delta.checkpointInterval": "100"}  # commits; Delta makes one after each ten by default
_OURS = re.compile(r"interval \d+ hours")
_HOUR_MS = 3_600_000
_FEWEST_HOURS = 24
_SAFE_MS = 60_000  # clocks of a file system's machine and of this one


def kept_by_delta(lake: LakeConfig) -> dict[str, str]:
    """Delta's properties of a table of a lake."""
    hours = -(-lake.minercdc_lake_retention_ms // _HOUR_MS) + 1  # the hour of `Maintenance`
    return {_CLEANUP: "false", **_CHECKPOINTS, **dict.fromkeys(_TIMES, f"interval {max(hours, _FEWEST_HOURS)} hours")}


def to_be_set(there: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Those of the wanted properties that a table is to be given. What others set, in another form than ours, stays.

    :param there: the table's properties.
    """
    return {
        name: value
        for name, value in wanted.items()
        if there.get(name) != value and (name not in there or (name in _TIMES and _OURS.fullmatch(there[name])))
    }


def keep_versions(spark: SparkSession, path: str, wanted: Mapping[str, str]) -> None:
    """Give a table that is there the properties that it is to be given, in a commit; none where it has them.

    :param path: of the table.
    :param wanted: `kept_by_delta`, or none.
    """
    if not wanted:
        return
    configuration = delta_log(spark, path).unsafeVolatileSnapshot().metadata().configuration()
    found = {name: configuration.get(name) for name in wanted}
    there = {name: str(value.get()) for name, value in found.items() if value.isDefined()}
    if missing := to_be_set(there, wanted):
        spark.sql(f"ALTER TABLE delta.{quoted(path)} SET TBLPROPERTIES ({listed(missing)})")


def remove_log_files(spark: SparkSession, log: Any, path: str, age: timedelta, oldest: int | None) -> None:
    """Have Delta remove the files of a table's log that no version from `oldest` on needs, and no younger one than `age`.

    :param log: Delta's log of the table.
    :param path: of the table.
    :param oldest: number of a version; None for the newest one.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    now, kept_ms = int(time.time() * 1000), int(age / timedelta(milliseconds=1))
    try:
        if oldest is not None:
            kept_ms = max(kept_ms, now - _committed_ms(spark, f"{path}/_delta_log/{oldest:020}.json") + _SAFE_MS)
        nothing = java_class(spark, "scala.Option").empty()
        snapshot = log.update(False, nothing, nothing)
        catalog, unit = (getattr(log, f"cleanUpExpiredLogs$default${number}")() for number in (2, 4))
        kept = java_class(spark, "java.util.OptionalLong").of(kept_ms)  # Python's small integers are no Long in Java
        option = java_class(spark, "scala.jdk.javaapi.OptionConverters").toScala(kept)
        log.cleanUpExpiredLogs(snapshot, catalog, option, unit)
    except Py4JJavaError as error:  # the file of the commit is gone, or one cannot be removed
        logger.debug("files of the log of %s stay: %s", path, error)
    except Py4JError as error:
        logger.debug("this version of Delta lacks a method, and files of the log of %s stay: %s", path, error)


def _committed_ms(spark: SparkSession, file: str) -> int:
    session: Any = spark
    path = java_class(spark, "org.apache.hadoop.fs.Path")(file)
    status = path.getFileSystem(session._jsc.hadoopConfiguration()).getFileStatus(path)
    return int(status.getModificationTime())
