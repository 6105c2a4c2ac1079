"""python -m bench.lake_job JOB CONFIG [WARM_CONFIG]: one Spark job over a connector's topics, in a process of its own.

Prints one JSON object: for each step the wall and CPU seconds (of this process and its JVM) from the begin of the job, Spark's start
excluded. With WARM_CONFIG the job runs over that connector's topics first, which is not counted.

append   read the topics, decode the rows, append them to a new table: the least that any job has to do
plain    the job that one writes first: from_json, the last row by window, MERGE; a table after the other
lake     minercdc's lake: `readable` once the change log holds all, `merged` once the tables do
maintained   the same, and then `maintained`
followed     the lake while its input grows, until standard input ends
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.lake import session, start
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.read.changes import typed_changes
from minercdc.lake.stream.kafka_options import spark_kafka_options
from minercdc.lake.stream.marks import Marks
from minercdc.lake.table.history import LakeHistory, TableHistory
from minercdc.lake.table.iceberg.catalog import catalog_settings
from minercdc.sinks.kafka.client import KafkaClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATIENCE_S = 600.0


class _Watch:
    """Wall and CPU seconds of this process, its JVM and the JVM's Python workers, from its making."""

    def __init__(self) -> None:
        self._seen: dict[int, float] = {}  # by process id, also of workers that have ended
        self._cpu, self._wall = self._now(), time.monotonic()
        self.steps: dict[str, tuple[float, float]] = {}

    def _now(self) -> float:
        for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self._seen[process.pid] = times.user + times.system
        return float(sum(self._seen.values()))

    def step(self, name: str) -> None:
        self.steps[name] = (time.monotonic() - self._wall, self._now() - self._cpu)


def _tables(config: ConnectorConfig) -> list[TableHistory]:
    history = LakeHistory(config, KafkaClient(config.kafka, config.topics, config.kafka_client))
    history.refresh()
    return [table for table in history.tables() if table.versions]


def _records(spark: SparkSession, config: ConnectorConfig, table: TableHistory) -> DataFrame:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", config.kafka.bootstrap_servers)
        .option("subscribe", table.topic)
        .option("kafka.isolation.level", "read_committed")
        .options(**spark_kafka_options(config.kafka_client))
        .load()
    )


def _made(rows: DataFrame, config: ConnectorConfig, name: str) -> str:
    """Make a table of the lake's format, with the format's own settings, of rows; its name in SQL."""
    lake = config.lake
    if lake.minercdc_lake_format == "iceberg":
        for setting, value in catalog_settings(config).items():
            if setting.startswith("spark.sql.catalog."):
                rows.sparkSession.conf.set(setting, value)
        target = f"{lake.minercdc_lake_catalog_name}.bench.{name}"
        rows.writeTo(target).using("iceberg").create()
        return target
    path = f"{lake.minercdc_lake_path}-{name}"
    rows.write.format("delta").save(path)
    return f"delta.`{path}`"


def _append(spark: SparkSession, config: ConnectorConfig, watch: _Watch) -> None:
    for table in _tables(config):
        rows = typed_changes(_records(spark, config, table), table, config, ends_at_ddl=False).selectExpr(
            "op", "scn", "commit_scn", "seq", "commit_time", "row_id", "coalesce(after, before) AS r"
        )
        rows = rows.selectExpr("* EXCEPT (r)", "r.*")
        _made(rows, config, f"append_{table.table.table}")
    watch.step("appended")


def _plain(spark: SparkSession, config: ConnectorConfig, watch: _Watch) -> None:
    from pyspark.sql import Window
    from pyspark.sql.functions import col, row_number

    for table in _tables(config):
        rows = typed_changes(_records(spark, config, table), table, config, ends_at_ddl=False)
        by_key = Window.partitionBy("key").orderBy(col("commit_scn").desc(), col("seq").desc())
        last = rows.withColumn("rank", row_number().over(by_key)).where("rank = 1").selectExpr("op", "key", "after.*")
        names = [column for column in last.columns if column not in ("op", "key")]
        last.createOrReplaceTempView("last_changes")
        target = _made(last.limit(0).select(*names), config, f"plain_{table.table.table}")
        same_key = " AND ".join(f"t.{name} = c.key.{name}" for name in rows.select("key.*").columns)
        sets = ", ".join(f"{name} = c.{name}" for name in names)
        spark.sql(
            f"MERGE INTO {target} AS t USING last_changes AS c ON {same_key} WHEN MATCHED AND c.op = 'd' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {sets} "
            f"WHEN NOT MATCHED AND c.op <> 'd' THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f'c.{n}' for n in names)})"
        )
    watch.step("merged")


def _lake(spark: SparkSession, config: ConnectorConfig, watch: _Watch) -> None:
    running = start(spark, config)
    try:
        running.query.processAllAvailable()
        mark = Marks(config, KafkaClient(config.kafka, config.topics, config.kafka_client)).newest()
        goal = mark.scn if mark else 0
        deadline = time.monotonic() + _PATIENCE_S
        while running.complete_scn < goal:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the lake is complete up to {running.complete_scn} only, not {goal}")
            time.sleep(0.05)
        watch.step("readable")
        running.process_all_available()
        watch.step("merged")
    finally:
        running.stop()


def _followed(spark: SparkSession, config: ConnectorConfig, watch: _Watch) -> None:
    running = start(spark, config)
    try:
        sys.stdin.read()
        running.process_all_available()
        watch.step("merged")
    finally:
        running.stop()


def _maintained(spark: SparkSession, config: ConnectorConfig, watch: _Watch) -> None:
    _lake(spark, config, watch)
    if failed := [one.failure for one in Maintenance(spark, config).run() if one.failure]:
        raise RuntimeError(f"not maintained: {failed}")
    watch.step("maintained")


_JOBS: dict[str, Callable[[SparkSession, ConnectorConfig, _Watch], None]] = {
    "append": _append,
    "plain": _plain,
    "lake": _lake,
    "maintained": _maintained,
    "followed": _followed,
}


def main() -> None:
    """Read the command line and run."""
    job, config, *warm = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(relativeCreated)d %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    spark = session(load_config(Path(config)))
    for path in warm:
        _JOBS[job](spark, load_config(Path(path)), _Watch())
    watch = _Watch()
    _JOBS[job](spark, load_config(Path(config)), watch)
    sys.stdout.write(json.dumps(watch.steps) + "\n")
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
