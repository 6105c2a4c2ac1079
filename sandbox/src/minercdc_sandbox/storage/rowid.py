"""Encodes and parses extended ROWIDs: 18 digits of base 64 for data object (6), file (3), block (6) and row (3). Full scans give rows in
the order of these numbers, which is not that of the text."""

from __future__ import annotations

from functools import lru_cache

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.partitioning import ROW_BITS, ROW_MASK
from minercdc_sandbox.tables import Table

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = {digit: value for value, digit in enumerate(_DIGITS)}
_PAIRS = [a + b for a in _DIGITS for b in _DIGITS]

ROWS_PER_BLOCK = 64
FIRST_BLOCK = 131
FILE = 12
ABOVE = 1 << 37
"""Higher than any row number."""


def _text(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> shift & 63] for shift in range(6 * (width - 1), -1, -6))


@lru_cache(maxsize=1024)
def object_prefix(data_object_id: int) -> str:
    """The first 9 digits of the ROWIDs of a segment: data object and file."""
    return _text(data_object_id, 6) + _text(FILE, 3)


def row_text(prefix: str, rid: int) -> str:
    """ROWID of row number `rid`, from 0, in the segment with this `object_prefix`."""
    block = FIRST_BLOCK + (rid >> 6)
    return f"{prefix}{_PAIRS[block >> 24 & 4095]}{_PAIRS[block >> 12 & 4095]}{_PAIRS[block & 4095]}AA{_DIGITS[rid & 63]}"


def of_row(table: Table, rid: int) -> str:
    """ROWID of a row number of a table, in a partitioned table with the partition's number in it. Raises ORA-08103 for one of a
    dropped partition."""
    return row_text(*prefix_of(table, rid))


def prefix_of(table: Table, rid: int) -> tuple[str, int]:
    """`object_prefix` of a row's segment, and the row's number in it. Raises as `of_row`."""
    _, data_object_id = table.segment_of(rid)
    return object_prefix(data_object_id), rid if table.partitioning is None else rid & ROW_MASK


def bounds(text: str, data_object_id: int) -> tuple[int, int]:
    """Range of row numbers of an unpartitioned table, the end not included, that a ROWID names. That of another object is empty,
    before or after all rows by the order of the object ids. Raises ORA-01410 for a text that is no ROWID."""
    there, rid = parse(text)
    if there != data_object_id:
        return (-1, -1) if there < data_object_id else (ABOVE, ABOVE)
    return rid, rid + 1


def partition_bounds(text: str, table: Table) -> tuple[int, int]:
    """`bounds` in a partitioned table, as row numbers of the table: that of no segment of the table is empty, before the segments
    with higher object ids. Raises ORA-01410 for a text that is no ROWID."""
    assert table.partitioning is not None
    there, rid = parse(text)
    partitions = table.partitioning.segments()
    for partition in partitions:
        if partition.data_object_id == there:
            begin = partition.number << ROW_BITS
            if rid < 0:  # a block of the segment's header, before all its rows
                return begin, begin
            return begin | rid, (begin | rid) + 1
    above = min((p.number for p in partitions if p.data_object_id > there), default=None)
    at = ABOVE if above is None else above << ROW_BITS
    return at, at


def segment_of(table: Table, row_id: str | None) -> tuple[int, int]:
    """OBJECT_ID and DATA_OBJECT_ID in the redo of a row: of its partition, or of the table where that has none; for a `row_id` of
    None those of the table. The ROWID must be one of the table."""
    if table.partitioning is None or row_id is None:
        return table.object_id, table.data_object_id
    found = table.partitioning.with_data_object(parse(row_id)[0])
    return found.object_id, found.data_object_id


def parse(text: str) -> tuple[int, int]:
    """Data object id and row number in its segment of a ROWID; the number is below 0 for blocks before the first row. Raises
    ORA-01410 for a text that is no ROWID."""
    data_object_id, _, block, row = fields(text)
    return data_object_id, (block - FIRST_BLOCK) * ROWS_PER_BLOCK + row


def fields(text: str) -> tuple[int, int, int, int]:
    """Data object, file, block and row of a ROWID, blanks around it left out. Raises ORA-01410 for a text that is no ROWID."""
    text = text.strip()
    if len(text) != 18 or any(c not in _VALUE for c in text):
        raise OraError(1410, "invalid ROWID")
    number = 0
    for c in text:
        number = number << 6 | _VALUE[c]
    return number >> 72, number >> 54 & 0x3FFFF, number >> 18 & 0xFFFFFFFFF, number & 0x3FFFF
