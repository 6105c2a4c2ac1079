"""One event of the relay as bytes: Databus event version 1, big-endian.

 0  1   0, the number of version 1
 1  4   CRC-32 of bytes 5 to 60 with a long key, 5 to 56 with a byte key
 5  4   length of the event
 9  2   attributes
11  8   sequence: SCN of the window
19  2   physical partition      21  2   logical partition
23  8   time, nanoseconds since the epoch
31  2   source id: above 0 data, -2 the end of a window
33 16   schema id, MD5 of the schema's text
49  4   CRC-32 of the value; with a byte key, of key and value
53  8   long key; or 4 bytes length of the key, then the key
..      value: a row in Avro's binary form
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from zlib import crc32

from minercdc.errors import RelayDataError

VERSION: Final = 0
UPSERT: Final = 0x1
DELETE: Final = 0x2
TRACE: Final = 0x4
BYTE_KEY: Final = 0x8
REPLICATED: Final = 0x100
END_OF_WINDOW: Final = -2
NO_SCHEMA: Final = bytes(16)

LONG_KEY_SIZE: Final = 61
"""Bytes of an event with a long key and no value, which the end of a window is."""

_HEAD = struct.Struct(">BIIHQHHQh16sI")
_AFTER_CRC_BYTES = struct.Struct(">IHQHHQh16sII")
_AFTER_CRC_LONG = struct.Struct(">IHQHHQh16sIq")
_U32 = struct.Struct(">I")
_LONG = struct.Struct(">q")
_SEQUENCE = struct.Struct(">Q")
_SEQUENCE_AT = 11
_KEY_AT = _HEAD.size
LENGTH = struct.Struct(">I")
LENGTH_AT: Final = 5
SOURCE = struct.Struct(">h")
SOURCE_AT: Final = 31
PREFIX: Final = 33
"""So many bytes of an event hold its length, sequence, partition and source."""

_LEAST = _KEY_AT + 4


@dataclass(frozen=True, slots=True)
class RelayEvent:
    """An event that was read.

    :param key: a number, or bytes.
    :param time_ns: nanoseconds since the epoch.
    """

    source: int
    sequence: int
    attributes: int
    key: int | bytes
    value: bytes
    schema_id: bytes = NO_SCHEMA
    time_ns: int = 0
    logical_partition: int = 0
    physical_partition: int = 0

    @property
    def is_end_of_window(self) -> bool:
        """Whether it is no change, but ends its window."""
        return self.source == END_OF_WINDOW

    @property
    def is_control(self) -> bool:
        """Whether it has no row, as the end of a window."""
        return self.source < 0

    @property
    def is_delete(self) -> bool:
        """Whether the row is gone; the value is what it was."""
        return bool(self.attributes & DELETE)


def pack(event: RelayEvent) -> bytes:
    """The event's bytes. Raises RelayDataError for a field that does not fit."""
    return packed(
        event.source,
        event.sequence,
        event.attributes,
        event.key,
        event.value,
        event.schema_id,
        event.time_ns,
        (event.physical_partition, event.logical_partition),
    )


def packed(
    source: int,
    sequence: int,
    attributes: int,
    key: int | bytes,
    value: bytes,
    schema_id: bytes,
    time_ns: int,
    partitions: tuple[int, int] = (0, 0),
) -> bytes:
    """The bytes of an event, without an object for it. Raises RelayDataError as `pack`.

    :param partitions: physical and logical.
    """
    try:
        if isinstance(key, int):
            head = _AFTER_CRC_LONG.pack(
                LONG_KEY_SIZE + len(value),
                attributes & ~BYTE_KEY,
                sequence,
                *partitions,
                time_ns,
                source,
                schema_id,
                crc32(value),
                key,
            )
            return b"".join((b"\0", _U32.pack(crc32(head)), head, value))
        body = b"".join((key, value))
        head = _AFTER_CRC_BYTES.pack(
            _LEAST + len(body),
            attributes | BYTE_KEY,
            sequence,
            *partitions,
            time_ns,
            source,
            schema_id,
            crc32(body),
            len(key),
        )
        return b"".join((b"\0", _U32.pack(crc32(head)), head, body))
    except struct.error as error:
        raise RelayDataError(f"an event of source {source} in window {sequence} does not fit its layout: {error}") from None


