"""Rows that this process has, as a data file of a Delta table: PyArrow writes it, and no Spark job."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.table.native.parquet import encoded

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def added(
    files: HadoopFiles, rows: pa.Table, statistics: str, codec: str, *, dictionaries: bool | Sequence[str], spark: str
) -> dict[str, Any]:
    """Write rows into a new file; the members of the log's `add` of it. The file is part of the table once that is committed.

    :param files: of the table's directory.
    :param rows: one at least, in columns of the files' names.
    :param statistics: of the rows, as the log has them.
    :param codec: one of `native.parquet.CODECS`.
    :param dictionaries: which columns have few different values; True to try all but those of floating point.
    :param spark: version of Spark. Since 3.0 dates and times are in the calendar that a file of such a version says it has.
    """
    content = encoded(rows.replace_schema_metadata({"org.apache.spark.version": spark}), codec, dictionaries)
    name = f"part-00000-{uuid.uuid4()}-c000.{codec}.parquet"
    files.write(name, memoryview(content))
    return {
        "path": name,
        "partitionValues": {},
        "size": content.size,
        "modificationTime": int(time.time() * 1000),
        "dataChange": True,
        "stats": statistics,
    }
