"""NLS settings of a session."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.sql import zones


@dataclass(frozen=True, slots=True)
class Nls:
    """NLS settings of a session, by default those of territory AMERICA; values as NLS_SESSION_PARAMETERS shows them.

    :param numeric_characters: decimal character, then group separator.
    :param time_zone: `+00:00` form or a region's name.
    """

    date_format: str = "DD-MON-RR"
    timestamp_format: str = "DD-MON-RR HH.MI.SSXFF AM"
    timestamp_tz_format: str = "DD-MON-RR HH.MI.SSXFF AM TZR"
    numeric_characters: str = ".,"
    time_zone: str = "+00:00"
    language: str = "AMERICAN"
    territory: str = "AMERICA"
    sort: str = "BINARY"
    comp: str = "BINARY"

    @property
    def zone(self) -> zones.Zone:
        """The session's time zone, parsed. Raises as `zones.parse`."""
        return zones.parse(self.time_zone)
