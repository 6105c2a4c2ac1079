"""python -m bench.peer.pipeline_job lake|plain ..: the lake's half of a pipeline, which streams in a process whose JVM gets warm.

lake CONFIG                        minercdc's lake on a connector's configuration
plain SERVERS PREFIX LAKE TABLE..  the job that one writes first for Debezium's JSON: per table a stream with foreachBatch, from_json,
                                   the newest change of each key by window, MERGE

It streams at once, prints `ready`, and takes commands from its standard input, a line each:

drain    wait until the tables have all that is in the topics; prints the CPU seconds of this process and its children until now
cpu      prints them
end      stop
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psutil

from bench.tables import ALL, BenchTable
from minercdc.config.load import load_config
from minercdc.lake import start
from minercdc.local.spark import local_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {"NUMBER(10)": "BIGINT", "NUMBER(18)": "BIGINT", "NUMBER(5)": "INT", "NUMBER(1)": "INT", "NUMBER": "DECIMAL(38,10)"}
_TIMES = {"DATE": "timestamp_millis", "TIMESTAMP(6)": "timestamp_micros", "TIMESTAMP(3)": "timestamp_millis"}


class _Job(Protocol):
    def drain(self) -> None:
        """Wait until the tables have all that is in the topics."""

    def stop(self) -> None:
        """End the streams."""


class _Lake:
    """minercdc's lake, as `minercdc lake` runs it."""

    def __init__(self, spark: SparkSession, config: str) -> None:
        self._lake = start(spark, load_config(Path(config)))

    def drain(self) -> None:
        self._lake.process_all_available()

    def stop(self) -> None:
        self._lake.stop()


class _Plain:
    """The job of somebody who has read Spark's and Delta's guides. Its connector writes numbers as text."""

    def __init__(self, spark: SparkSession, servers: str, prefix: str, lake: str, *tables: str) -> None:
        self._spark, self._servers, self._prefix, self._lake = spark, servers, prefix, lake
        self._queries = [self._query(table) for table in ALL if table.name in tables]

    def drain(self) -> None:
        for query in self._queries:
            query.processAllAvailable()

    def stop(self) -> None:
        for query in self._queries:
            query.stop()

    def _query(self, table: BenchTable) -> Any:
        columns = _columns(table)
        path = f"{self._lake}/{table.name}"
        typed = ", ".join(f"{name} {kind}" for name, (_, _, kind) in columns.items())
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({typed}) USING delta")
        struct = ", ".join(f"{name.upper()}: {wire}" for name, (wire, _, _) in columns.items())
        schema = f"STRUCT<op: STRING, before: STRUCT<{struct}>, after: STRUCT<{struct}>>"
        records = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._servers)
            .option("subscribe", f"{self._prefix}.BENCH.{table.name}")
            .option("startingOffsets", "earliest")
            .load()
        )
        rows = records.selectExpr("offset", f"from_json(CAST(value AS STRING), '{schema}') AS e").selectExpr(
            "offset", "e.op AS op", "coalesce(e.after, e.before) AS r"
        )
        taken = [sql.format(f"r.{name.upper()}") + f" AS {name}" for name, (_, sql, _) in columns.items()]
        rows = rows.where("op IS NOT NULL").selectExpr("offset", "op", *taken)
        names = list(columns)

        def merge(batch: DataFrame, number: int) -> None:
            del number
            batch.createOrReplaceTempView(f"changes_{table.name}")
            sets = ", ".join(f"{name} = c.{name}" for name in names)
            values = ", ".join(f"c.{name}" for name in names)
            batch.sparkSession.sql(
                f"MERGE INTO delta.`{path}` AS t USING (SELECT * FROM (SELECT *, row_number() OVER"
                f" (PARTITION BY {names[0]} ORDER BY offset DESC) AS rank FROM changes_{table.name}) WHERE rank = 1) AS c"
                f" ON t.{names[0]} = c.{names[0]} WHEN MATCHED AND c.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET {sets}"
                f" WHEN NOT MATCHED AND c.op <> 'd' THEN INSERT ({', '.join(names)}) VALUES ({values})"
            )

        writer = rows.writeStream.foreachBatch(merge).option("checkpointLocation", f"{path}/_checkpoint")
        return writer.start()


def _columns(table: BenchTable) -> dict[str, tuple[str, str, str]]:
    """Name -> (type in the JSON, SQL of the column from it, type in the lake)."""
    found = {}
    for text in table.columns.replace(", ", "\n").splitlines():
        name, oracle = text.split()[:2]
        if oracle in _TIMES:
            found[name] = ("BIGINT", _TIMES[oracle] + "({})", "TIMESTAMP")
        elif oracle.startswith("VARCHAR2"):
            found[name] = ("STRING", "{}", "STRING")
        else:
            kind = _TYPES.get(oracle, oracle.replace("NUMBER", "DECIMAL"))
            found[name] = ("STRING", f"CAST({{}} AS {kind})", kind)
    return found


def _cpu() -> float:
    """Of processes that have ended, their parents count: `children_user` and `children_system`."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


_JOBS: dict[str, Callable[..., _Job]] = {"lake": _Lake, "plain": _Plain}


def main(arguments: Sequence[str]) -> None:
    """Take commands until `end`, or the end of the standard input."""
    kind, *rest = arguments
    spark = local_spark("pipeline")
    job = _JOBS[kind](spark, *rest)
    _print("ready")
    for line in sys.stdin:
        command = line.strip()
        if command == "end":
            break
        if command == "drain":
            job.drain()
        _print(f"{_cpu():.3f}")
    job.stop()
    spark.stop()


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
