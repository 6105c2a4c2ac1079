"""Holds changes of rows with large values, while their rows come in and when they are complete. `lob_rows` drives them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from minercdc.capture.logminer.lobs.lob_text import Edit, Trim, Write
from minercdc.capture.logminer.lobs.lob_value import LargeValue
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.errors import ValueDecodeError
from minercdc.schema.table import TableId
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.image import text_of_bytes

# Characters of LOBs that are remembered of a transaction, in all.
_REMEMBERED: Final = 8 * 1024 * 1024
_ENTRY: Final = 300  # what one costs beside its text, about

RowKey: TypeAlias = tuple[TableId, Row]


def row_key(decoder: RedoDecoder, row: Sequence[Value]) -> RowKey | None:
    """What a row is found by: its table, and the values of its key in `row`; None when the table has no key, or a value of
    the key is UNAVAILABLE."""
    key = tuple(row[i] for i in decoder.schema.key)
    return (decoder.schema.id, key) if key and UNAVAILABLE not in key else None


@dataclass(slots=True, eq=False)
class Assembled:
    """A change of one row.

    :param row: the first of its rows of redo.
    :param row_id: None when none of its rows had one.
    :param before, after: as of `RedoDecoder.decode`, which says when they are None.
    :param unknown: how many large values the change set that redo does not hold.
    :param error: why a value that came in pieces cannot be decoded; None when all can.
    """

    row: LogMinerRow
    row_id: str | None
    decoder: RedoDecoder
    op: Op
    before: Row | None
    after: Row | None
    unknown: int = 0
    error: ValueDecodeError | None = None


@dataclass(slots=True, eq=False)
class Pending:
    """A change whose rows may not be complete.

    :param change: what its first row says of it; all of it when `is_complete`.
    :param takes_lobs: rows that begin the value of a LOB may belong to it; DBMS_LOB's pieces may in any case.
    :ivar key: of the row after the change, see `row_key`; None when it is not known.
    :ivar after: the row after the change, as far as it is known.
    :ivar awaited: positions of LOB columns that the first row sets to an empty value, whose value may follow; of an INSERT also those
        of long strings that are null in it.
    :ivar values: values that come in pieces, by the position of their column.
    :ivar spoiled: positions of columns of whose value a piece is missing: they become UNAVAILABLE.
    :ivar replaced: positions of columns whose value in `values` was emptied after it was written, as at the begin of a statement
        that writes another one.
    :ivar known: what the LOBs were before the change, by position, where that is known.
    :ivar size: characters of the pieces it got.
    :ivar is_in_place: it has pieces that DBMS_LOB wrote.
    :ivar has_document: it has an XML document, or a string beyond 4000 bytes.
    :ivar is_ended: the row came that ends its statement: pieces with the placeholder are another's.
    :ivar is_complete: `complete` was called.
    """

    change: Assembled
    takes_lobs: bool
    key: RowKey | None = field(init=False)
    after: list[Value] = field(init=False)
    awaited: set[int] = field(init=False)
    values: dict[int, LargeValue] = field(default_factory=dict)
    spoiled: set[int] = field(default_factory=set)
    replaced: set[int] = field(default_factory=set)
    known: dict[int, str] = field(default_factory=dict)
    size: int = 0
    is_in_place: bool = False
    has_document: bool = False
    is_ended: bool = False
    is_complete: bool = False

    def __post_init__(self) -> None:
        decoder, after = self.change.decoder, self.change.after or ()
        self.key, self.after = row_key(decoder, after), list(after)
        is_insert, has_row_id = self.change.op is Op.CREATE, self.change.row_id is not None
        self.awaited = set()
        if is_insert or not has_row_id:
            before = self.change.before
            self.awaited = {i for i in decoder.lobs if after[i] == "" and (before is None or before[i] != "")}
        if is_insert:
            self.awaited |= {i for i in decoder.lobs if self._is_open(i)}
            if not has_row_id:  # short values of long strings come as those of LOBs do
                self.awaited |= {i for i in decoder.strings if after[i] is None}

    def _is_open(self, column: int) -> bool:
        """Whether a JSON column has no value so far: its EMPTY_BLOB() is none."""
        return column in self.change.decoder.images and self.after[column] is UNAVAILABLE

    def fits(self, decoder: RedoDecoder, known: Row) -> bool:
        """Whether the row with the values `known` of a condition can be the row of this change, before or after it."""
        if decoder is not self.change.decoder:
            return False
        before = self.change.before
        for i, value in enumerate(known):
            if value is UNAVAILABLE or self.after[i] is UNAVAILABLE or value == self.after[i]:
                continue
            if before is None or (before[i] is not UNAVAILABLE and value != before[i]):
                return False
        return True

    def has(self, column: int) -> bool:
        """Whether the change gives the large column at this position a value already, whole or in pieces. Emptied it has none: a
        BasicFile's TRIM to 0 may come before the pieces of the new value."""
        if column in self.values:
            return not self.values[column].is_emptied
        return self.after[column] is not UNAVAILABLE and column not in self.awaited

    def is_past(self, column: int, edit: Edit, *, begins: bool) -> bool:
        """Whether a piece of the large column at this position, of a statement and not of DBMS_LOB, is of a later statement.

        :param begins: it is the first one since its locator.
        """
        is_insert = self.change.op is Op.CREATE
        if (self.is_ended and not (is_insert and column in self.awaited)) or (self.is_in_place and not is_insert):
            return True
        if isinstance(edit, Write):
            return column in self.replaced or (begins and self.has(column))
        # The TRIM that ends a value comes after its pieces; that to 0, before the pieces of another one.
        return edit == Trim(0) and column not in self.values and self.has(column)

    def takes(self, update: Assembled) -> bool:
        """Take the LOBs of an UPDATE with a ROW_ID over into this change, if this takes LOBs, can be of the same row, and
        lacks all that the UPDATE sets, or has a BasicFile's pieces whose statement it ends; or leave out one with the placeholder that only says what this has in pieces. Else nothing is
        taken: False."""
        before, after, row_id = update.before, update.after, update.row_id
        if not self.takes_lobs or update.op is not Op.UPDATE or before is None or after is None:
            return False
        if self.change.row_id not in (None, row_id) or not self.fits(update.decoder, before):
            return False
        changed = {i for i, value in enumerate(after) if value is not before[i] and value != before[i]}
        if row_id is None:
            return self._is_of_pieces() and bool(changed) and all(i in self.values and after[i] == "" for i in changed)
        is_insert = self.change.op is Op.CREATE
        if (self.is_in_place or (self.has_document and self.is_ended)) and not is_insert:
            return False
        late = update.decoder.lobs | update.decoder.strings
        lacking = self.awaited if is_insert else {i for i in late if not self.has(i) or self._is_renewed(i, after[i])}
        plain = changed - late
        if not changed or not changed & late <= lacking or (plain and not self._is_ended_by(plain)):
            return False
        self._know_before(before)
        self.is_ended = self.is_ended or bool(plain)
        for i in changed:
            self.after[i] = after[i]
            self.values.pop(i, None)
        self.awaited -= changed
        self.change.row_id = row_id
        return True

    def _is_of_pieces(self) -> bool:
        """Whether it has only pieces so far, of a statement that has not ended."""
        is_first = self.change.row.code >= OpCode.LOB_LOCATOR and self.change.op is Op.UPDATE
        return is_first and bool(self.values) and not (self.is_in_place or self.is_ended)

    def _is_ended_by(self, plain: Set[int]) -> bool:
        """Whether an UPDATE with a ROW_ID that also sets these other columns ends the statement of a BasicFile's pieces: a statement with
        LOBs outside the row that had ended would have a row that ends it. One that changes the key is on its own."""
        refilled = all(value.is_refilled for value in self.values.values())
        return self._is_of_pieces() and refilled and plain.isdisjoint(self.change.decoder.schema.key)

    def _know_before(self, before: Row) -> None:
        """Take from the condition of a later row of the statement what the change does not know of the row before it, and of columns that
        it did not change."""
        known = self.change.before
        if known is not None:
            self.change.before = tuple(new if old is UNAVAILABLE else old for old, new in zip(known, before, strict=True))
            self.after = [new if old is UNAVAILABLE else old for old, new in zip(self.after, before, strict=True)]

    def _is_renewed(self, column: int, value: Value) -> bool:
        """Whether the UPDATE that ends the statement has the value of a LOB that was emptied and then written. An empty value is
        another statement's."""
        return self._is_of_pieces() and column in self.values and self.values[column].is_refilled and value != ""

    def apply(self, column: int, edit: Edit) -> int:
        """Apply a piece to the LOB in `values`, which must have the column; returns the characters that the piece brings, 0
        unless it is a Write. A statement that empties what it wrote goes on with another value: what it wrote stays."""
        self.awaited.discard(column)
        if edit == Trim(0) and not self.is_in_place and not self.values[column].is_emptied:
            self.replaced.add(column)
            return 0
        self.values[column].apply(edit)
        size = len(edit.data) if isinstance(edit, Write) else 0
        self.size += size
        return size

    def complete(self) -> None:
        """To be called once, when nothing more belongs to the change: sets its `after` with the LOBs, UNAVAILABLE for those
        that are not known, its `unknown`, and its `error` when an image cannot be decoded."""
        images = self.change.decoder.images
        unknown = self.spoiled | {i for i in self.awaited - self.values.keys() if self._is_open(i)}
        for i, value in self.values.items():
            text = value.text()
            if text is None or (i in images and not text):  # no value of JSON is empty
                unknown.add(i)
            elif i not in unknown:
                self.after[i] = self._decoded(i, text) if i in images else text
        for i in unknown:
            self.after[i] = UNAVAILABLE
        self.change.after = tuple(self.after)
        self.change.unknown = len(unknown)
        self.is_complete = True

    def _decoded(self, column: int, digits: str) -> Value:
        """Row text of an image; UNAVAILABLE, with `change.error`, when it is damaged."""
        decode = self.change.decoder.readings[column].literals["HEXTORAW"]
        assert decode is not None
        try:
            return decode(digits)
        except ValueDecodeError as error:
            self.change.error = error
            return UNAVAILABLE


