"""Compares the age of windows with the retention of undo, and reports tables that are too slow."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import monotonic
from typing import Final

import oracledb

from minercdc.config.source.flashback import FlashbackConfig
from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableId

_log = logging.getLogger(__name__)

_TUNED: Final = "SELECT MIN(TUNED_UNDORETENTION) FROM V$UNDOSTAT WHERE END_TIME >= SYSDATE - 1 / 24"
_DEFAULT_SECONDS: Final = 900.0  # of UNDO_RETENTION
_LOOK_SECONDS: Final = 60.0
_WARN_AT, _DEMOTE_AT = 0.5, 0.8  # of the retention, that the start of a window is old when it has been read
STABLE_RUNS: Final = 3
"""How many incremental readings in a row must be quick and alike before the table's versions are tried again."""
_STABLE_SECONDS, _SPREAD_SECONDS = 60.0, 5.0


class UndoWatch:
    """Knows for how long undo is kept, and finds the table that is too slow for that; one for each stream.

    :ivar retention: seconds that undo is kept: configured, else read by `look`, else 900.
    """

    def __init__(self, config: FlashbackConfig) -> None:
        given = config.minercdc_flashback_undo_retention_ms
        self._given = None if given is None else given / 1000
        self.retention = self._given or _DEFAULT_SECONDS
        self._looked = self._warned = float("-inf")

    def look(self, connection: oracledb.Connection) -> None:
        """Set `retention` from TUNED_UNDORETENTION, at most once a minute, and only if no retention is configured. Where
        V$UNDOSTAT is not granted or cannot be read, it stays. Raises TransientSourceError when the connection is lost."""
        now = monotonic()
        if self._given is not None or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        try:
            tuned = one_row(connection, _TUNED, "reading V$UNDOSTAT")[0]
        except TransientSourceError:
            raise
        except (SourceError, PrerequisiteError):
            return
        self.retention = float(tuned) if tuned else _DEFAULT_SECONDS

    def too_slow(self, age: float, seconds: Mapping[TableId, float]) -> TableId | None:
        """The table that has to leave the windows, the one that took longest, when `age` is 80 % of `retention` or more; else
        None. Between 50 % and that it logs a warning, once a minute at most.

        :param age: seconds from the opening of the window before, where this one starts, to the end of its reading.
        :param seconds: how long each table took; {} gives None.
        """
        if age < _WARN_AT * self.retention or not seconds:
            return None
        slowest = max(seconds, key=lambda table: (seconds[table], table))
        if age >= _DEMOTE_AT * self.retention:
            return slowest
        if monotonic() - self._warned > _LOOK_SECONDS:
            self._warned = monotonic()
            _log.warning(
                "a window was read %.0f s after its start, but undo is kept for only %.0f s; %s took longest, %.0f s."
                " Raise UNDO_RETENTION or minercdc.flashback.threads, or capture fewer tables",
                age,
                self.retention,
                slowest,
                seconds[slowest],
            )
        return None


class Stability:
    """Keeps how long the last incremental readings of each table took, so that its versions are tried again once these are
    quick and alike."""

    def __init__(self) -> None:
        self._runs: dict[TableId, list[float]] = {}

    def note(self, table: TableId, seconds: float) -> None:
        """Note how long an incremental reading of the table took; the last STABLE_RUNS are kept."""
        self._runs[table] = [*self._runs.get(table, []), seconds][-STABLE_RUNS:]

    def forget(self, table: TableId) -> None:
        """Forget the table's readings, if there are any."""
        self._runs.pop(table, None)

    def is_stable(self, table: TableId) -> bool:
        """Whether the versions of the table may be tried: STABLE_RUNS readings are noted, each took less than 60 s, and the
        longest took less than 5 s more than the shortest."""
        runs = self._runs.get(table, [])
        return len(runs) == STABLE_RUNS and max(runs) < _STABLE_SECONDS and max(runs) - min(runs) < _SPREAD_SECONDS
