"""The format Iceberg: a lake table is `<catalog>.SCHEMA.TABLE`; the lake's own records are in namespace `_minercdc_<connector>`.

A version is a snapshot (`snapshots.version_of`), and is greater with each commit of data; a change of columns alone makes none. What a commit
says of its table, and the table's mode, stand in the snapshot's summary, since a table's properties have no versions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.catalog_names import CatalogNames
from minercdc.config.target.lake import Format, Mode
from minercdc.config.target.lake_layout import SortField
from minercdc.errors import LakeError
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.catalog_errors import java_causes, unreached
from minercdc.lake.table.columns import CDC, DropColumn, IdentifyColumn, RenameColumn, Step, TableColumn, lake_comment
from minercdc.lake.table.format import (
    NO_TABLE,
    READERS_TIME,
    Applied,
    LakeTable,
    LastChanges,
    LogTable,
    Once,
    Overtaken,
    RowsAsked,
    columns_of,
    commented,
    refuse_overtaken,
    source_properties,
)
from minercdc.lake.table.iceberg.layout import TAG, Layout, layout_of
from minercdc.lake.table.iceberg.snapshots import APPLIED, COLUMNS, MODE, NUMBER, WRITER, Snapshots, activate, version_of
from minercdc.lake.table.native_iceberg.append import IcebergAppend, in_fields, schema_of_rows
from minercdc.lake.table.native_iceberg.create import IcebergCreate
from minercdc.lake.table.native_iceberg.merge import IcebergMerge, first_rows
from minercdc.lake.table.native_iceberg.schema import schema_of
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.statements import comment_statement, fill_statement, no_rows, step_statement
from minercdc.lake.table.widening import precision_of
from minercdc.local.spark import SECRETS
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

_MODE_PROPERTY = "minercdc.lake.mode"  # of a table as it was made: another program may expire the snapshot that says it
_CLUSTERED = "minercdc.lake.cluster"  # property of a table: the columns by which it is sorted when it is compacted
_SUMMARY = "spark.sql.iceberg.snapshot-property."
_PROPERTIES: Final[Mapping[str, str]] = {
    "write.parquet.compression-codec": "zstd",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Each commit writes a file of metadata; the table names these, and older ones go.
    "write.metadata.previous-versions-max": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    # A snapshot goes when it was replaced long enough ago, not when it was made long ago: `compact` says which.
    "history.expire.max-snapshot-age-ms": str(2**62),
}
_OWNER: Final = ("minercdc.connector", "minercdc.topic.prefix")
"""Properties by which a table says whose it is."""
_MB = 1024 * 1024
# As Delta's: a file of this size stays as it is until a twentieth of its rows is deleted.
_REWRITTEN: Final[Mapping[str, str]] = {
    "target-file-size-bytes": str(256 * _MB),
    "min-file-size-bytes": str(32 * _MB),
    "min-input-files": "2",
    "delete-ratio-threshold": "0.05",
}
_APPENDS_BETWEEN_LOOKS = 50
_LISTING: Final = "org.apache.iceberg.io.SupportsPrefixOperations"
_ORPHANS_AGE = timedelta(days=3)  # a writer may be writing younger ones


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog of a session.

    :param settings: Spark's, with which a session has it.
    """

    name: str
    settings: Mapping[str, str]

    def open(self, spark: SparkSession) -> None:
        """Have a session know the catalog, also one that was made without it. Raises LakeError as `reached`."""
        prefix = f"spark.sql.catalog.{self.name}"
        if spark.conf.get(prefix, None) is None:
            for name, value in self.settings.items():
                if name.startswith(prefix):
                    spark.conf.set(name, value)
        session: Any = spark
        activate(spark)
        with self.reached():
            session._jsparkSession.sessionState().catalogManager().catalog(self.name)

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Work with the catalog in the block. Raises LakeError where the catalog does not answer, or refuses who asks."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            yield
        except (Py4JJavaError, PySparkException) as error:
            uri = self.settings.get(f"spark.sql.catalog.{self.name}.uri", "")
            if (explained := unreached(self.name, uri, list(java_causes(error)))) is not None:
                raise explained from error
            raise


