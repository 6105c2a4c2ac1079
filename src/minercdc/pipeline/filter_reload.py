"""The stop flag that ends a stream for good, or to begin again with another configuration; `connector` begins it again."""

from __future__ import annotations

import time
from threading import Event

from minercdc.stream.contracts import StopFlag

_SLICE_SECONDS = 0.2


class Reload:
    """A request to begin again, which stops the stream as a request to stop does. Any thread may make it.

    :param stop: of the process.
    :param wanted: set to request it; whoever begins again clears it.
    """

    def __init__(self, stop: StopFlag, wanted: Event) -> None:
        self._stop = stop
        self._wanted = wanted

    def is_set(self) -> bool:
        """Whether the stream has to end: to begin again, or with the process."""
        return self._wanted.is_set() or self._stop.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until `is_set`, for `timeout` seconds at most, None for ever; returns whether it is. A request to begin
        again is seen after 0.2 s at most."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = _SLICE_SECONDS if until is None else min(until - time.monotonic(), _SLICE_SECONDS)
            if left <= 0:
                break
            self._stop.wait(left)
        return self.is_set()
