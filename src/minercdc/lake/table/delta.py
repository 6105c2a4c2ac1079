"""The format Delta: a lake table at `<minercdc.lake.path>/SCHEMA/TABLE`, and the lake's own records beside them.

A version is Delta's, and what a commit says of its table is its `userMetadata`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Format, Mode
from minercdc.errors import LakeError
from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.own_sessions import CODEC, active
from minercdc.lake.spark.sql import literal, quoted, unquoted
from minercdc.lake.table.columns import CDC, DropColumn, Step, TableColumn, lake_comment
from minercdc.lake.table.delta_features import (
    ALL,
    COLUMN_MAPPING,
    DELETION_VECTORS,
    FEATURES,
    Feature,
    Features,
    feature_of,
    features_of,
    rewritten,
    unmapped,
)
from minercdc.lake.table.delta_retention import kept_by_delta, remove_log_files, to_be_set
from minercdc.lake.table.format import (
    NO_TABLE,
    Applied,
    LakeTable,
    LastChanges,
    LogTable,
    Once,
    columns_of,
    commented,
    source_properties,
)
from minercdc.lake.table.native_delta.append import DeltaAppend
from minercdc.lake.table.native_delta.data_file import CODECS
from minercdc.lake.table.native_delta.log import LiveFiles, UnknownLog, said_in
from minercdc.lake.table.native_delta.merge import DeltaMerge, Outcome
from minercdc.lake.table.native_delta.rows import rows_within
from minercdc.lake.table.native_delta.schema import schema_of
from minercdc.lake.table.native_delta.transaction import DeltaTransaction, UnknownDelta
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.statements import comment_statement, fill_statement, no_rows, step_statement
from minercdc.local.spark import DELTA
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

_MODE = "minercdc.lake.mode"  # property of a table that is no mirror
_COMMIT = re.compile(r"\d{20}\.")  # files of the log: a commit, or a checkpoint
_REWRITES = (
    "OPTIMIZE",
    "VACUUM START",
    "VACUUM END",
    "CLUSTER BY",
    "SET TBLPROPERTIES",
)  # operations that leave the rows as they are
_NEWEST = 50  # commits
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_YOUNG_ONLY = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
_FILES_IN_CHECKSUM = "spark.databricks.delta.allFilesInCrc.enabled"

_STATISTICS = "delta.dataSkippingStatsColumns"
CHANGES: Final[Mapping[str, str]] = {
    _STATISTICS: "batch,topic,scn,commit_scn",
    # Each query of a table with deletion vectors lists its files twice. Only retention deletes here, whole files mostly.
    "delta.enableDeletionVectors": "false",
}
"""Properties of the change log."""
STATE: Final[Mapping[str, str]] = {
    "delta.autoOptimize.autoCompact": "true"
}  # a small file per merge would make reading slow within days
"""Properties of the lake's record."""


