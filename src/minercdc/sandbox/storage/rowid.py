"""ROWID text: 18 characters of base 64 for data object (6), file (3), block (6) and row (3), in an order that scans follow."""

from __future__ import annotations

from functools import lru_cache

from minercdc.sandbox.interfaces import OraError

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = {digit: value for value, digit in enumerate(_DIGITS)}
_PAIRS = [a + b for a in _DIGITS for b in _DIGITS]

ROWS_PER_BLOCK = 64
FIRST_BLOCK = 131
FILE = 12


def _text(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> shift & 63] for shift in range(6 * (width - 1), -1, -6))


@lru_cache(maxsize=1024)
def object_prefix(data_object_id: int) -> str:
    """The part of the ROWID that all rows of a segment share."""
    return _text(data_object_id, 6) + _text(FILE, 3)


def row_text(prefix: str, rid: int) -> str:
    """ROWID of the `rid`-th row ever inserted into the segment, counted from 0."""
    block = FIRST_BLOCK + (rid >> 6)
    return f"{prefix}{_PAIRS[block >> 24 & 4095]}{_PAIRS[block >> 12 & 4095]}{_PAIRS[block & 4095]}AA{_DIGITS[rid & 63]}"


def parse(text: str) -> tuple[int, int]:
    """`(data_object_id, rid)`. Raises ORA-01410."""
    text = text.strip()
    if len(text) != 18 or any(c not in _VALUE for c in text):
        raise OraError(1410, "invalid ROWID")
    number = 0
    for c in text:
        number = number << 6 | _VALUE[c]
    block, row = number >> 18 & 0xFFFFFFFFF, number & 0x3FFFF
    return number >> 72, (block - FIRST_BLOCK) * ROWS_PER_BLOCK + row