class _Table:
    """What tables of the source and of the lake's own have in common.

    :ivar name: `catalog.namespace.table`, in SQL.
    """

    def __init__(self, spark: SparkSession, catalog: Catalog, path: Sequence[str], properties: Mapping[str, str]) -> None:
        catalog.open(spark)
        self._spark = spark
        self._catalog = catalog
        self._path = path
        self._namespace = ".".join(map(quoted, (catalog.name, *path[:-1])))
        self._properties = properties
        self._is_known_as_ours = False
        self.name = f"{self._namespace}.{quoted(path[-1])}"

    def exists(self) -> bool:
        """Whether there is a table."""
        with self._catalog.reached():
            return bool(self._spark.catalog.tableExists(self.name))

    def _refuse_others(self) -> None:
        """Raise LakeError where the table, which is there, is of the lake of another connector: several lakes may be in one catalog."""
        if self._is_known_as_ours:
            return
        there, ours = self._snapshots().table.properties(), self._properties
        if any(there.get(name) not in (None, ours[name]) for name in _OWNER):
            named, prefix = (there.get(name) for name in _OWNER)
            raise LakeError(
                f"{self.name} belongs to the lake of connector {named} (topic.prefix {prefix}), but this is {ours[_OWNER[0]]} (topic.prefix"
                f" {ours[_OWNER[1]]})",
                hint="Two lakes have no tables in common: give one of them another catalog, or another minercdc.lake.catalog.warehouse.",
            )
        self._is_known_as_ours = True

    def newest_version(self) -> int:
        """See `LogTable`."""
        if not self.exists():
            return NO_TABLE
        newest = self._snapshots().newest
        return 0 if newest is None else int(newest.sequenceNumber())

    def size(self) -> tuple[int, int]:
        """(files of the newest version, deletes included, their bytes)."""
        files = self._spark.sql(f"SELECT count(1), coalesce(sum(file_size_in_bytes), 0) FROM {self.name}.files")
        row = files.collect()[0]
        return int(row[0]), int(row[1])

    def _snapshots(self) -> Snapshots:
        with self._catalog.reached():
            return Snapshots(self._spark, self.name)

    def _make_namespace(self) -> None:
        with self._catalog.reached():
            self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self._namespace}")

    def _rewrite(
        self, age: timedelta, order: Sequence[SortField], spoken: Sequence[str], kept: Collection[int] | None = None
    ) -> None:
        """Join files, sorted where there is an order, and remove what versions that are older than `age` had alone.

        :param spoken: members of summaries, whose newest values the new snapshots have, too, since the others may go.
        :param kept: see `LakeTable.compact`.
        """
        session: Any = self._spark
        snapshots = self._snapshots()
        actions = java_class(self._spark, "org.apache.iceberg.spark.actions.SparkActions").get(session._jsparkSession)
        said = {member: text for member in spoken if (text := snapshots.said(member)) is not None}
        rewrite = actions.rewriteDataFiles(snapshots.table)
        for name, value in _REWRITTEN.items():
            rewrite = rewrite.option(name, value)
        if order:
            sorting = java_class(self._spark, "org.apache.iceberg.SortOrder").builderFor(snapshots.table.schema())
            for field in order:
                sorting = sorting.desc(field.column) if field.descending else sorting.asc(field.column)
            rewrite = rewrite.sort(sorting.build())
        _execute(rewrite, said)
        # Each takes the table as the one before left it.
        _execute(actions.removeDanglingDeleteFiles(self._snapshots().table), said)
        _execute(actions.rewritePositionDeletes(self._snapshots().table), said)
        self._snapshots().expire(age, spoken, kept)
        before = datetime.now(UTC) - max(age, _ORPHANS_AGE)
        table = self._snapshots().table
        orphans = actions.deleteOrphanFiles(table).olderThan(int(before.timestamp() * 1000))
        if _only_iceberg_lists(self._spark, table):
            orphans = orphans.usePrefixListing(True)
        orphans.execute()


