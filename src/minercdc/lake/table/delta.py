"""Operations on a lake table's Delta table and its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from minercdc.config.target.lake import Mode
from minercdc.errors import LakeError
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.sql import as_text, literal, quoted, unquoted
from minercdc.lake.table.columns import (
    CDC,
    AddColumn,
    CopyAsText,
    DropColumn,
    IdentifyColumn,
    RenameColumn,
    Step,
    TableColumn,
    WidenColumn,
)
from minercdc.lake.table.features import (
    ALL,
    COLUMN_MAPPING,
    DELETION_VECTORS,
    FEATURES,
    Feature,
    Features,
    feature_of,
    rewritten,
    unmapped,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MODE = "minercdc.lake.mode"  # property of a table that is no mirror
NO_TABLE = -1  # version of a table that has no Delta table, such as one that was dropped before its first row
_COMMIT = re.compile(r"\d{20}\.")  # files of the log: a commit, or a checkpoint
_REWRITES = ("OPTIMIZE", "VACUUM START", "VACUUM END", "CLUSTER BY")  # operations that leave the rows as they are
_NEWEST = 50  # commits
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_FILES_IN_CHECKSUM = "spark.databricks.delta.allFilesInCrc.enabled"


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a lake table is: it has all changes up to commit SCN `scn` of the change log's batches up to `batch`."""

    scn: int = 0
    batch: int = 0

    def to_json(self) -> str:
        """Text for a commit's metadata, which `from_json` reads."""
        return json.dumps({"minercdc": {"scn": str(self.scn), "batch": self.batch}})

    @staticmethod
    def from_json(text: str | None) -> Applied | None:
        """What `to_json` wrote into a commit's metadata; None for any other text."""
        try:
            found = json.loads(text or "")["minercdc"]
            return Applied(int(found["scn"]), int(found["batch"]))
        except (ValueError, KeyError, TypeError):
            return None


