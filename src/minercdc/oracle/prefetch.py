"""Keeps a cursor busy in a thread of its own, and tells when it stays silent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, Full, Queue
from typing import Generic, TypeVar

T = TypeVar("T")

# How long a thread that cannot hand over its batch waits before it looks whether anybody still wants it.
_LOOK_SECONDS = 0.1
# How long a cancelled call may take to end. Longer is a network that swallows everything: its thread is left to its own end.
_CANCEL_SECONDS = 3.0


class _Prefetched(Generic[T]):
    def __init__(self, batches: Iterable[T], depth: int, tick: float) -> None:
        self._queue: Queue[tuple[T | None, BaseException | None]] = Queue(depth)
        self._tick = tick
        self.abandoned = threading.Event()
        self.finished = False
        self.thread = threading.Thread(target=self._fetch, args=(batches,), name="prefetch", daemon=True)

    def _fetch(self, batches: Iterable[T]) -> None:
        last: BaseException | None = None
        try:
            for batch in batches:
                if not self._hand_over((batch, None)):
                    return
        except BaseException as error:
            last = error
        self.finished = True
        self._hand_over((None, last))

    def _hand_over(self, item: tuple[T | None, BaseException | None]) -> bool:
        while not self.abandoned.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
                return True
            except Full:
                continue
        return False

    def __iter__(self) -> Iterator[T | None]:
        while True:
            try:
                batch, error = self._queue.get(timeout=self._tick)
            except Empty:
                yield None
                continue
            if error is not None:
                raise error
            if batch is None:
                return
            yield batch


@contextmanager
def prefetch(
    batches: Iterable[T], *, tick: float, cancel: Callable[[], None], depth: int = 2
) -> Iterator[Iterator[T | None]]:
    """Iterate over `batches` while a thread fetches ahead; None comes whenever nothing came for `tick` seconds.

    Exceptions of `batches` are raised here. Leaving the context ends the thread: what blocks it should yield to `cancel`.
    """
    prefetched = _Prefetched(batches, depth, tick)
    prefetched.thread.start()
    try:
        yield iter(prefetched)
    finally:
        prefetched.abandoned.set()
        # A call that is over must not be cancelled: the break would hit the connection's next call.
        if not prefetched.finished:
            cancel()
        prefetched.thread.join(_CANCEL_SECONDS)
        close = getattr(batches, "close", None)
        if close is not None and not prefetched.thread.is_alive():
            close()
