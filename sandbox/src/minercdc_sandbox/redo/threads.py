"""Redo threads with their log groups and archived logs: rows of V$THREAD, V$LOG, V$LOGFILE and V$ARCHIVED_LOG."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

BLOCK_SIZE = 512
ARCHIVE_DEST = "/opt/oracle/archive"
ONLINE_DEST = "/opt/oracle/oradata/ORCLCDB"


@dataclass(slots=True)
class LogGroup:
    """A row of V$LOG with its members of V$LOGFILE. Times are host seconds; `next_change` and `next_time` are None while it is
    current and before its first use, `sequence` is 0 before its first use and, after RESETLOGS, until its next. `bytes`: size at
    which its log is full."""

    group: int
    thread: int
    members: tuple[str, ...]
    bytes: int
    sequence: int = 0
    status: str = "UNUSED"
    archived: bool = False
    first_change: int = 0
    first_time: float = 0.0
    next_change: int | None = None
    next_time: float | None = None


class ArchiveStatus(StrEnum):
    """Whether an archived log is there or RMAN deleted it; the values are V$ARCHIVED_LOG.STATUS."""

    AVAILABLE = "A"
    DELETED = "D"


@dataclass(slots=True)
class ArchivedLog:
    """A row of V$ARCHIVED_LOG: one copy of a log; `name` is None once RMAN has deleted it. Times are host seconds; the log's redo
    has SCNs from `first_change` up to, not including, `next_change`.

    :param blocks: of `block_size` bytes.
    :param completion_time: when it was archived; `dest_id`: the number of its archive destination.
    :param dictionary_begin, dictionary_end: it has a whole LogMiner dictionary.
    :param missing: the file was removed by hand, which V$ARCHIVED_LOG does not show.
    """

    name: str | None
    thread: int
    sequence: int
    first_change: int
    first_time: float
    next_change: int
    next_time: float
    blocks: int
    resetlogs_change: int
    resetlogs_time: float
    resetlogs_id: int
    completion_time: float
    dest_id: int = 1
    status: ArchiveStatus = ArchiveStatus.AVAILABLE
    block_size: int = BLOCK_SIZE
    dictionary_begin: bool = False
    dictionary_end: bool = False
    missing: bool = False

    @property
    def deleted(self) -> bool:
        """Whether STATUS is D: RMAN has deleted the file."""
        return self.status == ArchiveStatus.DELETED


@dataclass(slots=True)
class RedoThread:
    """One redo thread: a row of V$THREAD, its groups, and its archived logs of the present incarnation, in the order archived.
    Times are host seconds.

    :param instance: the instance that opens it; `enabled`: PUBLIC, PRIVATE or DISABLED.
    :param current: the group that is written.
    :param last_change, last_time, last_block: highest SCN of its redo, when redo was written last, and the block where its next
        record begins.
    :param checkpoint_change: SCN at which its redo ended when it was closed last; 0 before.
    :param enabled_change: SCN at which it was enabled last.
    :param disabled_change: SCN at which it was disabled; 0 while it is enabled.
    """

    number: int
    groups: list[LogGroup]
    current: LogGroup
    archived: list[ArchivedLog] = field(default_factory=list)
    instance: str = "ORCLCDB"
    last_change: int = 0
    last_time: float = 0.0
    last_block: int = 1
    enabled_change: int = 0
    enabled_time: float = 0.0
    enabled: str = "PUBLIC"
    is_open: bool = True
    open_time: float = 0.0
    checkpoint_change: int = 0
    disabled_change: int = 0
    disabled_time: float | None = None

    def checkpoint(self) -> None:
        """All redo before the current log is in the data files: groups with STATUS ACTIVE become INACTIVE."""
        for group in self.groups:
            if group.status == "ACTIVE":
                group.status = "INACTIVE"


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A row of V$DATABASE_INCARNATION: the database from one RESETLOGS to the next; `resetlogs_change` is the SCN at which it
    began, `resetlogs_time` in host seconds; `resetlogs_id` is in the names of its archived logs."""

    number: int
    resetlogs_change: int
    resetlogs_time: float
    resetlogs_id: int


@dataclass(frozen=True, slots=True)
class RedoState:
    """What a data directory keeps of the redo besides the journal, pickled.

    :param former: archived logs of earlier incarnations.
    :param destinations: directory of each LOG_ARCHIVE_DEST_n by number.
    :param journal_start: byte of the journal where the present incarnation begins.
    """

    threads: dict[int, RedoThread]
    incarnations: list[Incarnation]
    former: list[ArchivedLog]
    destinations: dict[int, str]
    journal_start: int
