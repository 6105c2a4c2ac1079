"""How long to wait between two passes. Each pass reads its first log from the start, so passes must not follow too fast."""

from __future__ import annotations

_LEAST_SECONDS = 0.02


def pause(found_rows: bool, behind: bool, took_seconds: float, poll_seconds: float) -> float:
    """Seconds to wait.

    :param found_rows: the pass that just ended brought rows that were not read before.
    :param behind: it ended before the CURRENT log.
    :param took_seconds: how long it took: as much again is waited, so that half of the time at most goes into reading.
    """
    if behind:
        return 0.0
    if found_rows:
        return min(poll_seconds, max(_LEAST_SECONDS, took_seconds))
    return poll_seconds
