"""Marks where each row stands in its snapshot: first or last of all, or of its table (Debezium's `source.snapshot`).

Only the rows that follow show whether a row is the last one of its table, or of all. So the latest row of each table is held
back, and the last row of the table that was finished last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from minercdc.stream.events import ChangeEvent, FetchedRows, ReadRun, Scn, SnapshotMark


class Placed(NamedTuple):
    """Rows of one range, at least one, with the place of its table in the state, and of the range in the table."""

    place: tuple[int, int]
    events: list[ChangeEvent | ReadRun]

    @property
    def rows(self) -> int:
        """How many rows these are."""
        return sum(len(event) if isinstance(event, ReadRun) else 1 for event in self.events)

    @property
    def last_row_id(self) -> str | None:
        """ROWID of the last row; None when the rows have none."""
        return self.events[-1].row_id


def read_events(rows: FetchedRows, scn: Scn, time_us: int, *, runs: bool) -> list[ChangeEvent | ReadRun]:
    """The rows as READ events for `RowMarks.take`, [] for none. With `runs`, three rows or more are three runs: the first row,
    those between, the last row. Raises ValueDecodeError when a row that is made an event does not fit.

    :param time_us: of the events, microseconds since the epoch in UTC.
    """

    def run(some: FetchedRows) -> ReadRun:
        return ReadRun(some, scn, time_us, SnapshotMark.TRUE)

    last = len(rows) - 1
    if last < 0:
        return []
    if not runs or last < 2:
        return [*run(rows).events(0, last + 1)]
    return [run(rows.only(rows.rows[begin:end])) for begin, end in ((0, 1), (1, last), (last, last + 1))]


class RowMarks:
    """Marks the rows of one snapshot, in the order that the tables' ranges happen to be read in. Rows come by `take`, the end
    of each table by `end_table`, that of the snapshot by `end`.

    :param begun: places of tables of which rows were delivered before.
    """

    def __init__(self, begun: Iterable[int]) -> None:
        self._begun = set(begun)
        self._held: dict[int, Placed] = {}
        self._last: Placed | None = None

    def holds(self, place: tuple[int, int]) -> bool:
        """Whether a row of that range is held back."""
        held = self._held.get(place[0])
        return (held is not None and held.place == place) or (self._last is not None and self._last.place == place)

    def held_of(self, table: int) -> int:
        """How many rows of a table are held back for its end: 0 or 1; always 0 after `end_table`."""
        return int(table in self._held)

    def take(self, place: tuple[int, int], events: list[ChangeEvent | ReadRun]) -> Iterator[Placed]:
        """Mark the next rows of a range, and yield rows whose mark is certain: those held back before, then `events`, of
        which the last is taken out and held back. Like `end_table` and `end` it does nothing until it is iterated over.

        :param events: the first and the last one are each of one row.
        """
        if not events:
            return
        table = place[0]
        yield from self._not_the_last()
        for event in events:
            event.snapshot = SnapshotMark.TRUE
        if table not in self._begun:
            events[0].snapshot = SnapshotMark.FIRST_IN_DATA_COLLECTION if self._begun else SnapshotMark.FIRST
            self._begun.add(table)
        if table in self._held:
            yield self._held[table]
        self._held[table] = Placed(place, [events.pop()])
        if events:
            yield Placed(place, events)

    def end_table(self, table: int) -> Iterator[Placed]:
        """End a table, all ranges of which are read: its row that is held back, if there is one, is the last row so far, and the
        last row of the table that ended before it is yielded."""
        held = self._held.pop(table, None)
        if held is not None:
            yield from self._not_the_last()
            self._last = held

    def end(self) -> Iterator[Placed]:
        """End the snapshot, all tables of which have ended: marks and yields the last row of all; nothing when no row was taken
        in this run."""
        if self._last is not None:
            self._last.events[0].snapshot = SnapshotMark.LAST
            yield self._last
            self._last = None

    def _not_the_last(self) -> Iterator[Placed]:
        """Mark and yield the last row so far, if there is one, as the last of its table only, since more rows come. The very
        first row keeps its mark."""
        if self._last is not None:
            event = self._last.events[0]
            if event.snapshot is not SnapshotMark.FIRST:
                event.snapshot = SnapshotMark.LAST_IN_DATA_COLLECTION
            yield self._last
            self._last = None
