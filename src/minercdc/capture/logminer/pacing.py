"""How long to wait between two passes, and how many logs one takes.

Each pass reads its first log from the start, so passes must not follow too fast, nor take too little. What one takes at a time is what
a broken session has to read again, and what LogMiner holds open.
"""

from __future__ import annotations

_LEAST_SECONDS = 0.02
_EARLY_AT_MOST, _EARLY_A_SECOND, _EARLY_COST_A_SECOND = 10.0, 0.5, 5.0
# A pass that is over sooner takes twice as many logs the next time; one that takes longer, half as many.
_QUICK_SECONDS, _SLOW_SECONDS = 10.0, 60.0
_MOST_BYTES = 16 << 30


def pause(found_rows: bool, lagging: bool, took_seconds: float, poll_seconds: float) -> float:
    """Seconds to wait.

    :param found_rows: the pass that just ended brought rows that were not read before.
    :param lagging: it ended before the CURRENT log.
    :param took_seconds: how long it took: as much again is waited, so that half of the time at most goes into reading.
    """
    if lagging:
        return 0.0
    if found_rows:
        return min(poll_seconds, max(_LEAST_SECONDS, took_seconds))
    return poll_seconds


class EarlyPasses:
    """How many passes may begin before their time because redo was written, though they then find nothing: in a database that others
    write to they are in vain. Ten, and one more every two seconds; an idle database writes some redo every three seconds itself.

    :param now: seconds of a clock that never goes back.
    """

    def __init__(self, now: float) -> None:
        self._left, self._counted_at = _EARLY_AT_MOST, now

    def is_allowed(self, now: float) -> bool:
        """Whether the next one may."""
        self._left = min(_EARLY_AT_MOST, self._left + (now - self._counted_at) * _EARLY_A_SECOND)
        self._counted_at = now
        return self._left >= 1

    def spend(self, took_seconds: float) -> None:
        """One was in vain. What takes long counts for several: a tenth of the time at most goes into such passes."""
        self._left -= max(1.0, _EARLY_COST_A_SECOND * took_seconds)


def next_window(window: int, least: int, took_seconds: float, read_bytes: int) -> int:
    """How many logs per thread the next pass takes, after one that left some for it.

    :param window: how many the pass that just ended could take.
    :param least: `log.mining.log.count.min`; 0: as many as there are.
    :param took_seconds, read_bytes: of the pass that just ended.
    """
    if took_seconds < _QUICK_SECONDS and 2 * read_bytes <= _MOST_BYTES:
        return 2 * window
    if took_seconds > _SLOW_SECONDS or read_bytes > _MOST_BYTES:
        return max(least, window // 2)
    return window
