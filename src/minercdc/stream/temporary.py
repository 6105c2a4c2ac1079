"""Temporary directories that go with the process, also when a signal ends it at once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

_present: set[str] = set()


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """A new directory, which is removed with all that is in it at the end of the context, or by `remove_temporary_directories`. Raises
    OSError when it cannot be made.

    :param prefix: of its name.
    """
    with TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as directory:
        _present.add(directory)
        try:
            yield directory
        finally:
            _present.discard(directory)


def remove_temporary_directories() -> None:
    """Remove all that are there; for a process that ends without leaving its contexts."""
    for directory in list(_present):
        shutil.rmtree(directory, ignore_errors=True)
