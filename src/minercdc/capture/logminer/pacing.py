"""How long to wait between two passes, and how many logs one takes.

Each pass reads its first log from the start, so passes must not follow too fast, nor take too little. What one takes at a time is what
a broken session has to read again, and what LogMiner holds open.
"""

from __future__ import annotations

_LEAST_SECONDS = 0.02
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
