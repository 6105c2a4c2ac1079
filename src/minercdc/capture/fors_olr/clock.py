"""Reads the times of operations: numbers of 32 bits whose unit the protocol does not say."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Callable
from datetime import datetime, timedelta
from time import time

from minercdc.config.source.fors_olr import ForsConfig

_MICROSECONDS = 1_000_000


class Clock:
    """Makes microseconds since 1970 in UTC of times of operations; one for each connection. The unit is
    `minercdc.fors.timestamp.unit`: seconds since 1970 in UTC, or redo's packed form by the database host's clock.

    :param offset: reads how far the host's clock is ahead of UTC; called once, at the first time in redo's form.
    """

    def __init__(self, config: ForsConfig, offset: Callable[[], timedelta]) -> None:
        self._unit = config.minercdc_fors_timestamp_unit
        self._read_offset = offset
        self._offset: int | None = None

    def us(self, timestamp: int) -> int:
        """The time in microseconds since 1970 in UTC. In redo's form, 0 for a number that is not a time. With the unit
        `auto`, the first call decides on the unit, for good: the one by which its time is nearer to now. Errors of `offset`
        pass through."""
        if self._unit == "auto":
            packed, now = _packed_seconds(timestamp), time()
            self._unit = "seconds" if packed is None or abs(timestamp - now) <= abs(packed - now) else "redo"
        if self._unit == "seconds":
            return timestamp * _MICROSECONDS
        seconds = _packed_seconds(timestamp)
        if seconds is None:
            return 0
        if self._offset is None:
            self._offset = int(self._read_offset().total_seconds())
        return (seconds - self._offset) * _MICROSECONDS


def _packed_seconds(timestamp: int) -> int | None:
    """Seconds since 1970 of (((((year - 1988) * 12 + month - 1) * 31 + day - 1) * 24 + hour) * 60 + minute) * 60 + second.
    None for a number that is no such time."""
    rest, second = divmod(timestamp, 60)
    rest, minute = divmod(rest, 60)
    rest, hour = divmod(rest, 24)
    rest, day = divmod(rest, 31)
    year, month = divmod(rest, 12)
    try:
        return timegm(datetime(year + 1988, month + 1, day + 1, hour, minute, second).timetuple())
    except ValueError:
        return None
