"""Takes out what an undo row cancels: the change that it names, or nothing.

An undo row holds the real ROW_ID and, of an UPDATE, the columns that get their old value. Undo is written newest first, so what a
row undoes is the last thing that is left of its row. A change may be several rows:

    [docs/reference/logminer-facts.md#b-7-1]    - : with the placeholder as ROW_ID, R: with a real one

    INSERT- | UPDATE-     of the plain columns, or what empties NULL LOBs: begins the statement
    9- 10- 11- 29-        pieces of LOBs; those of a BasicFile's value may have two locators
    UPDATE R | 0 R        ends the statement, and says whose rows those with the placeholder are
    68- .. 71-, 91- ..    documents and long strings

Not all rows of a statement need be there: without `lob.enabled`, those of large values are not selected. So an UPDATE that sets
back nothing but large columns may be of a statement that was not seen, and cancels only what sets no other column, to other values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from minercdc.capture.logminer.session.row import (
    LARGE_CODES,
    PLACEHOLDER_ROW_ID,
    LogMinerRow,
    OpCode,
    same_object,
)
from minercdc.capture.logminer.sql_redo.text import RedoDml, parse_redo
from minercdc.errors import RedoSyntaxError
from minercdc.values.literal import EMPTY_LOBS, NULL

_COLUMN = re.compile(r'select\s*"([^"]+)"|"[^"]+"\s*\.\s*"[^"]+"\s*(?:a\s+)?set\s*(?:a\s*\.\s*)?"([^"]+)"\s*=')
_EMPTIED = re.compile(r"dbms_lob\.trim\(\s*loc_n?[bc]\s*,\s*0\s*\)", re.IGNORECASE)
# Each begins the pieces of one value.
_BEGINNINGS: Final = frozenset({OpCode.LOB_LOCATOR, OpCode.XML_BEGIN, OpCode.STRING_BEGIN})
_LOB_PIECES: Final = frozenset({OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE})
_LOB_CODES: Final = _LOB_PIECES | {OpCode.LOB_LOCATOR}
_ROW_ID_SIZE: Final = 18
_SEGMENT: Final = 6  # characters of a ROWID that say the segment


class Undoable(Protocol):
    """The rows of a transaction, from which some can be taken out; `Transaction` fits."""

    def row_before(self, later: int) -> LogMinerRow | None:
        """The row that exactly `later` rows come after (0: the last one); None when there are not so many."""

    def take_out(self, later: int) -> None:
        """Remove the row that exactly `later` rows come after; `row_before` must have found it."""


def undo_change(rows: Undoable, undo: LogMinerRow, large: frozenset[str] | None) -> bool:
    """Take out the rows of the change that the undo row `undo` cancels. False when it is not there.

    :param large: the table's columns of whose changes there may be no row; None: not known, so it may be any.
    """
    if undo.code == OpCode.DELETE:
        places = _of_insert(rows, undo)
    elif undo.code == OpCode.UPDATE:
        places = _of_update(rows, undo, large)
    else:
        places = _of_latest(rows, undo, OpCode.DELETE if undo.code == OpCode.INSERT else undo.code)
    for taken, place in enumerate(sorted(places)):
        rows.take_out(place - taken)
    return bool(places)


class _Seen(NamedTuple):
    """A row of the table of an undo row, one that ends a statement of its segment, or the pieces of one value.

    :param row: of pieces the last one.
    :param of: the ROW_ID of the row that is changed, None when that is not known.
    :param places: how many rows come after it; of pieces each one's.
    :param column: of pieces: the name of their column, None when their text does not say it.
    :param in_place: of pieces: DBMS_LOB wrote them, which is a statement of its own.
    :param unlocated: pieces that name neither row nor column.
    :param writes: of pieces: the first one after the locator writes, as that of a new value does.
    :param empties: of pieces: they only empty the LOB, as comes before a BasicFile's new value.
    """

    row: LogMinerRow
    of: str | None
    places: tuple[int, ...]
    column: str | None = None
    in_place: bool = False
    unlocated: bool = False
    writes: bool = False
    empties: bool = False


def _backwards(rows: Undoable, undo: LogMinerRow) -> Iterator[_Seen]:
    """What has to do with the table of `undo`, newest first."""
    later = 0
    ended_by: str | None = None
    while (row := rows.row_before(later)) is not None:
        places: tuple[int, ...] = (later,)
        if row.code == OpCode.INTERNAL:
            if _same_segment(row.row_id, undo.row_id):
                ended_by = row.row_id
                yield _Seen(row, row.row_id, places)
        elif same_object(row, undo):
            if row.code in LARGE_CODES:
                seen = _pieces(rows, undo, later, ended_by)
                places = seen.places
                yield seen
            elif _has_row_id(row):
                yield _Seen(row, row.row_id, places)
                ended_by = row.row_id if row.code == OpCode.UPDATE else None
            else:
                yield _Seen(row, ended_by, places)
                ended_by = None
        later = places[-1] + 1


def _has_row_id(row: LogMinerRow) -> bool:
    return row.row_id is not None and row.row_id != PLACEHOLDER_ROW_ID


def _same_segment(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return len(one) != _ROW_ID_SIZE or len(other) != _ROW_ID_SIZE or one[:_SEGMENT] == other[:_SEGMENT]


def _of_latest(rows: Undoable, undo: LogMinerRow, code: int) -> list[int]:
    """The place of the row's latest change, if that is of `code`; else []."""
    for seen in _backwards(rows, undo):
        if seen.of == undo.row_id and seen.row.code != OpCode.INTERNAL:
            return [*seen.places] if seen.row.code in (code, OpCode.UNSUPPORTED) else []
    return []


