"""Fetches ahead in a thread of its own, so that the consumer can act while nothing comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from minercdc.oracle.fetching.queue import CANCEL_SECONDS, FetchQueue

T = TypeVar("T")


class _Prefetched(Generic[T]):
    def __init__(self, batches: Iterable[T], depth: int) -> None:
        self.handover: FetchQueue[T] = FetchQueue(depth)
        self.finished = False
        self.thread = threading.Thread(target=self._fetch, args=(batches,), name="prefetch", daemon=True)

    def _fetch(self, batches: Iterable[T]) -> None:
        last: BaseException | None = None
        try:
            for batch in batches:
                if not self.handover.give(batch):
                    return
        except BaseException as error:
            last = error
        self.finished = True
        self.handover.end(last)


@contextmanager
def prefetch(
    batches: Iterable[T], *, tick: float, cancel: Callable[[], None], depth: int = 2
) -> Iterator[Iterator[T | None]]:
    """The context is an iterator over `batches`, in order, which a thread fetches ahead; None comes whenever nothing came for
    `tick` seconds. The thread uses what `batches` reads from, so the caller leaves that alone until the context is left.

    The iterator raises the exceptions of `batches`. Leaving the context waits up to 3 s for the thread, then closes
    `batches`, unless the thread still runs.

    :param cancel: called on leaving while the thread still fetches; must end the call that blocks it.
    :param depth: how many batches may wait.
    """
    prefetched = _Prefetched(batches, depth)
    prefetched.thread.start()
    try:
        yield prefetched.handover.taken(tick)
    finally:
        prefetched.handover.abandoned.set()
        # A call that is over must not be cancelled: the break would hit the connection's next call.
        if not prefetched.finished:
            cancel()
        prefetched.thread.join(CANCEL_SECONDS)
        close = getattr(batches, "close", None)
        if close is not None and not prefetched.thread.is_alive():
            close()
