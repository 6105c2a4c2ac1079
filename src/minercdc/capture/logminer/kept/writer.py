"""The file of this run that a kept transaction's frames (`frames.py`) are appended to."""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from minercdc.capture.logminer.kept.copies import SUFFIX, KeptCopies
from minercdc.capture.logminer.kept.frames import HEAD_LINE, damaged, disk_errors, read_at
from minercdc.capture.logminer.position import KeptPart


class KeptWriter:
    """Makes one file with the first bytes, appends to it, and makes durable what is in it.

    :param directory: where the file is made; it need not be there.
    :param copies: get what is made durable, too; None for none.
    :param opened: is called with the name of the file when it was made.
    :ivar name: of the file; '' while there is none.
    :ivar length: its bytes.
    """

    def __init__(self, directory: Path, copies: KeptCopies | None, opened: Callable[[str], None]) -> None:
        self._directory, self._copies, self._opened = directory, copies, opened
        self.name, self.length = "", 0
        self._file, self._checksum = -1, 0
        self._copied = 0  # bytes of the file that are in Kafka, too
        self._is_synced = self._is_named = False

    def append(self, data: bytes) -> None:
        """Append bytes; they may be lost until `seal`. Raises StateDirectoryError."""
        with disk_errors(self._directory):
            if self._file < 0:
                self._make()
            self._write(data)

    def read(self, at: int, length: int) -> bytes:
        """`length` bytes from byte `at` on. Raises OSError."""
        return read_at(self._file, at, length)

    def seal(self) -> tuple[KeptPart, ...]:
        """Make all bytes so far durable, in the copy too; returns what an offset has to name, () when there is no file. Raises as
        `KeptFile.seal`."""
        if self._file >= 0:
            self._check_there()
        if self._file >= 0 and not self._is_synced:
            with disk_errors(self._directory):
                os.fsync(self._file)
                if not self._is_named:
                    _sync(self._directory)
                    _sync(self._directory.parent)
            self._is_synced = self._is_named = True
        if self._copies is not None and self._copied < self.length:
            with disk_errors(self._directory):
                self._copies.copy(self.name, self._file, self._copied, self.length)
            self._copied = self.length
        return (KeptPart(self.name, self.length, self._checksum),) if self.name else ()

    def _check_there(self) -> None:
        """Raise TransientSourceError when the file was removed: what is written to it is lost. The run that follows reads redo
        again."""
        with disk_errors(self._directory):
            links = os.fstat(self._file).st_nlink
        if not links:
            raise damaged(self._directory / self.name, "it was removed while it was written")

    def close(self) -> None:
        """Close the file, which stays; safe to call twice."""
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        # A run that breaks within the transaction closes it nowhere else.
        self.close()

    def _make(self) -> None:
        name = secrets.token_hex(8) + (SUFFIX if self._copies is not None else ".rows")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self._directory / name, flags, 0o600)
        self.name = name
        self._opened(name)
        self._write(HEAD_LINE)

    def _write(self, data: bytes) -> None:
        at, view = self.length, memoryview(data)
        while view:
            done = os.pwrite(self._file, view, at)
            at, view = at + done, view[done:]
        self.length, self._checksum, self._is_synced = at, zlib.crc32(data, self._checksum), False


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