class DeltaTable:
    """A Delta table at `path`, in a session that no other thread uses.

    :param features: of Delta that it may have.
    :param said: properties that it gets with the first ones that take SQL: a commit of their own would cost as much as a small merge.
    :param live: what is known of its log.
    :param kept: properties of `delta_retention`, which it has from the first or gets by `compact`.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        features: Features = ALL,
        said: Mapping[str, str] | None = None,
        live: LiveFiles | None = None,
        kept: Mapping[str, str] | None = None,
    ) -> None:
        self._spark = spark
        self._features = features
        self._said = said or {}
        self._live = LiveFiles() if live is None else live
        self._kept = kept or {}
        self.path = path
        self.name = f"delta.{quoted(path)}"

    def columns(self) -> list[TableColumn] | None:
        """The columns besides `__cdc`; None when there is no table.

        :raises LakeError: the table there has no `__cdc`, so that no lake, or an older version, made it.
        """
        if not exists(self._spark, self.path):
            return None
        from pyspark.sql.types import StructType

        nothing = java_class(self._spark, "scala.Option").empty()
        snapshot = _delta_log(self._spark, self.path).update(False, nothing, nothing)
        if int(snapshot.version()) < 0:  # a first write that failed leaves a log without a commit
            return None
        schema = StructType.fromJson(json.loads(str(snapshot.metadata().schemaString())))
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

    def comment(self) -> str:
        """See `LakeTable`."""
        return str(_delta_log(self._spark, self.path).unsafeVolatileSnapshot().metadata().description() or "")

    def describe(self, comment: str) -> None:
        """See `LakeTable`."""
        self._spark.sql(comment_statement(self.name, comment))

    def create(self, columns: Sequence[TableColumn], cdc: str, mode: Mode, applied: Applied) -> None:
        """Create the table, or replace it by an empty one, in one commit that says that it has everything up to `applied`.

        :param cdc: Spark type of `__cdc`.
        """
        if self._made(columns, cdc, mode, applied, None):
            return
        # Not CREATE OR REPLACE TABLE of columns: that replaces nothing at a path, and refuses one with files of a first write that was
        # cut off.
        self.replace(self._spark.sql(no_rows(columns, cdc)), columns, applied, mode)

    def create_of(self, changes: LastChanges, cdc: str, applied: Applied) -> bool:
        """See `LakeTable`."""
        return self._made(changes.target, cdc, changes.mode, applied, changes)

    def _made(
        self, columns: Sequence[TableColumn], cdc: str, mode: Mode, applied: Applied, changes: LastChanges | None
    ) -> bool:
        """Whether the table was made, where there was none, with no Spark job."""
        if (codec := self._spark.conf.get(CODEC)) not in CODECS:
            return False
        self.refuse_names(columns)
        commented = [(one.name, one.type, lake_comment(one.id, one.comment)) for one in columns]
        schema = schema_of([*commented, (CDC, cdc, "")])
        if schema is None:
            return False
        properties = {**self._features.of_new_table(columns), **self._kept}
        files = HadoopFiles(self._spark, self.path)
        with _without_files_in_checksum(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, _delta_log(self._spark, self.path))
            if not transaction.is_first:
                return False
            transaction.create(schema, properties if mode == "mirror" else {**properties, **self._said, _MODE: mode})
            merge = DeltaMerge(transaction, files, self._live, codec=codec, spark=str(self._spark.version))
            return merge.begin(changes, applied.to_json())
        return False

    def take(self, step: Step) -> None:
        """Take one step of `columns.evolution`; its commit is durable when this returns. A feature of Delta that it needs, and
        that the table does not have, is enabled in a commit before."""
        if (feature := feature_of(step)) is not None:
            self._enable(feature)
        if isinstance(step, DropColumn) and step.name in self.clustering():
            self.cluster([])  # Delta refuses to drop it; maintenance clusters the table by what its key is then
        self._spark.sql(step_statement(self.name, step))

    def fill(self, column: TableColumn, value: str, before: int) -> None:
        """Give rows committed before SCN `before` that have no value in a column the value of this SQL."""
        self._spark.sql(fill_statement(self.name, column, value, before))

    def clear(self) -> None:
        """Delete all rows."""
        self._spark.sql(f"DELETE FROM {self.name}")

    def is_empty(self) -> bool:
        """Whether the newest version has no row. The table has to be there."""
        return bool(self._spark.read.format("delta").load(self.path).isEmpty())

    def read(self, version: int | None = None) -> DataFrame:
        """The rows of the newest version, or of the version that is given. The table has to be there."""
        reader = self._spark.read.format("delta")
        if version is None:
            return reader.load(self.path)
        # Delta goes by the age of the commit; of a table that has had none since, the version is as young as the next one.
        self._spark.conf.set(_YOUNG_ONLY, "false")
        try:
            return reader.option("versionAsOf", version).load(self.path)
        finally:
            self._spark.conf.unset(_YOUNG_ONLY)

    def replace(self, rows: DataFrame, columns: Sequence[TableColumn], applied: Applied, mode: Mode) -> None:
        """Become a table of these rows and columns, in one commit that says how far the table is then.

        :param rows: in the columns' order, and `__cdc`.
        :raises LakeError: a name needs a column mapping, which is forbidden.
        """
        there = self.exists()
        self.refuse_names(columns)
        rows = rows.select(*commented(columns), CDC)
        if there and unmapped(columns):
            self._enable(COLUMN_MAPPING)
        properties = {**self._features.of_new_table(columns), **self._kept}
        with self._saying(applied):
            if mode == "mirror" and not there:
                self._write_new(rows, properties)
            elif there and self.mode() == mode:  # its properties stay
                rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.path)
            else:  # a property of ours takes SQL
                kept = {feature.property: feature.value for feature in FEATURES if there and self._has(feature)}
                rows.createOrReplaceTempView("minercdc_rows")
                form = _form(mode, {**properties, **kept, **self._said})
                self._spark.sql(f"CREATE OR REPLACE TABLE {self.name} {form} AS SELECT * FROM minercdc_rows")

    def _write_new(self, rows: DataFrame, properties: Mapping[str, str]) -> None:
        """Make the table of these rows. Delta runs no job for the files of the version before, as it does for an overwrite and
        for its checksum."""
        with _without_files_in_checksum(self._spark):
            rows.write.format("delta").mode("append").options(**properties).save(self.path)

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
            listed = _listed({feature.property: feature.value, **self._said})
            self._spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({listed})")

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

    def merge_rows(self, changes: LastChanges, applied: Applied) -> bool:
        """See `LakeTable`."""
        if (codec := self._spark.conf.get(CODEC)) not in CODECS or find_spec("pyroaring") is None:
            return False
        files = HadoopFiles(self._spark, self.path)
        outcome = self._merged(files, changes, applied, codec)
        if outcome is Outcome.UNMARKED and self._features.allows(DELETION_VECTORS):
            self._enable(DELETION_VECTORS)
            outcome = self._merged(files, changes, applied, codec)
        return outcome is Outcome.MERGED

    def _merged(self, files: HadoopFiles, changes: LastChanges, applied: Applied, codec: str) -> Outcome:
        with _without_files_in_checksum(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, _delta_log(self._spark, self.path))
            merge = DeltaMerge(transaction, files, self._live, codec=codec, spark=str(self._spark.version))
            return merge.run(changes, applied.to_json())
        return Outcome.LEFT

    def _mark_rows(self) -> None:
        """Give the table what marks rows as deleted, unless that is forbidden: from now on rows of it may change."""
        if self._features.allows(DELETION_VECTORS):
            self._enable(DELETION_VECTORS)

    def applied(self) -> Applied | None:
        """What the newest commit of the lake says; None when there is none. The table has to be there."""
        files = HadoopFiles(self._spark, self.path)
        newest = self.newest_version()
        for version in range(newest, max(newest - _NEWEST, -1), -1):
            content = files.read(f"_delta_log/{version:020}.json")
            if content is None:
                break
            if (found := Applied.from_json(said_in(content))) is not None:
                return found
            if version == 0:
                return None
        for row in self._spark.sql(f"DESCRIBE HISTORY {self.name}").select("userMetadata").collect():
            if (found := Applied.from_json(row[0])) is not None:
                return found
        return None

    def version(self) -> int:
        """Number of the newest version that this process knows: its own last commit, or a later one; else `NO_TABLE`."""
        if not exists(self._spark, self.path):
            return NO_TABLE
        return int(_delta_log(self._spark, self.path).unsafeVolatileSnapshot().version())

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

    def can_widen(self, old: str, new: str) -> bool:
        """Always: type widening changes a column to any type that `widening.widened` names."""
        del old, new
        return True

    def newest_version(self) -> int:
        """Number of the newest version, of any process; `NO_TABLE` when there is none."""
        return newest_version(self._spark, self.path)

    def size(self) -> tuple[int, int]:
        """(files of the newest version, their bytes)."""
        return _size(self._spark, self.name)

    def compact(self, age: timedelta, kept: Collection[int] | None = None) -> None:
        """See `LakeTable`: OPTIMIZE, then VACUUM."""
        self.keep_versions()
        _compact(self._spark, self.name, age)
        oldest = min((version for version in kept or () if version >= 0), default=None)
        if oldest is not None:
            remove_log_files(self._spark, _delta_log(self._spark, self.path), self.path, age, oldest)

    def keep_versions(self) -> None:
        """Give a table of an older version, or configuration, the times that Delta has to keep its versions."""
        _keep(self._spark, self.path, self._kept)

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


class DeltaLogTable:
    """A Delta table of the lake's own records at `path`.

    :param properties: of the table, when it is made.
    :param kept: properties of `delta_retention`, which it has from the first or gets by `prepare`.
    """

    def __init__(
        self, spark: SparkSession, path: str, properties: Mapping[str, str], kept: Mapping[str, str] | None = None
    ) -> None:
        self._spark = spark
        self._kept = kept or {}
        self._properties = {**properties, **self._kept}
        self.path = path
        self.name = f"delta.{quoted(path)}"

    def exists(self) -> bool:
        """Whether there is a Delta table at the path."""
        return exists(self._spark, self.path)

    def prepare(self) -> None:
        """See `LogTable`."""
        if self.exists():
            _keep(self._spark, self.path, self._kept)

    def append(self, rows: DataFrame, once: Once | None = None) -> None:
        """See `LogTable`. Delta's log has the name of the append, its transaction."""
        options = {} if self.exists() else dict(self._properties)
        if once is not None:
            options |= {"txnAppId": once.writer, "txnVersion": str(once.number)}
        rows.write.format("delta").mode("append").options(mergeSchema="true", **options).save(self.path)

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool | None:
        """See `LogTable`."""
        if (codec := self._spark.conf.get(CODEC)) not in CODECS:
            return None
        names = [name for name in self._properties.get(_STATISTICS, "").split(",") if name]
        append = DeltaAppend(HadoopFiles(self._spark, self.path), names, codec=codec, spark=str(self._spark.version))
        with _without_files_in_checksum(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, _delta_log(self._spark, self.path))
            return append.run(transaction, rows, once, self._properties)
        return None

    def read(self) -> DataFrame:
        """All rows. The table has to be there."""
        return self._spark.read.format("delta").load(self.path)

    def read_here(
        self,
        bounds: Mapping[str, tuple[Any, Any]],
        is_wanted: Callable[[pa.Table], bool],
        most: int,
        columns: Sequence[str] | None = None,
    ) -> list[pa.Table] | None:
        """See `LogTable`."""
        import pyarrow as pa

        files = HadoopFiles(self._spark, self.path)
        try:
            found = LiveFiles().at(files, self.newest_version())
            return list(rows_within(files, found, bounds, is_wanted, most, columns))
        except (UnknownLog, pa.ArrowException, OSError) as error:
            logger.debug("Spark reads %s: %s", self.path, error)
            return None

    def delete(self, where: str) -> None:
        """Delete the rows that meet an SQL condition."""
        self._spark.sql(f"DELETE FROM {self.name} WHERE {where}")

    def newest_version(self) -> int:
        """Number of the newest version, of any process; `NO_TABLE` when there is none."""
        return newest_version(self._spark, self.path)

    def size(self) -> tuple[int, int]:
        """(files of the newest version, their bytes)."""
        return _size(self._spark, self.name)

    def compact(self, age: timedelta) -> None:
        """See `LogTable`: OPTIMIZE, then VACUUM."""
        _compact(self._spark, self.name, age)
        remove_log_files(self._spark, _delta_log(self._spark, self.path), self.path, age, None)


