"""The format Iceberg: a lake table is `<catalog>.SCHEMA.TABLE`; the lake's own records are in namespace `_minercdc_<connector>`.

A version is a snapshot (`snapshots.version_of`), and is greater with each commit of data; a change of columns alone makes none. What a commit
says of its table, and the table's mode, stand in the snapshot's summary, since a table's properties have no versions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.catalog_names import CatalogNames
from minercdc.config.target.lake import Format, Mode
from minercdc.errors import LakeError
from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.columns import CDC, DropColumn, IdentifyColumn, RenameColumn, Step, TableColumn, lake_comment
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
from minercdc.lake.table.iceberg.catalog import Catalog, catalog_settings
from minercdc.lake.table.iceberg.catalog_table import OWNER, CatalogTable, saying
from minercdc.lake.table.iceberg.layout import TAG, Layout, layout_of
from minercdc.lake.table.iceberg.log_table import IcebergLogTable
from minercdc.lake.table.iceberg.snapshots import APPLIED, COLUMNS, MODE, Snapshots, version_of
from minercdc.lake.table.native_iceberg.create import IcebergCreate
from minercdc.lake.table.native_iceberg.merge import IcebergMerge, first_rows
from minercdc.lake.table.native_iceberg.schema import schema_of
from minercdc.lake.table.statements import comment_statement, fill_statement, no_rows, step_statement
from minercdc.lake.table.widening import precision_of
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MODE_PROPERTY = "minercdc.lake.mode"  # of a table as it was made: another program may expire the snapshot that says it
_CLUSTERED = "minercdc.lake.cluster"  # property of a table: the columns by which it is sorted when it is compacted
_PROPERTIES: Final[Mapping[str, str]] = {
    "write.parquet.compression-codec": "zstd",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Each commit writes a file of metadata, which lists all versions; the table names these, and older ones go.
    "write.metadata.compression-codec": "gzip",
    "write.metadata.previous-versions-max": "10",
    "write.metadata.delete-after-commit.enabled": "true",
    # A manifest of one file is nearly all schema, and a merge writes those again whose files of deletes it replaces.
    "commit.manifest.min-count-to-merge": "3",
    # A snapshot goes when it was replaced long enough ago, not when it was made long ago: `compact` says which.
    "history.expire.max-snapshot-age-ms": str(2**62),
}
# An append writes no manifest but its own.
_LOG_PROPERTIES: Final[Mapping[str, str]] = {"commit.manifest.min-count-to-merge": "20"}


class IcebergTable(CatalogTable):
    """The lake's table of one source table."""

    def __init__(
        self, spark: SparkSession, catalog: Catalog, path: Sequence[str], properties: Mapping[str, str], layout: Layout
    ) -> None:
        super().__init__(spark, catalog, path, properties)
        self._layout = layout
        self._mode: Mode | None = None  # as it was found; each commit says it, so that it is near the newest version

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
        mode = cast(Mode, found.said(MODE, version) or found.table.properties().get(_MODE_PROPERTY) or "mirror")
        self._mode = mode if version is None else self._mode
        return mode

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
        with saying(rows.sparkSession, {} if applied is None else {APPLIED: applied.to_json()}):
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
            return IcebergMerge(self._spark, found.table, self._said(applied)).run(changes)

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
        self._mode = mode or self._mode
        return saying(self._spark, self._said(applied))

    def _said(self, applied: Applied | None) -> dict[str, str]:
        """The members of a summary."""
        given = {APPLIED: None if applied is None else applied.to_json(), MODE: self._mode}
        return {member: text for member, text in given.items() if text is not None}


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
        owner = dict(zip(OWNER, (config.identity.name, config.identity.topic_prefix), strict=True))
        self._log_properties = {**self._properties, **_LOG_PROPERTIES, **owner}

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
        return IcebergLogTable(spark, self._catalog, [self._records, "changes"], self._log_properties)

    def state(self, spark: SparkSession) -> LogTable:
        """See `TableFormat`."""
        return IcebergLogTable(spark, self._catalog, [self._records, "state"], self._log_properties)

    def is_conflict(self, error: BaseException) -> bool:
        """See `TableFormat`: what was read is not what is there when it is committed, or the table was made again meanwhile."""
        conflicts = ("ValidationException", "CommitFailedException", "is not an ancestor of")
        return isinstance(error, Overtaken) or any(name in str(error) for name in conflicts)
