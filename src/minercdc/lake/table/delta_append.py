"""Appends rows that the driver's process has to a Delta table with no Spark job: one Parquet file of PyArrow's, and Delta's own commit.

A kill before the commit leaves a file that no version names, as one of Spark's tasks does; VACUUM removes it.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.own_sessions import CODEC
from minercdc.lake.table.format import Once

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_ROWS_OF_GROUP = 50_000
_CODECS = ("zstd", "snappy")  # whose names Spark and PyArrow share
_PLAIN = frozenset(("delta.dataSkippingStatsColumns", "delta.enableDeletionVectors", "delta.autoOptimize.autoCompact"))
_SPARK_TYPES = {
    "int32": "integer",
    "int64": "long",
    "string": "string",
    "bool": "boolean",
    "timestamp[us, tz=UTC]": "timestamp",
}


def append_rows(
    spark: SparkSession, log: Any, path: str, rows: pa.Table, statistics: Sequence[str], once: Once
) -> bool | None:
    """Append rows in one commit. False where this append was made before; None where the table is not as simple as it is made, so that
    Spark has to append.

    :param log: Delta's log of the table.
    :param path: of the table.
    :param statistics: columns, of numbers or text, whose least and greatest values the commit says.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        return _appended(spark, log, path, rows, statistics, once)
    except Py4JJavaError:
        raise
    except Py4JError as error:  # this Delta has no such method
        logger.debug("rows are appended by Spark: %s", error)
        return None


def _appended(
    spark: SparkSession, log: Any, path: str, rows: pa.Table, statistics: Sequence[str], once: Once
) -> bool | None:
    transaction = log.startTransaction()
    codec = spark.conf.get(CODEC)
    if codec not in _CODECS or not _is_simple(transaction, rows):
        return None
    if transaction.txnVersion(once.writer) >= once.number:
        return False
    name = f"part-00000-{uuid.uuid4()}-c000.{codec}.parquet"
    size = _written(spark, rows, f"{path}/{name}", statistics, codec)
    now = int(time.time() * 1000)
    added = {
        "path": name,
        "partitionValues": {},
        "size": size,
        "modificationTime": now,
        "dataChange": True,
        "stats": json.dumps(_statistics(rows, statistics)),
    }
    made = {"appId": once.writer, "version": once.number, "lastUpdated": now}
    action = java_class(spark, "org.apache.spark.sql.delta.actions.Action")
    actions = _scala_list(spark, [action.fromJson(json.dumps(one)) for one in ({"txn": made}, {"add": added})])
    nothing = java_class(spark, "scala.Option").empty()
    mode = java_class(spark, "org.apache.spark.sql.streaming.OutputMode").Append()
    operation = java_class(spark, "org.apache.spark.sql.delta.DeltaOperations$StreamingUpdate")
    transaction.commit(actions, operation(mode, once.writer, once.number, nothing))
    return True


def _is_simple(transaction: Any, rows: pa.Table) -> bool:
    """Whether the table has just these columns, in any order, and no property that says how files are written."""
    metadata = transaction.metadata()
    schema = json.loads(metadata.schemaString() or "{}")
    found = {field["name"]: field["type"] for field in schema.get("fields", ())}
    wanted = {field.name: _SPARK_TYPES.get(str(field.type)) for field in rows.schema}
    properties = set(str(metadata.configuration().keys().mkString("\n")).splitlines())
    return found == wanted and metadata.partitionColumns().isEmpty() and properties <= _PLAIN


def _written(spark: SparkSession, rows: pa.Table, path: str, plain: Sequence[str], codec: str) -> int:
    """Write a Parquet file by Hadoop's file system; its bytes.

    :param plain: columns of few different values.
    """
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    session: Any = spark
    of = java_class(spark, "org.apache.hadoop.fs.Path")
    with TemporaryDirectory(prefix="minercdc-") as directory:
        file = Path(directory) / "rows.parquet"
        pq.write_table(
            rows,
            file,
            row_group_size=_ROWS_OF_GROUP,
            compression=codec,
            use_dictionary=[*plain, "op"],
            store_schema=False,
        )
        target = of(path)
        system = target.getFileSystem(session._jsc.hadoopConfiguration())
        system.copyFromLocalFile(False, True, of(file.as_uri()), target)
        return file.stat().st_size


def _statistics(rows: pa.Table, names: Sequence[str]) -> Mapping[str, Any]:
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    bounds = {name: pc.min_max(rows.column(name)).as_py() for name in names}
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: found["min"] for name, found in bounds.items()},
        "maxValues": {name: found["max"] for name, found in bounds.items()},
        "nullCount": {name: rows.column(name).null_count for name in names},
    }


def _scala_list(spark: SparkSession, values: Sequence[Any]) -> Any:
    listed = java_class(spark, "java.util.ArrayList")()
    for value in values:
        listed.add(value)
    return java_class(spark, "scala.jdk.javaapi.CollectionConverters").asScala(listed).toSeq()
