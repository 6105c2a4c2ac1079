"""Appends rows that the driver's process has to an Iceberg table, and reads them, with no Spark job."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from minercdc.lake.table.format import RowsAsked
from minercdc.lake.table.native.fields import SQL_TYPES, FileField
from minercdc.lake.table.native.parquet import UnknownRows, groups_within
from minercdc.lake.table.native_iceberg.files import IcebergFiles, unread
from minercdc.lake.table.native_iceberg.schema import schema_of
from minercdc.lake.table.native_iceberg.table import commit, plain_fields

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_FEW_VALUES = ("batch", "topic", "scn", "commit_scn", "op")  # columns of the change log; others have a value of each row
_MOST_FILES = 1000  # each is opened


def schema_of_rows(rows: pa.Table) -> str | None:
    """The schema, in Iceberg's JSON, of a table of such rows; None for a type that is not known here."""
    return schema_of((field.name, SQL_TYPES.get(str(field.type), ""), "") for field in rows.schema)


def in_fields(rows: pa.Table, fields: Sequence[FileField]) -> pa.Table:
    """Rows that are in all columns of a table, in its order and with its ids."""
    import pyarrow as pa

    schema = pa.schema([field.arrow() for field in fields])
    return pa.table([rows.column(name) for name in schema.names], schema=schema)


class IcebergAppend:
    """Appends to one table, and reads it.

    :param table: Iceberg's object.
    """

    def __init__(self, spark: SparkSession, table: Any) -> None:
        self._spark, self._table = spark, table
        self._fields = plain_fields(spark, table)

    def takes(self, rows: pa.Table) -> bool:
        """Whether rows are in all columns of the table, which is as simple as it is made."""
        types = {field.name: field.type for field in rows.schema}
        return self._fields is not None and {field.name: field.type for field in self._fields} == types

    def run(self, rows: pa.Table, said: Mapping[str, str]) -> bool:
        """Append rows that it takes in one commit; False where Spark has to.

        :param said: what the commit's summary says.
        """
        whole = in_fields(rows, self._fields or ())
        few: Sequence[str] = [name for name in _FEW_VALUES if name in whole.column_names]
        try:
            with unread():
                update = self._table.newAppend()
                if rows.num_rows:
                    update = update.appendFile(IcebergFiles(self._spark, self._table).new_rows(whole, few or True))
        except UnknownRows as error:
            log.debug("Spark appends: %s", error)
            return False
        commit(update, said)
        return True

    def read(self, asked: RowsAsked) -> list[pa.Table] | None:
        """See `LogTable.read_here`."""
        if self._fields is None:
            return None
        if self._table.currentSnapshot() is None:
            return []
        files = IcebergFiles(self._spark, self._table)
        try:
            with unread():
                found = list(files.listed(asked.bounds))
                if len(found) > _MOST_FILES or any(one.deletes for one in found):
                    return None
                return list(groups_within(((one.path, partial(files.source, one.path)) for one in found), asked))
        except UnknownRows as error:
            log.debug("Spark reads: %s", error)
            return None
