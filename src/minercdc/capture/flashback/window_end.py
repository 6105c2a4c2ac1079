"""Chooses the SCN at which a window ends: the present one, or an earlier one if the stream lags far."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import oracledb

from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.config.source.flashback import FlashbackConfig
from minercdc.errors import LogGapError, MinerCdcError, TransientSourceError
from minercdc.oracle.present_scn import PresentScn
from minercdc.oracle.scn import one_row


class WindowEnd:
    """Chooses the end of each window: the present SCN, or that of `minercdc.flashback.window.max.ms` after its start if that is
    earlier; one for each stream.

    :ivar is_cut: the window that was chosen last ends before the present, so that another can follow at once; False before
        the first.
    """

    def __init__(self, config: FlashbackConfig) -> None:
        self._present = PresentScn()
        self.is_cut = False
        self._most = timedelta(milliseconds=config.minercdc_flashback_window_max_ms)

    def choose(self, connection: oracledb.Connection, position: FlashbackPosition) -> tuple[int, bool]:
        """First SCN after the window, which is `position.end` where that is set; and whether the present SCN is read exactly,
        not as of up to three seconds ago. Sets `is_cut`. The window is empty when its end is not above `position.next`.

        :raises LogGapError: the database has not come to `position`: it was restored since. Not noticed while the SCN is not
            exact.
        :raises SourceError, PrerequisiteError: the present SCN cannot be read.
        """
        present = self._present.read(connection)
        exact = self._present.is_exact
        if exact and present < position.next - 1:
            raise LogGapError(
                f"the database is at SCN {present}, before the position {position.next} of the stream: it was restored",
                hint="Remove the offset and take a new snapshot.",
            )
        end = position.end or min(present, self._bound(connection, position.next) or present)
        self.is_cut = end < present
        return end, exact

    def _bound(self, connection: oracledb.Connection, start: int) -> int | None:
        """The SCN at the end of the longest window that begins at `start`, or of one twice as long when the SCN did not
        move meanwhile, and so on; None when that would lie in the future, or the times of these SCNs are not known any
        more or cannot be read."""
        try:
            begun: Any = one_row(connection, f"SELECT SCN_TO_TIMESTAMP({start}) FROM DUAL", "finding the time of an SCN")[0]
            now: Any = one_row(connection, "SELECT CAST(SYSTIMESTAMP AS TIMESTAMP) FROM DUAL", "reading the clock")[0]
            span = self._most
            while begun + span < now:
                sql = "SELECT TIMESTAMP_TO_SCN(:time) FROM DUAL"
                bound = int(one_row(connection, sql, "finding the SCN of a time", time=begun + span)[0])
                if bound > start:
                    return bound
                span *= 2
        except TransientSourceError:
            raise
        except MinerCdcError:
            pass
        return None
