"""The file of all redo: frames of packed batches, appended, and read again after a restart.

    kind(1) thread(2) sequence(4) rows(4) position(8) last_scn(8) length(4) | marshal of a list of packed batches

A log's redo first comes in small frames (`PART`), as it is written, and once more in a `WHOLE` one that takes their place
when there is enough of it. `position` and `last_scn` are those of the log after the frame.
Without a directory the file has no name, only whole frames are written, and the frame headers are never read.
"""

from __future__ import annotations

import marshal
import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

PART, WHOLE = 0, 1
_HEADER = struct.Struct(">BHIIQQI")


class Frame(NamedTuple):
    """A frame's header, and where its contents lie in the file.

    :param kind: PART or WHOLE.
    :param thread, sequence: the log that its batches belong to; `rows`: how many rows they have.
    :param position, last_scn: of the log after the frame: where its next record begins, and the highest SCN of its thread.
    :param offset, length: bytes of the file.
    """

    kind: int
    thread: int
    sequence: int
    rows: int
    position: int
    last_scn: int
    offset: int
    length: int


class Journal:
    """Appends frames to the file of all redo, and reads their contents back. Appending takes one thread at a time; `read` may be
    called by others.

    :param descriptor: a file to keep, which `close` leaves open; None for one that ends with the process. Where the file has
        frames, iterate over `recover` before the first `append`, which else writes over them from byte 0.
    :ivar is_kept: a `descriptor` was given.
    :ivar end: size of the file in bytes, where the next frame begins.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.is_kept = descriptor is not None
        self._file = None if descriptor is not None else tempfile.TemporaryFile(prefix="redo")  # noqa: SIM115 - see `close`
        self._descriptor = self._file.fileno() if self._file is not None else descriptor or 0
        self.end = 0

    def append(
        self, kind: int, thread: int, sequence: int, batches: list[Any], rows: int, position: int, last_scn: int
    ) -> tuple[int, int]:
        """Write a frame at the end; returns offset and length of its contents in bytes. Raises OSError."""
        data = marshal.dumps(batches)
        header = _HEADER.pack(kind, thread, sequence, rows, position, last_scn, len(data))
        os.pwrite(self._descriptor, header + data, self.end)
        offset = self.end + _HEADER.size
        self.end = offset + len(data)
        return offset, len(data)

    def read(self, offset: int, length: int) -> list[Any]:
        """The batches of a frame, new objects at each call; `offset` and `length` as `append` or a `Frame` gave them."""
        return list(marshal.loads(os.pread(self._descriptor, length, offset)))

    def recover(self, start: int, end: int) -> Iterator[Frame]:
        """Cut the file at the byte `end`, and yield its frames from the byte `start` on, in the order written. The cut is made
        when the iteration begins; raises OSError."""
        os.ftruncate(self._descriptor, end)
        self.end = end
        at = start
        while at < end:
            kind, thread, sequence, rows, position, last_scn, length = _HEADER.unpack(
                os.pread(self._descriptor, _HEADER.size, at)
            )
            offset = at + _HEADER.size
            yield Frame(kind, thread, sequence, rows, position, last_scn, offset, length)
            at = offset + length

    def close(self) -> None:
        """Free the unnamed file; a kept one belongs to the data directory and stays open."""
        if self._file is not None:
            self._file.close()
