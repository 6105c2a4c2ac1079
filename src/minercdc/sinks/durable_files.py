"""Helps sinks with files: to own them alone, make them durable, and classify what goes wrong."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minercdc.errors import DeliveryError, FencedError, SinkError
from minercdc.stream.state_directory import private_opener, sync_directory

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def file_errors(doing: str) -> Iterator[None]:
    """Within the context, raise in place of an OSError one of our errors: DeliveryError for a full disk, which may have room
    again, else SinkError.

    :param doing: begins the message.
    """
    try:
        yield
    except OSError as error:
        text = f"{doing} failed: {error.strerror or error}"
        if error.errno in _FULL:
            raise DeliveryError(text, hint="Make room there: the connector then continues from its offset.") from error
        raise SinkError(text, hint="See minercdc.sink.path; the process has to be able to write there.") from error


def make_durable(descriptor: int) -> None:
    """Flush a file's content, and what of its metadata is needed to read it, to disk; not its name in the directory. Raises
    OSError."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` at the place of the file's descriptor; not durable yet. Raises OSError, after which some of it may be
    written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def replace_file(path: Path, content: bytes) -> None:
    """Make a file, or replace it, in one step, readable by its owner only; durable when this returns. `<name>.new` is used on
    the way. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    with open(fresh, "wb", opener=private_opener) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_directory(path.parent)


class OwnerLock:
    """Holds a file locked, from construction to `release`, so that one process owns what the file stands for; the lock ends
    with the process, however it ends. The file and its directory are made when missing, and the file stays; it has the
    owner's pid.

    :param what: the thing that the lock stands for, for messages.
    :raises FencedError: another process holds it.
    :raises SinkError: the file cannot be made; DeliveryError when the disk is full.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        self._what = what
        with file_errors(f"locking {path.absolute()}"):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(self._descriptor, 100).decode(errors="replace").strip()
                os.close(self._descriptor)
                raise FencedError(
                    f"{what} belongs to another process" + (f", {owner}" if owner else ""),
                    hint="Run one connector for each minercdc.sink.path; this one stops.",
                ) from None
            os.ftruncate(self._descriptor, 0)
            write_all(self._descriptor, f"pid {os.getpid()}\n".encode())

    def check(self) -> None:
        """Raise FencedError when the file at the path is not the locked one any more: it or its directory was removed or
        replaced. Raises SinkError when it cannot be looked at."""
        with file_errors(f"looking at {self._path.absolute()}"):
            try:
                there, ours = os.stat(self._path), os.fstat(self._descriptor)
            except (FileNotFoundError, NotADirectoryError):
                there = None
        if there is None or (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise FencedError(
                f"{self._what} was removed or replaced while the connector was running",
                hint="Put it back, and start the connector again; or start it over, with a new snapshot.",
            )

    def release(self) -> None:
        """Give the lock up; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_locked(path: Path) -> bool:
    """Whether a process, this one too, holds the OwnerLock of this file; False when there is no file. Nothing is locked
    afterwards. Raises OSError when the file cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
