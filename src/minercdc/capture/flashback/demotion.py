"""Makes the events for a table that leaves the common windows or joins them again.

A table whose versions undo does not hold is read incrementally (`incremental`). One that cannot be read in a window for another
reason, such as DDL or a missing grant, is suspended. Once a window has it again, its suspension ends by itself: the table is read
again by an incremental snapshot, with the deletes that were missed (`snapshot/incremental/resuming.py`), while the stream goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from minercdc.errors import SnapshotTooOldError
from minercdc.schema.table import TableId, TableNames
from minercdc.stream.events import Event, Notification, SuspensionChange
from minercdc.stream.offset import SuspendedTable

_log = logging.getLogger(__name__)

_BY_ITSELF = "None: it is read again once its versions can be read."


def name_of(table: TableId) -> str:
    """How positions and suspensions name a table."""
    return TableNames(table.database).of(table)


def demoted(table: TableId, scn: int, reason: str, time_us: int) -> Iterator[Event]:
    """Events for a table that is not in the windows from `scn` on, and is suspended: SuspensionChange and Notification. Logs a
    warning when it is iterated over.

    :param time_us: of the notification, microseconds since the epoch in UTC.
    """
    _log.warning("%s cannot be read in the window from SCN %d on, and is demoted: %s", table, scn, reason)
    entry = SuspendedTable(name_of(table), scn, SnapshotTooOldError.code, reason, _BY_ITSELF)
    yield SuspensionChange(name_of(table), entry)
    yield _notification(table, "DEMOTED", scn, time_us, reason)


def read_incrementally(table: TableId, scn: int, reason: str, time_us: int) -> Iterator[Event]:
    """Events, as of `demoted`, for a table that is not in the windows from `scn` on, and whose changed rows are read instead,
    without deletes. Logs a warning, too."""
    _log.warning("%s is demoted from SCN %d on, and read incrementally, without deletes: %s", table, scn, reason)
    reason = f"read incrementally, without deletes: {reason}"
    entry = SuspendedTable(name_of(table), scn, SnapshotTooOldError.code, reason, _BY_ITSELF, delivered=True)
    yield SuspensionChange(name_of(table), entry)
    yield _notification(table, "DEMOTED", scn, time_us, reason)


def promoted(table: TableId, scn: int, time_us: int) -> Iterator[Event]:
    """Events, as of `demoted`, for a table that is in the windows again from `scn` on: its SuspensionChange has it read again
    as a whole, since it missed changes before. Logs it as information."""
    _log.info("%s is in the windows again from SCN %d on; it is read again", table, scn)
    reason = "it missed changes before"
    entry = SuspendedTable(name_of(table), scn, SnapshotTooOldError.code, reason, "None: it is being read.", automatic=True)
    yield SuspensionChange(name_of(table), entry)
    yield _notification(table, "PROMOTED", scn, time_us, reason)


def _notification(table: TableId, kind: str, scn: int, time_us: int, reason: str) -> Notification:
    data = {"data_collections": f"{table.database}.{name_of(table)}", "scn": str(scn), "reason": reason}
    return Notification(f"flashback-{name_of(table)}-{scn}", "Flashback", kind, time_us, data)
