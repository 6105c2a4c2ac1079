"""The SCN clock and its map to time: one counter for the whole database, moved by changes, commits and reads of CURRENT_SCN."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable

from minercdc.sandbox.interfaces import OraError


class ScnClock:
    """Hands out SCNs and remembers, once per second of activity, which SCN was current (SMON_SCN_TIME in Oracle).

    :param start: SCN of the moment the database was opened.
    :param now: host time, seconds since the epoch.
    """

    def __init__(self, start: int = 2_000_000, now: Callable[[], float] = time.time) -> None:
        self._lock = threading.Lock()
        self._now = now
        self._scn = start
        self._slots: list[tuple[int, int]] = [(int(now()), start)]

    @property
    def current(self) -> int:
        """Newest SCN given out, without moving the clock: the snapshot of a statement that begins now."""
        return self._scn

    def now(self) -> float:
        """Host time, seconds since the epoch."""
        return self._now()

    def advance(self, count: int = 1) -> int:
        """Take `count` consecutive SCNs and return the first."""
        with self._lock:
            first = self._scn + 1
            self._scn += count
            second = int(self._now())
            if second > self._slots[-1][0]:
                self._slots.append((second, first))
            return first

    def read(self) -> int:
        """CURRENT_SCN: every read moves the clock, so a later commit is always above it."""
        return self.advance()

    def time_of(self, scn: int) -> int:
        """SCN_TO_TIMESTAMP, in whole seconds. Raises ORA-08181 outside the map."""
        at = bisect_right(self._slots, scn, key=lambda slot: slot[1])
        if at == 0 or scn > self._scn:
            raise OraError(8181, "specified number is not a valid system change number")
        return self._slots[at - 1][0]

    def scn_at(self, seconds: float) -> int:
        """TIMESTAMP_TO_SCN. Raises ORA-08180 before the map begins and for the future."""
        at = bisect_right(self._slots, seconds, key=lambda slot: slot[0])
        if at == 0 or seconds > self._now() + 1:
            raise OraError(8180, "no snapshot found based on specified time")
        return self._slots[at - 1][1]
