"""Detects effects of DDL that redo does not show on rows that are being read: changed ROWIDs, removed or added rows.

MOVE, SHRINK, SPLIT ..           a table that is read in order of ROWID is read again from its first row
EXCHANGE, DROP PARTITION ..      so is every table: rows that came may lie before those that are read
FLASHBACK .. TO BEFORE DROP      likewise
RENAME of another table to this  a table that is partly read is read again from its first row: the rows that came with the
                                 name are not in redo. So is one that was dropped and is created again
TRUNCATE of the whole table      is a change of the stream, see `window.Changes`
"""

from __future__ import annotations

from enum import Enum, auto

from minercdc.oracle.fetching.binds import ROWID
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import AlterTable, TruncateTable, Unclear
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import AdHocSnapshot, TableRead


class Untraced(Enum):
    """NOTHING: redo has all that the DDL does to rows. MOVED: rows have other ROWIDs. LOST: rows went or came. OTHER: the name is that
    of another table."""

    NOTHING = auto()
    MOVED = auto()
    LOST = auto()
    OTHER = auto()


def untraced_by(change: SchemaChange) -> Untraced:
    """What the DDL of a change does to the rows of the change's table that redo does not show."""
    if change.after is None or change.truncate:
        return Untraced.NOTHING
    if change.before is None:
        return Untraced.OTHER
    if not change.ddl:
        return Untraced.NOTHING
    statement = parse_ddl(change.ddl)
    if isinstance(statement, TruncateTable):
        return Untraced.LOST  # CASCADE, of a table that may have been emptied
    if isinstance(statement, AlterTable | Unclear):
        return Untraced.LOST if statement.loses_rows else Untraced.MOVED if statement.moves_rows else Untraced.NOTHING
    return Untraced.NOTHING


def from_the_first_row(snapshot: AdHocSnapshot, table: TableRead, untraced: Untraced) -> bool:
    """Whether a table that is partly read has to be read again from its first row: rows that are not read may lie before its last
    key."""
    if untraced is Untraced.NOTHING or not (table.last or table.maximum):
        return False
    return untraced is not Untraced.MOVED or snapshot.blocking or ROWID in table.order
