"""REDO_VALUE and UNDO_VALUE: a record's place packed into one number, see `logminer.values`."""

from __future__ import annotations

from typing import NamedTuple

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoRecord

_SSN, _BYTE, _BLOCK, _SEQUENCE, _THREAD = 20, 9, 32, 32, 4


class Place(NamedTuple):
    """The place of a record that a handle names, and whether its new values are meant; see `RedoRecord` for the members."""

    thread: int
    sequence: int
    block: int
    byte: int
    ssn: int
    is_new: bool


def handle_of(record: RedoRecord) -> int:
    """Handle of a record's old values (UNDO_VALUE); one more is the handle of its new values (REDO_VALUE)."""
    found = record.thread
    for width, part in ((_SEQUENCE, record.sequence), (_BLOCK, record.block), (_BYTE, record.byte), (_SSN, record.ssn)):
        found = found << width | part
    return found << 1


def place_of(handle: int) -> Place:
    """The place that a handle names; whether there is a record is not checked. Raises ORA-01323 for a number that is no handle."""
    rest, is_new = handle >> 1, bool(handle & 1)
    parts = []
    for width in (_SSN, _BYTE, _BLOCK, _SEQUENCE):
        parts.append(rest & ((1 << width) - 1))
        rest >>= width
    if not 0 < rest < 1 << _THREAD:
        raise OraError(1323, "Invalid state")
    ssn, byte, block, sequence = parts
    return Place(rest, sequence, block, byte, ssn, is_new)
