"""The forms of a transaction id: 8 bytes in V$TRANSACTION and V$LOGMNR_CONTENTS, `undo segment.slot.sequence` in texts."""

from __future__ import annotations

import struct
from typing import Final

_XID: Final = struct.Struct("<HHI")


def packed(segment: int, slot: int, sequence: int) -> bytes:
    """An XID of its parts.

    :raises ValueError: one of them is not 16, 16 and 32 bits.
    """
    try:
        return _XID.pack(segment, slot, sequence)
    except struct.error:
        raise ValueError(f"{segment}.{slot}.{sequence} is not an XID") from None


def of_number(number: int) -> bytes:
    """An XID of its number: the parts from the highest bits down. Raises ValueError for a negative number, and beyond 64 bits."""
    if not 0 <= number < 2**64:
        raise ValueError(f"{number} is not an XID")
    return packed(number >> 48, number >> 32 & 0xFFFF, number & 0xFFFFFFFF)


def of_text(text: str) -> bytes:
    """The XID of a text, as LOCAL_TRAN_ID of DBA_2PC_PENDING is one. Raises ValueError when it is none."""
    segment, slot, sequence = map(int, text.split("."))
    return packed(segment, slot, sequence)


def text_of(xid: bytes) -> str:
    """`undo segment.slot.sequence`, as DBA_2PC_PENDING has it."""
    return ".".join(map(str, _XID.unpack(xid)))
