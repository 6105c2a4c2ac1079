"""Rows of a Delta table, read by PyArrow with no Spark job: those of the files, and of their row groups, whose statistics do not pass them
over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from minercdc.lake.table.format import RowsAsked
from minercdc.lake.table.native.parquet import UnknownRows, groups_within, meet
from minercdc.lake.table.native_delta.log import DataFile, TableFiles, UnknownLog

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def rows_within(files: TableFiles, found: Iterable[DataFile], asked: RowsAsked) -> Iterator[pa.Table]:
    """The row groups of files that may have rows that are asked for, with other rows too.

    :param files: of the table's directory.
    :param asked: at most so many bytes as they are before compression.
    :raises UnknownLog: a file has rows that are marked as deleted, lacks a column of `bounds`, or they are too many bytes.
    """
    chosen = [one for one in found if _overlap(one.statistics, asked.bounds)]
    for one in chosen:
        if one.vector is not None:
            raise UnknownLog(f"rows of {one.path} are marked as deleted")
    try:
        yield from groups_within(((one.path, partial(files.source, unquote(one.path))) for one in chosen), asked)
    except UnknownRows as error:
        raise UnknownLog(str(error)) from error


def _overlap(statistics: Mapping[str, Any], bounds: Mapping[str, tuple[Any, Any]]) -> bool:
    """Whether a file may have rows within bounds, by the log's statistics of it."""
    least, greatest = (statistics.get(which) or {} for which in ("minValues", "maxValues"))
    return all(meet(least.get(name), greatest.get(name), wanted) for name, wanted in bounds.items())
