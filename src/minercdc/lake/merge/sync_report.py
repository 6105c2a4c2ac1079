"""Logs the SCN up to which all tables are merged."""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)

_EVERY_S = 60.0  # while nothing is merged


class SyncReport:
    """Logs SCNs that all tables have reached: each at which something was merged, and else at most one a minute.

    :ivar merged: something was merged since the last line; set by the caller.
    """

    def __init__(self) -> None:
        self.merged = False
        self._scn, self._time = 0, 0.0

    def reached(self, scn: int, quarantined: int) -> None:
        """Note that all tables but the quarantined ones are merged up to `scn`, and log it if a line is due.

        :param quarantined: how many these are.
        """
        now = time.monotonic()
        if scn > self._scn and (self.merged or now - self._time >= _EVERY_S):
            but = f" but {quarantined} quarantined {'table' if quarantined == 1 else 'tables'}" if quarantined else ""
            log.info("all tables%s are at SCN %s", but, scn)
            self._scn, self._time, self.merged = scn, now, False
