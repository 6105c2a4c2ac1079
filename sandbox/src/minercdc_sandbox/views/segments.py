"""DBA_EXTENTS, where the rows of a table lie, and the dictionary views LOBS.

Extents grow as in a locally managed tablespace with system-allocated sizes: sixteen of 64 KiB, then of 1 MiB, from 64 MiB on of
8 MiB, from 1 GiB on of 64 MiB, in blocks of 8 KiB. A segment's rows begin after the three blocks of its header.
"""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.interfaces import OraType, View
from minercdc_sandbox.partitioning import ROW_MASK
from minercdc_sandbox.redo.large_values import BASICFILE
from minercdc_sandbox.storage.rowid import FILE, FIRST_BLOCK, ROWS_PER_BLOCK
from minercdc_sandbox.tables import Table
from minercdc_sandbox.view_session import ViewSession
from minercdc_sandbox.views.family import family
from minercdc_sandbox.views.shape import Row, view, yes_no

_EXTENTS = (
    "OWNER V128, SEGMENT_NAME V128, PARTITION_NAME V128, SEGMENT_TYPE V18, TABLESPACE_NAME V30, EXTENT_ID N, FILE_ID N, "
    "BLOCK_ID N, BYTES N, BLOCKS N, RELATIVE_FNO N"
)
_HEADER_BLOCKS = 3
_BLOCK_BYTES = 8192
# (blocks of the segment so far, blocks of the next extent)
_SIZES = ((16 * 8, 8), (64 * 128, 128), (1024 * 128, 1024))
_LARGEST = 8192


def _segments(table: Table) -> Iterator[tuple[str | None, str, int]]:
    """Of each segment of the table: partition or subpartition name, None for the table itself, SEGMENT_TYPE, and how many rows
    were ever inserted."""
    by = table.partitioning
    if by is None:
        yield None, "TABLE", table.next_rid
        return
    kind = "TABLE PARTITION" if by.divided is None else "TABLE SUBPARTITION"
    for partition in by.segments():
        yield partition.name, kind, partition.next_rid & ROW_MASK


_LOBS = (
    "OWNER V128, TABLE_NAME V128, COLUMN_NAME V4000, SEGMENT_NAME V128, TABLESPACE_NAME V30, INDEX_NAME V128, CHUNK N, "
    "PCTVERSION N, RETENTION N, FREEPOOLS N, CACHE V10=NO, LOGGING V7=YES, ENCRYPT V4=NO, COMPRESSION V6=NO, "
    "DEDUPLICATION V15=NO, IN_ROW V3=YES, FORMAT V15, PARTITIONED V3, SECUREFILE V3=YES, SEGMENT_CREATED V3=YES, "
    "RETENTION_TYPE V7, RETENTION_VALUE N"
)
_IN_LOBS = frozenset((OraType.CLOB, OraType.BLOB, OraType.XMLTYPE, OraType.JSON, OraType.VECTOR))


def _lobs(table: Table) -> Iterator[Row]:
    for number, column in enumerate(table.columns, 1):
        if column.type in _IN_LOBS:
            yield {
                "OWNER": table.owner,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": column.name,
                "SEGMENT_NAME": f"SYS_LOB{table.object_id:010d}C{number:05d}$$",
                "TABLESPACE_NAME": table.tablespace,
                "INDEX_NAME": f"SYS_IL{table.object_id:010d}C{number:05d}$$",
                "CHUNK": _BLOCK_BYTES,
                "FORMAT": "NOT APPLICABLE" if column.type is OraType.BLOB else "ENDIAN NEUTRAL",
                "PARTITIONED": yes_no(table.partitioning is not None),
                "IN_ROW": yes_no(column.in_row),
                "SECUREFILE": yes_no(column.storage != BASICFILE),
            }


def _extents(table: Table, partition: str | None, kind: str, rows: int) -> Iterator[Row]:
    used = _HEADER_BLOCKS - (-rows // ROWS_PER_BLOCK)
    allocated = 0
    number = 0
    while allocated < used:
        blocks = next((blocks for below, blocks in _SIZES if allocated < below), _LARGEST)
        yield {
            "OWNER": table.owner,
            "SEGMENT_NAME": table.name,
            "PARTITION_NAME": partition,
            "SEGMENT_TYPE": kind,
            "TABLESPACE_NAME": table.tablespace,
            "EXTENT_ID": number,
            "FILE_ID": FILE,
            "BLOCK_ID": FIRST_BLOCK - _HEADER_BLOCKS + allocated,
            "BYTES": blocks * _BLOCK_BYTES,
            "BLOCKS": blocks,
            "RELATIVE_FNO": FILE,
        }
        number, allocated = number + 1, allocated + blocks


def _here(session: ViewSession) -> Iterator[Row]:
    for table in session.database.catalog.tables(session.container):
        for partition, kind, rows in _segments(table):
            yield from _extents(table, partition, kind, rows)


VIEWS: tuple[View, ...] = (view("DBA_EXTENTS", _EXTENTS, _here), *family("LOBS", _LOBS, _lobs))
