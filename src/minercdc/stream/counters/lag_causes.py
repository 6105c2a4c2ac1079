"""Measures where the stream's thread spends its time: the parts of the lag.

The lag is a span of time that ends now. In each moment of it the thread did one thing, so the seconds spent on each thing since the
span began add up to the lag.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from threading import Lock
from typing import Final, NamedTuple


class Cause(StrEnum):
    """What the stream's thread does or waits for."""

    NOT_RUNNING = "not_running"
    STARTING = "starting"
    SOURCE = "source"
    REDO = "redo"
    APPLY = "apply"
    SHIPPING = "shipping"
    LOGMINER = "logminer"
    FETCH = "fetch"
    UNCAPTURED = "uncaptured"
    BUFFERED = "buffered"
    DECODE = "decode"
    KAFKA = "kafka"
    SNAPSHOT = "snapshot"
    PAUSED = "paused"


MEANINGS: Final[Mapping[Cause, str]] = {
    Cause.NOT_RUNNING: "the process did not run",
    Cause.STARTING: "the process starts: offset, schema history, checks",
    Cause.SOURCE: "the database is connected to, says its clock and its logs, or does not answer",
    Cause.REDO: "redo is not written or archived yet; the pause between two passes",
    Cause.APPLY: "the physical standby has not received or applied redo that the primary has archived",
    Cause.SHIPPING: "the downstream database has not received redo that the source has archived",
    Cause.LOGMINER: "LogMiner runs: it is started, and its first rows are waited for",
    Cause.FETCH: "more rows of LogMiner are waited for",
    Cause.UNCAPTURED: "redo of tables that are not captured is read through",
    Cause.BUFFERED: "rows are kept until their COMMIT is read",
    Cause.DECODE: "committed rows are decoded and encoded",
    Cause.KAFKA: "Kafka, or another sink, takes records or commits",
    Cause.SNAPSHOT: "a snapshot is read",
    Cause.PAUSED: "a signal paused streaming",
}

_MARK_SECONDS = 1.0
_MOST_MARKS = 4096


class _Mark(NamedTuple):
    at: float
    totals: Mapping[Cause, float]


class TimeSpent:
    """Seconds per cause since the process began.

    :param monotonic: seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = Lock()
        self._began = self._at = monotonic()
        self._doing, self._since = Cause.STARTING, self._began
        self._totals = dict.fromkeys(Cause, 0.0)
        self._marks = [_Mark(self._began, dict(self._totals))]
        self._held = False

    @property
    def doing(self) -> Cause:
        """The cause that holds at present."""
        return self._doing

    def present(self) -> tuple[Cause, float]:
        """The cause that holds at present, and for how many seconds it has held."""
        with self._lock:
            return self._doing, max(self._monotonic() - self._since, 0.0)

    def enter(self, cause: Cause) -> Cause:
        """From now on `cause` is done; returns what was done before."""
        with self._lock:
            former = self._doing
            self._advance()
            if cause is not former:
                self._doing, self._since = cause, self._at
            return former

    @contextmanager
    def during(self, cause: Cause) -> Iterator[None]:
        """A context in which `cause` is done; after it, what was done before."""
        former = self.enter(cause)
        try:
            yield
        finally:
            self.enter(former)

    def begin_batch(self) -> Mapping[Cause, float]:
        """Rows of a batch are worked on from now on; returns the totals, for `end_batch`."""
        with self._lock:
            self._advance()
            self._doing, self._since, self._held = Cause.DECODE, self._at, True
            return dict(self._totals)

    def end_batch(
        self, before: Mapping[Cause, float], waited: float, uncaptured: int, buffered: int, decoded: int, fetching: Cause
    ) -> None:
        """The batch is done: share the time for it by the rows it had, and go on fetching.

        :param before: from `begin_batch`.
        :param waited: seconds spent waiting for the batch; they are counted under `fetching` already.
        :param uncaptured, buffered, decoded: rows of other tables; rows that wait for their COMMIT; changes that were emitted.
        """
        rows = uncaptured + buffered + decoded
        with self._lock:
            self._advance()
            if rows:
                took = self._totals[Cause.DECODE] - before[Cause.DECODE]
                self._move(Cause.DECODE, Cause.BUFFERED, took * buffered / rows)
                self._move(Cause.DECODE, Cause.UNCAPTURED, took * uncaptured / rows)
                self._move(fetching, Cause.UNCAPTURED, waited * uncaptured / rows)
            self._doing, self._since, self._held = Cause.FETCH, self._at, False
            self._mark()

    def totals(self) -> dict[Cause, float]:
        """Seconds per cause up to now; they add up to the age of the process."""
        with self._lock:
            totals = dict(self._totals)
            totals[self._doing] += max(self._monotonic() - self._at, 0.0)
            return totals

    def latest(self, seconds: float) -> dict[Cause, float]:
        """How the latest `seconds` were spent, by cause; they add up to `seconds`."""
        with self._lock:
            now = self._monotonic()
            totals = dict(self._totals)
            totals[self._doing] += max(now - self._at, 0.0)
            since = now - seconds
            before = self._at_time(since, _Mark(now, totals))
        found = {cause: max(totals[cause] - before[cause], 0.0) for cause in Cause}
        found[Cause.NOT_RUNNING] += max(self._began - since, 0.0)
        return found

    def _at_time(self, since: float, last: _Mark) -> Mapping[Cause, float]:
        """Totals at a time in the past, evenly between two marks."""
        if since <= self._began:
            return self._marks[0].totals
        at = bisect_right(self._marks, since, key=lambda mark: mark.at)
        older, newer = self._marks[at - 1], self._marks[at] if at < len(self._marks) else last
        if newer.at <= older.at:
            return newer.totals
        part = min((since - older.at) / (newer.at - older.at), 1.0)
        return {cause: older.totals[cause] + part * (newer.totals[cause] - older.totals[cause]) for cause in Cause}

    def _advance(self) -> None:
        now = self._monotonic()
        self._totals[self._doing] += now - self._at
        self._at = now
        self._mark()

    def _move(self, one: Cause, other: Cause, seconds: float) -> None:
        self._totals[one] -= seconds
        self._totals[other] += seconds

    def _mark(self) -> None:
        """Remember the totals; not within a batch, whose time is still to be shared. Old marks lie further apart."""
        if self._held or self._at - self._marks[-1].at < _MARK_SECONDS:
            return
        self._marks.append(_Mark(self._at, dict(self._totals)))
        if len(self._marks) > _MOST_MARKS:
            half = len(self._marks) // 2
            self._marks[:half] = self._marks[:half:2]
