"""Packs rows of kept transactions into the form they are stored in: the same from both paths, so that a restart may change
the path.

A row is stored as `native/store.c` has it in memory, little-endian: a head of 144 bytes, then its texts, to a multiple of 8
bytes. In place of its table it has a number in the list of names of its frame.

    head    size, size of the row before, sizes of RS_ID, ROW_ID and SQL (-1: none), -
            scn, ssn, time (us by the host's clock), container, start_scn     8 bytes each
            code, thread, status, name, info (-1: none), flags                4 bytes each
            xid                                                               8 bytes, and 48 zero bytes
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.errors import MiningSessionError

# (owner, table, object id) of a row, or its INFO.
Name: TypeAlias = tuple[str | None, str | None, int] | str

_HEAD: Final = struct.Struct("<IIiiii5q5iI8s48x")
_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
_HAS_CONTAINER, _HAS_START, _IS_UNDO, _GOES_ON, _HALF_PAIR = 1, 2, 4, 8, 16
PART_BYTES: Final = 1 << 20
"""Most bytes of a part; one with a single row may be longer."""


class NativeRows(Protocol):
    """Converts rows between the form of the native path's buffer and the stored form; `native` implements it."""

    def pack(self, part: bytes) -> tuple[list[Name], bytes, int]:
        """Rows of the native buffer in their stored form: the names of the rows, the rows' bytes, which have indexes into
        these names, and the number of rows."""

    def unpack(self, names: Sequence[Name], part: bytes) -> bytes:
        """The rows, as the native buffer has them, of which `pack` made the names and bytes. Raises ValueError for what are
        no rows."""


def parts_of(rows: Iterable[LogMinerRow]) -> Iterator[tuple[list[Name], bytes, int]]:
    """Rows in their stored form, in parts of about PART_BYTES at most: names, bytes, number of rows. No part without rows.

    :raises MiningSessionError: a value that no row of LogMiner has.
    """
    numbers: dict[Name, int] = {}
    part, count, last = bytearray(), 0, 0
    for row in rows:
        packed = _packed(row, numbers, last)
        if part and len(part) + len(packed) > PART_BYTES:
            yield list(numbers), bytes(part), count
            part, count, numbers = bytearray(), 0, {}
            packed = _packed(row, numbers, 0)
        part += packed
        count, last = count + 1, len(packed)
    if part:
        yield list(numbers), bytes(part), count


def rows_of(names: Sequence[Name], part: bytes, user: str | None, client_id: str | None) -> Iterator[LogMinerRow]:
    """The rows of a part of `parts_of`, in order.

    :param user, client_id: of the transaction, which each row gets: they are not stored.
    :raises ValueError: these bytes are no rows; at the first wrong one, after those before it.
    """
    at = 0
    while at < len(part):
        row, at = _row_at(names, part, at, user, client_id)
        yield row


def _row_at(names: Sequence[Name], part: bytes, at: int, user: str | None, client_id: str | None) -> tuple[LogMinerRow, int]:
    """The row at byte `at`, and where the next one is."""
    try:
        head = _HEAD.unpack_from(part, at)
    except struct.error:
        raise ValueError("a row is cut off") from None
    size, _, rs_size, row_id_size, sql_size, _, scn, ssn, time_us, container, start_scn = head[:11]
    code, thread, status, name, info, flags, xid = head[11:]
    place, texts = at + _HEAD.size, []
    for length in (rs_size, row_id_size, sql_size):
        texts.append(part[place : place + length].decode("utf-8", "surrogatepass") if length >= 0 else None)
        place += max(length, 0)
    at += size
    if size < _HEAD.size or at > len(part) or place > at or not 0 <= name < len(names) or info >= len(names):
        raise ValueError("bytes that are not a row")
    of, text = names[name], None if info < 0 else names[info]
    if isinstance(of, str) or isinstance(text, tuple):
        raise ValueError("a row without a table")
    con_id = container if flags & _HAS_CONTAINER else None
    start = start_scn if flags & _HAS_START else None
    undo, goes_on = int(bool(flags & _IS_UNDO)), int(bool(flags & _GOES_ON))
    time = _EPOCH + time_us * _MICROSECOND
    # fmt: off
    row = LogMinerRow(
        scn, code, thread, texts[0] or "", ssn, xid, con_id, of[0], of[1], texts[1], undo, goes_on, status, text, time,
        user, client_id, of[2], start, texts[2],
    )
    # fmt: on
    return row, at


def _packed(row: LogMinerRow, numbers: dict[Name, int], before: int) -> bytes:
    texts: list[bytes | None] = []
    flags = 0
    for text in (row.rs_id, row.row_id, row.sql):
        try:
            texts.append(None if text is None else text.encode())
        except UnicodeEncodeError:
            assert text is not None
            texts.append(text.encode("utf-8", "surrogatepass"))
            flags |= _HALF_PAIR
    flags |= _HAS_CONTAINER if row.con_id is not None else 0
    flags |= _HAS_START if row.start_scn is not None else 0
    flags |= (_IS_UNDO if row.rollback else 0) | (_GOES_ON if row.csf else 0)
    name = numbers.setdefault((row.owner, row.table, row.object_id), len(numbers))
    info = -1 if row.info is None else numbers.setdefault(row.info, len(numbers))
    length = _HEAD.size + sum(len(text or b"") for text in texts)
    size = (length + 7) & ~7
    try:
        head = _HEAD.pack(
            size,
            before,
            *(-1 if text is None else len(text) for text in texts),
            0,
            row.scn,
            row.ssn,
            (row.timestamp - _EPOCH) // _MICROSECOND,
            row.con_id or 0,
            row.start_scn or 0,
            row.code,
            row.thread,
            row.status,
            name,
            info,
            flags,
            row.xid,
        )
    except struct.error as error:
        raise MiningSessionError(f"a row of V$LOGMNR_CONTENTS has an invalid value: {error}") from None
    return b"".join((head, *(text or b"" for text in texts), bytes(size - length)))
