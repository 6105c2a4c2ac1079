"""The lake's own records as Iceberg tables: the change log, and the record of how far each table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.format import (
    READERS_TIME,
    Once,
    RowsAsked,
)
from minercdc.lake.table.iceberg.catalog import Catalog
from minercdc.lake.table.iceberg.catalog_table import OWNER, CatalogTable, saying
from minercdc.lake.table.iceberg.snapshots import NUMBER, REWRITE, WRITER
from minercdc.lake.table.native_iceberg.append import IcebergAppend, in_fields, schema_of_rows
from minercdc.lake.table.native_iceberg.create import IcebergCreate

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

_APPENDS_BETWEEN_LOOKS = 50


class IcebergLogTable(CatalogTable):
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
        with self._catalog.reached(), saying(rows.sparkSession, said):
            if there:
                self._with_all_columns(rows).writeTo(self.name).append()
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
        if self.exists() and self._snapshots().table.properties().get(OWNER[0]) is None:
            owner = ", ".join(f"'{name}' = {literal(self._properties[name])}" for name in OWNER)
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
        """Whether the append of this name, or a later one of its writer, is there: the newest one of that writer says it."""
        for one in self._snapshots().back():
            said = one.summary()
            if said.get(WRITER) == once.writer:
                if int(said.get(NUMBER)) >= once.number:
                    return True
                if str(one.operation()) != REWRITE:  # a rewrite may repeat the number of an earlier append
                    return False
        return False

    def _with_all_columns(self, rows: DataFrame) -> DataFrame:
        """Rows with all columns of the table, which gets those that it lacks: Spark 4.0 wants each column of it."""
        from pyspark.sql.functions import lit

        known = self.read().schema
        for field in rows.schema.fields:
            if field.name not in known.names:
                kind = field.dataType.simpleString()
                self._spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({quoted(field.name)} {kind})")
        missing = [
            lit(None).cast(field.dataType).alias(field.name) for field in known.fields if field.name not in rows.columns
        ]
        return rows.select("*", *missing) if missing else rows

    def read(self) -> DataFrame:
        """All rows. The table has to be there."""
        return self._spark.table(self.name)

    def delete(self, where: str) -> None:
        """Delete the rows that meet an SQL condition."""
        self._spark.sql(f"DELETE FROM {self.name} WHERE {where}")

    def compact(self, age: timedelta) -> None:
        """See `LogTable`."""
        self._rewrite(age, (), (WRITER, NUMBER))


def _names(once: Once | None) -> dict[str, str]:
    """The members of a summary that name an append."""
    return {} if once is None else {WRITER: once.writer, NUMBER: str(once.number)}
