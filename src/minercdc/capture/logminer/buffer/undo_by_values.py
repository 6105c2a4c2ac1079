"""Finds the change that an undo row without a ROW_ID cancels, as of an index-organized table, whose rows have none.

Its text has values in place of that. Undo is written newest first: it is of the latest change of the table that is left and whose values
it does not contradict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode, same_object
from minercdc.capture.logminer.sql_redo.text import RedoDml, parse_redo
from minercdc.errors import RedoSyntaxError
from minercdc.values.literal import EMPTY_LOBS, Literal

_UNDONE_BY: Final[dict[int, OpCode]] = {
    OpCode.DELETE: OpCode.INSERT,
    OpCode.INSERT: OpCode.DELETE,
    OpCode.UPDATE: OpCode.UPDATE,
}
RowBefore = Callable[[int], LogMinerRow | None]


def has_row_id(row: LogMinerRow) -> bool:
    """Whether a row says which row of the table it is of."""
    return row.row_id is not None and row.row_id != PLACEHOLDER_ROW_ID


def parsed_row(row: LogMinerRow, unescaped: Collection[str] = ()) -> RedoDml | None:
    """The statement of a row; None when its text is missing or cannot be read. `unescaped` as of `parse_redo`."""
    try:
        return parse_redo((row.sql or "").rstrip("; "), unescaped=unescaped)
    except RedoSyntaxError:
        return None


def place_by_values(row_before: RowBefore, undo: LogMinerRow) -> int | None:
    """How many rows come after the change that `undo` cancels; None when it is not there.

    :param row_before: the row that exactly so many rows come after; None when there are not so many.
    """
    undone_by = _UNDONE_BY.get(undo.code)
    says = parsed_row(undo)
    later = 0
    while (row := row_before(later)) is not None:
        may_be = same_object(row, undo) and not has_row_id(row)
        if may_be and (row.code == OpCode.UNSUPPORTED or (row.code == undone_by and _fits(parsed_row(row), says))):
            return later
        later += 1
    return None


def _fits(change: RedoDml | None, undo: RedoDml | None) -> bool:
    """Whether the values of an undo row may be those of the change; so it is when either cannot be read."""
    if change is None or undo is None:
        return True
    changed = {name for name, value in change.new.items() if change.old.get(name) != value}
    if change.old and undo.new and undo.old and not changed <= undo.new.keys():
        return False  # an UPDATE of other columns
    return _agree({**change.old, **change.new}, undo.old) and _agree(change.old, undo.new)


def _agree(one: Mapping[str, Literal], other: Mapping[str, Literal]) -> bool:
    """Whether two images have the same values, as far as both say them; the placeholders of LOBs are no values."""
    names = one.keys() & other.keys()
    return all(one[n] == other[n] or one[n].function in EMPTY_LOBS or other[n].function in EMPTY_LOBS for n in names)
