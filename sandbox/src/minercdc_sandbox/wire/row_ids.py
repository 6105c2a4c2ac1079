"""ROWID on the wire: the byte 14, then object, file, a byte 0, block and row, numbers as `ub`; NULL is the byte 0.

Text is base 64 in groups: object 6, file 3, block 6, row 3 characters (Database SQL Language Reference, "ROWID Data Type").
"""

from __future__ import annotations

import struct

from minercdc_sandbox.wire.packets import ProtocolError, TtcReader
from minercdc_sandbox.wire.primitives import ub

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = {c: i for i, c in enumerate(_ALPHABET)}
_GROUPS = ((0, 6), (6, 9), (9, 15), (15, 18))
_PRESENT = b"\x0e"
_CACHED = 1 << 16


def _number(text: str) -> int:
    number = 0
    for letter in text:
        number = number * 64 + _DIGITS[letter]
    return number


def _letters(number: int, size: int) -> str:
    return "".join(_ALPHABET[number >> shift & 63] for shift in range(6 * (size - 1), -1, -6))


class _Encoded(dict[str, bytes]):
    """Wire form by ROWID text, made when it is first looked up; emptied when it has 65536. The texts must be ROWIDs: KeyError for
    another letter."""

    def __missing__(self, text: str) -> bytes:
        if len(self) >= _CACHED:
            self.clear()
        object_, file, block, row = (ub(_number(text[a:b])) for a, b in _GROUPS)
        self[text] = _PRESENT + object_ + file + b"\0" + block + row
        return self[text]


encoded_row_id = _Encoded()
"""Wire form of a ROWID's text."""


def oer_row_id(text: str | None) -> bytes:
    """A ROWID in the end of a call: the four numbers without the byte 14 before them; five zero bytes for None."""
    return bytes(5) if text is None else encoded_row_id[text][1:]


def fixed_row_id(text: str) -> bytes:
    """The numbers of a ROWID's text at fixed widths, big-endian, in 12 bytes: object (4 bytes), file (2), block (4), row (2)."""
    object_, file, block, row = (_number(text[a:b]) for a, b in _GROUPS)
    return struct.pack(">IHIH", object_, file, block, row)


def read_row_id(reader: TtcReader) -> str | None:
    """Read the text of a ROWID bind, which ojdbc sends; None for NULL. Raises ProtocolError for another form, and as `TtcReader`."""
    size = reader.u8()
    if not size:
        return None
    if size != _PRESENT[0]:
        raise ProtocolError(f"a ROWID of {size} bytes")
    object_, file = reader.ub(), reader.ub()
    reader.u8()
    block, row = reader.ub(), reader.ub()
    return _letters(object_, 6) + _letters(file, 3) + _letters(block, 6) + _letters(row, 3)
