"""Parquet files: rows as one, and the row groups of several that may have rows that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.table.format import RowsAsked

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_ROWS_OF_GROUP = 50_000
CODECS = ("zstd", "snappy")
"""The compressions whose names Spark and PyArrow share."""


class UnknownRows(Exception):
    """A file has what is not read here, or rows that are too many bytes."""


def encoded(rows: pa.Table, codec: str, dictionaries: bool | Sequence[str]) -> pa.Buffer:
    """Rows as the content of a Parquet file.

    :param rows: in columns of the file's names.
    :param codec: one of `CODECS`.
    :param dictionaries: which columns have few different values; True to try all but those of floating point.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    sink = pa.BufferOutputStream()
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
    return sink.getvalue()


def _leaves(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The paths of a file's columns, and their types."""
    import pyarrow as pa

    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.type


def groups_within(files: Iterable[tuple[str, Callable[[], Any]]], asked: RowsAsked) -> Iterator[pa.Table]:
    """The row groups of files that may have rows that are asked for, with other rows too.

    :param files: the name of each, and what opens it.
    :param asked: at most so many bytes as they are before compression.
    :raises UnknownRows: a file lacks a column of `bounds`, or they are too many bytes.
    """
    import pyarrow.parquet as pq

    size, bounds = 0, asked.bounds
    for name, opened in files:
        with opened() as source, pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet:
            if not set(bounds) <= set(parquet.schema_arrow.names):
                raise UnknownRows(f"{name} lacks a column")
            for number in _groups(parquet.metadata, bounds):
                if not asked.takes(parquet.read_row_group(number, columns=list(bounds))):
                    continue
                size += _size(parquet.metadata.row_group(number), asked.columns)
                if size > asked.most:
                    raise UnknownRows(f"more than {asked.most} bytes are asked for")
                yield parquet.read_row_group(number, columns=asked.columns)


def _size(group: Any, columns: Sequence[str] | None) -> int:
    parts = (group.column(i) for i in range(group.num_columns))
    return sum(one.total_uncompressed_size for one in parts if columns is None or one.path_in_schema in columns)


def _groups(metadata: Any, bounds: Mapping[str, tuple[Any, Any]]) -> Iterator[int]:
    """The row groups of a file that may have rows within bounds, by its own statistics."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        parts = (group.column(i) for i in range(group.num_columns))
        told = {one.path_in_schema: one.statistics for one in parts if one.path_in_schema in bounds}
        if all(one is None or not one.has_min_max or meet(one.min, one.max, bounds[name]) for name, one in told.items()):
            yield number


def meet(least: Any, greatest: Any, wanted: tuple[Any, Any]) -> bool:
    """Whether values between two, or between unknown ones (None), may be in a range."""
    return least is None or greatest is None or (least <= wanted[1] and greatest >= wanted[0])
