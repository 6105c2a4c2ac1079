"""Cuts a large table into ranges of ROWIDs that are read in parallel.

The ranges cover all ROWIDs there can be, without hole or overlap. So no row depends on a complete list of extents:
they only say where to cut. ROWIDs are compared by the database, in the order of data object, file, block and row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import oracledb

from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.schema.table import TableId

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# A connection and a query for less than this (1 MiB of 8 KiB blocks) cost more than they save.
_LEAST_BLOCKS = 128
_EXTENTS = (
    "SELECT O.DATA_OBJECT_ID, E.RELATIVE_FNO, E.BLOCK_ID, E.BLOCKS FROM DBA_EXTENTS E JOIN DBA_OBJECTS O"
    " ON O.OWNER = E.OWNER AND O.OBJECT_NAME = E.SEGMENT_NAME AND O.OBJECT_TYPE = E.SEGMENT_TYPE"
    " AND (O.SUBOBJECT_NAME = E.PARTITION_NAME OR (O.SUBOBJECT_NAME IS NULL AND E.PARTITION_NAME IS NULL))"
    " WHERE E.OWNER = :owner AND E.SEGMENT_NAME = :name"
    " AND E.SEGMENT_TYPE IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION') AND O.DATA_OBJECT_ID IS NOT NULL"
)


class Extent(NamedTuple):
    """A run of blocks of one segment, from DBA_EXTENTS: `file` is RELATIVE_FNO, `block` the first block's number."""

    data_object_id: int
    file: int
    block: int
    blocks: int


def row_id_of(extent: Extent, block: int) -> str:
    """The lowest ROWID of block number `block` of the extent's file.

    The 32 bits of a block's address are 10 of the relative file number and 22 of the block; a bigfile tablespace, whose
    relative file number is 1024, uses all of them for the block (Oracle Database Concepts, Rowid Format).
    """
    address = ((extent.file & 1023) << 22) + block
    return _text(extent.data_object_id, 6) + _text(address >> 22, 3) + _text(address & 0x3FFFFF, 6) + "AAA"


def _text(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> 6 * place & 63] for place in reversed(range(width)))


def cuts(extents: Sequence[Extent], wanted: int) -> tuple[str, ...]:
    """ROWIDs, ascending, at which to cut into up to `wanted` ranges of about equal size, one ROWID less than ranges.

    A small table gets fewer ranges, each of at least 128 blocks; () leaves it whole.
    """
    ordered = sorted(extents)
    total = sum(extent.blocks for extent in ordered)
    parts = min(wanted, total // _LEAST_BLOCKS)
    return tuple(_cuts(ordered, [total * part // parts for part in range(1, parts)]))


def _cuts(ordered: Sequence[Extent], at: Sequence[int]) -> Iterator[str]:
    """The lowest ROWIDs of the blocks with the numbers `at`, ascending, counted from 0 over all extents in order."""
    before = 0
    waiting = list(at)
    for extent in ordered:
        while waiting and waiting[0] < before + extent.blocks:
            yield row_id_of(extent, extent.block + waiting.pop(0) - before)
        before += extent.blocks


def read_extents(connection: oracledb.Connection, table: TableId) -> list[Extent]:
    """The extents of a heap table and its partitions, in any order; [] for other organizations.

    :raises PrerequisiteError: DBA_EXTENTS or DBA_OBJECTS may not be read.
    :raises SourceError: Oracle's other errors, as `codes.classify` makes them.
    """
    with oracle_errors(f"reading the extents of {table}"), connection.cursor() as cursor:
        cursor.execute(_EXTENTS, {"owner": table.schema, "name": table.table})
        return [Extent(*map(int, row)) for row in cursor]


def cuts_of(connection: oracledb.Connection, table: TableId, wanted: int) -> tuple[str, ...]:
    """The `cuts` of a table into up to `wanted` ranges; () also when its extents cannot be read, or `wanted` is below 2. Raises
    TransientSourceError when the connection broke."""
    if wanted < 2:
        return ()
    try:
        return cuts(read_extents(connection, table), wanted)
    except TransientSourceError:
        raise
    except (SourceError, PrerequisiteError):
        return ()