def _of_insert(rows: Undoable, undo: LogMinerRow) -> list[int]:
    """The places of the latest INSERT of the row, or of one of which is not known whose it is, and of what follows it on this row;
    [] when there is no such INSERT."""
    following: list[int] = []
    found = False
    for seen in _backwards(rows, undo):
        if found:  # LOBs without storage in the row come before it
            return [*following, *seen.places] if seen.unlocated else following
        if seen.of not in (None, undo.row_id):
            continue
        if seen.of is not None and seen.row.code == OpCode.DELETE:
            return []
        following += seen.places
        found = seen.row.code == OpCode.INSERT or (seen.of is not None and seen.row.code == OpCode.UNSUPPORTED)
    return following if found else []


def _of_update(rows: Undoable, undo: LogMinerRow, large: frozenset[str] | None) -> list[int]:
    """The places of the rows of the UPDATE that is undone; [] when they are not there."""
    statement = _Statement(undo, large)
    for seen in _backwards(rows, undo):
        if seen.row.code == OpCode.INTERNAL:
            goes_on = statement.take_end(seen)
        elif seen.of not in (None, undo.row_id):
            goes_on = statement.is_empty
        elif seen.row.code in LARGE_CODES:
            goes_on = statement.take_pieces(seen)
        elif seen.row.code == OpCode.UPDATE:
            goes_on = statement.take_update(seen)
        elif seen.of is None:
            goes_on = statement.is_empty
        else:
            goes_on = statement.take_other(seen)
        if not goes_on:
            break
    return statement.places


