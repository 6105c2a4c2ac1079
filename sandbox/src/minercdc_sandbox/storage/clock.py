"""The SCN clock, one counter for the whole database, and its map to time."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError


class ScnClock:
    """Gives out SCNs, and notes the first SCN of each second in which it gives any (SMON_SCN_TIME in Oracle). Any thread.

    :param start: the current SCN at first.
    :param now: host time, seconds since the epoch.
    :param reserve: called with the first SCN and with each that exceeds the SCN it returned last; returns the SCN up to which it
        need not be called. None: never called.
    """

    def __init__(
        self, start: int = 2_000_000, now: Callable[[], float] = time.time, reserve: Callable[[int], int] | None = None
    ) -> None:
        self._lock = threading.Lock()
        self._now, self._ahead = now, 0.0
        self._reserve: Callable[[int], int] = reserve or (lambda _scn: sys.maxsize)
        self._scn = start
        self._ceiling = self._reserve(start)
        self._slots: list[tuple[int, int]] = [(int(now()), start)]

    @property
    def current(self) -> int:
        """The newest SCN given out, which is the snapshot of a statement that begins now."""
        return self._scn

    def now(self) -> float:
        """Host time, seconds since the epoch, moved by `jump`."""
        return self._now() + self._ahead

    def jump(self, seconds: float) -> None:
        """Add these seconds, negative ones too, to the time that `now` returns."""
        with self._lock:
            self._ahead += seconds

    def advance(self, count: int = 1) -> int:
        """Take `count` consecutive SCNs, 1 or more, and return the first."""
        with self._lock:
            first = self._scn + 1
            self._scn += count
            if self._scn > self._ceiling:
                self._ceiling = self._reserve(self._scn)
            second = int(self.now())
            if second > self._slots[-1][0]:
                self._slots.append((second, first))
            return first

    def slots_since(self, count: int) -> list[tuple[int, int]]:
        """The map to time without its first `count` entries: (second, its first SCN), ascending."""
        return self._slots[count:]

    def remember(self, slots: list[tuple[int, int]]) -> None:
        """Put the map of an earlier server, ascending and below this one's, before it."""
        self._slots = slots + self._slots

    def read(self) -> int:
        """CURRENT_SCN: takes a new SCN, so that later commits are above it."""
        return self.advance()

    def checked(self, scn: int) -> int:
        """The same SCN, when a flashback query may name it. Raises ORA-08181 for 0, negative and future ones."""
        if scn > self._scn or scn <= 0:
            raise OraError(8181, "specified number is not a valid system change number")
        return scn

    def time_of(self, scn: int) -> int:
        """SCN_TO_TIMESTAMP: the last second of the map that began at or before this SCN, in whole seconds since the epoch. Raises
        ORA-08181 for SCNs before the map and for future ones."""
        at = bisect_right(self._slots, scn, key=lambda slot: slot[1])
        if at == 0 or scn > self._scn:
            raise OraError(8181, "specified number is not a valid system change number")
        return self._slots[at - 1][0]

    def scn_at(self, seconds: float) -> int:
        """TIMESTAMP_TO_SCN: the first SCN of the last second of the map that is not after `seconds` since the epoch. Raises
        ORA-08180 for times before the map, and more than a second in the future. For a second that is not in the map yet an SCN
        is given out, since an idle instance raises its SCN, too."""
        if self._slots[-1][0] < int(seconds) <= self.now():
            self.advance()
        at = bisect_right(self._slots, seconds, key=lambda slot: slot[0])
        if at == 0 or seconds > self.now() + 1:
            raise OraError(8180, "no snapshot found based on specified time")
        return self._slots[at - 1][1]
