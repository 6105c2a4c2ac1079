"""The form of a file with the rows of an open transaction, and how it is checked.

file    head line, then frames
frame   kind, length, rows, CRC-32 of kind to payload; payload
ROWS    names as JSON with their length before it, then rows (`rows.py`)
CUT     of all frames of rows so far, only the first n count: later rows were taken back by undo
SEEN    undo rows without redo address, which are recognized by their content

Numbers are little-endian.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from minercdc.capture.logminer.position import KeptPart
from minercdc.errors import StateDirectoryError, TransientSourceError

HEAD_LINE: Final = b"minercdc rows of an open transaction 1\n"
FRAME: Final = struct.Struct("<BIII")
ROWS, CUT, SEEN = 1, 2, 3


class Frame(NamedTuple):
    """A frame of rows: index of its file among those of the transaction, place and length of its payload there in bytes,
    number of rows, and CRC-32 as of `checksum_of`."""

    file: int
    at: int
    length: int
    rows: int
    checksum: int


def scan(file: BinaryIO, number: int, part: KeptPart, frames: list[Frame], seen: set[tuple[Any, ...]]) -> None:
    """Read a file once, to the length that `part` counts, and check it. Add its frames of rows to `frames`, less those that a
    CUT takes back, and identities of rows without address to `seen`.

    :param number: index of the file among those of its transaction; `frames` has those of the files before.
    :raises ValueError, KeyError, TypeError, IndexError: it is damaged.
    :raises OSError: it cannot be read.
    """
    if (head := file.read(len(HEAD_LINE))) != HEAD_LINE:
        raise ValueError("it is not such a file, or has another version")
    checksum, at = zlib.crc32(head), len(head)
    while at < part.length:
        framed, kind, payload, rows, own = _next(file, at, part.length)
        checksum = zlib.crc32(payload, zlib.crc32(framed, checksum))
        if kind == ROWS:
            frames.append(Frame(number, at + FRAME.size, len(payload), rows, own))
        elif kind == CUT and len(payload) == 4:
            del frames[struct.unpack("<I", payload)[0] :]
        elif kind == SEEN:
            seen |= set(map(tuple, json.loads(payload)))
        else:
            raise ValueError(f"a frame of kind {kind} at byte {at}")
        at += FRAME.size + len(payload)
    if checksum != part.checksum:
        raise ValueError("the offset has another checksum of it")


def _next(file: BinaryIO, at: int, end: int) -> tuple[bytes, int, bytes, int, int]:
    """The frame at byte `at`: its head as it is, kind, payload, rows and checksum."""
    framed = file.read(FRAME.size)
    if len(framed) < FRAME.size:
        raise ValueError(f"it ends at byte {at + len(framed)} of {end}")
    kind, length, rows, own = FRAME.unpack(framed)
    if at + FRAME.size + length > end:
        raise ValueError(f"bytes from {at} on are not a frame")
    payload = file.read(length)
    if len(payload) < length:
        raise ValueError(f"it ends at byte {at + FRAME.size + len(payload)} of {end}")
    if checksum_of(kind, length, rows, payload) != own:
        raise ValueError(f"the checksum of the {length} bytes from {at} on differs")
    return framed, kind, payload, rows, own


def checksum_of(kind: int, length: int, rows: int, payload: bytes) -> int:
    """CRC-32 of a frame: of kind, length of the payload, number of rows, and payload."""
    return zlib.crc32(payload, zlib.crc32(struct.pack("<BII", kind, length, rows)))


def read_at(file: int, at: int, length: int) -> bytes:
    """`length` bytes of a file from byte `at` on; fewer where it ends before. Raises OSError.

    :param file: its descriptor, whose own place is not moved.
    """
    parts = []
    while length:
        part = os.pread(file, length, at)
        if not part:
            break
        parts.append(part)
        at, length = at + len(part), length - len(part)
    return b"".join(parts)


@contextmanager
def disk_errors(directory: Path) -> Iterator[None]:
    """Within the context, an OSError is raised as a StateDirectoryError, which says that rows could not be written in
    `directory`."""
    try:
        yield
    except OSError as error:
        raise StateDirectoryError(
            f"writing the rows of an open transaction in {directory.absolute()} failed: {error.strerror or error}",
            hint="Free disk space there, or set minercdc.state.dir to another directory; then start again. Nothing is lost."
            " minercdc.log.mining.buffer.durable=none keeps no transactions across restarts.",
        ) from error


def damaged(path: Path, how: str) -> TransientSourceError:
    """The error, to be raised, of a file with rows that cannot be used.

    :param how: what is wrong with it.
    """
    return TransientSourceError(
        f"the rows of an open transaction in {path.absolute()} are lost: {how}",
        hint="The transaction is mined again from its start, provided that its redo still exists.",
    )
