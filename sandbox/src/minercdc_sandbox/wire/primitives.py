"""Primitive TTC encodings: integers, byte strings, key/value pairs.

ub    length byte, then that many big-endian bytes; zero is one 00
sb    the same, bit 0x80 of the length byte for negative
clr   length byte + bytes up to 252; longer: FE, chunks of (ub, bytes), 00; NULL is 00
dalc  ub length and, unless zero, a clr
"""

from __future__ import annotations

SHORT_MAX = 252
CHUNK = 32767
LENGTH = tuple(bytes((n,)) for n in range(SHORT_MAX + 1))
NULL = b"\0"
_UB1 = (b"\0", *(bytes((1, n)) for n in range(1, 256)))


def ub(value: int) -> bytes:
    """A `ub` field of an unsigned integer of any width."""
    if value < 256:
        return _UB1[value]
    size = (value.bit_length() + 7) >> 3
    return bytes((size,)) + value.to_bytes(size, "big")


def sb(value: int) -> bytes:
    """An `sb` field of a signed integer of any width."""
    if value >= 0:
        return ub(value)
    size = ((-value).bit_length() + 7) >> 3
    return bytes((0x80 | size,)) + (-value).to_bytes(size, "big")


def clr(data: bytes) -> bytes:
    """A `clr` field of a byte string; empty is NULL, as for Oracle."""
    size = len(data)
    if size <= SHORT_MAX:
        return LENGTH[size] + data
    pieces = [b"\xfe"]
    for start in range(0, size, CHUNK):
        chunk = data[start : start + CHUNK]
        pieces += (ub(len(chunk)), chunk)
    pieces.append(b"\0")
    return b"".join(pieces)


def dalc(data: bytes | str) -> bytes:
    """A `dalc` field of bytes or a text in UTF-8; empty is NULL."""
    raw = data.encode() if isinstance(data, str) else data
    return ub(len(raw)) + clr(raw) if raw else b"\0"


def key_value(key: str, value: str, flags: int = 0) -> bytes:
    """One pair of the lists that authentication exchanges: two `dalc` fields and a `ub`."""
    return dalc(key) + dalc(value) + ub(flags)
