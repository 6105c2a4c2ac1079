"""Finds the captured tables to which rows of an unknown object may belong."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.errors import UnplacedRowError
from minercdc.schema.table import TableId, TableSchema

_STORED_COLUMN: Final = re.compile(r'"COL (\d+)"')
_INSERTED: Final = re.compile(r'insert into "[^"]*"\."BIN\$[^"]*"\(("[^)]*")\) values')


class Unplaced(Exception):
    """A row of an unknown object.

    :ivar tables: the captured tables that it may be of, at least one.
    """

    def __init__(self, error: UnplacedRowError, tables: tuple[TableId, ...]) -> None:
        super().__init__(error)
        self.error, self.tables = error, tables


def place(row: LogMinerRow, shapes: ShapeTracker, unread: Collection[str]) -> None:
    """Raises Unplaced for a row of an unknown object that may be of captured tables, beside those of `unread`, whose rows are
    not looked at; nothing for a row that is of none of them. Errors of `ShapeTracker.possible` pass through."""
    tables = tuple(
        table
        for table in shapes.possible(row)
        if shapes.name_of(table) not in unread and _fits(row, shapes.tables.find(table))
    )
    if not tables:
        return
    names = ", ".join(map(shapes.name_of, tables))
    error = UnplacedRowError(
        f"object {row.object_id} no longer exists; it may have been a partition of {names}",
        hint="The partition was created and dropped before its redo was read, so its table is unknown.",
    )
    raise Unplaced(error, tables)


def _fits(row: LogMinerRow, schema: TableSchema | None) -> bool:
    """Whether a row may be one of a table: not when it has more columns, or others. True where that is not known."""
    if schema is None or not schema.stored:
        return True
    inserted = _INSERTED.match(row.sql or "")
    if inserted is not None and '"COL ' not in inserted[1]:
        return set(inserted[1][1:-1].split('","')) <= set(schema.stored)
    numbers = (int(number) for number in _STORED_COLUMN.findall(row.sql or ""))
    return max(numbers, default=0) <= len(schema.stored)
