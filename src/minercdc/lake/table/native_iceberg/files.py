"""The files of an Iceberg table: listed, read and written by this process. A file of this machine is opened directly, any other one by the
table's own access to them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlparse

from minercdc.lake.spark.hadoop_files import JavaStream
from minercdc.lake.spark.jvm import elements, java_class
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native.parquet import UnknownRows, encoded
from minercdc.lake.table.native_iceberg.columns import ID, rows_of_file

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

_CODEC = "zstd"
# Of the two columns of a file of deletes by position: Iceberg's specification, "Reserved Field IDs".
_FILE_PATH, _POSITION = 2147483546, 2147483545


class DeletesFile(NamedTuple):
    """A file that says which rows of data files are deleted.

    :param records: how many rows it names.
    """

    path: str
    records: int


@dataclass(frozen=True, slots=True, eq=False)
class ListedFile:
    """A data file of a snapshot.

    :param path: as the table has it, also in files of deletes.
    :param records: how many rows it has, deleted ones among them.
    :param deletes: the files that say which of its rows are deleted.
    :param task: Iceberg's object that has its own of these files.
    """

    path: str
    records: int
    size: int
    deletes: Sequence[DeletesFile]
    task: Any


class IcebergFiles:
    """The files of one table, as its metadata had them when it was loaded.

    :param table: Iceberg's object.
    """

    def __init__(self, spark: SparkSession, table: Any) -> None:
        self._spark, self._table, self._io = spark, table, table.io()
        session: Any = spark
        file_system = java_class(spark, "org.apache.hadoop.fs.FileSystem")
        self._default = str(file_system.getDefaultUri(session._jsc.hadoopConfiguration()).getScheme())

    def listed(self, bounds: Mapping[str, tuple[Any, Any]]) -> Iterator[ListedFile]:
        """The data files of the newest snapshot that may have rows within bounds.

        :param bounds: column -> the least and the greatest value, integers or text.
        :raises UnknownRows: a file is not Parquet, or its deletes are of another form than by position in Parquet.
        """
        scan = self._table.newScan()
        expressions = java_class(self._spark, "org.apache.iceberg.expressions.Expressions")
        for name, (least, greatest) in bounds.items():
            scan = scan.filter(expressions.greaterThanOrEqual(name, least)).filter(
                expressions.lessThanOrEqual(name, greatest)
            )
        # One call of Java for all members of a file, and its deletes.
        to_json = java_class(self._spark, "org.apache.iceberg.ScanTaskParser").toJson
        found = scan.planFiles()
        try:
            for task in elements(found):
                yield _listed(json.loads(str(to_json(task))), task)
        finally:
            found.close()

    def source(self, path: str) -> Any:
        """A file that is there, as PyArrow's Parquet reader takes it; it is read by parts. To be closed."""
        import pyarrow as pa

        if (local := self._local(path)) is not None:
            return pa.OSFile(str(local))
        file = self._io.newInputFile(path)
        return pa.PythonFile(JavaStream(file.newStream(), int(file.getLength())), mode="r")

    def rows(self, one: ListedFile, fields: Sequence[FileField], paths: Sequence[tuple[str, ...]] | None = None) -> pa.Table:
        """All rows of a file, deleted ones among them, in columns of the fields' names; those that the file lacks are left out.

        :param fields: of the table now. A file knows them by their ids.
        :param paths: which columns, or members of a struct; None for all.
        :raises UnknownRows: it has other rows than the table says.
        """
        with self.source(one.path) as source:
            rows = rows_of_file(source, fields, paths)
        if rows.num_rows != one.records:
            raise UnknownRows(f"{one.path} has {rows.num_rows} rows in place of {one.records}")
        return rows

    def positions(self, deletes: Iterable[DeletesFile]) -> dict[str, list[int]]:
        """By path of a data file, the numbers of its rows that files of deletes name."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        found: dict[str, list[int]] = {}
        for one in deletes:
            with self.source(one.path) as source:
                rows = pq.read_table(source, columns=["file_path", "pos"])
            if rows.num_rows != one.records:
                raise UnknownRows(f"{one.path} has {rows.num_rows} rows in place of {one.records}")
            for path, position in zip(rows.column("file_path").to_pylist(), rows.column("pos").to_pylist(), strict=True):
                found.setdefault(path, []).append(position)
        return found

    def deletes_alone(self, one: ListedFile) -> Iterator[Any]:
        """Iceberg's objects of the files of deletes that are of this data file alone."""
        if one.deletes:
            is_of_one = java_class(self._spark, "org.apache.iceberg.util.ContentFileUtil").isFileScoped
            yield from filter(is_of_one, elements(one.task.deletes()))

    def new_rows(self, rows: pa.Table, dictionaries: bool | Sequence[str] = True) -> Any:
        """Write rows into a new data file; Iceberg's object of it. It is part of the table once that is committed.

        :param rows: one at least, in the table's columns, with their ids.
        """
        configured = java_class(self._spark, "org.apache.iceberg.MetricsConfig").forTable(self._table)
        builder = java_class(self._spark, "org.apache.iceberg.DataFiles").builder(self._table.spec())
        return self._written(builder, encoded(rows, _CODEC, dictionaries), configured, "")

    def new_deletes(self, path: str, positions: Iterable[int]) -> Any:
        """Write a file of deletes of one data file; Iceberg's object of it.

        :param positions: numbers of rows.
        """
        import pyarrow as pa

        numbers = sorted(set(positions))
        schema = pa.schema([_required("file_path", pa.string(), _FILE_PATH), _required("pos", pa.int64(), _POSITION)])
        rows = pa.table([pa.repeat(pa.scalar(path), len(numbers)), pa.array(numbers, pa.int64())], schema=schema)
        configured = java_class(self._spark, "org.apache.iceberg.MetricsConfig").forPositionDelete()
        builder = java_class(self._spark, "org.apache.iceberg.FileMetadata").deleteFileBuilder(self._table.spec())
        return self._written(builder.ofPositionDeletes(), encoded(rows, _CODEC, ["file_path"]), configured, "-deletes")

    def _written(self, builder: Any, content: pa.Buffer, configured: Any, kind: str) -> Any:
        path = str(self._table.locationProvider().newDataLocation(f"00000-0-{uuid.uuid4()}-00001{kind}.parquet"))
        if (local := self._local(path)) is not None:
            local.parent.mkdir(parents=True, exist_ok=True)
            local.write_bytes(memoryview(content))
        else:
            stream = self._io.newOutputFile(path).create()
            try:
                stream.write(content.to_pybytes())
            finally:
                stream.close()
        parquet = java_class(self._spark, "org.apache.iceberg.parquet.ParquetUtil")
        metrics = parquet.fileMetrics(self._io.newInputFile(path), configured)
        return builder.withPath(path).withFormat("parquet").withFileSizeInBytes(content.size).withMetrics(metrics).build()

    def _local(self, path: str) -> Path | None:
        """A file of this machine; None for any other one."""
        if path.startswith("file:"):
            return Path(unquote(urlparse(path).path))
        return Path(path) if path.startswith("/") and self._default == "file" else None


@contextmanager
def unread() -> Iterator[None]:
    """What PyArrow and the file systems raise in the block is UnknownRows, and that this Iceberg lacks a method, too."""
    import pyarrow as pa
    from py4j.protocol import Py4JError

    try:
        yield
    except (pa.ArrowException, OSError, Py4JError, KeyError) as error:
        raise UnknownRows(str(error)) from error


def _listed(found: Mapping[str, Any], task: Any) -> ListedFile:
    """What Iceberg says of a task, in JSON."""
    data, deletes = found["data-file"], found.get("delete-files", ())
    for one, content in ((data, "DATA"), *((one, "POSITION_DELETES") for one in deletes)):
        if str(one["content"]).upper().replace("-", "_") != content or str(one["file-format"]).upper() != "PARQUET":
            raise UnknownRows(f"{one['file-path']} is {one['content']} in {one['file-format']}")
    files = [DeletesFile(str(one["file-path"]), int(one["record-count"])) for one in deletes]
    return ListedFile(str(data["file-path"]), int(data["record-count"]), int(data["file-size-in-bytes"]), files, task)


def _required(name: str, kind: pa.DataType, number: int) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, kind, nullable=False, metadata={ID: str(number)})
