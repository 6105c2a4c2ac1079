"""The format Delta: a lake table at `<minercdc.lake.path>/SCHEMA/TABLE`, and the lake's own records beside them.

A version is Delta's, and what a commit says of its table is its `userMetadata`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Format, Mode
from minercdc.errors import LakeError
from minercdc.lake.spark.delta_calls import (
    compact,
    delta_log,
    exists,
    listed,
    newest_version,
    size_of,
)
from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.own_sessions import CODEC, active
from minercdc.lake.spark.sql import quoted, unquoted
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
from minercdc.lake.table.delta_log_table import CHANGES, STATE, DeltaLogTable
from minercdc.lake.table.delta_retention import keep_versions, kept_by_delta, remove_log_files
from minercdc.lake.table.format import (
    NO_TABLE,
    Applied,
    LakeTable,
    LastChanges,
    LogTable,
    Overtaken,
    columns_of,
    commented,
    refuse_overtaken,
    source_properties,
)
from minercdc.lake.table.native.parquet import CODECS
from minercdc.lake.table.native_delta.log import LiveFiles, info_of
from minercdc.lake.table.native_delta.merge import DeltaMerge
from minercdc.lake.table.native_delta.schema import schema_of
from minercdc.lake.table.native_delta.transaction import DeltaTransaction, UnknownDelta
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.statements import comment_statement, fill_statement, no_rows, step_statement
from minercdc.local.spark import DELTA
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

_MODE = "minercdc.lake.mode"  # property of a table that is no mirror
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


class DeltaTable:
    """A Delta table at `path`, in a session that no other thread uses.

    :param features: of Delta that it may have.
    :param said: properties that it gets with the first ones that others need: a commit of their own would cost as much as a small merge.
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
        snapshot = delta_log(self._spark, self.path).update(False, nothing, nothing)
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
        log = delta_log(self._spark, self.path)
        nothing = java_class(self._spark, "scala.Option").empty()
        snapshot = log.unsafeVolatileSnapshot() if version is None else log.getSnapshotAt(version, nothing, nothing, False)
        found = snapshot.metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else ""

    def comment(self) -> str:
        """See `LakeTable`."""
        return str(delta_log(self._spark, self.path).unsafeVolatileSnapshot().metadata().description() or "")

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
        with active(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, delta_log(self._spark, self.path))
            if not transaction.is_first:
                return False
            transaction.create(schema, properties if mode == "mirror" else {**properties, **self._said, _MODE: mode})
            return self._merge_of(transaction, codec).begin(changes, applied.to_json())
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
                # Not an overwrite, which runs a job for the files of before.
                rows.write.format("delta").mode("append").options(**properties).save(self.path)
            elif there and self.mode() == mode:  # its properties stay
                rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.path)
            else:  # a property of ours takes SQL
                kept = {feature.property: feature.value for feature in FEATURES if there and self._has(feature)}
                rows.createOrReplaceTempView("minercdc_rows")
                form = _form(mode, {**properties, **kept, **self._said})
                self._spark.sql(f"CREATE OR REPLACE TABLE {self.name} {form} AS SELECT * FROM minercdc_rows")

    def refuse_names(self, columns: Sequence[TableColumn]) -> None:
        """Raise LakeError when a name needs a column mapping, which is forbidden and which the table does not have."""
        names = unmapped(columns)
        if not names or self._features.allows(COLUMN_MAPPING) or (self.exists() and self._has(COLUMN_MAPPING)):
            return
        given = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
        raise LakeError(
            f"Delta takes the column name {given} only with {COLUMN_MAPPING.name}, which minercdc.lake.forbidden.features forbids",
            hint="Allow it, rename the column, or leave it out by column.exclude.list. Nothing is lost: the change log has the rows.",
        )

    def _has(self, feature: Feature) -> bool:
        """Whether the table has a feature. The table has to be there."""
        return self._property(feature.property) not in ("", "none", "false")

    def _enable(self, feature: Feature) -> None:
        """Give the table a feature, in a commit that upgrades its protocol; nothing where it has it."""
        if not self._has(feature):
            given = listed({feature.property: feature.value, **self._said})
            self._spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({given})")

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

    def append(self, rows: DataFrame, applied: Applied | None, *, known: Applied | None = None) -> None:
        """See `LakeTable`."""
        if known is not None:
            refuse_overtaken(self.name, self.applied(), known)
        with self._saying(applied):
            rows.write.format("delta").mode("append").save(self.path)

    def update(self, sets: str, where: str, applied: Applied | None) -> None:
        """See `LakeTable`; no commit where there are no rows."""
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
        with active(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, delta_log(self._spark, self.path))
            if changes.mode == "append":
                refuse_overtaken(self.name, self.applied(), changes.known)
            return self._merge_of(transaction, codec).run(changes, applied.to_json())
        return False

    def _merge_of(self, transaction: DeltaTransaction, codec: str) -> DeltaMerge:
        files, spark = HadoopFiles(self._spark, self.path), str(self._spark.version)
        marking = {DELETION_VECTORS.property: DELETION_VECTORS.value, **self._said}
        allowed = self._features.allows(DELETION_VECTORS)
        return DeltaMerge(transaction, files, self._live, marking if allowed else None, codec=codec, spark=spark)

    def _mark_rows(self) -> None:
        """Give the table what marks rows as deleted, unless that is forbidden: from now on rows of it may change."""
        if self._features.allows(DELETION_VECTORS):
            self._enable(DELETION_VECTORS)

    def applied(self) -> Applied | None:
        """See `LakeTable`."""
        until: int | None = None
        for version, info in self._commits():
            if until is not None and version > until:
                continue
            if info.get("operation") == "RESTORE":  # by another program: the table is as it was at an earlier version
                until = self._restored(version, info)
            elif (found := Applied.from_json(info.get("userMetadata"))) is not None:
                return found
        return None

    def _restored(self, version: int, info: Mapping[str, Any]) -> int:
        """The version that RESTORE has brought back.

        :param version, info: of its commit, as `_commits` gives them.
        """
        given = info.get("operationParameters") or {}
        if given.get("version") is None:  # the text of a time, in the time zone of that program
            raise LakeError(
                f"the Delta table at {self.path} was set back to a time by another program in version {version}: RESTORE",
                hint="Rebuild it: minercdc lake rebuild CONFIG --table TABLE. The lake follows RESTORE .. TO VERSION AS OF.",
            )
        return int(given["version"])

    def _commits(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Numbers of the commits that the log has, the newest first, each with what it says of itself."""
        files = HadoopFiles(self._spark, self.path)
        newest = version = self.newest_version()
        while version > max(newest - _NEWEST, -1):
            content = files.read(f"_delta_log/{version:020}.json")
            if content is None:
                break
            yield version, info_of(content)
            version -= 1
        if version < 0:
            return
        names = ("version", "operation", "operationParameters", "userMetadata")
        older = self._spark.sql(f"DESCRIBE HISTORY {self.name}").where(f"version <= {version}").select(*names)
        for row in older.collect():
            yield int(row["version"]), row.asDict()

    def version(self) -> int:
        """Number of the newest version that this process knows: its own last commit, or a later one; else `NO_TABLE`."""
        if not exists(self._spark, self.path):
            return NO_TABLE
        return int(delta_log(self._spark, self.path).unsafeVolatileSnapshot().version())

    def reached(self, applied: Applied, *, first: bool = False) -> int:
        """See `LakeTable`. Delta's versions have no names."""
        found = self.version()
        for version, info in self._commits() if first else ():
            said = Applied.from_json(info.get("userMetadata"))
            if said == applied:
                found = version
            elif said is not None or info.get("operation") == "RESTORE":
                break
        return found

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
        return size_of(self._spark, self.name)

    def compact(self, age: timedelta, kept: Collection[int] | None = None) -> None:
        """See `LakeTable`: OPTIMIZE, then VACUUM."""
        self.keep_versions()
        compact(self._spark, self.name, age)
        oldest = min((version for version in kept or () if version >= 0), default=None)
        if oldest is not None:
            remove_log_files(self._spark, delta_log(self._spark, self.path), self.path, age, oldest)

    def keep_versions(self) -> None:
        """Give a table of an older version, or configuration, the times that Delta has to keep its versions."""
        keep_versions(self._spark, self.path, self._kept)

    def clustering(self) -> list[str]:
        """Names of the columns by which the table is clustered."""
        row = self._spark.sql(f"DESCRIBE DETAIL {self.name}").select("clusteringColumns").collect()[0]
        return [unquoted(name) for name in row[0] or ()]

    def cluster(self, names: Sequence[str]) -> None:
        """Have OPTIMIZE cluster the table by these columns; none for no clustering."""
        by = f"({', '.join(map(quoted, names))})" if names else "NONE"
        self._spark.sql(f"ALTER TABLE {self.name} CLUSTER BY {by}")

    @contextmanager
    def _saying(self, applied: Applied | None) -> Iterator[None]:
        if applied is not None:
            self._spark.conf.set(_METADATA, applied.to_json())
        try:
            yield
        finally:
            self._spark.conf.unset(_METADATA)


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
        self._live: dict[str, LiveFiles] = {}  # by path

    def table(self, spark: SparkSession, table: TableId) -> LakeTable:
        """See `TableFormat`."""
        path, said = self._paths.table(table), source_properties(self._config, table)
        return DeltaTable(spark, path, self._features, said, self._live_at(path), self._kept)

    def _live_at(self, path: str) -> LiveFiles:
        return self._live.setdefault(path, LiveFiles())

    def changes(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        path = self._paths.changes
        return DeltaLogTable(spark, path, CHANGES, self._kept, self._live_at(path))

    def state(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        path = self._paths.state
        return DeltaLogTable(spark, path, STATE, self._kept, self._live_at(path))

    def is_conflict(self, error: BaseException) -> bool:
        """See `TableFormat`."""
        return is_conflict(error)


def is_conflict(error: BaseException) -> bool:
    """See `TableFormat`."""
    conflicts = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
    if isinstance(error, Overtaken):
        return True
    return any(code in str(error) for code in conflicts) or "ConcurrentModificationException" in type(error).__name__


def _form(mode: Mode, properties: Mapping[str, str]) -> str:
    given = dict(properties) if mode == "mirror" else {**properties, _MODE: mode}
    return f"USING delta TBLPROPERTIES ({listed(given)})"
