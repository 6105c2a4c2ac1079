"""LOB locators: 40 opaque bytes to a client, the value they show and the row they write to for the sandbox.

    0   2  4    5  6    7    8     16      22    23    24           28    36    38
    00 26 01 00 kind 08 form temp root    length depth national object row   slot  check

A row's cell has no row address (object 0); it gets one when a query hands it out, so that a client can write through it.
The check is over all bytes before it: a client that changes one gets ORA-22275. A temporary LOB's root is a handle: all copies of its locator show what was last written.
Drivers read bytes 4 (BLOB, CLOB), 6 (UTF-16) and 7 (temporary: to be freed); python-oracledb calls them TNS_LOB_LOC_OFFSET_FLAG_1, _3 and _4 (`impl/thin/constants.pxi`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeGuard
from zlib import crc32

from minercdc_sandbox.interfaces import LobKind, OraError
from minercdc_sandbox.lobs.files import refuse_file

LOCATOR_BYTES = 40
_HEAD = b"\x00\x26\x01\x00"
_PACK = struct.Struct(">4sBBBBQ6sBBIQH")
_BLOB, _CLOB, _INITIALISED, _UTF16, _TEMPORARY = 0x01, 0x02, 0x08, 0x80, 0x01


def invalid_locator() -> OraError:
    """The error ORA-22275; the caller raises it."""
    return OraError(22275, "invalid LOB locator specified")


@dataclass(frozen=True, slots=True)
class LobValue:
    """An immutable content in a `LobStore`: root of a tree of chunks.

    :param length: in units, UTF-16 code units or bytes.
    :param root: id of the tree's top node; 0 for a content without nodes: an empty one or a hole.
    :param depth: levels of nodes above the chunks.
    """

    kind: LobKind
    length: int = 0
    root: int = 0
    depth: int = 0

    @property
    def unit(self) -> int:
        """Bytes of a unit in `length`: 1 of a BLOB, else 2."""
        return 1 if self.kind is LobKind.BLOB else 2


@dataclass(frozen=True, slots=True)
class RowAddress:
    """The place of a LOB in a row: DATA_OBJECT_ID, row number in that segment, physical column (`Column.slot`)."""

    data_object: int
    rid: int
    slot: int


def pack(value: LobValue, address: RowAddress | None = None, *, temporary: int = 0) -> bytes:
    """The 40 bytes of a locator.

    :param address: of the row that can be changed through it; None for none.
    :param temporary: handle of a temporary LOB, 0 for another; it takes the place of the value's root.
    """
    text = value.kind is not LobKind.BLOB
    place = address or RowAddress(0, 0, 0)
    body = _PACK.pack(
        _HEAD,
        _CLOB if text else _BLOB,
        _INITIALISED,
        _UTF16 if text else 0,
        _TEMPORARY if temporary else 0,
        temporary or value.root,
        value.length.to_bytes(6, "big"),
        value.depth,
        int(value.kind is LobKind.NCLOB),
        place.data_object,
        place.rid,
        place.slot,
    )
    return body + _check(body)


def _check(body: bytes) -> bytes:
    return (crc32(body) & 0xFFFF).to_bytes(2, "big")


@dataclass(frozen=True, slots=True)
class Locator:
    """The fields of a locator's bytes; `address` is None where it has no row, `temporary` is the handle of a temporary LOB or 0.
    Of a temporary LOB, `value.root` is the handle too, and only the kind counts."""

    value: LobValue
    address: RowAddress | None
    temporary: int

    @property
    def identity(self) -> object:
        """A key that is the same for all locators of one LOB: its handle, its row's address, or, of a cell without an address,
        its value."""
        return self.temporary or self.address or self.value

    def shows(self, value: LobValue) -> bytes:
        """The bytes of this locator with another value."""
        return pack(value, self.address, temporary=self.temporary)


def unpack(data: bytes | str | None) -> Locator:
    """The fields of a locator. Raises ORA-22285 for a BFILE's, ORA-22275 for other bytes that are no locator, for a text and for
    None."""
    if not is_locator(data):
        if isinstance(data, bytes):
            refuse_file(data)
        raise invalid_locator()
    _, kind, _, _, temporary, root, length, depth, national, data_object, rid, slot = _PACK.unpack_from(data)
    what = LobKind.BLOB if kind == _BLOB else LobKind.NCLOB if national else LobKind.CLOB
    value = LobValue(what, int.from_bytes(length, "big"), root, depth)
    address = RowAddress(data_object, rid, slot) if data_object else None
    return Locator(value, address, root if temporary else 0)


def at_row(cell: bytes | None, data_object: int, rid: int, slot: int) -> bytes | None:
    """A row's cell as a locator through which the row, in the segment `data_object`, can be changed; None for NULL. The cell must
    be a locator."""
    if cell is None:
        return None
    body = cell[:24] + struct.pack(">IQH", data_object, rid, slot)
    return body + _check(body)


def as_cell(value: LobValue) -> bytes:
    """The locator without a row's address that a row keeps of a value."""
    return pack(value)


def is_locator(cell: object) -> TypeGuard[bytes]:
    """Whether these are the 40 bytes of a locator with the right check; the LOB itself may be gone."""
    return (
        isinstance(cell, bytes)
        and len(cell) == LOCATOR_BYTES
        and cell.startswith(_HEAD)
        and cell.endswith(_check(cell[:-2]))
    )
