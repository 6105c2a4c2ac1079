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
    current and before its first use, `sequence` is 0 before its first use and, after RESETLOGS, until its next."""

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
    """V$ARCHIVED_LOG.STATUS."""

    AVAILABLE = "A"
    DELETED = "D"


@dataclass(slots=True)
class ArchivedLog:
    """A row of V$ARCHIVED_LOG; `name` is None once RMAN has deleted it.

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
        """Whether STATUS is D."""
        return self.status == ArchiveStatus.DELETED


@dataclass(slots=True)
class RedoThread:
    """One redo thread: a row of V$THREAD, its groups, and its archived logs of the present incarnation.

    :param instance: the instance that opens it; `enabled`: PUBLIC, PRIVATE or DISABLED.
    :param checkpoint_change: SCN at which its redo ended when it was closed last; 0 before.
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


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A row of V$DATABASE_INCARNATION: the database from one RESETLOGS to the next."""

    number: int
    resetlogs_change: int
    resetlogs_time: float
    resetlogs_id: int


@dataclass(frozen=True, slots=True)
class RedoState:
    """All of the redo that is not in the journal.

    :param former: archived logs of earlier incarnations.
    :param journal_start: where the present incarnation begins in the journal.
    """

    threads: dict[int, RedoThread]
    incarnations: list[Incarnation]
    former: list[ArchivedLog]
    destinations: dict[int, str]
    journal_start: int
