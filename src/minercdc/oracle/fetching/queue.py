"""A queue from threads that fetch to the thread that consumes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CANCEL_SECONDS: Final = 3.0
"""Seconds that a cancelled call may take to end. A longer call hangs in the network: its thread is left alone."""

# Seconds between two looks whether the consumer has gone, for a thread that waits for room.
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


class FetchQueue(Generic[T]):
    """A bounded queue from fetching threads, which call `give` and at last `end`, to the thread that iterates over `taken`.

    :param depth: how many items may wait.
    :param fetching: number of threads, each of which calls `end` once.
    :ivar abandoned: the consumer sets it when it takes no more: `give` and `end` then return without putting anything.
    """

    def __init__(self, depth: int, fetching: int = 1) -> None:
        self._queue: Queue[T | _End] = Queue(depth)
        self._fetching = fetching
        self.abandoned = threading.Event()

    def give(self, item: T) -> bool:
        """Wait for room and put an item; False, without it, once the consumer takes no more."""
        return self._put(item)

    def end(self, error: BaseException | None = None) -> None:
        """To be called last by each fetching thread: it has ended. Waits for room, as `give`.

        :param error: why it could not go on, for `taken` to raise; None when it has given everything.
        """
        self._put(_End(error))

    def _put(self, item: T | _End) -> bool:
        while not self.abandoned.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
                return True
            except Full:
                continue
        return False

    def taken(self, tick: float) -> Iterator[T | None]:
        """Items of the threads, in the order they were given, until all threads have ended; None whenever none came for
        `tick` seconds. Raises the error of the first thread that gave one to `end`; items after it are not taken."""
        while self._fetching:
            try:
                item = self._queue.get(timeout=tick)
            except Empty:
                yield None
                continue
            if not isinstance(item, _End):
                yield item
                continue
            if item.error is not None:
                raise item.error
            self._fetching -= 1
