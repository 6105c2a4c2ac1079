"""Gathers the rows of the UPDATE that an undo row cancels: those of its plain columns, of its large values, and the one that ends it.

Not all rows of a statement need be there: without `lob.enabled`, those of large values are not selected. So an UPDATE that sets
back nothing but large columns may be of a statement that was not seen, and cancels only what sets no other column, to other values.
"""

from __future__ import annotations

from typing import Final

from minercdc.capture.logminer.buffer.undo_by_values import has_row_id, parsed_row
from minercdc.capture.logminer.buffer.undo_history import LOB_CODES, LOB_PIECES, Seen, Unseen
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.text import RedoDml
from minercdc.values.literal import EMPTY_LOBS, NULL

_XML_CODES: Final = frozenset({OpCode.XML_BEGIN, OpCode.XML_WRITE, OpCode.XML_END})


class UndoneUpdate:
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
        self._documents: list[Seen] = []  # that were taken, after the row of code 0 and before any other
        self._latest: Seen | None = None  # what was taken last

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

    def take(self, seen: Seen) -> bool:
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

    def _take_end(self, seen: Seen) -> bool:
        """Take a row of code 0: the end of a statement on this row or, which ends this one, on another row."""
        if seen.of != self._undo.row_id:
            return self.is_empty
        if self._is_ended or self._is_found:
            return False
        self._latest = None
        self._end, self._is_ended, self._ends_large = seen.places, True, True
        return True

    def _take_pieces(self, seen: Seen) -> bool:
        """Take the pieces of one value. Those of a LOB that is not set back are another statement's."""
        if self._latest is not None and _begin(seen, self._latest):
            is_whole = seen.empties and self._latest.row.code != OpCode.LOB_TRIM
            self._take(seen)
            if is_whole:
                self._latest = None
            return True
        if self._documents and seen.row.code not in _XML_CODES and self._give_back_documents(seen):
            return False
        is_said = self._left is not None and seen.column in self._left
        if (self._is_found and seen.row.code in LOB_CODES) or (not is_said and self._is_before(seen)):
            return False
        if seen.row.code in LOB_PIECES and self._left is not None and not is_said:
            if self._places:
                return False
            self._end, self._is_ended = (), False
            return True
        if seen.row.code in _XML_CODES and (self._documents or (self._end and not self._places)):
            self._documents.append(seen)
        self._take(seen)
        if self._left is not None and seen.column is not None:
            # Of documents and long strings the undo row may hold nothing.
            self._left.discard(seen.column)
        self._pieces_of.add(seen.column)
        self._has_values = self._has_values or seen.row.code not in _XML_CODES
        return not seen.in_place

    def _give_back_documents(self, seen: Seen) -> bool:
        """Whether LOBs or strings before several documents are of an earlier statement, and give back the documents that are, too.
        The row of code 0 of such a mixture is not selected (docs/reference/logminer-facts.md#b-9): the one that was taken ends
        documents alone. Given back are those before the ones that the undo row names; when it names none, the first one."""
        said = self._set_back or frozenset()
        if len(self._documents) < 2 or seen.column in said:
            return False
        are_said = [document.column in said for document in self._documents]
        kept = len(are_said) - (are_said[::-1].index(True) if any(are_said) else 1)
        given_back = {place for document in self._documents[kept:] for place in document.places}
        self._places = [place for place in self._places if place not in given_back]
        return bool(given_back)

    def _is_before(self, seen: Seen) -> bool:
        """Whether pieces are of an earlier statement: this one has begun with those that were taken, or is only the row that ends it."""
        if seen.column in self._pieces_of or (seen.in_place and bool(self._places)):
            return True
        if seen.row.code in _XML_CODES and self._has_values:
            return True
        return self._is_found and not self._ends_large

    def _take_update(self, seen: Seen) -> bool:
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

    def _take_other(self, seen: Seen) -> bool:
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

    def _take(self, seen: Seen) -> None:
        self._latest = seen
        self._places += [*self._end, *seen.places]
        self._end = ()


def _begin(older: Seen, newer: Seen) -> bool:
    """Whether pieces belong to the value that what comes after them sets: of a BasicFile, whose TRIM has a locator of its own, before or
    after the pieces that are written."""
    if older.row.code not in LOB_PIECES or older.in_place or older.column is None:
        return False
    if newer.row.code == OpCode.UPDATE:
        parsed = parsed_row(newer.row)
        return older.empties and parsed is not None and older.column in parsed.new
    return older.column == newer.column and (older.empties or not newer.writes)


def _empties(update: RedoDml | None) -> bool:
    """Whether an UPDATE only says that LOBs are empty, which NULL ones are before they get a value."""
    return update is not None and all(value.function in EMPTY_LOBS for value in update.new.values())