@dataclass(slots=True, eq=False)
class Document:
    """An XML document or a long string, while its fragments come in.

    :ivar pending: the change that it belongs to.
    :ivar column: position of its column.
    :ivar binary: the XML is of binary storage.
    :ivar fragments: text, bytes in the database's character set, or None for null.
    """

    pending: Pending
    column: int
    binary: bool
    fragments: list[str | bytes | None] = field(default_factory=list)

    def end(self, charset: str) -> None:
        """To be called when it is complete: put its text into `pending.after`, None when all fragments are null.

        :param charset: NLS_CHARACTERSET, in which bytes are printed.
        :raises ValueDecodeError: its bytes are no text in `charset`, or that is not known.
        """
        fragments = [fragment for fragment in self.fragments if fragment is not None]
        raw = b"".join(fragment for fragment in fragments if isinstance(fragment, bytes))
        text = "".join(fragment for fragment in fragments if isinstance(fragment, str))
        if raw:
            text = text_of_bytes(raw, charset)
        self.pending.after[self.column] = text if fragments else None


class KnownLobs:
    """Keeps values of LOBs that one transaction has set, as far as there is room (8 Mi characters), so that pieces by
    DBMS_LOB of a later change can be applied to them. Of rows that exchange their keys, the ROWIDs tell whose a value is."""

    def __init__(self) -> None:
        self._texts: dict[tuple[RowKey, int], tuple[str, str | None]] = {}  # with the ROWID, None where it is not known
        self._size = 0

    def take(self, change: Assembled) -> dict[int, str]:
        """To be called when a row is changed or deleted: forget what is known of it, and return that by position. Without a key it may be
        any row of the table."""
        if not self._texts:
            return {}
        decoder, row_id = change.decoder, change.row_id
        key = row_key(decoder, change.before or change.after or ())
        if key is not None:
            places = [(key, i) for i in decoder.lobs]
        else:
            places = [place for place in self._texts if place[0][0] == decoder.schema.id]
        mine = [place for place in places if place in self._texts and _may_be(self._texts[place][1], row_id)]
        taken = {place[1]: self._forget(place) for place in mine}
        return taken if key is not None else {}

    def _forget(self, place: tuple[RowKey, int]) -> str:
        text, _ = self._texts.pop(place)
        self._size -= len(text) + _ENTRY
        return text

    def remember(self, pending: Pending) -> None:
        """Remember the LOBs that a change on which `complete` was called has set, and those it left as they were, as far as
        there is room."""
        if pending.key is None:
            return
        for i in pending.change.decoder.lobs:
            value, place = pending.after[i], (pending.key, i)
            if place in self._texts:
                self._forget(place)
            if value is UNAVAILABLE and i not in pending.values and i not in pending.spoiled:
                value = pending.known.get(i)
            if isinstance(value, str) and self._size + len(value) + _ENTRY <= _REMEMBERED:
                self._texts[place] = value, pending.change.row_id
                self._size += len(value) + _ENTRY


def _may_be(row_id: str | None, other: str | None) -> bool:
    """Whether ROWIDs, None where they are not known, may be of the same row."""
    return row_id is None or other is None or row_id == other
