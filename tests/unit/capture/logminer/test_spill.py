"""A disk that fails under the file of a large transaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minercdc.capture.logminer.buffer.spill import SpillFile
from minercdc.errors import StateDirectoryError


class _Failing:
    """A file that takes what is written, and fails when it is read."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def seek(self, _: int) -> int:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    "read",
    [SpillFile.pop, SpillFile.pop_part, lambda file: list(file.read()), lambda file: list(file.parts())],
    ids=["pop", "pop_part", "read", "parts"],
)
def test_a_disk_that_cannot_be_read_names_the_directory(tmp_path: Path, read: Callable[[SpillFile], object]) -> None:
    file = SpillFile(tmp_path)
    file.append_part(b"rows")
    file._file = _Failing(file._file)  # type: ignore[assignment]
    with pytest.raises(
        StateDirectoryError, match=f"reading the rows of a large transaction in {tmp_path} failed: Input/output"
    ):
        read(file)
    file.close()
