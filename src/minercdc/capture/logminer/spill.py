"""Rows of a large open transaction on disk: a stack of chunks, gone with the transaction, worthless after a restart."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

from minercdc.capture.logminer.row import LogMinerRow


def clear_spill(directory: Path) -> None:
    """Make `directory`, and delete what a killed connector left in it."""
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob("*.spill"):
        left.unlink(missing_ok=True)


class SpillFile:
    """One transaction's older rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._ends = [0]

    def __bool__(self) -> bool:
        return len(self._ends) > 1

    def append(self, rows: list[LogMinerRow]) -> None:
        """Put a chunk behind the others."""
        self._file.seek(self._ends[-1])
        pickle.dump([tuple(row) for row in rows], self._file, pickle.HIGHEST_PROTOCOL)
        self._ends.append(self._file.tell())

    def pop(self) -> list[LogMinerRow]:
        """Take the last chunk back: undo goes backwards through a transaction."""
        self._ends.pop()
        self._file.seek(self._ends[-1])
        rows = [LogMinerRow._make(row) for row in pickle.load(self._file)]
        self._file.truncate(self._ends[-1])
        return rows

    def read(self) -> Iterator[LogMinerRow]:
        """All rows, oldest first, one chunk in memory at a time."""
        for start in self._ends[:-1]:
            self._file.seek(start)
            for row in pickle.load(self._file):
                yield LogMinerRow._make(row)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)
