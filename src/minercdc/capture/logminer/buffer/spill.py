"""Keeps rows of a large open transaction on disk: a stack of chunks that is removed with the transaction and unused after a restart."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.errors import StateDirectoryError

_CHUNK_ROWS = 10_000
_READING = "reading the rows of a large transaction"


@contextmanager
def _disk_errors(directory: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateDirectoryError(
            f"{doing} in {directory.absolute()} failed: {error.strerror or error}",
            hint="Free disk space there, or set minercdc.state.dir to another directory; then start again. Nothing is lost.",
        ) from error


def check_directory(directory: Path) -> None:
    """Make the directory if it does not exist, and write a file there as a test: a failure comes at the start, not with the
    first large transaction.

    :raises StateDirectoryError: the directory, or a file in it, cannot be made.
    """
    with _disk_errors(directory, "writing a file"):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryFile(dir=directory) as probe:
            probe.write(bytes(4096))


class SpillFile:
    """One transaction's older rows, in a file without a name: it vanishes even when the process is killed. `bool` says
    whether it has rows. The constructor makes the file, the owner calls `close`. Either `append`, `pop` and `read` are used, or
    `append_part`, `pop_part` and `parts`.

    :raises StateDirectoryError: the file cannot be made; all methods but `close` raise it when the disk fails.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with _disk_errors(directory, "opening a file for the rows of a large transaction"):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = TemporaryFile(dir=directory)  # noqa: SIM115
        self._ends = [0]

    def __bool__(self) -> bool:
        return len(self._ends) > 1

    @property
    def size(self) -> int:
        """Bytes of the file that its present rows take."""
        return self._ends[-1]

    def append(self, rows: list[LogMinerRow]) -> None:
        """Append rows after those that are there, in chunks that cost little memory when they come back."""
        with _disk_errors(self._directory, "writing the rows of a large transaction"):
            self._file.seek(self._ends[-1])
            for first in range(0, len(rows), _CHUNK_ROWS):
                chunk = [tuple(row) for row in rows[first : first + _CHUNK_ROWS]]
                pickle.dump(chunk, self._file, pickle.HIGHEST_PROTOCOL)
                self._ends.append(self._file.tell())
            self._file.flush()

    def pop(self) -> list[LogMinerRow]:
        """Take the last chunk out, and return its rows, oldest first: undo goes backwards through a transaction. There must
        be one."""
        self._ends.pop()
        rows = self._loaded(self._ends[-1])
        with _disk_errors(self._directory, _READING):
            self._file.truncate(self._ends[-1])
        return rows

    def read(self) -> Iterator[LogMinerRow]:
        """All rows, oldest first, one chunk in memory at a time. They stay in the file."""
        for start in self._ends[:-1]:
            yield from self._loaded(start)

    def _loaded(self, start: int) -> list[LogMinerRow]:
        with _disk_errors(self._directory, _READING):
            self._file.seek(start)
            return [LogMinerRow._make(row) for row in pickle.load(self._file)]

    def append_part(self, part: bytes) -> None:
        """Append rows as the native buffer has them, in place of `append`."""
        with _disk_errors(self._directory, "writing the rows of a large transaction"):
            self._file.seek(self._ends[-1])
            self._file.write(part)
            self._file.flush()
            self._ends.append(self._file.tell())

    def pop_part(self) -> bytes:
        """Take out and return what was appended last, in place of `pop`. There must be some."""
        end = self._ends.pop()
        part = self._part(self._ends[-1], end)
        with _disk_errors(self._directory, _READING):
            self._file.truncate(self._ends[-1])
        return part

    def parts(self) -> Iterator[bytes]:
        """Each part that was appended, oldest first, in place of `read`. They stay in the file."""
        for start, end in itertools.pairwise(self._ends.copy()):
            yield self._part(start, end)

    def _part(self, start: int, end: int) -> bytes:
        with _disk_errors(self._directory, _READING):
            self._file.seek(start)
            return self._file.read(end - start)

    def close(self) -> None:
        """Close the file, which gives its space back; raises nothing, and is safe to call twice."""
        with suppress(OSError):  # what a full disk did not take is not wanted any more
            self._file.close()
