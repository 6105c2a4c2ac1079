"""Reads the operation in a Data answer. Its code takes one byte; what follows, and the bytes of a whole operation:

    1 Begin     SCN, CommitSCN, XID, Timestamp, SerialNumber, SessionNumber              35 bytes
    2 Commit    SCN, CommitSCN, XID, Timestamp                                           29
    4 Insert, 5 Delete, 6 Update   the same, ObjectId, sizes of three names, the names   36, the names, the Columns
                before: Columns of Delete and Update; after: Columns of Insert and Update
    7 Chunk     the same, a column's name, its type, flags, a piece of its value         42, the name and the piece

SCN, CommitSCN, XID and sizes of values have 64 bits, Timestamp 32.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from minercdc.capture.fors_olr.protocol import MARKS, ByteOrder
from minercdc.oracle.xid import of_number
from minercdc.stream.events import Op

NO_NUMBER: Final = -(2**63)
NO_CHARSET: Final = 2**64 - 1
NO_FORM: Final = 255
_BEGIN, _COMMIT, _INSERT, _DELETE, _UPDATE, _CHUNK = 1, 2, 4, 5, 6, 7
_ROWS: Final = {_INSERT: Op.CREATE, _DELETE: Op.DELETE, _UPDATE: Op.UPDATE}
_ROW_ID_CHARACTERS: Final = 18


class Head(NamedTuple):
    """What every operation begins with.

    :param scn: of the operation; of Begin, the transaction's first SCN.
    :param commit_scn: of the transaction.
    :param xid: 16 lower-case hex digits, as LogMiner prints it.
    :param timestamp: when it was, as `Clock.us` takes it.
    """

    scn: int
    commit_scn: int
    xid: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction's begin, with serial and number of the session that made it."""

    head: Head
    serial: int
    session: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction's end. There is none for a rollback: the server sends committed transactions only."""

    head: Head


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column in an image of a row.

    :param type: number of its Oracle type, see `values`.
    :param charset: NLS_CHARSET_ID; `form` 1 is the database's character set, 2 the national one.
    :param precision, scale, charset, form: None where not given.
    :param chunked: the value comes in pieces after the row.
    :param value: None for NULL, and when it is `chunked`.
    """

    type: int
    precision: int | None
    scale: int | None
    charset: int | None
    form: int | None
    chunked: bool
    value: bytes | None


Image: TypeAlias = Mapping[str, ColumnValue]


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of one row. `before` of an insert and `after` of a delete are None. `row_id` is None where the server gives
    none, and in hex digits where it is no ROWID's text. `object_id` may be that of a partition."""

    head: Head
    op: Op
    object_id: int
    owner: str
    table: str
    row_id: str | None
    before: Image | None
    after: Image | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the value of a column in the RowChange before it, with `ColumnValue.chunked` set.

    :param type: number of the piece's Oracle type: CLOB or BLOB.
    :param ends_value: it is the last of its column.
    :param ends_row: it is the last of its row, and thus of its column.
    """

    head: Head
    column: str
    type: int
    ends_value: bool
    ends_row: bool
    data: bytes


Operation: TypeAlias = Begin | Commit | RowChange | Chunk


def read_operation(payload: memoryview, order: ByteOrder) -> Operation:
    """The operation of a Data answer.

    :param order: of the bytes of its numbers.
    :raises ValueError: these bytes are no operation, or more than one.
    """
    reader = _Reader(payload, MARKS[order])
    (code,) = reader.take("B")
    scn, commit_scn, number, timestamp = reader.take("QQQI")
    head = Head(scn, commit_scn, xid_of(number), timestamp)
    found: Operation
    if code == _BEGIN:
        found = Begin(head, *reader.take("HI"))
    elif code == _COMMIT:
        found = Commit(head)
    elif code in _ROWS:
        found = _row(reader, head, code)
    elif code == _CHUNK:
        found = _chunk(reader, head)
    else:
        raise ValueError(f"{code} is not an operation code")
    reader.end()
    return found


def xid_of(number: int) -> str:
    """XID as LogMiner prints it (RAW, little-endian parts), as 16 lower-case hex digits.

    :param number: 64 bits: 16 of the undo segment, 16 of the slot, 32 of the sequence, from the highest down.
    """
    return of_number(number).hex()


_layout = lru_cache(struct.Struct)


class _Reader:
    """Takes fields from the front of an operation's bytes, one after the other; `end` last. Each raises ValueError when the
    bytes do not suffice, `end` when some are left."""

    def __init__(self, payload: memoryview, mark: str) -> None:
        self._payload = payload
        self._mark = mark
        self._at = 0

    def take(self, fields: str) -> tuple[int, ...]:
        """The next numbers, one for each letter of `fields` as `struct` has them."""
        layout = _layout(self._mark + fields)
        return layout.unpack(self.bytes(layout.size))

    def bytes(self, count: int) -> memoryview:
        left = len(self._payload) - self._at
        if count > left:
            raise ValueError(f"{count} bytes of a field were expected at byte {self._at}, and {left} are left")
        self._at += count
        return self._payload[self._at - count : self._at]

    def name(self, count: int) -> str:
        return str(self.bytes(count), "utf-8")

    def end(self) -> None:
        if self._at != len(self._payload):
            raise ValueError(f"{len(self._payload) - self._at} bytes follow the operation")


def _row(reader: _Reader, head: Head, code: int) -> RowChange:
    object_id, owner_size, table_size, row_id_size = reader.take("IBBB")
    owner, table = reader.name(owner_size), reader.name(table_size)
    row_id = bytes(reader.bytes(row_id_size))
    if not owner or not table:
        raise ValueError("a change of a table without name")
    before = _columns(reader) if code != _INSERT else None
    after = _columns(reader) if code != _DELETE else None
    return RowChange(head, _ROWS[code], object_id, owner, table, _row_id(row_id), before, after)


def _row_id(row_id: bytes) -> str | None:
    """The text of a ROWID, of 18 ASCII characters; hex digits of other bytes; None for no bytes."""
    if not row_id:
        return None
    return row_id.decode() if len(row_id) == _ROW_ID_CHARACTERS and row_id.isascii() else row_id.hex()


def _columns(reader: _Reader) -> Image:
    (count,) = reader.take("H")
    found: dict[str, ColumnValue] = {}
    for _ in range(count):
        name_size, size, type_, precision, scale, charset, form, chunked = reader.take("BQHqqQBB")
        name = reader.name(name_size)
        value = bytes(reader.bytes(size))
        if not name or name in found:
            raise ValueError(f"a row with two columns {name}" if name else "a column without name")
        if chunked and size:
            raise ValueError(f"column {name} comes in pieces, and has {size} bytes in the row")
        found[name] = ColumnValue(
            type_,
            None if precision == NO_NUMBER else precision,
            None if scale == NO_NUMBER else scale,
            None if charset == NO_CHARSET else charset,
            None if form == NO_FORM else form,
            bool(chunked),
            value if size else None,
        )
    return found


def _chunk(reader: _Reader, head: Head) -> Chunk:
    (name_size,) = reader.take("B")
    column = reader.name(name_size)
    type_, flags, size = reader.take("HHQ")
    if flags > 3:
        raise ValueError(f"a piece of column {column} with the flags {flags}")
    return Chunk(head, column, type_, bool(flags & 1), bool(flags & 2), bytes(reader.bytes(size)))
