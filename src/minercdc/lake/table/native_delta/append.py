"""Appends rows that the driver's process has to a Delta table with no Spark job: one Parquet file of PyArrow's, and Delta's own commit.

A kill before the commit leaves a file that no version names, as one of Spark's tasks does; VACUUM removes it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.table.format import Once
from minercdc.lake.table.native.fields import SQL_TYPES
from minercdc.lake.table.native_delta.data_file import added
from minercdc.lake.table.native_delta.schema import schema_of, statistics_of
from minercdc.lake.table.native_delta.transaction import DeltaTransaction

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class DeltaAppend:
    """Appends to one table.

    :param files: of the table's directory.
    :param statistics: columns, of numbers or text with few different values, whose least and greatest values the commit says.
    :param codec: one of `native.parquet.CODECS`.
    :param spark: its version.
    """

    def __init__(self, files: HadoopFiles, statistics: Sequence[str], *, codec: str, spark: str) -> None:
        self._files, self._statistics = files, statistics
        self._codec, self._spark = codec, spark

    def run(
        self, transaction: DeltaTransaction, rows: pa.Table, once: Once | None, properties: Mapping[str, str]
    ) -> bool | None:
        """Append rows in one commit, which makes the table where there is none. False where this append was made before; None where the
        table is not as simple as it is made, so that Spark has to append.

        :param properties: of the table, when it is made.
        """
        if transaction.is_first:
            schema = schema_of((field.name, SQL_TYPES[str(field.type)], "") for field in rows.schema)
            assert schema is not None
            transaction.create(schema, properties)
        fields = transaction.plain_fields()
        types = {field.name: field.type for field in rows.schema}
        if fields is None or {field.name: field.type for field in fields} != types:
            return None
        if once is not None and transaction.has_made(once.writer, once.number):
            return False
        actions: list[Mapping[str, Any]] = []
        if once is not None:
            actions.append({"txn": {"appId": once.writer, "version": once.number, "lastUpdated": int(time.time() * 1000)}})
        if rows.num_rows:
            actions.append({"add": self._added(rows)})
        writer, number = (once.writer, once.number) if once is not None else (str(uuid.uuid4()), 0)
        transaction.commit(actions, writer, number)
        return True

    def _added(self, rows: pa.Table) -> Mapping[str, Any]:
        dictionaries = [*self._statistics, "op"] if self._statistics else True
        statistics = statistics_of(rows.select(self._statistics))
        return added(self._files, rows, statistics, self._codec, dictionaries=dictionaries, spark=self._spark)
