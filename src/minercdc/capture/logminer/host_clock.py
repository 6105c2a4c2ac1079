"""The clock of the database's host."""

from __future__ import annotations

from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


class HostClock:
    """V$LOGMNR_CONTENTS.TIMESTAMP is the database host's time without zone; this makes it UTC.

    :ivar offset: of the host's zone from UTC; to be refreshed, for it changes with daylight saving time.
    """

    def __init__(self) -> None:
        self.offset = timedelta(0)

    @property
    def offset_us(self) -> int:
        """`offset` in microseconds."""
        return self.offset // _MICROSECOND

    def utc_us(self, time: datetime) -> int:
        """Microseconds since the epoch in UTC, of a time of the host."""
        return (time - self.offset - _EPOCH) // _MICROSECOND
