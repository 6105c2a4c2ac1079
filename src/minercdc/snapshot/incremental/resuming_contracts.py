"""The interfaces that `resuming.py` uses: the suspended tables, the database, and the memory of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.offset import SuspendedTable


class Suspended(Protocol):
    """The tables that are suspended now; `suspension.Suspensions` fits."""

    @property
    def split(self) -> str:
        """Id of the source transaction that is delivered in part; '' when there is none."""

    def tables(self) -> Sequence[SuspendedTable]:
        """All of them, in the order they were suspended; also those that wait only to be read once more."""

    def find(self, table: str) -> SuspendedTable | None:
        """The entry of a table, by its name in the state; None when it is not suspended."""


class Database(Protocol):
    """What a resumption reads from the database. Each method raises SourceError, PrerequisiteError or ConfigError when it
    cannot."""

    def obstacle(self, table: TableId, code: str) -> str:
        """Why rows of a table would still fail with the error `code`, and the SQL that repairs it, as text; '' when no cause
        is known, or the table is not there."""

    def moment(self, table: TableId) -> tuple[int, int]:
        """The present SCN of the database of a table, and an SCN at or below it that the stream comes to even when nothing
        more is written."""

    def oldest_open_scn(self, table: TableId) -> int:
        """An SCN at or before the start of every transaction that may still bring rows of a table: that is open, or begins
        later."""


class TopicMemory(Protocol):
    """Reads the topic of a table, for what its readers hold; `kafka.topic_fold.TopicFold` fits, and says what its methods
    raise. One topic at a time: `begin`, `ready` until it is True, `gone` until it is empty, `limits`, `close`."""

    def ends(self, table: TableSchema) -> tuple[tuple[int, int], ...]:
        """(partition, offset after its last record) of the table's topic; () when there is no topic."""

    def begin(self, table: TableSchema, marks: tuple[tuple[int, int], ...]) -> None:
        """Start to read the topic in the background. A key with a record at or after the mark of its partition is never given by
        `gone`."""

    def ready(self) -> bool:
        """Whether all of the topic has been read, so that `gone` may be called."""

    def gone(self, most: int) -> Sequence[bytes]:
        """The next `most` keys at most that have a row in the topic and no record since the marks; empty after the last."""

    def limits(self) -> str:
        """Why some of these keys could not be found; '' when all were."""

    def close(self) -> None:
        """Stop reading, and forget what was read; safe to call twice. `begin` may follow."""
