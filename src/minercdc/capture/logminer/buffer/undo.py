"""Removes the change that an undo row cancels, if there is one.

An undo row holds the real ROW_ID and, of an UPDATE, the columns that get their old value. Undo is written newest first, so what a
row undoes is the last thing that is left of its row. A change may be several rows:

    [docs/reference/logminer-facts.md#b-7-1]    - : with the placeholder as ROW_ID, R: with a real one

    INSERT- | UPDATE-     of the plain columns, or what empties NULL LOBs: begins the statement
    9- 10- 11- 29-        pieces of LOBs; those of a BasicFile's value may have two locators
    91- .. 93-            long strings, among the LOBs
    68- .. 71-            documents, after LOBs and long strings
    UPDATE R | 0 R        ends the statement, and says whose rows those with the placeholder are

Not all rows of a statement need be there: without `lob.enabled`, those of large values are not selected. So an UPDATE that sets
back nothing but large columns may be of a statement that was not seen, and cancels only what sets no other column, to other values.

Of strings only those are not seen that lie outside the row, so a short value was given by a row that is seen. Set back to one, a row
is of the latest change that is left and gave another value; set back to a long one, it may be of that change, or of a statement after
it. Then the change is in doubt, until an undo row decides: one that sets back to the value that it gave, which keeps it, or to another
short one, or one of an older change. Where none comes the change stays, with `Unsupported Type` in place of the value: whether that
was undone or a longer one followed, it is not what the row has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from minercdc.capture.logminer.buffer.undo_by_values import has_row_id, parsed_row, place_by_values
from minercdc.capture.logminer.lobs.lob_text import selected
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode, same_object
from minercdc.capture.logminer.sql_redo.text import RedoDml, parse_condition
from minercdc.errors import RedoSyntaxError
from minercdc.values.literal import EMPTY_LOBS, NULL, UNSUPPORTED, Literal

_COLUMN = re.compile(r'select\s*"([^"]+)"|"[^"]+"\s*\.\s*"[^"]+"\s*(?:a\s+)?set\s*(?:a\s*\.\s*)?"([^"]+)"\s*=')
_EMPTIED = re.compile(r"dbms_lob\.trim\(\s*loc_n?[bc]\s*,\s*0\s*\)", re.IGNORECASE)
# Each begins the pieces of one value.
_BEGINNINGS: Final = frozenset({OpCode.LOB_LOCATOR, OpCode.XML_BEGIN, OpCode.STRING_BEGIN})
_LOB_PIECES: Final = frozenset({OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE})
_LOB_CODES: Final = _LOB_PIECES | {OpCode.LOB_LOCATOR}
_XML_CODES: Final = frozenset({OpCode.XML_BEGIN, OpCode.XML_WRITE, OpCode.XML_END})
_ROW_ID_SIZE: Final = 18
_SEGMENT: Final = 6  # characters of a ROWID that say the segment
_SHORTEST: Final = 3900  # bytes of a string from which on it may lie outside the row
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


def undo_change(rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> bool:
    """Take out the rows of the change that the undo row `undo` cancels, or put it in doubt. False when it is not there."""
    if not has_row_id(undo) and (undo.code == OpCode.INSERT or unseen.columns == frozenset()):
        place = place_by_values(rows.row_before, undo)
        if place is not None:
            rows.take_out(place)
        return place is not None
    if unseen.strings:
        done = _Doubts(rows, undo, unseen).settle()
        if done is not None:
            return done
    large = unseen.columns
    if undo.code == OpCode.UNSUPPORTED:
        places = _of_unsupported(rows, undo, large)
    elif undo.code == OpCode.DELETE:
        places = _of_insert(rows, undo)
    elif undo.code == OpCode.UPDATE:
        places = _of_update(rows, undo, unseen)
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


def _backwards(rows: Undoable, undo: LogMinerRow) -> Iterator[_Seen]:
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
                yield _Seen(row, row.row_id, (later - 1, later), doubted=doubted)
                ended_by = row.row_id
            doubted = None
            later += 1
            continue
        if row.code == OpCode.INTERNAL:
            if _same_segment(row.row_id, undo.row_id):
                ended_by = row.row_id
                yield _Seen(row, row.row_id, places)
        elif same_object(row, undo):
            if row.code in LARGE_CODES:
                seen = _pieces(rows, undo, later, ended_by)
                places, written_after = seen.places, seen.unlocated
                yield seen
            else:
                if row.code == OpCode.INSERT:
                    places = (later, *_written_before(rows, undo, row, later + 1, unlocated=not written_after))
                of, written_after = row.row_id if has_row_id(row) else ended_by, False
                yield _Seen(row, of, places)
                ended_by = row.row_id if has_row_id(row) and row.code == OpCode.UPDATE else None
        later = places[-1] + 1


def _same_segment(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return len(one) != _ROW_ID_SIZE or len(other) != _ROW_ID_SIZE or one[:_SEGMENT] == other[:_SEGMENT]


class _Change(NamedTuple):
    """An UPDATE of the row, all of it in one row of redo.

    :param given: the large columns whose values it changed, as it gave them.
    """

    seen: _Seen
    statement: LogMinerRow
    given: dict[str, Literal]


class _Doubts:
    """Settles the changes of the row of `undo` that are in doubt, by what `undo` says of them, or puts one more in doubt."""

    def __init__(self, rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> None:
        self._rows, self._undo, self._strings = rows, undo, unseen.strings
        parsed = self._parsed(undo) if undo.code == OpCode.UPDATE else None
        self._large = unseen.columns or frozenset()
        self._set_back = parsed.new if parsed is not None else {}
        self._values = self._set_back if self._set_back.keys() <= self._large else {}

    def settle(self) -> bool | None:
        """What `undo_change` returns; None where it is to go on, as of an undo row that cannot be of a statement that is not seen."""
        if not self._values:
            self._take_out([*takewhile(self._is_undone, self._history(certain=True))])
            return None
        while (newest := next(self._history(), None)) is not None:
            if self._is_contradicted(newest):
                self._take_out([newest])
                continue
            changes = self._changes()
            if not changes:
                break
            latest = changes[0]
            if self._is_kept(latest):
                if self._changed_nothing(latest):  # without it the row is the same, undone or not
                    self._take_out(self._down_to(latest))
                    return True
                for change in reversed(changes):
                    self._keep(change)
                return False
            if not any(self._is_short(name) for name in latest.given):
                return self._doubt(changes)
            self._take_out(self._down_to(latest))
            if latest.seen.doubted is not None:
                continue  # an undo row before this one was its
            return True
        return None

    def _is_undone(self, seen: _Seen) -> bool:
        """Whether a change is undone because an older one is: `undo` cannot be of it. It had set a string to the value that it had before,
        so that its own undo row did not say so; or it was in doubt."""
        if seen.doubted is not None:
            return True
        if not self._set_back or seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return False
        parsed = self._parsed(seen.row)
        return parsed is not None and parsed.new.keys() <= self._large and not parsed.new.keys() <= self._set_back.keys()

    def _is_contradicted(self, seen: _Seen) -> bool:
        """Whether a change is undone because a string is set back to a short value that it did not give, though `undo` is not of it, which
        sets more back: its own undo row did not say so, as in `_is_undone`."""
        if seen.doubted is not None or seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return False
        parsed = self._parsed(seen.row)
        if parsed is None or not parsed.new.keys() <= self._large or parsed.new.keys() <= self._values.keys():
            return False
        return any(
            self._is_short(name) and self._values[name] != parsed.new[name]
            for name in parsed.new.keys() & self._values.keys()
        )

    def _history(self, *, certain: bool = False) -> Iterator[_Seen]:
        """What is known to be of the row, newest first.

        :param certain: only down to an UPDATE that may be of the row, and so may be what is undone.
        """
        for seen in _backwards(self._rows, self._undo):
            if certain and seen.of is None and seen.row.code == OpCode.UPDATE:
                return
            if seen.of == self._undo.row_id:
                yield seen

    def _down_to(self, change: _Change) -> list[_Seen]:
        """What is known to be of the row, from the newest to this change."""
        return [*takewhile(lambda seen: seen.places <= change.seen.places, self._history())]

    def _change(self, seen: _Seen) -> _Change | None:
        """A change that may be what is undone, of a string at least; None for any other."""
        if seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return None
        statement = seen.doubted or seen.row
        parsed = self._parsed(statement)
        if parsed is None:
            return None
        given = {name: value for name, value in parsed.new.items() if parsed.old.get(name) != value}
        fits = given.keys() <= self._values.keys() and given.keys() & self._strings.keys()
        return _Change(seen, statement, given) if fits else None

    def _changes(self) -> list[_Change]:
        """Those at the end of the row's history, newest first. Between them may be some in doubt that set other columns."""
        found = []
        for seen in self._history():
            change = self._change(seen)
            if change is not None:
                found.append(change)
            elif seen.doubted is None:
                break
        return found

    def _is_kept(self, change: _Change) -> bool:
        return all(self._values[name] == value for name, value in change.given.items())

    def _changed_nothing(self, change: _Change) -> bool:
        """Whether the changes before this one had given the same values."""
        left = dict(change.given)
        for seen in self._history():
            if seen.places <= change.seen.places or seen.row.code in (OpCode.INTERNAL, *LARGE_CODES):
                continue
            parsed = self._parsed(seen.doubted or seen.row)
            if parsed is None or any(left[name] != parsed.new[name] for name in left.keys() & parsed.new.keys()):
                return False
            left = {name: value for name, value in left.items() if name not in parsed.new}
            if not left:
                return True
        return False

    def _is_short(self, name: str) -> bool:
        """Whether a string was set back to one that lies in the row."""
        kind, text = self._strings.get(name), self._values[name].text or ""
        if kind == "RAW":
            return len(text) // 2 < _SHORTEST
        size = 2 if kind == "NVARCHAR2" else 1
        return kind is not None and sum(size if char.isascii() else 4 for char in text) < _SHORTEST

    def _doubt(self, changes: list[_Change]) -> bool:
        """Put the latest of these in doubt that is not; where `undo` sets back to what it gave, those after it are undone."""
        change = next((one for one in changes if one.seen.doubted is None), None)
        if change is None:
            return False
        if self._is_kept(change):
            self._take_out(self._down_to(change)[:-1])
            return True
        hidden = change.statement._replace(code=int(OpCode.INTERNAL), rollback=1)
        shown = change.statement._replace(sql=self._without_values(change))
        self._rows.put_in_place(change.seen.places[0], (shown, hidden))
        return True

    def _keep(self, change: _Change) -> None:
        if change.seen.doubted is not None:
            newer, older = change.seen.places
            self._rows.take_out(newer)
            self._rows.put_in_place(older - 1, (change.statement._replace(code=int(OpCode.UPDATE), rollback=0),))

    def _without_values(self, change: _Change) -> str | None:
        """The statement, with no value for what it changes."""
        sql = (change.statement.sql or "").rstrip("; ")
        parsed = self._parsed(change.statement)
        condition = _condition(sql, parsed) if parsed is not None else None
        if parsed is None or condition is None:
            return change.statement.sql
        sets = ", ".join(f'"{name}" = {UNSUPPORTED}' for name in change.given)
        return f'update "{parsed.owner}"."{parsed.table}" set {sets}{condition}'

    def _take_out(self, some: list[_Seen]) -> None:
        for place in sorted((place for seen in some for place in seen.places), reverse=True):
            self._rows.take_out(place)

    def _parsed(self, row: LogMinerRow) -> RedoDml | None:
        return parsed_row(row) or parsed_row(row, self._strings)


