"""Takes out the rows that an undo row cancels, where a change may consist of several rows.

Undo is written newest first, so what a row undoes is at the end of what its table has left. An undo row holds the real
ROW_ID and the columns that get their old value; the rows it cancels may have the placeholder, and no key.

    DELETE            undoes an INSERT with all that completed it
    UPDATE set C, D   undoes the pieces of C and of D, the UPDATE of those that fit into the row, and that of plain columns,
                      as far as they are one statement's; each column once
    INSERT            undoes a DELETE
"""

from __future__ import annotations

import re
from typing import Protocol

from minercdc.capture.logminer.redo_text import parse_redo
from minercdc.capture.logminer.row import LARGE_CODES, PLACEHOLDER_ROW_ID, LogMinerRow, OpCode, same_object
from minercdc.errors import RedoSyntaxError

_COLUMN = re.compile(r'select\s*"([^"]+)"|"[^"]+"\s*\.\s*"[^"]+"\s*(?:a\s+)?set\s*(?:a\s*\.\s*)?"([^"]+)"\s*=')
# Each begins the pieces of one value.
_BEGINNINGS = frozenset({OpCode.LOB_LOCATOR, OpCode.XML_BEGIN, OpCode.STRING_BEGIN})
_LOB_PIECES = frozenset({OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE})


class Undoable(Protocol):
    """The rows of a transaction, from which some can be taken out; `Transaction` fits."""

    def row_before(self, later: int) -> LogMinerRow | None:
        """The row that exactly `later` rows come after (0: the last one); None when there are not so many."""

    def take_out(self, later: int) -> None:
        """Remove the row that exactly `later` rows come after; `row_before` must have found it."""


def undo_large(rows: Undoable, undo: LogMinerRow) -> bool:
    """Take out the rows that the undo row `undo` cancels, in a transaction with large values: those of the change, and of the
    pieces of its values. False when there is none."""
    if undo.code == OpCode.DELETE:
        return _undo_insert(rows, undo)
    if undo.code == OpCode.UPDATE:
        return _undo_update(rows, undo)
    return _undo_one(rows, undo, OpCode.DELETE)


def _same_row(row: LogMinerRow, undo: LogMinerRow) -> bool:
    return row.row_id in (undo.row_id, PLACEHOLDER_ROW_ID)


def _undo_one(rows: Undoable, undo: LogMinerRow, code: int) -> bool:
    later = 0
    while (row := rows.row_before(later)) is not None:
        if row.code == code and same_object(row, undo) and _same_row(row, undo):
            rows.take_out(later)
            return True
        later += 1
    return False


def _undo_insert(rows: Undoable, undo: LogMinerRow) -> bool:
    """Take out the latest INSERT of the row, or of a row without ROW_ID, and what follows it on this table and row; False when
    there is no such INSERT."""
    later = 0
    following: list[int] = []
    while (row := rows.row_before(later)) is not None:
        if same_object(row, undo) and _same_row(row, undo):
            if row.code == OpCode.INSERT:
                rows.take_out(later)
                for taken, place in enumerate(following):
                    rows.take_out(place - taken)
                return True
            following.append(later)
        later += 1
    return False


def _undo_update(rows: Undoable, undo: LogMinerRow) -> bool:
    wanted = _columns_set(undo.sql)
    undone, later = False, 0
    while (row := rows.row_before(later)) is not None:
        if not same_object(row, undo):
            later += 1
        elif row.code in LARGE_CODES:
            column = _column_of_pieces(rows, undo, later)
            if row.code in _LOB_PIECES and wanted is not None and column not in wanted:
                return undone or _undo_one(rows, undo, OpCode.UPDATE)
            _take_pieces(rows, undo, later)
            undone = True
            # Of documents and long strings the undo row may hold nothing.
            if wanted is not None and column is not None and column in wanted:
                wanted.discard(column)
                if not wanted:
                    return True
        elif row.code == OpCode.UPDATE and _same_row(row, undo):
            its = _columns_set(row.sql)
            if undone and (wanted is None or its is None or not its <= wanted):
                return True
            rows.take_out(later)
            undone = True
            if wanted is None or its is None or not wanted - its:
                return True
            wanted -= its
        elif undone:
            return True
        else:
            later += 1
    return undone


def _columns_set(sql: str | None) -> set[str] | None:
    """Names of the columns that an UPDATE assigns, none for a DELETE; None when the text is missing or cannot be read."""
    try:
        return set(parse_redo((sql or "").rstrip("; ")).new)
    except RedoSyntaxError:
        return None


def _take_pieces(rows: Undoable, undo: LogMinerRow, later: int) -> None:
    """Take out the pieces of one value of the table of `undo`: the row before the last `later` rows, and those before it, up
    to and with the one that begins the value."""
    while (row := rows.row_before(later)) is not None and same_object(row, undo) and row.code in LARGE_CODES:
        rows.take_out(later)
        if row.code in _BEGINNINGS:
            return


def _column_of_pieces(rows: Undoable, undo: LogMinerRow, later: int) -> str | None:
    """Name of the column that the pieces before the last `later` rows belong to; None when their text does not say it."""
    while (row := rows.row_before(later)) is not None and same_object(row, undo) and row.code in LARGE_CODES:
        if row.sql and (row.code in _BEGINNINGS or row.sql.lstrip().startswith("DECLARE")):
            match = _COLUMN.search(row.sql)
            if match:
                return match[1] or match[2]
        if row.code in _BEGINNINGS:
            return None
        later += 1
    return None
