"""The lake's own records as Delta tables: the change log, and the record of how far each table is."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from minercdc.lake.spark.delta_calls import compact, delta_log, exists, newest_version, size_of, table_id
from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.spark.own_sessions import CODEC, active
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.delta_retention import keep_versions, remove_log_files
from minercdc.lake.table.format import Once, RowsAsked
from minercdc.lake.table.native.parquet import CODECS
from minercdc.lake.table.native_delta.append import DeltaAppend
from minercdc.lake.table.native_delta.log import LiveFiles, UnknownLog
from minercdc.lake.table.native_delta.rows import rows_within
from minercdc.lake.table.native_delta.transaction import DeltaTransaction, UnknownDelta

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

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


class DeltaLogTable:
    """A Delta table of the lake's own records at `path`.

    :param properties: of the table, when it is made.
    :param kept: properties of `delta_retention`, which it has from the first or gets by `prepare`.
    :param live: what is known of its log.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        properties: Mapping[str, str],
        kept: Mapping[str, str] | None = None,
        live: LiveFiles | None = None,
    ) -> None:
        self._spark = spark
        self._live = LiveFiles() if live is None else live
        self._kept = kept or {}
        self._properties = {**properties, **self._kept}
        self.path = path
        self.name = f"delta.{quoted(path)}"

    def exists(self) -> bool:
        """Whether there is a Delta table at the path."""
        return exists(self._spark, self.path)

    def identity(self) -> str:
        """See `LogTable`."""
        return table_id(self._spark, self.path)

    def prepare(self) -> None:
        """See `LogTable`."""
        if self.exists():
            keep_versions(self._spark, self.path, self._kept)

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
        with active(self._spark), suppress(UnknownDelta):
            transaction = DeltaTransaction(self._spark, delta_log(self._spark, self.path))
            return append.run(transaction, rows, once, self._properties)
        return None

    def read(self) -> DataFrame:
        """All rows. The table has to be there."""
        return self._spark.read.format("delta").load(self.path)

    def read_here(self, asked: RowsAsked) -> list[pa.Table] | None:
        """See `LogTable`."""
        import pyarrow as pa

        files = HadoopFiles(self._spark, self.path)
        try:
            found = self._live.at(files, self.newest_version())
            return list(rows_within(files, found, asked))
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
        return size_of(self._spark, self.name)

    def compact(self, age: timedelta) -> None:
        """See `LogTable`: OPTIMIZE, then VACUUM."""
        compact(self._spark, self.name, age)
        remove_log_files(self._spark, delta_log(self._spark, self.path), self.path, age, None)
