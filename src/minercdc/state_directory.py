"""`minercdc.state.dir`: rows of open transactions and signals are in it, so only its owner may read it."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from minercdc.errors import StateDirectoryError


def make_private(directory: Path) -> None:
    """Make the directory with mode 0700, unless it exists: then give it that mode if it is ours and others have rights.

    :raises StateDirectoryError: it cannot be made or changed.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = directory.stat()
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
            directory.chmod(0o700)
    except OSError as error:
        raise StateDirectoryError(
            f"making {directory.absolute()} failed: {error.strerror or error}",
            hint="Set minercdc.state.dir to a directory that can be written.",
        ) from error


def private_opener(path: str, flags: int) -> int:
    """For `open(.., opener=)`: makes a file with mode 0600; one that exists keeps its mode."""
    return os.open(path, flags, 0o600)


def sync_directory(directory: Path) -> None:
    """Flush a directory to disk: a file that was just made in it is durable only after that. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def running(directory: Path, connector: str) -> Iterator[None]:
    """Within the context `is_running` is true, at the longest until the process ends. Several processes may be in it at a time.

    :param directory: `minercdc.state.dir`, which has to exist.
    :param connector: its name.
    :raises StateDirectoryError: the file cannot be made.
    """
    path = _running_file(directory, connector)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateDirectoryError(
            f"making {path.absolute()} failed: {error.strerror or error}",
            hint="Set minercdc.state.dir to a directory that can be written.",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_running(directory: Path, connector: str) -> bool:
    """Whether a process on this machine runs the connector with this directory; False, too, when that cannot be read."""
    try:
        descriptor = os.open(_running_file(directory, connector), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _running_file(directory: Path, connector: str) -> Path:
    return directory / f"running-{quote(connector, safe='')}"
