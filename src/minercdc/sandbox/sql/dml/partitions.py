"""Which partition a row belongs to. All rows lie in one segment; the dictionary knows the partitions, the redo the table."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.sandbox.catalog import Table, TablePartition
from minercdc.sandbox.interfaces import Cell, OraError


def partition_of(table: Table, row: Sequence[Cell]) -> TablePartition | None:
    """None for a table without partitions, and for HASH, which takes every row. Raises ORA-14400."""
    by = table.partitioning
    if by is None or by.method == "HASH":
        return None
    key = tuple(row[at] for at in table.positions(by.columns))
    default: TablePartition | None = None
    for partition in by.partitions:
        if by.method == "RANGE":
            if _below(key, partition.keys[0]):
                return partition
        elif not partition.keys:
            default = partition
        elif key in partition.keys:
            return partition
    if default is None:
        raise OraError(14400, "inserted partition key does not map to any partition")
    return default


def stays(table: Table, before: Sequence[Cell], after: Sequence[Cell]) -> None:
    """An updated row must stay where it is. Raises ORA-14402."""
    if table.partitioning is not None and partition_of(table, before) is not partition_of(table, after):
        raise OraError(14402, "updating partition key column would cause a partition change")


def _below(key: tuple[Cell, ...], bound: tuple[Cell | int, ...]) -> bool:
    """Less than the bound, column by column; NULL is above all but MAXVALUE."""
    for cell, limit in zip(key, bound, strict=True):
        if isinstance(limit, int):
            return True
        if cell is None:
            return False
        if cell != limit:
            return cell < limit  # type: ignore[operator]
    return False
