"""Tables that the configuration excluded for a time; pure.

The schema history has such a table, so nothing shows that changes of it are in no topic. The offset says so (`Offset.excluded`): once the
table is captured again, it is read again as a suspended one is, or a warning gives the command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from minercdc.errors import LogGapError
from minercdc.oracle.dictionary.captured_later import how_to_read
from minercdc.schema.table import TableId
from minercdc.stream.offset import Offset, SuspendedTable

_FIX: Final = "None: it is read again by itself."


@dataclass(frozen=True, slots=True)
class Again:
    """A table that is captured again.

    :param name: by `TableNames.of`.
    :param scn: up to which it was captured, 0 where that is not known.
    """

    table: TableId
    name: str
    scn: int

    @property
    def problem(self) -> str:
        """What its topic lacks."""
        return f"{self.name} is captured again: its changes since SCN {self.scn}, when it was excluded, are not published"

    def warning(self) -> str:
        """The problem, for the log, with the command that has its rows read."""
        return f"{self.problem}.  To read its rows: {how_to_read(self.table)}  Those that were deleted meanwhile stay in its topic."

    def suspended(self) -> SuspendedTable:
        """The entry by which it is read again, and its deletes found."""
        reason = f"it was excluded: its changes since SCN {self.scn} are not published"
        return SuspendedTable(self.name, self.scn, LogGapError.code, reason, _FIX, automatic=True)


def follow_excluded(
    offset: Offset, tables: Iterable[TableId], captured: Callable[[TableId], bool], name_of: Callable[[TableId], str]
) -> tuple[Offset, list[Again]]:
    """The offset with the tables that are excluded now, and those that were and are captured again. Neither changes before the initial
    snapshot is complete.

    :param tables: of the schema history.
    """
    if offset.position is None:
        return offset, []
    known = {name_of(table): table for table in tables}
    left_out = {name: offset.excluded.get(name, offset.complete_scn) for name, table in known.items() if not captured(table)}
    suspended = {entry.table for entry in offset.suspended}
    again = [
        Again(known[name], name, scn)
        for name, scn in sorted(offset.excluded.items())
        if name in known and name not in left_out and name not in suspended
    ]
    return replace(offset, excluded=left_out), again
