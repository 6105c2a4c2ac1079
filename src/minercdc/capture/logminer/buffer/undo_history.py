"""Tells what is left of the changes of a row, newest first, as far as an undo row needs it.

An undo row holds the real ROW_ID and, of an UPDATE, the columns that get their old value. Undo is written newest first, so what a
row undoes is the last thing that is left of its row. A change may be several rows:

    [docs/reference/logminer-facts.md#b-7-1]    - : with the placeholder as ROW_ID, R: with a real one

    INSERT- | UPDATE-     of the plain columns, or what empties NULL LOBs: begins the statement
    9- 10- 11- 29-        pieces of LOBs; those of a BasicFile's value may have two locators
    91- .. 93-            long strings, among the LOBs
    68- .. 71-            documents, after LOBs and long strings
    UPDATE R | 0 R        ends the statement, and says whose rows those with the placeholder are
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from minercdc.capture.logminer.buffer.undo_by_values import has_row_id, parsed_row
from minercdc.capture.logminer.lobs.lob_text import selected
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode, same_object

LOB_PIECES: Final = frozenset({OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE})
LOB_CODES: Final = LOB_PIECES | {OpCode.LOB_LOCATOR}
_COLUMN = re.compile(r'select\s*"([^"]+)"|"[^"]+"\s*\.\s*"[^"]+"\s*(?:a\s+)?set\s*(?:a\s*\.\s*)?"([^"]+)"\s*=')
_EMPTIED = re.compile(r"dbms_lob\.trim\(\s*loc_n?[bc]\s*,\s*0\s*\)", re.IGNORECASE)
# Each begins the pieces of one value.
_BEGINNINGS: Final = frozenset({OpCode.LOB_LOCATOR, OpCode.XML_BEGIN, OpCode.STRING_BEGIN})
_ROW_ID_SIZE: Final = 18
_SEGMENT: Final = 6  # characters of a ROWID that say the segment
_NO_STRINGS: Final[Mapping[str, str]] = MappingProxyType({})


class Unseen(NamedTuple):
    """The columns of a table of whose changes there may be no row.

    :param columns: their names; None: not known, so it may be any.
    :param strings: those of them of which short values are seen, with their types: strings that lie in the row or outside it, where
        rows of large values are not selected.
    :param large: the columns that may have rows of their own, seen or not.
    """

    columns: frozenset[str] | None = None
    strings: Mapping[str, str] = _NO_STRINGS
    large: frozenset[str] = frozenset()


class Undoable(Protocol):
    """The rows of a transaction, from which some can be taken out; `Transaction` fits."""

    def row_before(self, later: int) -> LogMinerRow | None:
        """The row that exactly `later` rows come after (0: the last one); None when there are not so many."""

    def take_out(self, later: int) -> None:
        """Remove the row that exactly `later` rows come after; `row_before` must have found it."""

    def put_in_place(self, later: int, rows: tuple[LogMinerRow, ...]) -> None:
        """As `take_out`, and put others of the same transaction where the row was."""


class Seen(NamedTuple):
    """A row of the table of an undo row, one that ends a statement of its segment, or the pieces of one value.

    :param row: of pieces the last one.
    :param of: the ROW_ID of the row that is changed, None when that is not known.
    :param places: how many rows come after it; of pieces each one's.
    :param column: of pieces: the name of their column, None when their text does not say it.
    :param in_place: of pieces: DBMS_LOB wrote them, which is a statement of its own.
    :param unlocated: pieces that name neither row nor column.
    :param writes: of pieces: the first one after the locator writes, as that of a new value does.
    :param empties: of pieces: they only empty the LOB, as comes before a BasicFile's new value.
    :param doubted: of a change in doubt: a row with its statement.
    """

    row: LogMinerRow
    of: str | None
    places: tuple[int, ...]
    column: str | None = None
    in_place: bool = False
    unlocated: bool = False
    writes: bool = False
    empties: bool = False
    doubted: LogMinerRow | None = None


def backwards(rows: Undoable, undo: LogMinerRow) -> Iterator[Seen]:
    """What has to do with the table of `undo`, newest first; a change that is in doubt with the row that holds its value, and an
    INSERT with the pieces that came before it."""
    later = 0
    written_after = False  # pieces that say nothing of their row follow
    ended_by: str | None = None
    doubted: LogMinerRow | None = None
    while (row := rows.row_before(later)) is not None:
        places: tuple[int, ...] = (later,)
        if row.code == OpCode.INTERNAL and row.rollback:
            doubted = row
            later += 1
            continue
        if doubted is not None:
            if same_object(row, undo):
                yield Seen(row, row.row_id, (later - 1, later), doubted=doubted)
                ended_by = row.row_id
            doubted = None
            later += 1
            continue
        if row.code == OpCode.INTERNAL:
            if _same_segment(row.row_id, undo.row_id):
                ended_by = row.row_id
                yield Seen(row, row.row_id, places)
        elif same_object(row, undo):
            if row.code in LARGE_CODES:
                seen = _pieces(rows, undo, later, ended_by)
                places, written_after = seen.places, seen.unlocated
                yield seen
            else:
                if row.code == OpCode.INSERT:
                    places = (later, *_written_before(rows, undo, row, later + 1, unlocated=not written_after))
                of, written_after = row.row_id if has_row_id(row) else ended_by, False
                yield Seen(row, of, places)
                ended_by = row.row_id if has_row_id(row) and row.code == OpCode.UPDATE else None
        later = places[-1] + 1


def _same_segment(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return len(one) != _ROW_ID_SIZE or len(other) != _ROW_ID_SIZE or one[:_SEGMENT] == other[:_SEGMENT]


def _written_before(rows: Undoable, undo: LogMinerRow, insert: LogMinerRow, later: int, *, unlocated: bool) -> list[int]:
    """The places of the pieces that came before the INSERT they belong to, as those of LOBs without storage in the row do: such
    pieces name a column that it leaves out, and its row; or neither.

    :param later: the place of the row before the INSERT.
    :param unlocated: pieces that name neither may be its own.
    """
    found: list[int] = []
    parsed = None
    while (row := rows.row_before(later)) is not None:
        if row.code != OpCode.LOB_WRITE or has_row_id(row) or not same_object(row, undo):
            break
        column, known = selected(row.sql or "")
        parsed = parsed or parsed_row(insert)
        if column is None:
            is_own = unlocated
        else:
            is_own = parsed is not None and column not in parsed.new
            is_own = is_own and parsed is not None and all(parsed.new.get(name) == known[name] for name in known)
        if not is_own:
            break
        found.append(later)
        later += 1
    return found


def _pieces(rows: Undoable, undo: LogMinerRow, later: int, ended_by: str | None) -> Seen:
    """The pieces of one value of the table of `undo`: the row before the last `later` rows, and those before it, up to and with
    the one that begins the value.

    :param ended_by: ROW_ID of the row that ends the statement of a LOB without a ROW_ID of its own.
    """
    last: LogMinerRow | None = None
    places: list[int] = []
    row_id = column = first = None
    is_open = empties = True
    while (row := rows.row_before(later)) is not None and same_object(row, undo) and row.code in LARGE_CODES:
        last = last or row
        places.append(later)
        row_id = row_id or (row.row_id if has_row_id(row) else None)
        if column is None and row.sql and (row.code in _BEGINNINGS or row.sql.lstrip().startswith("DECLARE")):
            match = _COLUMN.search(row.sql)
            column = (match[1] or match[2]) if match else None
        if row.code in _BEGINNINGS:
            is_open = False
            break
        first = row
        empties = empties and row.code == OpCode.LOB_TRIM and _EMPTIED.search(row.sql or "") is not None
        later += 1
    assert last is not None
    of = row_id or (ended_by if last.code in LOB_CODES else None)
    unlocated = row_id is column is None and is_open and last.code in LOB_CODES
    writes = first is not None and first.code == OpCode.LOB_WRITE
    empties = empties and first is not None
    seen = Seen(last, of, tuple(places), column, in_place=row_id is not None, unlocated=unlocated)
    return seen._replace(writes=writes, empties=empties)