class _Statement:
    """Gathers the rows of an UPDATE that is undone, newest first. Each `take_` says whether older rows may belong to it, too.

    :ivar places: of its rows.
    """

    def __init__(self, undo: LogMinerRow, large: frozenset[str] | None) -> None:
        self._undo = undo
        parsed = _parsed(undo)
        self._set_back = None if parsed is None else frozenset(parsed.new)
        self._left = None if parsed is None else set(parsed.new)
        self._values = {} if parsed is None else parsed.new
        self._were_null = {name for name, value in self._values.items() if value == NULL}
        self._may_be_unseen = self._set_back is not None and (large is None or self._set_back <= large)
        self._places: list[int] = []
        self._end: tuple[int, ...] = ()  # place of the row of code 0, until a row that it is the end of is taken
        self._is_ended = False
        self._latest: _Seen | None = None  # what was taken last

    @property
    def places(self) -> list[int]:
        return [*self._places, *self._end]

    @property
    def is_empty(self) -> bool:
        """Whether no row was found so far, not even the end of a statement."""
        return not self._places and not self._is_ended

    @property
    def _is_found(self) -> bool:
        """Whether all that is set back was found: what is left to find is how it began."""
        return self._left is not None and not self._left

    def take_end(self, seen: _Seen) -> bool:
        """Take a row of code 0: the end of a statement on this row or, which ends this one, on another row."""
        if seen.of != self._undo.row_id:
            return self.is_empty
        if self._is_ended or self._is_found:
            return False
        self._latest = None
        self._end, self._is_ended = seen.places, True
        return True

    def take_pieces(self, seen: _Seen) -> bool:
        """Take the pieces of one value. Those of a LOB that is not set back are another statement's."""
        if self._latest is not None and _begin(seen, self._latest):
            is_whole = seen.empties and self._latest.row.code != OpCode.LOB_TRIM
            self._take(seen)
            if is_whole:
                self._latest = None
            return True
        if self._is_found:
            return False
        if seen.row.code in _LOB_PIECES and self._left is not None and seen.column not in self._left:
            if self._places:
                return False
            self._end, self._is_ended = (), False
            return True
        self._take(seen)
        if self._left is not None and seen.column is not None and seen.column in self._left:
            # Of documents and long strings the undo row may hold nothing.
            self._left.discard(seen.column)
        return not seen.in_place

    def take_update(self, seen: _Seen) -> bool:
        """Take an UPDATE: one with the placeholder begins the statement, one with a ROW_ID ends it or is all of it."""
        parsed = _parsed(seen.row)
        columns = None if parsed is None else set(parsed.new)
        if self._is_found:
            if not _has_row_id(seen.row) and _empties(parsed) and columns is not None and columns <= self._were_null:
                self._take(seen)
            return False
        if not _has_row_id(seen.row):
            if self._set_back is not None and columns is not None and not columns <= self._set_back:
                if self._is_ended and not self._places:
                    self._end = ()  # it is this row's
                return seen.of is None and self.is_empty
            self._take(seen)
            return False
        if self._is_ended:
            return False
        if self._places and (self._left is None or columns is None or not columns <= self._left):
            return False
        if not self._places and not self._fits(parsed):
            return False
        self._take(seen)
        self._is_ended = True
        if self._left is None or columns is None or not columns <= self._left:
            return False
        self._left -= columns
        return True

    def take_other(self, seen: _Seen) -> bool:
        """An INSERT or DELETE of the row is no UPDATE of it; a row that LogMiner does not show may be."""
        if self._is_found:
            return False
        if not _has_row_id(seen.row):
            self._end = ()
        elif self.is_empty and seen.row.code == OpCode.UNSUPPORTED:
            self._take(seen)
        return False

    def _fits(self, update: RedoDml | None) -> bool:
        """Whether an UPDATE with the ROW_ID can be what is undone. Where all changes are seen, the latest one of the row is."""
        if update is None or self._set_back is None or not self._may_be_unseen:
            return True
        columns = update.new.keys()
        # Setting a NULL at the row's end to NULL prints all columns, with the values that they had.
        changed = {name for name, value in update.new.items() if update.old.get(name) != value}
        if changed and all(self._values.get(name) == update.new[name] for name in changed):
            return False  # what is set back to its values came after it
        return columns <= self._set_back or (changed <= self._set_back and not self._set_back.isdisjoint(columns))

    def _take(self, seen: _Seen) -> None:
        self._latest = seen
        self._places += [*self._end, *seen.places]
        self._end = ()


def _begin(older: _Seen, newer: _Seen) -> bool:
    """Whether pieces belong to the value that what comes after them sets: of a BasicFile, whose TRIM has a locator of its own, before or
    after the pieces that are written."""
    if older.row.code not in _LOB_PIECES or older.in_place or older.column is None:
        return False
    if newer.row.code == OpCode.UPDATE:
        parsed = _parsed(newer.row)
        return older.empties and parsed is not None and older.column in parsed.new
    return older.column == newer.column and (older.empties or not newer.writes)


def _empties(update: RedoDml | None) -> bool:
    """Whether an UPDATE only says that LOBs are empty, which NULL ones are before they get a value."""
    return update is not None and all(value.function in EMPTY_LOBS for value in update.new.values())


def _parsed(row: LogMinerRow) -> RedoDml | None:
    """The statement of a row; None when its text is missing or cannot be read."""
    try:
        return parse_redo((row.sql or "").rstrip("; "))
    except RedoSyntaxError:
        return None


def _pieces(rows: Undoable, undo: LogMinerRow, later: int, ended_by: str | None) -> _Seen:
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
        row_id = row_id or (row.row_id if _has_row_id(row) else None)
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
    of = row_id or (ended_by if last.code in _LOB_CODES else None)
    unlocated = row_id is column is None and is_open and last.code in _LOB_CODES
    writes = first is not None and first.code == OpCode.LOB_WRITE
    empties = empties and first is not None
    seen = _Seen(last, of, tuple(places), column, in_place=row_id is not None, unlocated=unlocated)
    return seen._replace(writes=writes, empties=empties)