class IcebergLogTable(_Table):
    """A table of the lake's own records."""

    def __init__(self, spark: SparkSession, catalog: Catalog, path: Sequence[str], properties: Mapping[str, str]) -> None:
        super().__init__(spark, catalog, path, properties)
        self._appends = 0

    def exists(self) -> bool:
        """See `LogTable`. Raises LakeError where it is of another lake."""
        there = super().exists()
        if there:
            self._refuse_others()
        return there

    def append(self, rows: DataFrame, once: Once | None = None) -> None:
        """See `LogTable`. The newest snapshot of an append has its name."""
        there = self.exists()
        if once is not None and there and self._has(once):
            return
        said = _names(once)
        self._catalog.open(rows.sparkSession)  # that of a stream is the stream's own
        with self._catalog.reached(), _saying(rows.sparkSession, said):
            if there:
                self._add_columns(rows)
                rows.writeTo(self.name).append()
            else:
                self._make_namespace()
                made = rows.writeTo(self.name).using("iceberg")
                for name, value in self._properties.items():
                    made = made.tableProperty(name, value)
                made.create()
        self._appended()

    def identity(self) -> str:
        """See `LogTable`."""
        return str(self._snapshots().table.uuid())

    def prepare(self) -> None:
        """See `LogTable`: maintenance removes what is older. A table of an older version does not say whose it is."""
        if self.exists() and self._snapshots().table.properties().get(_OWNER[0]) is None:
            owner = ", ".join(f"'{name}' = {literal(self._properties[name])}" for name in _OWNER)
            self._spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({owner})")

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool | None:
        """See `LogTable`."""
        if find_spec("pyarrow") is None:
            return None
        if not self.exists():
            return self._begun(rows, once)
        with self._catalog.reached():
            append = IcebergAppend(self._spark, self._snapshots().table)
            if not append.takes(rows):
                return None
            if once is not None and self._has(once):
                return False
            if not append.run(rows, _names(once)):
                return None
        self._appended()
        return True

    def _begun(self, rows: pa.Table, once: Once | None) -> bool | None:
        """Make the table with these rows; None where only Spark does it."""
        if (schema := schema_of_rows(rows)) is None:
            return None
        self._make_namespace()
        with self._catalog.reached():
            making = IcebergCreate(self._spark, self._catalog.name)
            made = making.run(self._path, schema, self._properties, partial(in_fields, rows), _names(once))
        return True if made else None

    def read_here(self, asked: RowsAsked) -> list[pa.Table] | None:
        """See `LogTable`."""
        if find_spec("pyarrow") is None:
            return None
        with self._catalog.reached():
            return IcebergAppend(self._spark, self._snapshots().table).read(asked)

    def _appended(self) -> None:
        """Each version is named by the table's metadata, which each append writes."""
        self._appends += 1
        if self._appends % _APPENDS_BETWEEN_LOOKS == 0:
            self._snapshots().expire(READERS_TIME, (WRITER, NUMBER))

    def _has(self, once: Once) -> bool:
        # Not that of the newest one alone, which may have joined files, and repeats a number of before the last append.
        summaries = (one.summary() for one in self._snapshots().back())
        return any(said.get(WRITER) == once.writer and int(said.get(NUMBER)) >= once.number for said in summaries)

    def _add_columns(self, rows: DataFrame) -> None:
        known = set(self.read().columns)
        for field in rows.schema.fields:
            if field.name not in known:
                kind = field.dataType.simpleString()
                self._spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({quoted(field.name)} {kind})")

    def read(self) -> DataFrame:
        """All rows. The table has to be there."""
        return self._spark.table(self.name)

    def delete(self, where: str) -> None:
        """Delete the rows that meet an SQL condition."""
        self._spark.sql(f"DELETE FROM {self.name} WHERE {where}")

    def compact(self, age: timedelta) -> None:
        """See `LogTable`."""
        self._rewrite(age, (), (WRITER, NUMBER))


