"""Makes notifications about signals and the snapshots they requested, in Debezium's words as far as it has any. `time_us` is in
microseconds since the epoch in UTC.

| aggregate              | types                                                                                    |
|------------------------|------------------------------------------------------------------------------------------|
| `Signal` (ours)        | ACCEPTED, COMPLETED, REFUSED, ABORTED                                                    |
| `Incremental Snapshot` | STARTED, IN_PROGRESS, TABLE_SCAN_COMPLETED, PAUSED, RESUMED, ABORTED, COMPLETED          |
| `Initial Snapshot`     | STARTED, IN_PROGRESS, TABLE_SCAN_COMPLETED, ABORTED, COMPLETED: also of blocking snapshots, as there |
| `Table` (ours)         | SUSPENDED, RESUMED                                                                       |
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from minercdc.errors import SourceError
from minercdc.schema.patterns import literal_pattern
from minercdc.stream.events import Event, Notification, SuspensionChange
from minercdc.stream.offset import AdHocSnapshot, SuspendedTable, TableRead
from minercdc.stream.signal import Signal

_log = logging.getLogger(__name__)

SIGNAL: Final = "Signal"
INCREMENTAL: Final = "Incremental Snapshot"
BLOCKING: Final = "Initial Snapshot"


def answer(signal: Signal, type_: str, time_us: int, **data: str) -> Notification:
    """What became of a signal: `type_` ACCEPTED, COMPLETED, REFUSED or ABORTED; `data` goes into `additional_data`, as do the
    signal's type and its channel, unless that is '': the offset does not store channels."""
    channel = {"channel": signal.channel} if signal.channel else {}
    additional = {"signal_type": signal.type, **channel, **data}
    return Notification(signal.id, SIGNAL, type_, time_us, additional)


def completed(snapshot: AdHocSnapshot, time_us: int) -> Notification:
    """COMPLETED, of the signal that requested this snapshot."""
    return Notification(snapshot.id, SIGNAL, "COMPLETED", time_us, {"signal_type": "execute-snapshot"})


def aborted(snapshot: AdHocSnapshot, by: str, time_us: int) -> Notification:
    """ABORTED, of the signal that requested this snapshot: the signal with the id `by` stopped it."""
    return Notification(
        snapshot.id, SIGNAL, "ABORTED", time_us, {"signal_type": "execute-snapshot", "reason": f"stopped by signal {by}"}
    )


def of_snapshot(snapshot: AdHocSnapshot, type_: str, time_us: int, **data: str) -> Notification:
    """Status of a snapshot: `type_` is one of its aggregate's types above; `data` goes into `additional_data`."""
    if snapshot.blocking:
        data = {"snapshot_type": "blocking", **data}
    return Notification(snapshot.id, BLOCKING if snapshot.blocking else INCREMENTAL, type_, time_us, data)


def started(snapshot: AdHocSnapshot, time_us: int) -> Notification:
    """STARTED, of a snapshot with all its `collections`."""
    return of_snapshot(snapshot, "STARTED", time_us, data_collections=joined(snapshot.collections))


def in_progress(snapshot: AdHocSnapshot, table: TableRead, name: str, time_us: int) -> Notification:
    """IN_PROGRESS: rows of a table were delivered, up to `table.last`; `name` is DATABASE.SCHEMA.TABLE."""
    return of_snapshot(
        snapshot,
        "IN_PROGRESS",
        time_us,
        data_collections=joined(snapshot.collections),
        current_collection_in_progress=name,
        maximum_key=joined(table.maximum),
        last_processed_key=joined(table.last),
    )


def scanned(snapshot: AdHocSnapshot, table: TableRead, name: str, status: str, time_us: int, **data: str) -> Notification:
    """TABLE_SCAN_COMPLETED: a table is done, or given up; `name` is DATABASE.SCHEMA.TABLE, `status` SUCCEEDED, EMPTY,
    UNKNOWN_SCHEMA, NO_PRIMARY_KEY or SQL_EXCEPTION; `data` goes into `additional_data`."""
    return of_snapshot(
        snapshot,
        "TABLE_SCAN_COMPLETED",
        time_us,
        data_collections=joined(snapshot.collections),
        scanned_collection=name,
        total_rows_scanned=str(table.rows),
        status=status,
        **data,
    )


def never_read(snapshot: AdHocSnapshot, table: TableRead, name: str, reason: str, scn: int, time_us: int) -> list[Event]:
    """Suspend a table that cannot be read and that the initial snapshot left to this one: logs an error, and returns the
    events for that. [] for other snapshots.

    :param name: DATABASE.SCHEMA.TABLE.
    :param reason: message of the error.
    :param scn: from which its rows are left out.
    """
    if not snapshot.initial:
        return []
    fix = f"minercdc signal CONFIG resume-table --collection {literal_pattern(table.table)}, once it can be read"
    if snapshot.blocking and table.condition:
        fix += (
            "; that reads the whole table, without its SELECT, which has to return every column of the table by its name. To have the SELECT obeyed,"
            " correct it and take a new initial snapshot (minercdc offsets reset CONFIG)"
        )
    _log.error("%s IS SUSPENDED: it was never read: %s\n  To repair it: %s", table.table, reason, fix)
    data = {"data_collections": name, "code": SourceError.code, "reason": reason, "fix": fix, "since_scn": str(scn)}
    return [
        SuspensionChange(table.table, SuspendedTable(table.table, scn, SourceError.code, reason, fix)),
        Notification(f"suspended-{table.table}-{scn}", "Table", "SUSPENDED", time_us, data),
    ]


def joined(names: Iterable[str]) -> str:
    """The texts in one, separated by commas, as `additional_data` has lists; '' for none."""
    return ",".join(names)