def _condition(sql: str, parsed: RedoDml) -> str | None:
    """The WHERE of a statement, '' for none, None when it is not found: the last one that says what was read of it."""
    at = len(sql)
    while (at := sql.rfind(" where ", 0, at)) >= 0:
        try:
            if parse_condition(sql, at) == parsed.old:
                return sql[at:]
        except RedoSyntaxError:
            continue
    return None if parsed.old else ""


def _of_latest(rows: Undoable, undo: LogMinerRow, code: int) -> list[int]:
    """The place of the row's latest change, if that is of `code`; else []."""
    for seen in _backwards(rows, undo):
        if seen.of == undo.row_id and seen.row.code != OpCode.INTERNAL:
            return [*seen.places] if seen.row.code in (code, OpCode.UNSUPPORTED) else []
    return []


def _of_unsupported(rows: Undoable, undo: LogMinerRow, large: frozenset[str] | None) -> list[int]:
    """The place of what an undo row cancels that LogMiner does not show: the latest change of its row, or one after that which is not
    shown and does not say whose it is; [] for none. A change that is shown may be of several statements where not all changes are
    seen: which of them was undone is not known, so that `undo` is kept as a change that is not shown."""
    for seen in _backwards(rows, undo):
        is_shown = seen.row.code != OpCode.UNSUPPORTED
        if not is_shown and seen.of in (None, undo.row_id):
            return [*seen.places]
        if seen.of == undo.row_id and seen.row.code != OpCode.INTERNAL:
            if large == frozenset():
                return [*seen.places]
            if (last := rows.row_before(0)) is not None:
                rows.put_in_place(0, (last, undo._replace(rollback=0)))
            return []
    return []