class IcebergTable(_Table):
    """The lake's table of one source table."""

    def __init__(
        self, spark: SparkSession, catalog: Catalog, path: Sequence[str], properties: Mapping[str, str], layout: Layout
    ) -> None:
        super().__init__(spark, catalog, path, properties)
        self._layout = layout

    def columns(self) -> list[TableColumn] | None:
        """See `LakeTable`."""
        if not self.exists():
            return None
        schema = self._spark.table(self.name).schema
        if CDC not in schema.names:
            raise LakeError(
                f"the Iceberg table {self.name} has no column {CDC}: another program or an older version created it",
                hint="Move it away; the lake creates its own table from the change log.",
            )
        self._refuse_others()
        return columns_of(schema)

    def mode(self, version: int | None = None) -> Mode:
        """See `LakeTable`."""
        found = self._snapshots()
        return cast(Mode, found.said(MODE, version) or found.table.properties().get(_MODE_PROPERTY) or "mirror")

    def comment(self) -> str:
        """See `LakeTable`."""
        return str(self._snapshots().table.properties().get("comment") or "")

    def describe(self, comment: str) -> None:
        """See `LakeTable`."""
        self._spark.sql(comment_statement(self.name, comment))

    def create(self, columns: Sequence[TableColumn], cdc: str, mode: Mode, applied: Applied) -> None:
        """See `LakeTable`."""
        self.replace(self._spark.sql(no_rows(columns, cdc)), columns, applied, mode)

    def replace(self, rows: DataFrame, columns: Sequence[TableColumn], applied: Applied, mode: Mode) -> None:
        """See `LakeTable`."""
        rows.select(*commented(columns), CDC).createOrReplaceTempView("minercdc_rows")
        self._make_namespace()
        given = {**self._properties, _MODE_PROPERTY: mode}
        properties = ", ".join(f"'{name}' = {literal(value)}" for name, value in given.items())
        parts = self._layout.partitioned_by(self.name, columns)
        with self._saying(applied, mode):
            self._spark.sql(
                f"CREATE OR REPLACE TABLE {self.name} USING iceberg {parts} TBLPROPERTIES ({properties}) AS SELECT * FROM minercdc_rows"
            )

    def can_widen(self, old: str, new: str) -> bool:
        """See `LakeTable`."""
        return promotes(old, new)

    def take_all(self, there: Sequence[TableColumn], steps: Sequence[Step]) -> None:
        """See `LakeTable`: a commit for each step."""
        del there
        for step in steps:
            self.take(step)

    def take(self, step: Step) -> None:
        """Take one step of `columns.evolution`; its commits are durable when this returns."""
        if isinstance(step, DropColumn) and self._parts_by(step.name):
            self._set_aside(step.name)
        else:
            self._spark.sql(step_statement(self.name, step))

    def _parts_by(self, name: str) -> bool:
        """Whether a column is, or was, one by which the table is partitioned."""
        table = self._snapshots().table
        return any(
            str(table.schema().findColumnName(field.sourceId())) == name
            for spec in dict(table.specs()).values()
            for field in spec.fields()
        )

    def _set_aside(self, name: str) -> None:
        """Give a column of the partitions that the source has no more another name and no id; what is written from now on is not
        partitioned by it. Iceberg cannot merge into a table whose older partitions are by a column that is gone."""
        table = self._snapshots().table
        for field in table.spec().fields():
            if str(table.schema().findColumnName(field.sourceId())) == name:
                self._spark.sql(f"ALTER TABLE {self.name} DROP PARTITION FIELD {quoted(str(field.name()))}")
        taken = {column.name.lower() for column in self.columns() or []}
        number = next(n for n in range(1, len(taken) + 2) if f"{name}__{n}".lower() not in taken)
        for step in (RenameColumn(name, f"{name}__{number}"), IdentifyColumn(f"{name}__{number}", "")):
            self._spark.sql(step_statement(self.name, step))

    def fill(self, column: TableColumn, value: str, before: int) -> None:
        """See `LakeTable`."""
        self._spark.sql(fill_statement(self.name, column, value, before))

    def clear(self) -> None:
        """Delete all rows."""
        self._spark.sql(f"DELETE FROM {self.name}")

    def newest_version(self) -> int:
        """See `LakeTable`."""
        if not self.exists():
            return NO_TABLE
        newest = self._snapshots().newest
        return 0 if newest is None else version_of(newest)

    def is_empty(self) -> bool:
        """See `LakeTable`."""
        return bool(self.read().isEmpty())

    def read(self, version: int | None = None) -> DataFrame:
        """See `LakeTable`; of a version, in the columns that it had."""
        if version is None:
            return self._spark.table(self.name)
        found = self._snapshots().of_version(version)
        return self._spark.sql(f"SELECT * FROM {self.name} VERSION AS OF {found.snapshotId()}")

    def append(self, rows: DataFrame, applied: Applied | None, *, known: Applied | None = None) -> None:
        """See `LakeTable`. Iceberg appends to whatever is there; an overwriting, of no row, is refused where the table was made again."""
        writer = rows.writeTo(self.name)
        with _saying(rows.sparkSession, {} if applied is None else {APPLIED: applied.to_json()}):
            if known is None or (found := self._snapshots()).newest is None:
                writer.append()
                return
            refuse_overtaken(self.name, Applied.from_json(found.said(APPLIED)), known)
            from pyspark.sql.functions import lit

            writer = writer.option("isolation-level", "serializable")
            writer.option("validate-from-snapshot-id", str(found.newest.snapshotId())).overwrite(lit(False))

    def update(self, sets: str, where: str, applied: Applied | None) -> None:
        """See `LakeTable`."""
        with self._saying(applied):
            self._spark.sql(f"UPDATE {self.name} SET {sets} WHERE {where}")

    def merge(self, changes: DataFrame, on: str, clauses: str, applied: Applied) -> None:
        """See `LakeTable`."""
        changes.createOrReplaceTempView("minercdc_changes")
        with self._saying(applied):
            self._spark.sql(f"MERGE INTO {self.name} AS t USING minercdc_changes AS c ON {on} {clauses}")

    def create_of(self, changes: LastChanges, cdc: str, applied: Applied) -> bool:
        """See `LakeTable`."""
        commented = [(one.name, one.type, lake_comment(one.id, one.comment)) for one in changes.target]
        schema = schema_of([*commented, (CDC, cdc, "")])
        if find_spec("pyarrow") is None or schema is None or self._layout.partitions or self.exists():
            return False
        self._make_namespace()
        with self._catalog.reached():
            said = {APPLIED: applied.to_json(), MODE: changes.mode}
            making = IcebergCreate(self._spark, self._catalog.name)
            properties = {**self._properties, _MODE_PROPERTY: changes.mode}
            return making.run(self._path, schema, properties, partial(first_rows, changes), said)

    def merge_rows(self, changes: LastChanges, applied: Applied) -> bool:
        """See `LakeTable`."""
        if find_spec("pyarrow") is None:
            return False
        with self._catalog.reached():
            found = self._snapshots()
            if changes.mode == "append":
                refuse_overtaken(self.name, Applied.from_json(found.said(APPLIED)), changes.known)
            return IcebergMerge(self._spark, found.table, {APPLIED: applied.to_json()}).run(changes)

    def applied(self) -> Applied | None:
        """See `LakeTable`. Raises LakeError where the table is of another lake, whose commits say how far that one is."""
        self._refuse_others()
        return Applied.from_json(self._snapshots().said(APPLIED))

    def version(self) -> int:
        """See `LakeTable`."""
        found = self._in_present_columns()
        return NO_TABLE if found is None else version_of(found.newest)

    def _in_present_columns(self) -> Snapshots | None:
        """The table's snapshots; None for no table. A change of columns alone makes none, and a snapshot is read with its own columns: an empty
        one is made that has the present ones."""
        if not self.exists():
            return None
        found = self._snapshots()
        if found.newest is not None and found.newest.schemaId() == found.table.schema().schemaId():
            return found
        found.table.newFastAppend().set(COLUMNS, "true").commit()
        return self._snapshots()

    def reached(self, applied: Applied, *, first: bool = False) -> int:
        """See `LakeTable`. The tag is not made by the commits themselves, since a kill may come after any. A later version at the same SCN takes
        the tag over; what another process has committed since, up to a later SCN, does not."""
        if (found := self._in_present_columns()) is None:
            return NO_TABLE
        snapshot = found.first_of(applied) if first else found.up_to(applied)
        if self._layout.tags:
            tag = quoted(f"{TAG}{applied.scn}")
            self._spark.sql(f"ALTER TABLE {self.name} CREATE OR REPLACE TAG {tag} AS OF VERSION {snapshot.snapshotId()}")
        return version_of(snapshot)

    def rewritten(self, version: int) -> int:
        """See `LakeTable`."""
        return self._snapshots().rewritten(version)

    def clustering(self) -> list[str]:
        """See `LakeTable`. Names that the table has no more are left out."""
        listed = self._snapshots().table.properties().get(_CLUSTERED)
        names = {column.name for column in self.columns() or []}
        return [name for name in (str(listed).split("\t") if listed else []) if name in names]

    def cluster(self, names: Sequence[str]) -> None:
        """See `LakeTable`. The table has no sort order of its own, by which each merge would sort what it writes."""
        self._spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({literal(_CLUSTERED)} = {literal(chr(9).join(names))})")

    def compact(self, age: timedelta, kept: Collection[int] | None = None) -> None:
        """See `LakeTable`."""
        order = self._layout.order(self.columns() or [], self.clustering())
        self._rewrite(age, order, (APPLIED, MODE), kept)

    def _saying(self, applied: Applied | None, mode: Mode | None = None) -> AbstractContextManager[None]:
        said = {APPLIED: None if applied is None else applied.to_json(), MODE: mode}
        return _saying(self._spark, {member: text for member, text in said.items() if text is not None})


