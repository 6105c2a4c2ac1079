"""The layout of Iceberg tables, as properties have it: by what their files are partitioned and sorted.

minercdc.lake.iceberg.partitions=SHOP\\.ORDERS:months(CREATED),bucket(16,ID);SHOP\\.LINES:bucket(8,ORDER_ID)
minercdc.lake.iceberg.sort=SHOP\\.ORDERS:CUSTOMER_ID,CREATED DESC
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from minercdc.schema.patterns import configured_pattern

_Field = TypeVar("_Field")
_TIMES = ("years", "months", "days", "hours")
_NUMBERED = ("bucket", "truncate")
_CALL = re.compile(r"(\w+)\s*\((?:\s*(\d+)\s*,)?\s*([^(),;]+?)\s*\)")
_COLUMN = re.compile(r"[^(),;]+")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One value by which the rows of a table are parted.

    :param transform: of Iceberg: `years`, `months`, `days`, `hours`, `bucket`, `truncate`; '' for the column's own value.
    :param number: of `bucket` and `truncate`, else 0.
    """

    column: str
    transform: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class SortField:
    """One column by which rows are sorted."""

    column: str
    descending: bool = False


def table_entries(text: str, field: Callable[[str], _Field]) -> Iterator[tuple[str, tuple[_Field, ...]]]:
    """The entries of a property, `PATTERN:ITEM,ITEM;PATTERN:ITEM`: (pattern of tables, fields).

    :param field: reads an item, `partition_field` or `sort_field`.
    :raises ValueError: it, or an item, is of another form, or a pattern is no regular expression.
    """
    for entry in filter(None, map(str.strip, text.split(";"))):
        pattern, colon, listed = entry.rpartition(":")
        items = [item.strip() for item in re.split(r",(?![^()]*\))", listed)]
        if not colon or not pattern.strip() or not all(items):
            raise ValueError(f"'{entry}' is not of the form PATTERN:COLUMN,COLUMN")
        configured_pattern(pattern.strip())
        yield pattern.strip(), tuple(map(field, items))


def partition_field(text: str) -> PartitionField:
    """A field of `minercdc.lake.iceberg.partitions`. Raises ValueError for another form."""
    if found := _CALL.fullmatch(text):
        transform, number, column = found[1].lower(), int(found[2] or 0), found[3]
        if transform in _TIMES and not found[2]:
            return PartitionField(column, transform)
        if transform in _NUMBERED and number > 0:
            return PartitionField(column, transform, number)
    elif _COLUMN.fullmatch(text):
        return PartitionField(text)
    times = ", ".join(f"{name}(COLUMN)" for name in _TIMES)
    raise ValueError(f"'{text}' is not COLUMN, {times}, bucket(N,COLUMN) or truncate(N,COLUMN)")


def sort_field(text: str) -> SortField:
    """A column of `minercdc.lake.iceberg.sort`. Raises ValueError for another form."""
    column, _, direction = text.rpartition(" ")
    if column and direction.upper() in ("ASC", "DESC"):
        return SortField(column.strip(), direction.upper() == "DESC")
    if not _COLUMN.fullmatch(text):
        raise ValueError(f"'{text}' is not COLUMN or COLUMN DESC")
    return SortField(text)
