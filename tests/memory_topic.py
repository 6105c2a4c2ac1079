"""A compacted topic in memory, which forgets what was not flushed when its producer dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minercdc.errors import DeliveryError


class MemoryTopic:
    """See `contracts.KeyedTopic`.

    :param step: called with what is about to be done; an error of its breaks that off.
    :ivar log: the records that are durable.
    """

    def __init__(self, step: Callable[[str], None] = lambda _: None) -> None:
        self.log: list[tuple[str, bytes | None]] = []
        self._sent: list[tuple[str, bytes | None]] = []
        self.step = step
        self.is_down = False

    def put(self, key: str, value: bytes | None) -> None:
        self.step("before a record is sent")
        self._sent.append((key, value))

    def flush(self) -> None:
        if self.is_down:
            raise DeliveryError("writing to the topic: no broker answers")
        self.step("before records are durable")
        self.log += self._sent
        self._sent.clear()
        self.step("after records are durable")

    def records(self) -> Iterator[tuple[str, bytes | None]]:
        if self.is_down:
            raise DeliveryError("reading the topic: no broker answers")
        yield from self.log

    def die(self, arrived: int) -> None:
        """The producer dies; the first records of those under way arrive all the same."""
        self.log += self._sent[:arrived]
        self._sent.clear()

    def compact(self) -> None:
        """Of each key only the last record is left; tombstones go, too."""
        last = dict(self.log)
        self.log = [(key, value) for key, value in last.items() if value is not None]

    @property
    def keys(self) -> set[str]:
        """The keys that have a value."""
        return {key for key, value in dict(self.log).items() if value is not None}
