"""Waits between two passes: until redo is written, or the poll interval is over."""

from __future__ import annotations

import time
from collections.abc import Callable

import oracledb

from minercdc.capture.logminer.pacing import EarlyPasses, pause
from minercdc.contracts import StopFlag
from minercdc.oracle.scn import last_redo_scn

# Between two looks whether redo was written: one row of V$THREAD, which costs the database a fraction of a pass.
_LOOK_SECONDS = 0.1


class PassPause:
    """The wait after each pass.

    :param poll_seconds: `poll.interval.ms`.
    """

    def __init__(self, poll_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._poll = poll_seconds
        self._monotonic = monotonic
        self._early = EarlyPasses(monotonic())
        self._is_early = False  # the pass that just ended was begun before its time
        self._seen = 0  # what was written when it began

    def begin(self, connection: oracledb.Connection) -> None:
        """To be called before a pass chooses what it reads. Raises SourceError."""
        self._seen = last_redo_scn(connection)

    def wait(self, connection: oracledb.Connection, stop: StopFlag, *, found: bool, lagging: bool, took: float) -> None:
        """Wait after a pass. Parameters as of `pacing.pause`; raises SourceError when the database cannot be read."""
        if self._is_early and not found:
            self._early.spend(took)
        self._is_early = False
        seconds = pause(found, lagging, took, self._poll)
        if found or lagging or not self._early.is_allowed(self._monotonic()):
            stop.wait(seconds)
        else:
            self._is_early = self._redo_comes(connection, stop, seconds)

    def _redo_comes(self, connection: oracledb.Connection, stop: StopFlag, seconds: float) -> bool:
        """Wait until redo is written, or so many seconds; whether it was written."""
        end = self._monotonic() + seconds
        while (left := end - self._monotonic()) > 0 and not stop.wait(min(_LOOK_SECONDS, left)):
            if last_redo_scn(connection) != self._seen:
                return True
        return False
