"""Changes of rows with large values, while their rows come in and when they are whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc.capture.logminer.dml import RedoDecoder
from minercdc.capture.logminer.large_value import LargeValue
from minercdc.capture.logminer.row import LogMinerRow
from minercdc.events import UNAVAILABLE, Op, Row, Value


@dataclass(slots=True, eq=False)
class Assembled:
    """One whole change.

    :param row: the first of its rows.
    :param row_id: None when none of its rows had one.
    :param unknown: large values that the change set, and that redo does not hold.
    """

    row: LogMinerRow
    row_id: str | None
    decoder: RedoDecoder
    op: Op
    before: Row | None
    after: Row | None
    unknown: int = 0


@dataclass(slots=True, eq=False)
class Pending:
    """A change whose rows may not be complete.

    :ivar awaited: LOB columns of an INSERT whose value may follow.
    :ivar takes_lobs: rows that begin the value of a LOB may belong to it; DBMS_LOB's pieces may in any case.
    :ivar size: characters of the pieces it got.
    :ivar whole: the change, when nothing more belongs to it.
    """

    row: LogMinerRow
    row_id: str | None
    decoder: RedoDecoder
    op: Op
    before: Row | None
    after: list[Value]
    takes_lobs: bool
    awaited: set[int] = field(default_factory=set)
    values: dict[int, LargeValue] = field(default_factory=dict)
    spoiled: set[int] = field(default_factory=set)
    size: int = 0
    whole: Assembled | None = None

    def fits(self, known: Row) -> bool:
        """Whether the row with the values of a condition can be this one, before or after the change."""
        for i, value in enumerate(known):
            if value is UNAVAILABLE or self.after[i] is UNAVAILABLE or value == self.after[i]:
                continue
            if self.before is None or (self.before[i] is not UNAVAILABLE and value != self.before[i]):
                return False
        return True

    def has(self, column: int) -> bool:
        """Whether it gives the LOB column a value already."""
        return column in self.values or (self.after[column] is not UNAVAILABLE and column not in self.awaited)
