"""Decides how often LogMiner makes a pass, and how many logs one takes.

Each pass reads its first log from the start, so passes must not follow too fast, nor take too little. What one takes at a time is
what a broken session has to read again, and what LogMiner holds open.
"""

from __future__ import annotations

# Passes that may follow each other at once after a quiet time.
_AT_ONCE = 5
# Half of the time at most goes into passes.
_COST = 2.0
# A pass that is over sooner takes twice as many logs the next time; one that takes longer, half as many.
_QUICK_SECONDS, _SLOW_SECONDS = 10.0, 60.0
_MOST_BYTES = 16 << 30


class PassRate:
    """Says when the next pass may begin: one for each interval on average; after a quiet time, five follow the first at once.

    :param interval: seconds, `minercdc.log.mining.pass.interval.ms`.
    :param now: seconds of a clock that never goes back.
    """

    def __init__(self, interval: float, now: float) -> None:
        self._interval = interval
        self._paid_until = now

    def ended(self, began: float, took: float) -> float:
        """Count a pass that has ended; returns from when on the next one may begin, perhaps a time that is past. One that
        takes longer than half an interval counts for more.

        :param began: by the clock of `now`, as what is returned.
        :param took: seconds.
        """
        self._paid_until = max(self._paid_until, began) + max(self._interval, _COST * took)
        return max(self._paid_until - _AT_ONCE * self._interval, began + _COST * took)


def next_window(window: int, least: int, took_seconds: float, read_bytes: int) -> int:
    """How many logs per thread the next pass takes, after one that left some for it: twice as many after less than 10 s,
    unless that might be more than 16 GiB; half as many, and not less than `least`, after more than 60 s or 16 GiB; else as many
    as the last one.

    :param window: how many the pass that just ended could take.
    :param least: `log.mining.log.count.min`; 0: as many as there are.
    :param took_seconds, read_bytes: of the pass that just ended.
    """
    if took_seconds < _QUICK_SECONDS and 2 * read_bytes <= _MOST_BYTES:
        return 2 * window
    if took_seconds > _SLOW_SECONDS or read_bytes > _MOST_BYTES:
        return max(least, window // 2)
    return window
