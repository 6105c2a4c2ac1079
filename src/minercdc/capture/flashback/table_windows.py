"""Decides which tables are in a window, and emits events when that changes.

    in the windows   its versions are read
    suspended        they could not be, such as after DDL: tried again in each window, then the whole table is read again
    incremental      undo does not reach back, or the table is too slow for it: its changed rows are read as of the end of each window.
                     Once that is stable its versions are tried again, then the whole table is read again, for its deletes

New tables join with their first row, from their creation on; where versions do not show that, as suspended ones do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from minercdc.capture.flashback.demotion import demoted, name_of, promoted, read_incrementally
from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.capture.flashback.reading import Found
from minercdc.capture.flashback.shapes import announce, created_again, follow
from minercdc.capture.flashback.tables_reader import Outcome
from minercdc.capture.flashback.undo import Stability
from minercdc.errors import MinerCdcError, SnapshotTooOldError
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.stream.events import Event

_log = logging.getLogger(__name__)

_UNDO = frozenset([1555, 8181, 22924, 30052])  # ORA- codes: undo is gone
_UNKNOWN_TIME = 8181  # of SCN_TO_TIMESTAMP: so long ago that no date says what changed since


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a table is not in the window.

    :param reason: text for the log and the notification.
    :param undo: its undo is gone; else it had DDL, or a grant is missing, or a value cannot be read.
    :param code: number of the ORA- error, 0 when there is none.
    """

    reason: str
    undo: bool = False
    code: int = 0


@dataclass(slots=True)
class Judged:
    """The outcomes of reading the tables of a window, sorted by `Phases.judge`. A table is in one of the mappings at most.

    :ivar changes: SchemaChanges of tables that were known.
    :ivar found: what was read of the tables in the window.
    :ivar incremental: what was read of tables that are read incrementally, as of the window's end.
    :ivar failed: why tables could not be read, or cannot be delivered.
    """

    changes: list[Event]
    found: dict[TableId, Found] = field(default_factory=dict)
    incremental: dict[TableId, Found] = field(default_factory=dict)
    failed: dict[TableId, Failure] = field(default_factory=dict)