class Delta:
    """Delta tables by path, as a configuration has them."""

    name: Format = "delta"
    session = DELTA
    java_class = "org.apache.spark.sql.delta.DeltaLog"
    lists_versions = False
    maintenance: Mapping[str, str] = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",  # ours is the configured one
        "spark.databricks.delta.vacuum.logging.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",  # VACUUM's tasks: 10,000 by default, for any table
        # A file of this size is left as it is until 5 % of its rows are deleted: else each run would write a large table again.
        "spark.databricks.delta.optimize.minFileSize": str(32 * 1024 * 1024),
        "spark.databricks.delta.optimize.maxFileSize": str(256 * 1024 * 1024),
        # The same of a clustered table, whose files are clustered together. By default each run would write all up to 100 GB again.
        "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold": str(32 * 1024 * 1024),
        "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize": str(256 * 1024 * 1024),
    }

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._paths = LakePaths(config)
        self._features = features_of(config.lake)
        self._kept = kept_by_delta(config.lake)
        self._live: dict[str, LiveFiles] = {}  # by path; no two threads merge one table at once

    def table(self, spark: SparkSession, table: TableId) -> LakeTable:
        """See `TableFormat`."""
        path = self._paths.table(table)
        live = self._live.setdefault(path, LiveFiles())
        return DeltaTable(spark, path, self._features, source_properties(self._config, table), live, self._kept)

    def changes(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        return DeltaLogTable(spark, self._paths.changes, CHANGES, self._kept)

    def state(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        return DeltaLogTable(spark, self._paths.state, STATE, self._kept)

    def is_conflict(self, error: BaseException) -> bool:
        """See `TableFormat`."""
        return is_conflict(error)


def is_conflict(error: BaseException) -> bool:
    """See `TableFormat`."""
    conflicts = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
    return any(code in str(error) for code in conflicts) or "ConcurrentModificationException" in type(error).__name__


@contextmanager
def _without_files_in_checksum(spark: SparkSession) -> Iterator[None]:
    """Have Delta's commits within list no files in the checksum of a version: of a new table Delta finds these by a query."""
    spark.conf.set(_FILES_IN_CHECKSUM, "false")
    try:
        with active(spark):
            yield
    finally:
        spark.conf.unset(_FILES_IN_CHECKSUM)


def _size(spark: SparkSession, name: str) -> tuple[int, int]:
    row = spark.sql(f"DESCRIBE DETAIL {name}").select("numFiles", "sizeInBytes").collect()[0]
    return int(row[0]), int(row[1])


def _keep(spark: SparkSession, path: str, wanted: Mapping[str, str]) -> None:
    """Give a table that is there the properties of `delta_retention`, in a commit; none where it has them."""
    if not wanted:
        return
    configuration = _delta_log(spark, path).unsafeVolatileSnapshot().metadata().configuration()
    found = {name: configuration.get(name) for name in wanted}
    there = {name: str(value.get()) for name, value in found.items() if value.isDefined()}
    if missing := to_be_set(there, wanted):
        spark.sql(f"ALTER TABLE delta.{quoted(path)} SET TBLPROPERTIES ({_listed(missing)})")


def _compact(spark: SparkSession, name: str, age: timedelta) -> None:
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"VACUUM {name} RETAIN {age / timedelta(hours=1):.6f} HOURS")


def _form(mode: Mode, properties: Mapping[str, str]) -> str:
    given = dict(properties) if mode == "mirror" else {**properties, _MODE: mode}
    return f"USING delta TBLPROPERTIES ({_listed(given)})"


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = {literal(value)}" for name, value in properties.items())


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