def end_of_window(scn: int, time_ns: int) -> bytes:
    """The event that ends window `scn`; `time_ns` is in nanoseconds since the epoch. Raises RelayDataError as `pack`."""
    return packed(END_OF_WINDOW, scn, 0, 0, b"", NO_SCHEMA, time_ns)


def with_sequence(event: bytes, sequence: int) -> bytes:
    """The event in another window. Raises RelayDataError as `unpack` and `pack`."""
    return pack(replace(unpack(event), sequence=sequence))


def sequence_of(event: bytes) -> int:
    """SCN of the event's window."""
    return int(_SEQUENCE.unpack_from(event, _SEQUENCE_AT)[0])


def unpack(data: bytes | memoryview, at: int = 0) -> RelayEvent:
    """The event that begins at `at`, checked by both CRCs.

    :raises RelayDataError: it is cut off, damaged, or of another version.
    """
    if len(data) - at < _LEAST:
        raise RelayDataError(f"an event of {len(data) - at} bytes is cut off: it has {_LEAST} at least")
    version, head_crc, length, attributes, sequence, physical, logical, time_ns, source, schema_id, crc = _HEAD.unpack_from(
        data, at
    )
    if version != VERSION:
        raise RelayDataError(f"an event begins with {version}, not with {VERSION} of Databus event version 1")
    if not _LEAST <= length <= len(data) - at:
        raise RelayDataError(f"an event says that it has {length} bytes, where {len(data) - at} are there")
    long_key = not attributes & BYTE_KEY
    if long_key and length < LONG_KEY_SIZE:
        raise RelayDataError(f"an event with a long key says that it has {length} bytes, less than {LONG_KEY_SIZE}")
    covered_until = at + (LONG_KEY_SIZE if long_key else _LEAST)
    if crc32(data[at + LENGTH_AT : covered_until]) != head_crc:
        raise RelayDataError(f"the header of an event in window {sequence} is damaged: its CRC differs")
    key: int | bytes
    if long_key:
        key, body_at = int(_LONG.unpack_from(data, at + _KEY_AT)[0]), at + LONG_KEY_SIZE
        key_size = 0
    else:
        key_size, body_at = int(_U32.unpack_from(data, at + _KEY_AT)[0]), at + _LEAST
        key = bytes(data[body_at : body_at + key_size])
    end = at + length
    if body_at + key_size > end:
        raise RelayDataError(f"the key of an event in window {sequence} reaches beyond the event")
    if crc32(data[body_at:end]) != crc:
        raise RelayDataError(f"the value of an event in window {sequence} is damaged: its CRC differs")
    value = bytes(data[body_at + key_size : end])
    return RelayEvent(source, sequence, attributes, key, value, schema_id, time_ns, logical, physical)


def events_in(data: bytes | memoryview) -> Iterator[RelayEvent]:
    """The events that follow each other in `data`. Raises RelayDataError as `unpack`."""
    at = 0
    while at < len(data):
        yield unpack(data, at)
        at += int(LENGTH.unpack_from(data, at + LENGTH_AT)[0])


def whole_events(data: bytes) -> Iterator[RelayEvent]:
    """The events that follow each other in `data`, without one that is cut off at the end. Raises RelayDataError as `unpack`."""
    view, at = memoryview(data), 0
    while at + LENGTH_AT + 4 <= len(data):
        length = int(LENGTH.unpack_from(data, at + LENGTH_AT)[0])
        if at + length > len(data):
            return
        yield unpack(view, at)
        at += length
