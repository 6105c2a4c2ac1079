"""Partitions of a table: the partition of a row, and the numbers of rows.

All rows of a table lie in one SQLite segment. Each partition without subpartitions, and each subpartition, is a segment to
clients: it has a number in SQLite's, the high part of its row numbers, and a data object id of its own, so that ROWIDs, redo and
the dictionary show a segment for each. A partition with subpartitions has an OBJECT_ID only: it is "a logical container", whose
rows lie in the subpartitions' segments (VLDB and Partitioning Guide, "Composite Partitioning").

    row number   number of the partition << 25 | row in the partition

A partition that gets new storage (TRUNCATE, MOVE, SPLIT ..) gets a new number; the old rows end there and are seen by older
snapshots only.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError

ROW_BITS = 25
ROW_MASK = (1 << ROW_BITS) - 1
HIGHEST_NUMBER = (1 << 12) - 1

Key: TypeAlias = "tuple[Cell, ...]"
Bound: TypeAlias = "tuple[Cell | int, ...]"
"""Cells of the key columns; the integer 1 is MAXVALUE."""


@dataclass(slots=True)
class TablePartition:
    """One partition or subpartition of a table; `bound` is HIGH_VALUE as text, None of HASH; `keys` are the same as cells; `created` is in host
    seconds.

    :param keys: of RANGE one bound, below which its keys are; of LIST its values, none for DEFAULT; of HASH none.
    :param number: the high part of its row numbers; `next_rid`: row number of the next row inserted.
    :param low: of a partition that INTERVAL made the bound at which it begins, else None. Keys between the partition before and
        that bound have no partition.
    :param subpartitions: of a partition of a composite table, which then has no rows and no number of its own; else None.
    """

    name: str
    object_id: int
    data_object_id: int
    bound: str | None
    created: float
    keys: list[Bound] = field(default_factory=list)
    number: int = 0
    next_rid: int = 0
    low: Bound | None = None
    subpartitions: Partitioning | None = None

    def segments(self) -> list[TablePartition]:
        """What its rows lie in: itself, or its subpartitions in their order."""
        return [self] if self.subpartitions is None else self.subpartitions.partitions

    @property
    def automatic(self) -> bool:
        """Whether INTERVAL made it for a row that needed it; False of one that AUTOMATIC made."""
        return self.low is not None

    def number_as(self, number: int) -> None:
        """Give the partition this number (`Partitioning.new_number`) and let its rows be numbered from the beginning; no row may
        have a number under it."""
        self.number, self.next_rid = number, number << ROW_BITS


@dataclass(frozen=True, slots=True)
class Interval:
    """INTERVAL (..) of RANGE, or AUTOMATIC of LIST: how partitions are made for rows that have none.

    :param text: as it was written, '' of AUTOMATIC; `unit` MONTHS, TIME (of DATE and TIMESTAMP), NUMBER or AUTOMATIC.
    :param step: length of a partition: months, nanoseconds, or a number, by `unit`; 0 of AUTOMATIC.
    """

    text: str
    unit: str
    step: Decimal


@dataclass(frozen=True, slots=True)
class SubpartitionBy:
    """SUBPARTITION BY of a table: how each partition is divided that says nothing of it.

    :param template: names with HIGH_VALUE and keys, as of `TablePartition`; () for none: one subpartition that takes all.
    :param is_named: the template gave the names; else (SUBPARTITIONS n) they are made.
    """

    method: str
    columns: tuple[str, ...]
    template: tuple[tuple[str, str | None, list[Bound]], ...] = ()
    is_named: bool = True


@dataclass(slots=True)
class Partitioning:
    """PARTITION BY of one table, or what one partition of it is divided into: `method` RANGE, LIST or HASH, the key columns, and
    the partitions, those of RANGE ascending.

    :param divided: SUBPARTITION BY; None of a table that has none, and of subpartitions.
    :param interval: None when partitions are made by DDL only.
    :param last_number: highest number a partition has had, -1 before the first.
    """

    method: str
    columns: tuple[str, ...]
    partitions: list[TablePartition]
    interval: Interval | None = None
    last_number: int = -1
    divided: SubpartitionBy | None = None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that decide where a row goes: those of the partitions, then those of the subpartitions."""
        return self.columns if self.divided is None else self.columns + self.divided.columns

    def segments(self) -> list[TablePartition]:
        """What rows lie in, in order: partitions, or the subpartitions of each."""
        if self.divided is None:
            return self.partitions
        return [segment for partition in self.partitions for segment in partition.segments()]

    def all_parts(self) -> Iterator[TablePartition]:
        """Each partition, followed by its subpartitions."""
        for partition in self.partitions:
            yield partition
            if partition.subpartitions is not None:
                yield from partition.subpartitions.partitions

    def named_subpartition(self, name: str, at: int = 0) -> tuple[TablePartition, TablePartition]:
        """The subpartition with this name, after its partition. Raises ORA-14253 for a table without subpartitions, ORA-14251,
        with `at` as its position in the statement."""
        if self.divided is None:
            raise OraError(14253, "table is not partitioned by Composite Partition method", at)
        for partition in self.partitions:
            for one in partition.segments():
                if one.name == name:
                    return partition, one
        raise OraError(14251, "Specified subpartition does not exist", at)

    def named(self, name: str, at: int = 0) -> TablePartition:
        """The partition with this name. Raises ORA-02149 with `at` as its position in the statement."""
        for partition in self.partitions:
            if partition.name == name:
                return partition
        raise OraError(2149, "Specified partition does not exist", at)

    def numbered(self, rid: int) -> TablePartition:
        """The partition or subpartition that a row number lies in. Raises ORA-08103 when it was dropped or got new storage."""
        number = rid >> ROW_BITS
        for partition in self.segments():
            if partition.number == number:
                return partition
        raise OraError(8103, "object no longer exists")

    def with_data_object(self, data_object_id: int) -> TablePartition:
        """The partition or subpartition with this DATA_OBJECT_ID, which must exist."""
        return next(partition for partition in self.segments() if partition.data_object_id == data_object_id)

    def new_number(self) -> int:
        """A number that no partition of the table has had. Raises ORA-14299 when there is none left."""
        if self.last_number == HIGHEST_NUMBER:
            raise OraError(14299, "total number of partitions/subpartitions exceeds the maximum limit")
        self.last_number += 1
        return self.last_number

    def holding(self, key: Key) -> TablePartition | None:
        """The partition or subpartition where rows with this key lie, by `key_columns`; None when there is none, also where
        INTERVAL or AUTOMATIC would make it."""
        if self.divided is None:
            return self.partition_of(key)
        found = self.partition_of(key[: len(self.columns)])
        if found is None or found.subpartitions is None:
            return found
        return found.subpartitions.holding(key[len(self.columns) :])

    def partition_of(self, key: Key) -> TablePartition | None:
        """The partition of a key, by `columns`, also one that has subpartitions; None as of `holding`."""
        if self.method == "HASH":
            return self.partitions[bucket(key, len(self.partitions))]
        default: TablePartition | None = None
        for partition in self.partitions:
            if self.method == "RANGE":
                if is_below(key, partition.keys[0]):
                    return None if partition.low is not None and is_below(key, partition.low) else partition
            elif not partition.keys:
                default = partition
            elif key in partition.keys:
                return partition
        return default


def bucket(key: Key, count: int) -> int:
    """Place, from 0, of a key's partition among `count` (1 or more) hash partitions.

    Linear hashing as in Oracle: one more partition takes rows of one other only (VLDB and Partitioning Guide, "Adding a Partition
    to a Hash-Partitioned Table"). Oracle's hash itself is not published, so another one is used.
    """
    power = 1
    while power < count:
        power *= 2
    code = zlib.crc32(repr(key).encode())
    found = code % power
    return found if found < count else code % (power // 2)


def is_below(key: Bound, bound: Bound) -> bool:
    """Whether a key or bound is less than a bound of as many columns, by the first column that differs; NULL is above all values
    but MAXVALUE. False when they are equal."""
    for cell, limit in zip(key, bound, strict=True):
        if isinstance(limit, int):
            return not isinstance(cell, int)
        if cell is None or isinstance(cell, int):
            return False
        if cell != limit:
            return cell < limit  # type: ignore[operator]
    return False