def promotes(old: str, new: str) -> bool:
    """Whether Iceberg can change a column's type alone: integers to BIGINT, FLOAT to DOUBLE, decimals to more digits of the same
    scale."""
    if old.startswith("DECIMAL") and new.startswith("DECIMAL"):
        return precision_of(old)[1] == precision_of(new)[1]
    return (old, new) in (("INT", "BIGINT"), ("FLOAT", "DOUBLE"))


class Iceberg:
    """Iceberg tables in one catalog, as a configuration has it."""

    name: Format = "iceberg"
    java_class = "org.apache.iceberg.spark.SparkCatalog"
    lists_versions = True
    maintenance: Mapping[str, str] = {}

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._layout_of = layout_of(config)
        lake = config.lake
        self.session: Mapping[str, str] = catalog_settings(config)
        self._catalog = Catalog(lake.minercdc_lake_catalog_name, self.session)
        self._names = CatalogNames(lake.minercdc_lake_catalog_table_name, several=config.database.has_several_pdbs)
        self._records = "_minercdc_" + re.sub(r"\W", "_", config.identity.name)
        self._properties = {**_PROPERTIES, "format-version": str(lake.minercdc_lake_iceberg_format_version)}
        self._owner = dict(zip(_OWNER, (config.identity.name, config.identity.topic_prefix), strict=True))

    def table(self, spark: SparkSession, table: TableId) -> LakeTable:
        """See `TableFormat`."""
        properties = {**self._properties, **source_properties(self._config, table)}
        try:
            path = self._names.path(table)
        except ValueError as error:
            raise LakeError(str(error)) from error
        return IcebergTable(spark, self._catalog, path, properties, self._layout_of(table))

    def changes(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        return IcebergLogTable(spark, self._catalog, [self._records, "changes"], {**self._properties, **self._owner})

    def state(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        return IcebergLogTable(spark, self._catalog, [self._records, "state"], {**self._properties, **self._owner})

    def is_conflict(self, error: BaseException) -> bool:
        """See `TableFormat`: what was read is not what is there when it is committed, or the table was made again meanwhile."""
        conflicts = ("ValidationException", "CommitFailedException", "is not an ancestor of")
        return isinstance(error, Overtaken) or any(name in str(error) for name in conflicts)


def catalog_settings(config: ConnectorConfig) -> dict[str, str]:
    """Spark's settings with which a session has the catalog of a configuration."""
    lake = config.lake
    catalog = f"spark.sql.catalog.{lake.minercdc_lake_catalog_name}"
    given = {
        "type": lake.minercdc_lake_catalog_type,
        "uri": lake.minercdc_lake_catalog_uri,
        "warehouse": lake.minercdc_lake_catalog_warehouse,
    }
    if given["warehouse"] is None and given["type"] != "rest":
        given["warehouse"] = LakePaths(config).root
    passed_on = {"cache-enabled": "false", **config.lake_catalog}
    return {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.redaction.regex": SECRETS,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{catalog}.{name}": value for name, value in {**given, **passed_on}.items() if value is not None},
    }


def _names(once: Once | None) -> dict[str, str]:
    """The members of a summary that name an append."""
    return {} if once is None else {WRITER: once.writer, NUMBER: str(once.number)}


def _execute(action: Any, said: Mapping[str, str]) -> None:
    """Run an action of Iceberg, whose snapshot has these members in its summary."""
    for member, text in said.items():
        action = action.snapshotProperty(member, text)
    action.execute()


def _only_iceberg_lists(spark: SparkSession, table: Any) -> bool:
    """Whether Hadoop has no file system for a table's files, and Iceberg's own access to them lists them."""
    from py4j.protocol import Py4JJavaError

    session: Any = spark
    try:
        java_class(spark, "org.apache.hadoop.fs.Path")(table.location()).getFileSystem(session._jsc.hadoopConfiguration())
    except Py4JJavaError:
        return bool(java_class(spark, "py4j.reflection.TypeUtil").isInstanceOf(_LISTING, table.io()))
    return False


@contextmanager
def _saying(spark: SparkSession, said: Mapping[str, str]) -> Iterator[None]:
    """Have the commits of the block have these members in their summaries."""
    for name, value in said.items():
        spark.conf.set(_SUMMARY + name, value)
    try:
        yield
    finally:
        for name in said:
            spark.conf.unset(_SUMMARY + name)
