"""Where a window ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import oracledb

from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.config.flashback import FlashbackConfig
from minercdc.errors import LogGapError, MinerCdcError, TransientSourceError
from minercdc.oracle.present_scn import PresentScn
from minercdc.oracle.scn import one_row


class WindowEnd:
    """Chooses the end of each window: the present, or `minercdc.flashback.window.max.ms` after its start."""

    def __init__(self, config: FlashbackConfig) -> None:
        self._present = PresentScn()
        self._most = timedelta(milliseconds=config.minercdc_flashback_window_max_ms)

    def choose(self, connection: oracledb.Connection, position: FlashbackPosition) -> tuple[int, bool]:
        """First SCN after the window, and whether it is exact: the present, not up to three seconds ago.

        :raises LogGapError: the database has not come to `position`: it was restored since.
        """
        present = self._present.read(connection)
        exact = self._present.is_exact
        if exact and present < position.next - 1:
            raise LogGapError(
                f"the database is at SCN {present}, before the position {position.next} of the stream: it was restored",
                hint="Remove the offset and take a new snapshot.",
            )
        if position.end:
            return position.end, exact
        return min(present, self._bound(connection, position.next) or present), exact

    def _bound(self, connection: oracledb.Connection, start: int) -> int | None:
        """The SCN at the end of the longest window; None when it would lie in the future, or the times are not known any more."""
        try:
            begun: Any = one_row(connection, f"SELECT SCN_TO_TIMESTAMP({start}) FROM DUAL", "finding the time of an SCN")[0]
            now: Any = one_row(connection, "SELECT CAST(SYSTIMESTAMP AS TIMESTAMP) FROM DUAL", "reading the clock")[0]
            if begun + self._most >= now:
                return None
            sql = "SELECT TIMESTAMP_TO_SCN(:time) FROM DUAL"
            bound = int(one_row(connection, sql, "finding the SCN of a time", time=begun + self._most)[0])
        except TransientSourceError:
            raise
        except MinerCdcError:
            return None
        return bound if bound > start else None
