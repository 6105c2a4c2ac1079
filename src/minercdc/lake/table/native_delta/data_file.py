"""Rows that this process has, as a data file of a Delta table: PyArrow writes it, and no Spark job."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_ROWS_OF_GROUP = 50_000
CODECS = ("zstd", "snappy")
"""The compressions whose names Spark and PyArrow share."""


def added(
    files: HadoopFiles, rows: pa.Table, statistics: str, codec: str, *, dictionaries: bool | Sequence[str], spark: str
) -> dict[str, Any]:
    """Write rows into a new file; the members of the log's `add` of it. The file is part of the table once that is committed.

    :param files: of the table's directory.
    :param rows: one at least, in columns of the files' names.
    :param statistics: of the rows, as the log has them.
    :param codec: one of `CODECS`.
    :param dictionaries: which columns have few different values; True to try all but those of floating point.
    :param spark: version of Spark. Since 3.0 dates and times are in the calendar that a file of such a version says it has.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    sink = pa.BufferOutputStream()
    rows = rows.replace_schema_metadata({"org.apache.spark.version": spark})
    # Parquet's reader in Spark passes over a group by its bounds, which leave out NaN, and by a dictionary that has -0.0 when it looks for 0.0.
    exact = [path for path, kind in _leaves(rows.schema) if not pa.types.is_floating(kind)]
    pq.write_table(
        rows,
        sink,
        row_group_size=_ROWS_OF_GROUP,
        compression=codec,
        use_dictionary=exact if dictionaries is True else dictionaries,
        write_statistics=exact,
        store_schema=False,
        store_decimal_as_integer=True,
    )
    content = sink.getvalue()
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


def _leaves(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The paths of a file's columns, and their types."""
    import pyarrow as pa

    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.type
