"""Measures the duration of commits of the sink."""

from __future__ import annotations

from typing import Final

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram, seconds."""


class CommitTimes:
    """Seconds of each commit, as a histogram.

    :ivar last, longest, total: seconds.
    :ivar counts: commits per bound of `BOUNDS`, each without those of the bounds before; the last of them has no bound.
    """

    def __init__(self) -> None:
        self.last = self.longest = self.total = 0.0
        self.counts = [0] * (len(BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        """Count a commit that took so many seconds, in the first bucket whose bound is not less."""
        self.last, self.longest = seconds, max(self.longest, seconds)
        self.total += seconds
        place = next((i for i, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.counts[place] += 1
