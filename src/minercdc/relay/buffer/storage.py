"""The storage of a buffer's bytes, and of the state that belongs to them."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class State:
    """What the buffer holds.

    :param head, tail: places of the oldest event and of the end.
    :param prev_scn: of the window before the oldest one, which is gone; with an empty buffer, the SCN that the next window comes
        after; -1 when that is not known.
    :param max_scn: of the newest window; `prev_scn` when the buffer is empty.
    """

    head: int
    tail: int
    prev_scn: int
    max_scn: int

    @property
    def is_empty(self) -> bool:
        """Whether the buffer has no events."""
        return self.head == self.tail


class Storage(Protocol):
    """Where the bytes of one buffer are; what opens it has it until `close`."""

    @property
    def size(self) -> int:
        """How many bytes are for events."""

    @property
    def data(self) -> mmap.mmap:
        """The memory; the events are in it from `origin` on."""

    @property
    def origin(self) -> int:
        """Where in `data` the events begin."""

    def save(self, state: State) -> None:
        """Keep the state for a restart, if anything is kept."""

    def close(self) -> None:
        """Release the memory."""


class Memory:
    """Anonymous memory (`Storage`), which ends with the process."""

    origin = 0

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = mmap.mmap(-1, size)

    def save(self, state: State) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Release the memory, with what is in it."""
        self.data.close()
