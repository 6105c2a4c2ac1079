"""`minercdc.state.dir`: rows of open transactions and signals are in it, so only its owner may read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
