"""The Kafka transaction that is being filled: how much it holds, and for how long."""

from __future__ import annotations

from collections.abc import Callable

from minercdc.pipeline import Bounds


class Batch:
    """What was written since the last commit.

    :param monotonic: seconds of a clock that never goes back.
    """

    def __init__(self, bounds: Bounds, monotonic: Callable[[], float]) -> None:
        self._bounds = bounds
        self._monotonic = monotonic
        self.records = 0
        self.looked = 0  # records when the clock was looked at within a source transaction
        self.bytes = 0
        self.begun = monotonic()

    def full(self) -> bool:
        return self.records >= self._bounds.records or self.bytes >= self._bounds.bytes

    def splits(self) -> bool:
        """Whether a source transaction is split here."""
        large = self.full() and self.bytes >= self._bounds.hold_bytes
        return large or bool(self.records and self.age() > self._bounds.longest)

    def room(self) -> tuple[int, int]:
        """Records and bytes after which `full` is to be looked at again: up to the bounds; once they are exceeded, as many again."""
        if self.full():
            return self._bounds.records, self._bounds.bytes
        return self._bounds.records - self.records, self._bounds.bytes - self.bytes

    def age(self) -> float:
        return self._monotonic() - self.begun

    def clear(self) -> None:
        self.records = self.looked = self.bytes = 0
        self.begun = self._monotonic()
