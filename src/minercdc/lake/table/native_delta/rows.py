"""Rows of a Delta table, read by PyArrow with no Spark job: those of the files, and of their row groups, whose statistics do not pass them
over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from minercdc.lake.table.format import RowsAsked
from minercdc.lake.table.native_delta.log import DataFile, TableFiles, UnknownLog

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def rows_within(files: TableFiles, found: Iterable[DataFile], asked: RowsAsked) -> Iterator[pa.Table]:
    """The row groups of files that may have rows that are asked for, with other rows too.

    :param files: of the table's directory.
    :param asked: at most so many bytes as they are before compression.
    :raises UnknownLog: a file has rows that are marked as deleted, lacks a column of `bounds`, or they are too many bytes.
    """
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    size, bounds = 0, asked.bounds
    for one in found:
        if not _overlap(one.statistics, bounds):
            continue
        if one.vector is not None:
            raise UnknownLog(f"rows of {one.path} are marked as deleted")
        with (
            files.source(unquote(one.path)) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet,
        ):
            if not set(bounds) <= set(parquet.schema_arrow.names):
                raise UnknownLog(f"{one.path} lacks a column")
            for number in _groups(parquet.metadata, bounds):
                if not asked.takes(parquet.read_row_group(number, columns=list(bounds))):
                    continue
                size += _size(parquet.metadata.row_group(number), asked.columns)
                if size > asked.most:
                    raise UnknownLog(f"more than {asked.most} bytes are asked for")
                yield parquet.read_row_group(number, columns=asked.columns)


def _size(group: Any, columns: Sequence[str] | None) -> int:
    parts = (group.column(i) for i in range(group.num_columns))
    return sum(one.total_uncompressed_size for one in parts if columns is None or one.path_in_schema in columns)


def _overlap(statistics: Mapping[str, Any], bounds: Mapping[str, tuple[Any, Any]]) -> bool:
    """Whether a file may have rows within bounds, by the log's statistics of it."""
    least, greatest = (statistics.get(which) or {} for which in ("minValues", "maxValues"))
    return all(_meet(least.get(name), greatest.get(name), wanted) for name, wanted in bounds.items())


def _groups(metadata: Any, bounds: Mapping[str, tuple[Any, Any]]) -> Iterator[int]:
    """The row groups of a file that may have rows within bounds, by its own statistics."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        parts = (group.column(i) for i in range(group.num_columns))
        told = {one.path_in_schema: one.statistics for one in parts if one.path_in_schema in bounds}
        if all(one is None or not one.has_min_max or _meet(one.min, one.max, bounds[name]) for name, one in told.items()):
            yield number


def _meet(least: Any, greatest: Any, wanted: tuple[Any, Any]) -> bool:
    return least is None or greatest is None or (least <= wanted[1] and greatest >= wanted[0])
