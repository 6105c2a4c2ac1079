"""Samples of the last hour, for the plot of the lag and for rates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from minercdc.observe.prometheus.lag import lag_parts
from minercdc.stream.counters.connector import Counters

SECONDS: Final = 2.0
"""Between two samples."""

_SAMPLES = 1800
_RATE_SECONDS = 20.0  # over which rates are taken


@dataclass(frozen=True, slots=True)
class Sample:
    """Figures of one moment.

    :param at: seconds since the epoch by our clock.
    :param lag: seconds, at least; 0 while not even that is known.
    :param parts: of the lag, by cause; without those below half a millisecond.
    :param events: row changes since the process began.
    :param snapshot_rows: of the initial snapshot so far, of an earlier process, too.
    """

    at: float
    lag: float
    parts: Mapping[str, float]
    events: int
    snapshot_rows: int


class History:
    """The samples of one process; any thread may read them.

    :param now: seconds since the epoch.
    """

    def __init__(self, counters: Counters, now: Callable[[], float] = time.time) -> None:
        self._counters = counters
        self._now = now
        self._lock = Lock()
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self._tables: deque[tuple[float, dict[str, int]]] = deque(maxlen=int(_RATE_SECONDS / SECONDS) + 1)
        self._changed: dict[str, int] = {}

    def sample(self) -> None:
        """Take a sample of the counters; to be called every `SECONDS`."""
        counters, now = self._counters, self._now()
        parts = {cause.value: round(seconds, 3) for cause, seconds in lag_parts(counters, now).items() if seconds >= 0.0005}
        events, scanned = sum(counters.events.values()), counters.scanned()[0]
        tables = dict(counters.tables)
        with self._lock:
            before = self._tables[-1][1] if self._tables else {}
            for table, count in tables.items():
                if count != before.get(table, 0):
                    self._changed[table] = counters.source_us
            self._samples.append(Sample(now, round(sum(parts.values()), 3), parts, events, scanned))
            self._tables.append((now, tables))

    def samples(self) -> list[Sample]:
        """The samples, oldest first."""
        with self._lock:
            return list(self._samples)

    def rates(self) -> tuple[float, float]:
        """Row changes, and rows of the initial snapshot, per second, over the last 20 s; 0 before the second sample."""
        with self._lock:
            recent = [one for one in self._samples if self._now() - one.at <= _RATE_SECONDS]
        if len(recent) < 2:
            return 0.0, 0.0
        first, last = recent[0], recent[-1]
        seconds = max(last.at - first.at, 0.001)
        return (last.events - first.events) / seconds, max(last.snapshot_rows - first.snapshot_rows, 0) / seconds

    def table_rates(self) -> dict[str, float]:
        """Row changes per second over the last 20 s, by table; {} before the second sample."""
        with self._lock:
            if len(self._tables) < 2:
                return {}
            (began, before), (ended, now) = self._tables[0], self._tables[-1]
        seconds = max(ended - began, 0.001)
        return {table: (count - before.get(table, 0)) / seconds for table, count in now.items()}

    def last_changes(self) -> dict[str, int]:
        """Source time of about the latest change, by table: microseconds since the epoch in UTC."""
        with self._lock:
            return dict(self._changed)
