"""What tables of the source, and those of the lake's own records, have in common in an Iceberg catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from minercdc.config.target.lake_layout import SortField
from minercdc.errors import LakeError
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.format import NO_TABLE
from minercdc.lake.table.iceberg.catalog import Catalog
from minercdc.lake.table.iceberg.snapshots import Snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUMMARY = "spark.sql.iceberg.snapshot-property."
OWNER: Final = ("minercdc.connector", "minercdc.topic.prefix")
"""Properties by which a table says whose it is."""
_MB = 1024 * 1024
# As Delta's: a file of this size stays as it is until a twentieth of its rows is deleted.
_REWRITTEN: Final[Mapping[str, str]] = {
    "target-file-size-bytes": str(256 * _MB),
    "min-file-size-bytes": str(32 * _MB),
    "min-input-files": "2",
    "delete-ratio-threshold": "0.05",
}
_LISTING: Final = "org.apache.iceberg.io.SupportsPrefixOperations"
_ORPHANS_AGE = timedelta(days=3)  # a writer may be writing younger ones


class CatalogTable:
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
        if any(there.get(name) not in (None, ours[name]) for name in OWNER):
            named, prefix = (there.get(name) for name in OWNER)
            raise LakeError(
                f"{self.name} belongs to the lake of connector {named} (topic.prefix {prefix}), but this is {ours[OWNER[0]]} (topic.prefix"
                f" {ours[OWNER[1]]})",
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
def saying(spark: SparkSession, said: Mapping[str, str]) -> Iterator[None]:
    """Have the commits of the block have these members in their summaries."""
    for name, value in said.items():
        spark.conf.set(_SUMMARY + name, value)
    try:
        yield
    finally:
        for name in said:
            spark.conf.unset(_SUMMARY + name)