class DeltaTable:
    """A Delta table at `path`, in a session that no other thread uses.

    :param features: of Delta that it may have.
    """

    def __init__(self, spark: SparkSession, path: str, features: Features = ALL) -> None:
        self._spark = spark
        self._features = features
        self.path = path
        self.name = f"delta.{quoted(path)}"

    def columns(self) -> list[TableColumn] | None:
        """The columns besides `__cdc`; None when there is no table.

        :raises LakeError: the table there has no `__cdc`, so that no lake, or an older version, made it.
        """
        if not exists(self._spark, self.path):
            return None
        from pyspark.errors import AnalysisException

        try:
            schema = self._spark.read.format("delta").load(self.path).schema
        except AnalysisException as error:
            if "DELTA_TABLE_NOT_FOUND" in str(error):  # a first write that failed leaves a log without a commit
                return None
            raise
        if CDC not in schema.names:
            raise LakeError(
                f"the Delta table at {self.path} has no column {CDC}: another program or an older version created it",
                hint="Move it away; the lake creates its own table from the change log.",
            )
        return columns_of(schema)

    def exists(self) -> bool:
        """Whether there is a Delta table at the path."""
        return exists(self._spark, self.path)

    def mode(self, version: int | None = None) -> Mode:
        """How the table is kept; how it was at a version, where that is given. The table has to be there."""
        return cast(Mode, self._property(_MODE, version) or "mirror")

    def _property(self, name: str, version: int | None = None) -> str:
        """A property of the table, as it was at a version where that is given; '' for none. The table has to be there."""
        log = _delta_log(self._spark, self.path)
        nothing = java_class(self._spark, "scala.Option").empty()
        snapshot = log.unsafeVolatileSnapshot() if version is None else log.getSnapshotAt(version, nothing, nothing, False)
        found = snapshot.metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else ""

    def create(self, columns: Sequence[TableColumn], cdc: str, mode: Mode, applied: Applied) -> None:
        """Create the table, or replace it by an empty one, in one commit that says that it has everything up to `applied`.

        :param cdc: Spark type of `__cdc`.
        """
        # Not CREATE OR REPLACE TABLE of columns: that replaces nothing at a path, and refuses one with files of a first write that was
        # cut off.
        empty = [*(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns), f"CAST(NULL AS {cdc}) AS {CDC}"]
        self.replace(self._spark.sql(f"SELECT {', '.join(empty)} WHERE false"), columns, applied, mode)

    def take_over(self, source: DeltaTable, applied: Applied) -> None:
        """Become a copy of another lake table, in its columns and mode; the last commit says how far the table is then. Nothing
        happens when there is no such table. Raises LakeError as `columns` does."""
        columns = source.columns()
        if columns is None:
            return
        self.replace(source.read(), columns, applied, source.mode())

    def take(self, step: Step) -> None:
        """Take one step of `columns.evolution`; its commit is durable when this returns. A feature of Delta that it needs, and
        that the table does not have, is enabled in a commit before."""
        table = self.name
        if (feature := feature_of(step)) is not None:
            self._enable(feature)
        match step:
            case AddColumn(column):
                comment = f" COMMENT {literal(column.id)}"
                self._spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({quoted(column.name)} {column.type}{comment})")
            case DropColumn(name):
                if (
                    name in self.clustering()
                ):  # Delta refuses to drop it; maintenance clusters the table by what its key is then
                    self.cluster([])
                self._spark.sql(f"ALTER TABLE {table} DROP COLUMN {quoted(name)}")
            case RenameColumn(name, new_name):
                self._spark.sql(f"ALTER TABLE {table} RENAME COLUMN {quoted(name)} TO {quoted(new_name)}")
            case WidenColumn(name, kind):
                self._spark.sql(f"ALTER TABLE {table} ALTER COLUMN {quoted(name)} TYPE {kind}")
            case IdentifyColumn(name, number):
                self._spark.sql(f"ALTER TABLE {table} ALTER COLUMN {quoted(name)} COMMENT {literal(number)}")
            case CopyAsText(source, kind, target):
                new, old = quoted(target), quoted(source)
                text = as_text(old, kind)
                self._spark.sql(f"UPDATE {table} SET {new} = {text} WHERE {new} IS NULL AND {old} IS NOT NULL")

    def fill(self, column: TableColumn, value: str, before: int) -> None:
        """Give rows committed before SCN `before` that have no value in a column the value of this SQL."""
        name = quoted(column.name)
        self._spark.sql(f"UPDATE {self.name} SET {name} = {value} WHERE {CDC}.commit_scn < {before} AND {name} IS NULL")

    def clear(self) -> None:
        """Delete all rows."""
        self._spark.sql(f"DELETE FROM {self.name}")

    def is_empty(self) -> bool:
        """Whether the newest version has no row. The table has to be there."""
        return bool(self._spark.read.format("delta").load(self.path).isEmpty())

    def read(self, version: int | None = None) -> DataFrame:
        """The rows of the newest version, or of the version that is given. The table has to be there."""
        reader = self._spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.path)

    def replace(self, rows: DataFrame, columns: Sequence[TableColumn], applied: Applied, mode: Mode) -> None:
        """Become a table of these rows and columns, in one commit that says how far the table is then.

        :param rows: in the columns' order, and `__cdc`.
        :raises LakeError: a name needs a column mapping, which is forbidden.
        """
        from pyspark.sql.functions import col

        there = self.exists()
        self.refuse_names(columns)
        named = [col(quoted(c.name)).alias(c.name, metadata={"comment": c.id}) for c in columns]
        rows = rows.select(*named, CDC)
        if there and unmapped(columns):
            self._enable(COLUMN_MAPPING)
        properties = self._features.of_new_table(columns)
        with self._saying(applied):
            if mode == "mirror" and not there:
                self._write_new(rows, properties)
            elif there and self.mode() == mode:  # its properties stay
                rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.path)
            else:  # a property of ours takes SQL
                kept = {feature.property: feature.value for feature in FEATURES if there and self._has(feature)}
                rows.createOrReplaceTempView("minercdc_rows")
                form = _form(mode, properties | kept)
                self._spark.sql(f"CREATE OR REPLACE TABLE {self.name} {form} AS SELECT * FROM minercdc_rows")

    def _write_new(self, rows: DataFrame, properties: Mapping[str, str]) -> None:
        """Make the table of these rows. Delta runs no job for the files of the version before, as it does for an overwrite and
        for its checksum."""
        self._spark.conf.set(_FILES_IN_CHECKSUM, "false")
        try:
            rows.write.format("delta").mode("append").options(**properties).save(self.path)
        finally:
            self._spark.conf.unset(_FILES_IN_CHECKSUM)

    def refuse_names(self, columns: Sequence[TableColumn]) -> None:
        """Raise LakeError when a name needs a column mapping, which is forbidden and which the table does not have."""
        names = unmapped(columns)
        if not names or self._features.allows(COLUMN_MAPPING) or (self.exists() and self._has(COLUMN_MAPPING)):
            return
        listed = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
        raise LakeError(
            f"Delta takes the column name {listed} only with {COLUMN_MAPPING.name}, which minercdc.lake.forbidden.features forbids",
            hint="Allow it, rename the column, or leave it out by column.exclude.list. Nothing is lost: the change log has the rows.",
        )

    def _has(self, feature: Feature) -> bool:
        """Whether the table has a feature. The table has to be there."""
        return self._property(feature.property) not in ("", "none", "false")

    def _enable(self, feature: Feature) -> None:
        """Give the table a feature, in a commit that upgrades its protocol; nothing where it has it."""
        if not self._has(feature):
            self._spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{feature.property}' = '{feature.value}')")

    def take_all(self, there: Sequence[TableColumn], steps: Sequence[Step]) -> None:
        """Take the steps of `columns.evolution`, a commit each; where one needs a feature that is forbidden, all in one commit, which
        writes the rows again. Raises LakeError as `refuse_names`.

        :param there: the columns of the table.
        """
        columns = rewritten(there, steps)
        self.refuse_names([column for column, _ in columns])
        needed = {feature for step in steps if (feature := feature_of(step)) is not None}
        if all(self._features.allows(feature) or self._has(feature) for feature in needed):
            for step in steps:
                self.take(step)
            return
        if self.clustering():  # maintenance clusters the table again, by what its columns are then
            self.cluster([])
        rows = self.read().selectExpr(*(f"{sql} AS {quoted(column.name)}" for column, sql in columns), CDC)
        self.replace(rows, [column for column, _ in columns], self.applied() or Applied(), self.mode())

    def append(self, rows: DataFrame, applied: Applied) -> None:
        """Append rows in one commit that says how far the table is then."""
        with self._saying(applied):
            rows.write.format("delta").mode("append").save(self.path)

    def update(self, sets: str, where: str, applied: Applied) -> None:
        """UPDATE rows in one commit that says how far the table is then; no commit where there are none.

        :param sets, where: SQL of the SET and WHERE clauses.
        """
        self._mark_rows()
        with self._saying(applied):
            self._spark.sql(f"UPDATE {self.name} SET {sets} WHERE {where}")

    def merge(self, changes: DataFrame, on: str, clauses: str, applied: Applied) -> None:
        """MERGE `changes` (as `c`) into the table (as `t`) in one commit that says how far the table is then.

        :param on: SQL condition of the ON clause.
        :param clauses: SQL of all that follows it.
        """
        if "WHEN MATCHED" in clauses:
            self._mark_rows()
        changes.createOrReplaceTempView("minercdc_changes")
        with self._saying(applied):
            self._spark.sql(f"MERGE INTO {self.name} AS t USING minercdc_changes AS c ON {on} {clauses}")

    def _mark_rows(self) -> None:
        """Give the table what marks rows as deleted, unless that is forbidden: from now on rows of it may change."""
        if self._features.allows(DELETION_VECTORS):
            self._enable(DELETION_VECTORS)

    def applied(self) -> Applied | None:
        """What the newest commit of the lake says; None when there is none. The table has to be there."""
        for limit in (f" LIMIT {_NEWEST}", ""):  # all of them are many, and rarely needed
            rows = self._spark.sql(f"DESCRIBE HISTORY {self.name}{limit}").select("userMetadata").collect()
            for row in rows:
                if (found := Applied.from_json(row[0])) is not None:
                    return found
            if len(rows) < _NEWEST:
                break
        return None

    def version(self) -> int:
        """Number of the newest version that this process knows: its own last commit, or a later one; else `NO_TABLE`."""
        if not exists(self._spark, self.path):
            return NO_TABLE
        return int(_delta_log(self._spark, self.path).unsafeVolatileSnapshot().version())

    def changed_since(self, version: int, applied: Applied) -> Applied | None:
        """How far the table is, when commits after a version have changed that; None when it is at `applied` still, or no
        commit of the lake says it."""
        if newest_version(self._spark, self.path) <= version:
            return None
        found = self.applied()
        return None if found == applied else found

    def rewritten(self, version: int) -> int:
        """The newest version that has the rows of `version`: only OPTIMIZE, VACUUM and CLUSTER BY came after it.

        VACUUM removes files of `version` itself once these were joined to others.
        """
        if newest_version(self._spark, self.path) == version:
            return version
        later = self._spark.sql(f"DESCRIBE HISTORY {self.name}").where(f"version > {version}").select("version", "operation")
        for number, operation in sorted((row[0], row[1]) for row in later.collect()):
            if operation not in _REWRITES:
                break
            version = int(number)
        return version

    def size(self) -> tuple[int, int]:
        """(files of the newest version, their bytes)."""
        row = self._spark.sql(f"DESCRIBE DETAIL {self.name}").select("numFiles", "sizeInBytes").collect()[0]
        return int(row[0]), int(row[1])

    def clustering(self) -> list[str]:
        """Names of the columns by which the table is clustered."""
        row = self._spark.sql(f"DESCRIBE DETAIL {self.name}").select("clusteringColumns").collect()[0]
        return [unquoted(name) for name in row[0] or ()]

    def cluster(self, names: Sequence[str]) -> None:
        """Have OPTIMIZE cluster the table by these columns; none for no clustering."""
        by = f"({', '.join(map(quoted, names))})" if names else "NONE"
        self._spark.sql(f"ALTER TABLE {self.name} CLUSTER BY {by}")

    @contextmanager
    def _saying(self, applied: Applied) -> Iterator[None]:
        self._spark.conf.set(_METADATA, applied.to_json())
        try:
            yield
        finally:
            self._spark.conf.unset(_METADATA)


def _form(mode: Mode, properties: Mapping[str, str]) -> str:
    given = dict(properties) if mode == "mirror" else {**properties, _MODE: mode}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    return f"USING delta TBLPROPERTIES ({listed})"


def columns_of(schema: object) -> list[TableColumn]:
    """The columns of a lake table's Spark schema besides `__cdc`, with the ids in their comments."""
    from pyspark.sql.types import StructType

    assert isinstance(schema, StructType)
    return [
        TableColumn(field.name, field.dataType.simpleString().upper(), (field.metadata or {}).get("comment", ""))
        for field in schema.fields
        if field.name != CDC
    ]


def newest_version(spark: SparkSession, path: str) -> int:
    """Number of the newest version of the Delta table at `path`, of any process; `NO_TABLE` when there is none."""
    if not exists(spark, path):
        return NO_TABLE
    nothing = java_class(spark, "scala.Option").empty()
    return int(_delta_log(spark, path).update(False, nothing, nothing).version())


def _delta_log(spark: SparkSession, path: str) -> Any:
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
