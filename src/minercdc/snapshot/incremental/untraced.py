"""Detects effects of DDL that redo does not show on rows that are being read: changed ROWIDs, removed or added rows.

MOVE, SHRINK, SPLIT ..           a table that is read in order of ROWID is read again from its first row
EXCHANGE, DROP PARTITION ..      so is every table: rows that came may lie before those that are read
FLASHBACK .. TO BEFORE DROP      likewise
RENAME of another table to this  a table that is partly read is read again from its first row: the rows that came with the
                                 name are not in redo. So is one that was dropped and is created again
RENAME COLUMN, DROP COLUMN ..    a table that is read in order of the column is read again from its first row: a later column of the
                                 name has other values, among which the last key says nothing
MODIFY of a CHAR column          likewise: its values have blanks up to the new length, and keys as they were read are less than them;
                                 from CHAR(5 BYTE) to CHAR(5 CHAR), too, where the shape stays as it was
TRUNCATE of the whole table      is a change of the stream, see `window.Changes`
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

from minercdc.oracle.fetching.binds import ROWID
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import AlterTable, ModifyColumn, TruncateTable, Unclear
from minercdc.schema.table import TableSchema
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import AdHocSnapshot, TableRead

_PADDED = ("CHAR", "NCHAR")


class Untraced(Enum):
    """NOTHING: redo has all that the DDL does to rows. MOVED: rows have other ROWIDs. LOST: rows went or came. OTHER: the name is that
    of another table. ORDER: columns that are read in order of are gone, or have other blanks, or their names are those of others."""

    NOTHING = auto()
    MOVED = auto()
    LOST = auto()
    OTHER = auto()
    ORDER = auto()


def untraced_by(change: SchemaChange, order: Collection[str] = ()) -> Untraced:
    """What the DDL of a change does to the rows of the change's table that redo does not show.

    :param order: columns in order of which the table is read.
    """
    if change.after is None or change.truncate:
        return Untraced.NOTHING
    if change.before is None:
        return Untraced.OTHER
    if any(name != ROWID and _type(change.after, name) != _type(change.before, name) for name in order):
        return Untraced.ORDER
    if not change.ddl:
        return Untraced.NOTHING
    statement = parse_ddl(change.ddl)
    if isinstance(statement, AlterTable) and _blanks_change(statement, change.after, order):
        return Untraced.ORDER
    if isinstance(statement, TruncateTable):
        return Untraced.LOST  # CASCADE, of a table that may have been emptied
    if isinstance(statement, AlterTable | Unclear):
        return Untraced.LOST if statement.loses_rows else Untraced.MOVED if statement.moves_rows else Untraced.NOTHING
    return Untraced.NOTHING


def _blanks_change(statement: AlterTable, after: TableSchema, order: Collection[str]) -> bool:
    """Whether values of a padded column that the table is read in order of, or of its key, may have more blanks or fewer since."""
    padded = {
        column.name
        for place, column in enumerate(after.columns)
        if column.type_name in _PADDED and (column.name in order or place in after.key)
    }
    return any(isinstance(one, ModifyColumn) and one.type_given and one.column.name in padded for one in statement.changes)


def _type(schema: TableSchema, name: str) -> str:
    """The type of a column, with its length where values have blanks up to it; '' when there is none of the name: columns get other
    names one by one."""
    place = schema.positions().get(name)
    if place is None:
        return ""
    column = schema.columns[place]
    return f"{column.type_name}({column.length})" if column.type_name in _PADDED else column.type_name


def from_the_first_row(snapshot: AdHocSnapshot, table: TableRead, untraced: Untraced) -> bool:
    """Whether a table that is partly read has to be read again from its first row: rows that are not read may lie before its last
    key."""
    if untraced is Untraced.NOTHING or not (table.last or table.maximum):
        return False
    return untraced is not Untraced.MOVED or snapshot.blocking or ROWID in table.order
