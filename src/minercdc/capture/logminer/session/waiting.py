"""Waits between two passes: until redo is written and `PassRate` lets the next one begin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import oracledb

from minercdc.capture.logminer.session.pacing import PassRate
from minercdc.oracle.scn import last_redo
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Scn

# Between two looks whether redo was written: one row of V$THREAD, which costs the database a fraction of a pass.
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.02, 0.1
# A pass is made at least so often, whatever V$THREAD says: limits of open transactions are checked then.
_LONGEST_SECONDS = 5.0

Written: TypeAlias = frozenset[tuple[int, Scn]]


class PassPause:
    """Waits after each pass; one for each capture. `begin` at the start of a pass, `wait` after its end.

    :param poll_seconds: `poll.interval.ms`.
    :param interval_seconds: `minercdc.log.mining.pass.interval.ms`.
    :param monotonic: seconds of a clock that never goes back.
    :param look: reads what is written.
    """

    def __init__(
        self,
        poll_seconds: float,
        interval_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
        look: Callable[[oracledb.Connection], Written] = last_redo,
    ) -> None:
        self._poll, self._look = poll_seconds, look
        self._monotonic = monotonic
        self._began = monotonic()
        self._rate = PassRate(interval_seconds, self._began)
        self._seen: Written = frozenset()  # what was written when it began

    def begin(self, connection: oracledb.Connection) -> None:
        """To be called before a pass chooses what it reads: reads what is written by then. Raises PrerequisiteError and
        SourceError."""
        self._began = self._monotonic()
        self._seen = self._look(connection)

    def wait(self, connection: oracledb.Connection, stop: StopFlag) -> Iterator[float]:
        """Wait after a pass that read all logs, until the rate of passes allows the next one, and redo was written since `begin`
        or the longer of 5 s and `poll.interval.ms` has passed; or until `stop` is set. Raises PrerequisiteError and SourceError
        when the database cannot be read.

        :returns: yields whenever `poll.interval.ms` has passed: for how many seconds after `begin` no redo was written.
        """
        now = self._monotonic()
        earliest = self._rate.ended(self._began, now - self._began)
        latest, tick = max(earliest, now + max(self._poll, _LONGEST_SECONDS)), now + self._poll
        look, unwritten, written = _FIRST_LOOK_SECONDS, 0.0, False
        while now < (earliest if written else latest):
            until = min(tick, earliest) if written else min(tick, latest, now + look)
            if stop.wait(max(0.0, until - now)):
                return
            now = self._monotonic()
            if not written:
                look = min(2 * look, _LOOK_SECONDS)
                written = self._look(connection) != self._seen
                unwritten = unwritten if written else now - self._began
            if now >= tick:
                yield unwritten
                tick = now + self._poll


def ticks(stop: StopFlag, seconds: float, tick_seconds: float) -> Iterator[None]:
    """Wait until `stop` is set, for `seconds` at most; yields whenever `tick_seconds` have passed before that."""
    left = seconds
    while left > 0 and not stop.wait(min(left, tick_seconds)):
        left -= tick_seconds
        if left > 0:
            yield
