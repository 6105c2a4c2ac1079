"""Lake tables: what a table format must offer, and Delta."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from minercdc.lake.stream import COMMIT_SCN, ROWID_KEY, SEQUENCE, quoted
from minercdc.lake.structures import Structure
from minercdc.lake.types import LakeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LakeTable(Protocol):
    """One table of the lake."""

    def evolve(self, structure: Structure, *, rowid_key: bool) -> None:
        """Create the table, or add the columns it lacks, and give older rows the default these were added with."""

    def merge(self, changes: DataFrame, key: Sequence[str], columns: Sequence[str], batch: int) -> None:
        """Apply `changes`, one per key at most; changes older than the row, and batches applied before, change nothing."""

    def truncate(self, commit_scn: int, batch: int) -> None:
        """Remove all rows committed before `commit_scn`; a batch that was applied before changes nothing."""


class DeltaTable:
    """A Delta table at `<root>/<SCHEMA>/<TABLE>`.

    :param writer: id of this stream's checkpoint; with the batch number it makes a replayed batch a no-op in Delta's log, and a
        new checkpoint, whose batch 0 may hold other records, starts over instead of being skipped.
    """

    def __init__(self, spark: SparkSession, path: str, writer: str) -> None:
        self._spark = spark
        self._name = f"delta.{quoted(path)}"
        self._path = path
        self._writer = writer
        self._view = "changes_" + re.sub(r"\W", "_", path.rsplit("/", 1)[-1])
        self._evolved: tuple[object, ...] = ()

    def evolve(self, structure: Structure, *, rowid_key: bool) -> None:
        wanted = {column.name: column.spark_type for column in structure.columns.values()}
        if rowid_key:
            wanted[ROWID_KEY] = "STRING"
        wanted |= {COMMIT_SCN: "DECIMAL(20,0)", SEQUENCE: "BIGINT"}
        if self._evolved == tuple(wanted.items()):
            return
        there = self._columns()
        if not there:
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in wanted.items())
            self._spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self._name} ({columns}) USING delta "
                "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"  # Oracle names may hold blanks
            )
        elif added := {name: kind for name, kind in wanted.items() if name not in there}:
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in added.items())
            self._spark.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({columns})")
            self._fill([column for column in structure.columns.values() if column.fill is not None])
        self._evolved = tuple(wanted.items())

    def _fill(self, columns: Sequence[LakeColumn]) -> None:
        """Give rows that are older than a column the default it was added with."""
        for column in columns:
            name = quoted(column.name)
            older = f"{COMMIT_SCN} < {column.since} AND {name} IS NULL"
            self._spark.sql(f"UPDATE {self._name} SET {name} = {column.fill} WHERE {older}")

    def _columns(self) -> set[str]:
        from pyspark.errors import AnalysisException

        try:
            return set(self._spark.read.format("delta").load(self._path).columns)
        except AnalysisException:
            return set()

    def merge(self, changes: DataFrame, key: Sequence[str], columns: Sequence[str], batch: int) -> None:
        changes.createOrReplaceTempView(self._view)
        on = " AND ".join(f"t.{quoted(k)} <=> c.{quoted(k)}" for k in key)
        newer = f"(c.{COMMIT_SCN} > t.{COMMIT_SCN} OR (c.{COMMIT_SCN} = t.{COMMIT_SCN} AND c.{SEQUENCE} >= t.{SEQUENCE}))"
        names = [quoted(name) for name in (*columns, COMMIT_SCN, SEQUENCE)]
        self._once(
            batch,
            "merge",
            f"MERGE INTO {self._name} AS t USING {self._view} AS c ON {on} "
            f"WHEN MATCHED AND {newer} AND c.op = 'd' THEN DELETE "
            f"WHEN MATCHED AND {newer} THEN UPDATE SET {', '.join(f't.{n} = c.{n}' for n in names)} "
            f"WHEN NOT MATCHED AND c.op <> 'd' THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f'c.{n}' for n in names)})",
        )

    def truncate(self, commit_scn: int, batch: int) -> None:
        self._once(batch, "truncate", f"DELETE FROM {self._name} WHERE {COMMIT_SCN} < {commit_scn}")

    def _once(self, batch: int, step: str, statement: str) -> None:
        conf = self._spark.conf
        conf.set("spark.databricks.delta.write.txnAppId", f"{self._writer}/{step}")
        conf.set("spark.databricks.delta.write.txnVersion", str(batch))
        try:
            self._spark.sql(statement)
        finally:
            conf.unset("spark.databricks.delta.write.txnAppId")
            conf.unset("spark.databricks.delta.write.txnVersion")
