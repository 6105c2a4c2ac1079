"""Makes notifications of the initial snapshot, with Debezium's types and keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Notification
from minercdc.stream.offset import AdHocSnapshot, SnapshotState

# Every notification names all tables; of very many that would be more bytes than their rows.
_LISTED = 1000


class InitialNotices:
    """Makes the notifications of one snapshot; each call makes one, with a UUID as its id and the present time.

    :param collections: `DB.SCHEMA.TABLE` of the tables that are read; of more than 1000 only their number is shown.
    :param now: reads the clock: seconds since the epoch.
    """

    def __init__(self, collections: Sequence[str] = (), now: Callable[[], float] = time.time) -> None:
        self._collections = ",".join(collections) if len(collections) <= _LISTED else f"{len(collections)} tables"
        self._now = now

    def started(self) -> Notification:
        """STARTED: the snapshot begins."""
        return self._notice("STARTED")

    def skipped(self) -> Notification:
        """SKIPPED: the snapshot is not taken."""
        return self._notice("SKIPPED")

    def aborted(self) -> Notification:
        """ABORTED: the snapshot was stopped before its end."""
        return self._notice("ABORTED")

    def completed(self) -> Notification:
        """COMPLETED: the snapshot is complete."""
        return self._notice("COMPLETED")

    def in_progress(self, collection: str) -> Notification:
        """IN_PROGRESS: a table is begun in this run; `collection` is its `DB.SCHEMA.TABLE`."""
        return self._notice("IN_PROGRESS", data_collections=self._collections, current_collection_in_progress=collection)

    def chunk_in_progress(self, collection: str, index: int, total: int, rows: int) -> Notification:
        """TABLE_CHUNK_IN_PROGRESS: a range of a table is begun in this run. `index` counts from 0, as Debezium's; `total` is
        how many ranges the table has, `rows` how many rows of the table were delivered so far."""
        return self._notice(
            "TABLE_CHUNK_IN_PROGRESS",
            current_collection_in_progress=collection,
            data_collections=self._collections,
            chunk_index=str(index),
            total_chunks=str(total),
            total_rows_scanned=str(rows),
        )

    def chunk_completed(self, collection: str, index: int, total: int) -> Notification:
        """TABLE_CHUNK_COMPLETED: a range of a table is read; `index` and `total` as of `chunk_in_progress`."""
        return self._notice(
            "TABLE_CHUNK_COMPLETED",
            scanned_collection=collection,
            data_collections=self._collections,
            chunk_index=str(index),
            total_chunks=str(total),
            status="SUCCEEDED",
        )

    def table_completed(self, collection: str, rows: int, status: str = "SUCCEEDED") -> Notification:
        """TABLE_SCAN_COMPLETED: a table is read, or could not be read to its end (status SQL_EXCEPTION); `rows` is the number
        of those that were, in all runs."""
        return self._notice(
            "TABLE_SCAN_COMPLETED",
            scanned_collection=collection,
            data_collections=self._collections,
            total_rows_scanned=str(rows),
            status=status,
        )

    def _notice(self, kind: str, **data: str) -> Notification:
        return Notification(str(uuid4()), "Initial Snapshot", kind, int(self._now() * 1_000_000), data)


def deferred_started(snapshot: AdHocSnapshot, time_us: int) -> Notification:
    """The notification STARTED of `snapshot`, which reads what the initial one could not.

    :param time_us: microseconds since the epoch in UTC.
    """
    data = {"data_collections": ",".join(snapshot.collections)}
    if snapshot.blocking:
        return Notification(snapshot.id, "Initial Snapshot", "STARTED", time_us, {"snapshot_type": "blocking", **data})
    return Notification(snapshot.id, "Incremental Snapshot", "STARTED", time_us, data)


class SkippedSnapshot:
    """The `contracts.Snapshot` that reads nothing, and emits a notification of that, for a start that takes no snapshot."""

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """Yields the notification SKIPPED and nothing else; the arguments have no effect. Without a Progress, the stored
        position holds."""
        yield InitialNotices().skipped()
