"""Protocol Buffers on the wire, as far as OpenLogReplicator's messages need them: fields with numbers, without a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_LONGEST_VARINT: Final = 10
_MASK: Final = 2**64 - 1


def varint(value: int) -> bytes:
    """The bytes of a number as a varint: of its lowest 64 bits, so a negative one as its two's complement."""
    value &= _MASK
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def field(number: int, value: int | bytes) -> bytes:
    """The bytes of one field, tag included: an int as a varint, bytes with their length before them."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def signed(value: int) -> int:
    """The int64 or int32 that a varint's value stands for: from 2**63 on it is negative."""
    return value - 2**64 if value >= 2**63 else value


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and content of each field, in the order of the bytes: an int of 0 to 2**64 - 1 for a varint, else bytes
    (without their length).

    :raises ValueError: these bytes are no message; at the first wrong field, after the ones before it.
    """
    at = 0
    while at < len(data):
        tag, at = _varint_at(data, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise ValueError(f"field number {number} at byte {at}")
        if kind == VARINT:
            value, at = _varint_at(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            length, at = _varint_at(data, at)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        if length > len(data) - at:
            raise ValueError(f"field {number} at byte {at} has {length} bytes, {len(data) - at} are left")
        yield number, kind, data[at : at + length]
        at += length


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(_LONGEST_VARINT):
        if at + i >= len(data):
            raise ValueError(f"a number at byte {at} has no end")
        byte = data[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & _MASK, at + i + 1
    raise ValueError(f"a number at byte {at} is longer than 64 bits")
