"""Converts times by the clock of the database's host."""

from __future__ import annotations

from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


class HostClock:
    """Makes UTC of V$LOGMNR_CONTENTS.TIMESTAMP, which is the database host's time without zone.

    :ivar offset: by how much the host's zone is ahead of UTC, 0 until the owner sets it; it changes with daylight saving time.
    """

    def __init__(self) -> None:
        self.offset = timedelta(0)

    @property
    def offset_us(self) -> int:
        """`offset` in microseconds."""
        return self.offset // _MICROSECOND

    def utc_us(self, time: datetime) -> int:
        """Microseconds since the epoch in UTC, of a time of the host without zone, by the present `offset`."""
        return (time - self.offset - _EPOCH) // _MICROSECOND
