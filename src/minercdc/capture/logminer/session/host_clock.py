"""Converts times by the clock of the database's host."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from minercdc.schema.ddl.changed_constraints import CLOCKS

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_NOON: Final = time(12)
_BACK: Final = timedelta(minutes=130)  # the clocks of Antarctica/Troll go back two hours, all others one or a half


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


def margin_at(moment: datetime) -> timedelta:
    """By how much a time of the dictionary and the TIMESTAMP of redo may differ, so that their order is not known. The host's zone has
    no name in the database: where any zone of the world sets its clocks back that day, the host's may go back.

    :param moment: by the clock of the database's host.
    """
    return CLOCKS + _BACK if clocks_go_back(moment.date()) else CLOCKS


@lru_cache(maxsize=64)
def clocks_go_back(day: date) -> bool:
    """Whether the clocks of some zone go back on a day, or in the night before or after it; True where no zones are known."""
    before, after = (datetime.combine(day + timedelta(days), _NOON) for days in (-1, 1))
    names = available_timezones()
    return not names or any(_offset(name, before) > _offset(name, after) for name in names)


def _offset(name: str, moment: datetime) -> timedelta:
    return ZoneInfo(name).utcoffset(moment) or timedelta()
