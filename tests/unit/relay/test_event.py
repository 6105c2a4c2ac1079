"""The layout of events, against bytes computed by hand."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.errors import RelayDataError
from minercdc.relay.events.event import (
    BYTE_KEY,
    DELETE,
    UPSERT,
    RelayEvent,
    end_of_window,
    events_in,
    pack,
    unpack,
    with_sequence,
)

# Each field by its offset. Nothing of the code under test makes them.
LONG = bytes.fromhex(
    "00000040"  # 5 length 64
    "0001"  # 9 upsert
    "0000000000000102"  # 11 sequence 258
    "0000"  # 19 physical partition
    "0000"  # 21 logical partition
    "0000000000000007"  # 23 time
    "0065"  # 31 source 101
    "000102030405060708090a0b0c0d0e0f"  # 33 schema id
)
LONG += crc32(b"abc").to_bytes(4, "big")  # 49 value CRC
LONG += (-2).to_bytes(8, "big", signed=True)  # 53 key
LONG_EVENT = b"\0" + crc32(LONG).to_bytes(4, "big") + LONG + b"abc"

BYTES = bytes.fromhex("0000003f000a00000000000001020001000200000000000000070065")
BYTES += bytes(16) + crc32(b"k1abcd").to_bytes(4, "big") + (2).to_bytes(4, "big")
BYTES_EVENT = b"\0" + crc32(BYTES).to_bytes(4, "big") + BYTES + b"k1abcd"

SCHEMA = bytes(range(16))


def test_a_long_key() -> None:
    event = RelayEvent(101, 258, UPSERT, -2, b"abc", SCHEMA, 7)
    assert len(LONG_EVENT) == 64
    assert pack(event) == LONG_EVENT
    assert unpack(LONG_EVENT) == event


def test_a_byte_key() -> None:
    event = RelayEvent(101, 258, DELETE | BYTE_KEY, b"k1", b"abcd", bytes(16), 7, logical_partition=2, physical_partition=1)
    assert len(BYTES_EVENT) == 63
    assert pack(event) == BYTES_EVENT
    assert unpack(BYTES_EVENT) == event


def test_the_end_of_a_window_has_61_bytes() -> None:
    data = end_of_window(258, 9)
    assert len(data) == 61
    assert (data[0], data[9:11], data[11:19]) == (0, b"\0\0", (258).to_bytes(8, "big"))
    assert (data[31:33], data[33:49], data[53:61]) == (b"\xff\xfe", bytes(16), bytes(8))
    assert int.from_bytes(data[1:5], "big") == crc32(data[5:61])
    assert unpack(data).is_end_of_window


def test_crc_of_a_byte_key_covers_its_length_and_that_of_the_value_the_key() -> None:
    assert int.from_bytes(BYTES_EVENT[1:5], "big") == crc32(BYTES_EVENT[5:57])
    assert int.from_bytes(BYTES_EVENT[49:53], "big") == crc32(BYTES_EVENT[57:])


@pytest.mark.parametrize("event", [LONG_EVENT, BYTES_EVENT])
def test_every_damaged_bit_is_noticed(event: bytes) -> None:
    for at in range(len(event)):
        for bit in range(8):
            damaged = bytearray(event)
            damaged[at] ^= 1 << bit
            with pytest.raises(RelayDataError):
                unpack(bytes(damaged))


@pytest.mark.parametrize("event", [LONG_EVENT, BYTES_EVENT])
def test_every_cut_is_noticed(event: bytes) -> None:
    for length in range(len(event)):
        with pytest.raises(RelayDataError):
            unpack(event[:length])


@given(
    st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=300),
    st.binary(max_size=300),
    st.integers(0, 2**63),
    st.integers(1, 32767),
    st.integers(0, 2**63),
)
def test_what_is_packed_is_unpacked(key: int | bytes, value: bytes, scn: int, source: int, time_ns: int) -> None:
    attributes = UPSERT if isinstance(key, int) else UPSERT | BYTE_KEY
    event = RelayEvent(source, scn, attributes, key, value, SCHEMA, time_ns)
    assert unpack(pack(event)) == event
    assert list(events_in(pack(event) + end_of_window(scn, 1))) == [event, unpack(end_of_window(scn, 1))]
    moved = unpack(with_sequence(pack(event), 5))
    assert (moved.sequence, moved.key, moved.value) == (5, key, value)


def test_a_field_that_does_not_fit() -> None:
    with pytest.raises(RelayDataError, match="does not fit"):
        pack(RelayEvent(40_000, 1, UPSERT, 1, b""))