def _of_insert(rows: Undoable, undo: LogMinerRow) -> list[int]:
    """The places of the latest INSERT of the row, or of one of which is not known whose it is, and of what follows it on this row;
    [] when there is no such INSERT."""
    following: list[int] = []
    for seen in _backwards(rows, undo):
        if seen.of not in (None, undo.row_id):
            continue
        if seen.of is not None and seen.row.code == OpCode.DELETE:
            return []
        following += seen.places
        if seen.row.code == OpCode.INSERT or (seen.of is not None and seen.row.code == OpCode.UNSUPPORTED):
            return following
    return []


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


def _of_update(rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> list[int]:
    """The places of the rows of the UPDATE that is undone, and of later ones of its row, which are undone first: where they set nothing
    but large values, their undo rows may have looked like those of changes that are not seen. [] when they are not there."""
    if unseen.columns and (places := _of_update_before_large(rows, undo, unseen.columns)):
        return places
    later: list[int] = []
    statement = _Statement(undo, unseen)
    for seen in _backwards(rows, undo):
        goes_on = statement.take(seen)
        while not goes_on and statement.is_later:
            later += statement.places
            statement, taken = _Statement(undo, unseen), seen.places[0] in later
            goes_on = taken or statement.take(seen)
        if not goes_on:
            break
    return [*later, *statement.places]


def _of_update_before_large(rows: Undoable, undo: LogMinerRow, large: frozenset[str]) -> list[int]:
    """The places of the UPDATE that is undone and of later ones of nothing but large values, [] where that is not how it lies. The undo row
    of those may have looked like that of a change which is not seen, as where NULL was set to NULL; but what is later is undone first."""
    parsed = parsed_row(undo)
    if parsed is None or not has_row_id(undo) or parsed.new.keys() <= large:
        return []
    later: list[int] = []
    for seen in _backwards(rows, undo):
        if seen.of not in (None, undo.row_id):
            continue
        update = parsed_row(seen.row) if seen.row.code == OpCode.UPDATE and has_row_id(seen.row) else None
        if update is None or seen.of is None:
            return []
        if not (update.new.keys() <= large and update.new.keys().isdisjoint(parsed.new)):
            changed = {name for name, value in update.new.items() if update.old.get(name) != value}
            fits = changed <= parsed.new.keys() <= update.new.keys()
            return [*later, *seen.places] if later and fits else []
        later += seen.places
    return []


class _Statement:
    """Gathers the rows of an UPDATE that is undone, newest first. Each `take` says whether older rows may belong to it, too.

    :ivar places: of its rows.
    """

    def __init__(self, undo: LogMinerRow, unseen: Unseen) -> None:
        self._undo, self._large, large = undo, unseen.large, unseen.columns
        parsed = parsed_row(undo)
        self._set_back = None if parsed is None else frozenset(parsed.new)
        self._left = None if parsed is None else set(parsed.new)
        self._values = {} if parsed is None else parsed.new
        self._were_null = {name for name, value in self._values.items() if value == NULL}
        self._may_be_unseen = self._set_back is not None and (large is None or self._set_back <= large)
        # It may be the second of two undo rows, of a statement that is in two rows and was undone as a whole by the first.
        self._is_to_null = bool(self._values) and self._values.keys() <= self._large & self._were_null
        # Of these each change is seen.
        self._plain = self._set_back - large if self._set_back is not None and large else frozenset()
        self._places: list[int] = []
        self._end: tuple[int, ...] = ()  # place of the row of code 0, until a row that it is the end of is taken
        self._is_ended = False
        self._ends_large = False  # the row that ends it can end one with large values
        self._small: set[str] = set()  # the columns of the UPDATE that ends it
        self._pieces_of: set[str | None] = set()
        self._has_values = False  # pieces of LOBs or strings were taken
        self._latest: _Seen | None = None  # what was taken last

    @property
    def places(self) -> list[int]:
        return [*self._places, *self._end]

    @property
    def is_empty(self) -> bool:
        """Whether no row was found so far, not even the end of a statement."""
        return not self._places and not self._is_ended

    @property
    def is_later(self) -> bool:
        """Whether what was found sets none of the plain columns that are set back: it is of a later statement, which is complete."""
        return bool(self._plain) and not self.is_empty and self._left is not None and self._plain <= self._left

    @property
    def _is_found(self) -> bool:
        """Whether all that is set back was found: what is left to find is how it began."""
        return self._left is not None and not self._left

    def take(self, seen: _Seen) -> bool:
        """Take what may be of the statement."""
        if seen.row.code == OpCode.INTERNAL:
            return self._take_end(seen)
        if seen.of not in (None, self._undo.row_id):
            return self.is_empty
        if seen.row.code in LARGE_CODES:
            return self._take_pieces(seen)
        if seen.row.code == OpCode.UPDATE:
            return self._take_update(seen)
        return self.is_empty if seen.of is None else self._take_other(seen)

    def _take_end(self, seen: _Seen) -> bool:
        """Take a row of code 0: the end of a statement on this row or, which ends this one, on another row."""
        if seen.of != self._undo.row_id:
            return self.is_empty
        if self._is_ended or self._is_found:
            return False
        self._latest = None
        self._end, self._is_ended, self._ends_large = seen.places, True, True
        return True

    def _take_pieces(self, seen: _Seen) -> bool:
        """Take the pieces of one value. Those of a LOB that is not set back are another statement's."""
        if self._latest is not None and _begin(seen, self._latest):
            is_whole = seen.empties and self._latest.row.code != OpCode.LOB_TRIM
            self._take(seen)
            if is_whole:
                self._latest = None
            return True
        is_said = self._left is not None and seen.column in self._left
        if (self._is_found and seen.row.code in _LOB_CODES) or (not is_said and self._is_before(seen)):
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
        self._pieces_of.add(seen.column)
        self._has_values = self._has_values or seen.row.code not in _XML_CODES
        return not seen.in_place

    def _is_before(self, seen: _Seen) -> bool:
        """Whether pieces are of an earlier statement: this one has begun with those that were taken, or is only the row that ends it."""
        if seen.column in self._pieces_of or (seen.in_place and bool(self._places)):
            return True
        if seen.row.code in _XML_CODES and self._has_values:
            return True
        return self._is_found and not self._ends_large

    def _take_update(self, seen: _Seen) -> bool:
        """Take an UPDATE: one with the placeholder begins the statement, one with a ROW_ID ends it or is all of it."""
        parsed = parsed_row(seen.row)
        columns = None if parsed is None else set(parsed.new)
        if self._is_found:
            begins = not has_row_id(seen.row) and _empties(parsed)
            if begins and columns is not None and columns <= self._were_null | self._small:
                self._take(seen)
            return False
        if not has_row_id(seen.row):
            if self._set_back is not None and columns is not None and not columns <= self._set_back:
                if self._is_ended and not self._places:
                    self._end = ()  # it is this row's
                return seen.of is None and self.is_empty
            self._take(seen)
            if self._left is not None and columns is not None:
                self._left -= columns
            return False
        if self._is_ended:
            return False
        if self._places and (self._left is None or columns is None or not columns <= self._left):
            return False
        if not self._places and not self._fits(parsed):
            return False
        self._take(seen)
        self._is_ended = True
        self._small = columns or set()
        self._ends_large = columns is not None and columns <= self._large
        if self._left is None:
            return self._ends_large
        if columns is None or not columns <= self._left:
            return False
        self._left -= columns
        return True

    def _take_other(self, seen: _Seen) -> bool:
        """An INSERT or DELETE of the row is no UPDATE of it; a row that LogMiner does not show may be."""
        if self._is_found:
            return False
        if not has_row_id(seen.row):
            self._end = ()
        elif self.is_empty and seen.row.code == OpCode.UNSUPPORTED:
            self._take(seen)
        return False

    def _fits(self, update: RedoDml | None) -> bool:
        """Whether an UPDATE with the ROW_ID can be what is undone. Where all changes are seen, the latest one of the row is."""
        if update is None or self._set_back is None or not (self._may_be_unseen or self._is_to_null):
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
        parsed = parsed_row(newer.row)
        return older.empties and parsed is not None and older.column in parsed.new
    return older.column == newer.column and (older.empties or not newer.writes)


def _empties(update: RedoDml | None) -> bool:
    """Whether an UPDATE only says that LOBs are empty, which NULL ones are before they get a value."""
    return update is not None and all(value.function in EMPTY_LOBS for value in update.new.values())


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
    of = row_id or (ended_by if last.code in _LOB_CODES else None)
    unlocated = row_id is column is None and is_open and last.code in _LOB_CODES
    writes = first is not None and first.code == OpCode.LOB_WRITE
    empties = empties and first is not None
    seen = _Seen(last, of, tuple(places), column, in_place=row_id is not None, unlocated=unlocated)
    return seen._replace(writes=writes, empties=empties)
