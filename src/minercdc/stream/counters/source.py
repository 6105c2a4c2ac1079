"""A reading of the source's views: open transactions, and for how long redo and undo are kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceTransaction:
    """An open transaction of any session of the database, captured tables or not.

    :param user, program, machine: of its session; '' when V$SESSION has none.
    :param age_seconds: by the database's clock.
    :param undo_records: how many undo records it has: about one for each row it changed, and for each index entry.
    """

    xid: str
    user: str
    program: str
    machine: str
    sid: int
    start_scn: int
    age_seconds: float
    undo_records: int


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """One look. Where a view is not granted, or says nothing, members are None, `open` is () and `deletes` False.

    :param looked_at: seconds since the epoch by our clock; 0 before the first look.
    :param open: the oldest open transactions.
    :param open_count: how many there are.
    :param archive_reach_seconds: how old the oldest archived log is that is still there, by its FIRST_TIME.
    :param deletes: whether archived logs of this incarnation were deleted; before, it is not known how long they stay.
    :param needed_seconds: how old the log is in which a restart would begin, by its FIRST_TIME; 0 when that is still written.
    :param undo_seconds: how long undo is kept.
    :param snapshot_seconds: how long ago the SCN of the initial snapshot was, at most; None when none runs.
    :param missing: views that could not be read.
    """

    looked_at: float = 0.0
    open: tuple[SourceTransaction, ...] = ()
    open_count: int | None = None
    archive_reach_seconds: float | None = None
    deletes: bool = False
    needed_seconds: float | None = None
    undo_seconds: float | None = None
    snapshot_seconds: float | None = None
    missing: tuple[str, ...] = ()

    @property
    def archive_headroom_seconds(self) -> float | None:
        """How much longer the log in which a restart would begin is there, if logs go on being deleted at the age they have
        reached; None when the age of either is not known."""
        if self.archive_reach_seconds is None or self.needed_seconds is None:
            return None
        return max(self.archive_reach_seconds - self.needed_seconds, 0.0)

    @property
    def undo_headroom_seconds(self) -> float | None:
        """How much longer the initial snapshot can read as of its SCN; None when none runs, or the retention is not known."""
        if self.undo_seconds is None or self.snapshot_seconds is None:
            return None
        return max(self.undo_seconds - self.snapshot_seconds, 0.0)