class Phases:
    """Keeps in which phase each table is: in the windows, suspended, or read incrementally; a position has what lasts of it. For
    each window that was read, `judge` comes first, then `left_out`, `announced` and `changed`.

    :param tables: shapes known so far; `judge` and `announced` change it.
    :param is_captured: whether a table is captured, and not read for its signals only.
    :param stability: how long incremental readings took; a table that leaves that phase is removed from it.
    :ivar empty: new tables that had no row yet.
    """

    def __init__(self, tables: Tables, is_captured: Callable[[TableId], bool], stability: Stability) -> None:
        self._tables = tables
        self._is_captured = is_captured
        self._stability = stability
        self.empty: set[TableId] = set()

    def is_new(self, table: TableId, shape: TableSchema) -> bool:
        """Whether a table is to be read from its creation on: captured, not in `tables` under its object id or, unless that is
        another table's, its name, and not in `empty`."""
        known = self._tables.find(table)
        is_known = known is not None and not created_again(known, shape)
        is_known = is_known or self._tables.find_object(table.database, shape.object_id) is not None
        return self._is_captured(table) and not is_known and table not in self.empty

    def reads_incrementally(self, table: TableId, position: FlashbackPosition) -> bool:
        """Whether a table is read incrementally in the window of `position`. Once its readings are stable, its versions are tried
        instead; but not in a replay, when `position.end` is set."""
        since = position.demoted.get(name_of(table), 0)
        return bool(since) and (bool(position.end) or not self._stability.is_stable(table))

    def judge(
        self,
        position: FlashbackPosition,
        shapes: Mapping[TableId, TableSchema],
        outcomes: Mapping[TableId, Outcome],
        scn: int,
        time_us: int,
    ) -> Judged:
        """Bring `tables` in line with `shapes`, new ones apart, and sort the outcomes of a window.

        :param position: at which the window was read.
        :param shapes: of the tables in the dictionary that are read.
        :param scn: first SCN of the rows with the present shapes.
        :param time_us: of the SchemaChanges, microseconds since the epoch in UTC.
        """
        judged = Judged([])
        for change, created in follow(self._tables, shapes, scn, time_us):
            judged.changes.append(change)
            if created is not None:
                judged.failed[created.id] = Failure("it was dropped and created again")
            elif (
                change.before
                and change.after
                and change.before.id != change.after.id
                and name_of(change.before.id) in position.demoted
            ):
                judged.failed[change.after.id] = Failure("it was renamed while it was demoted")
                if change.before.id in shapes:  # what is stored under that name is not of this table
                    judged.failed[change.before.id] = Failure("a table that was demoted had its name")
        for table, outcome in sorted(outcomes.items()):
            if table not in shapes or table in judged.failed:
                continue
            if isinstance(outcome, SnapshotTooOldError):
                undo = outcome.ora_code in _UNDO and not self.is_new(table, shapes[table])
                judged.failed[table] = Failure(outcome.message, undo, outcome.ora_code)
            elif isinstance(outcome, MinerCdcError):
                judged.failed[table] = Failure(outcome.message, code=getattr(outcome, "ora_code", 0))
            elif outcome.older:
                judged.failed[table] = Failure("it has rows from before the window")
            elif self.reads_incrementally(table, position):
                judged.incremental[table] = outcome
            else:
                judged.found[table] = outcome
        return judged

    def announced(self, judged: Judged, shapes: Mapping[TableId, TableSchema], scn: int, time_us: int) -> Iterator[Event]:
        """SchemaChanges of new tables that have rows, or were demoted at once; each is put into `tables` when it is yielded.
        A new table without rows is added to `empty`."""
        for table, shape in sorted(shapes.items()):
            if self._tables.find(table) is not None:
                continue
            found = judged.found.get(table)
            if (table in judged.failed and self._is_captured(table)) or (found is not None and found.versions):
                self.empty.discard(table)
                yield announce(self._tables, shape, scn, time_us)
            elif found is not None:
                self.empty.add(table)

    def changed(self, judged: Judged, position: FlashbackPosition, scn: int, time_us: int) -> Iterator[Event]:
        """Events for tables that leave the windows of `position`, or join them again, see `demotion`; a failure for which
        there is no event is logged as a warning."""
        for table, failure in sorted(judged.failed.items()):
            since = position.demoted.get(name_of(table))
            if not self._is_captured(table):
                _log.warning("%s: its rows from SCN %d on cannot be read: %s", table, position.next, failure.reason)
            elif since is None and failure.undo:
                self._stability.forget(table)
                yield from read_incrementally(table, scn, failure.reason, time_us)
            elif since is None or (since and not self._goes_on(table, failure, position)):
                yield from demoted(table, scn, failure.reason, time_us)
            elif since:
                self._stability.forget(table)
                _log.warning("%s: what changed since SCN %d cannot be read yet: %s", table, since, failure.reason)
        for table in sorted(judged.found):
            if name_of(table) in position.demoted:
                self._stability.forget(table)
                yield from promoted(table, scn, time_us)

    def left_out(self, judged: Judged, position: FlashbackPosition) -> dict[str, int]:
        """`FlashbackPosition.demoted` while the window is emitted: names of the tables that are not in it, each with the
        first SCN that its incremental reading has not covered, 0 for one that is suspended."""
        left = {name_of(table): position.demoted[name_of(table)] for table in judged.incremental}
        for table, failure in judged.failed.items():
            if self._is_captured(table):
                since = position.demoted.get(name_of(table))
                goes_on = failure.undo if since is None else bool(since) and self._goes_on(table, failure, position)
                left[name_of(table)] = (since or position.next) if goes_on else 0
        if position.end:  # a replay: those that were left out are not read
            left = {**{name: since for name, since in position.demoted.items() if since == 0}, **left}
        return left

    def _goes_on(self, table: TableId, failure: Failure, position: FlashbackPosition) -> bool:
        """Whether a table that failed while it was read incrementally stays in that phase; else it is suspended."""
        if not failure.code:
            return False  # its rows are others than before
        return not (self.reads_incrementally(table, position) and failure.code == _UNKNOWN_TIME)
