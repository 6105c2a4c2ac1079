"""Which data files a merge of this process reads, and which it joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

MOST_ROWS: Final = 4_000_000
"""Of the files that may have rows of the changes: their keys are read, some 40 bytes a row."""
_MOST_SMALL = 32  # files; a merge that finds more joins them, since each is opened by each merge
_SMALL = 50_000  # rows
_MOST_JOINED_ROWS = 250_000
_MOST_JOINED_BYTES = 64 * 1024 * 1024


class _File(Protocol):
    @property
    def records(self) -> int: ...

    @property
    def size(self) -> int: ...


_AnyFile = TypeVar("_AnyFile", bound=_File)


def to_join(found: Sequence[_AnyFile]) -> list[_AnyFile]:
    """The small files that are to be joined, the smallest first: where these are too many; else none."""
    small = sorted((one for one in found if one.records <= _SMALL), key=lambda one: one.records)
    if len(small) <= _MOST_SMALL:
        return []
    joined, rows, size = [], 0, 0
    for one in small:
        rows, size = rows + one.records, size + one.size
        if rows > _MOST_JOINED_ROWS or size > _MOST_JOINED_BYTES:
            break
        joined.append(one)
    return joined
