"""DBA_EXTENTS: where the rows of a table lie.

Extents grow as in a locally managed tablespace with system-allocated sizes: sixteen of 64 KiB, then of 1 MiB, from 64 MiB on of
8 MiB, from 1 GiB on of 64 MiB, in blocks of 8 KiB. A segment's rows begin behind the three blocks of its header.
"""

from __future__ import annotations

from collections.abc import Iterator

from minercdc.sandbox.asking import asking
from minercdc.sandbox.interfaces import Session, View
from minercdc.sandbox.partitioning import ROW_MASK
from minercdc.sandbox.storage.rowid import FILE, FIRST_BLOCK, ROWS_PER_BLOCK
from minercdc.sandbox.tables import Table
from minercdc.sandbox.views.shape import Row, view

_EXTENTS = (
    "OWNER V128, SEGMENT_NAME V128, PARTITION_NAME V128, SEGMENT_TYPE V18, TABLESPACE_NAME V30, EXTENT_ID N, FILE_ID N, "
    "BLOCK_ID N, BYTES N, BLOCKS N, RELATIVE_FNO N"
)
_HEADER_BLOCKS = 3
_BLOCK_BYTES = 8192
# (blocks of the segment so far, blocks of the next extent)
_SIZES = ((16 * 8, 8), (64 * 128, 128), (1024 * 128, 1024))
_LARGEST = 8192


def _segments(table: Table) -> Iterator[tuple[str | None, int]]:
    """Partition name, None for the table itself, and rows ever inserted."""
    if table.partitioning is None:
        yield None, table.next_rid
    for partition in table.partitioning.partitions if table.partitioning else ():
        yield partition.name, partition.next_rid & ROW_MASK


def _extents(table: Table, partition: str | None, rows: int) -> Iterator[Row]:
    used = _HEADER_BLOCKS - (-rows // ROWS_PER_BLOCK)
    allocated = 0
    number = 0
    while allocated < used:
        blocks = next((blocks for below, blocks in _SIZES if allocated < below), _LARGEST)
        yield {
            "OWNER": table.owner,
            "SEGMENT_NAME": table.name,
            "PARTITION_NAME": partition,
            "SEGMENT_TYPE": "TABLE" if partition is None else "TABLE PARTITION",
            "TABLESPACE_NAME": table.tablespace,
            "EXTENT_ID": number,
            "FILE_ID": FILE,
            "BLOCK_ID": FIRST_BLOCK - _HEADER_BLOCKS + allocated,
            "BYTES": blocks * _BLOCK_BYTES,
            "BLOCKS": blocks,
            "RELATIVE_FNO": FILE,
        }
        number, allocated = number + 1, allocated + blocks


def _here(session: Session) -> Iterator[Row]:
    who = asking(session)
    for table in who.database.catalog.tables(who.container):
        for partition, rows in _segments(table):
            yield from _extents(table, partition, rows)


VIEWS: tuple[View, ...] = (view("DBA_EXTENTS", _EXTENTS, _here),)
