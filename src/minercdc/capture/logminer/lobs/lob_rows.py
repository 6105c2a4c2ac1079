"""Assembles whole changes of the rows of one transaction that carry large values, in three steps.

    INSERT, UPDATE, DELETE                  LOB, XML and 32K rows
           | outcomes, dml                        | 1. lob_text: the statement is parsed once, into the column and row it
           v                                      v    names (Target) and its piece (Edit, or a fragment of a document)
       take_dml ------------.    .---------- take_piece
                            v    v
                  2. the pending change of that row: it gets the piece, or a change begins     here; lob_change.Pending
                               |
                  3. nothing more can belong to it: Pending.complete, and `ready` yields it    here; lob_value
                               v
                            Assembled -> outcomes

What belongs to one change:

    INSERT[-]           LOB columns read EMPTY_CLOB(), whatever they are; then follow:
        UPDATE[R]       sets LOBs that fit into the row, also to NULL: their values in the INSERT
        9, 10+, 11, 29  pieces of one LOB column that does not fit: begun by a locator (9)
    UPDATE[-]           of plain columns; the LOB columns of the same statement follow likewise
    UPDATE[R]           complete, with the LOBs that fit
    11(0), 10+          a BasicFile's LOB, emptied and written; an UPDATE[R] that follows at once is of the same statement, also one of
                        other columns, and so is an UPDATE[-] that says it empty. Emptied after it was written, it is as it was written
    0[R]                ends a statement with pieces: those that follow are another's. So does an UPDATE[R] without a text, an INSERT
                        whose documents are NULL
    68, 70+, 71         an XML document for the INSERT or UPDATE before it, or of an UPDATE of that column alone; an UPDATE[R] that
                        follows at once and sets LOBs or strings alone is of the same statement
    91, 92+, 93         a string beyond 4000 bytes, likewise

[R]: with a ROW_ID, [-]: with the placeholder. A locator with the placeholder begins a value of its own; one with a ROW_ID
is DBMS_LOB at work on the value that is there. Rows are one change when the values in their conditions fit: those of one
statement follow each other, and pieces of LOBs find the latest change of their row, also with changes of other rows between.
A piece that names no row is part of the latest INSERT, or else of the next one, that leaves out one column of its kind; or of nothing.
So a change may wait for pieces until the transaction ends, its row is changed again, or too much waits; what came after it
waits for it, for changes keep their order. Tables without large columns never merge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from minercdc.capture.logminer.lobs.lob_change import Assembled, Document, KnownLobs, Pending, RowKey, row_key
from minercdc.capture.logminer.lobs.lob_text import (
    Target,
    Write,
    lob_types,
    parse_lob_edit,
    parse_locator,
    parse_string_begin,
    parse_string_fragment,
    parse_xml_begin,
    parse_xml_fragment,
)
from minercdc.capture.logminer.lobs.lob_value import LargeValue
from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.errors import DecodeError, RedoSyntaxError, SchemaMismatchError
from minercdc.schema.table import TableId
from minercdc.stream.events import UNAVAILABLE, Op, Row

# What waits for pieces of large values, or after a change that does: changes, and characters of LOBs in all.
_WAITING: Final = 10_000
_WAITING_TEXT: Final = 8 * 1024 * 1024

_Other = TypeVar("_Other")


class LargeRowAssembler(Generic[_Other]):
    """Assembles changes with large values from the rows of one transaction: their values come in rows of their own. The caller
    feeds the rows in order (`take_dml`, `take_piece`, `take_other`), takes what is `ready` after each, and calls `end` after
    the last; what belongs to no change keeps its place among the changes.

    :param charset: NLS_CHARACTERSET, in which binary XML is printed.
    :param lost: makes what takes the place of a piece that belongs to no change.
    """

    def __init__(self, charset: str, lost: Callable[[DecodeError, LogMinerRow], _Other]) -> None:
        self._charset = charset
        self._lost = lost
        self._unlocated: list[tuple[LogMinerRow, RedoDecoder, Write]] = []
        self._written_first: set[TableId] = set()  # tables of which such pieces came before their INSERT
        self._queue: deque[Pending | Assembled | _Other] = deque()
        self._open: dict[RowKey, Pending] = {}
        self._latest: Pending | None = None  # what the rows of its statement may go on with
        self._size = 0
        self._document: Document | None = None
        self._located: Target | None = None
        self._in_place = False  # the locator is for DBMS_LOB
        self._begins = False  # no piece came since a locator that is not
        self._is_written = False  # a LOB_WRITE came since the locator
        self._known = KnownLobs()

    def take_dml(self, change: Assembled) -> None:
        """Take an INSERT, UPDATE or DELETE; without `before` and `after` it is dropped. A placeholder as ROWID becomes None."""
        decoder, before, after = change.decoder, change.before, change.after
        self._located, self._in_place = None, False
        if change.row_id == PLACEHOLDER_ROW_ID:
            change.row_id = None
        if self._latest is not None and self._latest.takes(change):
            return
        early = self._take_early_pieces(change) or self._take_unlocated(change)
        self._leave(decoder, before)
        if after is not None and decoder.large:
            pending = Pending(change, change.op is Op.CREATE or change.row_id is None)
            if early is not None:
                pending.values, pending.spoiled, pending.size = early.values, early.spoiled, early.size
            self._wait(pending)
        elif before is not None or after is not None:
            if before is not None:
                self._known.take(change)
            self._queue.append(change)

    def take_piece(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """Take a row of one of the LARGE_CODES: it is applied to the large value of the change that it belongs to, or begins an
        UPDATE of its own. One of a column that is not captured has no effect.

        :raises DecodeError: the row cannot be read, or its LOB is not known; values it may be a piece of become UNAVAILABLE.
        """
        try:
            if row.code == OpCode.LOB_LOCATOR:
                self._locate(row, decoder)
            elif row.code in (OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE):
                self._edit(row, decoder)
            elif row.code in (OpCode.XML_BEGIN, OpCode.STRING_BEGIN):
                self._begin_document(row, decoder)
            elif self._document is not None:  # otherwise of a column that is not captured, or it could not be read
                self._continue_document(row, self._document)
        except DecodeError:
            self._spoil(decoder)
            raise

    def take_end(self, row: LogMinerRow) -> None:
        """Take the row of code 0 that ends a statement with LOBs outside the row: it says whose rows those with the placeholder
        are, and that pieces which come now are another statement's."""
        self._located, self._in_place = None, False
        latest = self._latest
        if latest is None or latest.change.row_id not in (None, row.row_id):
            return
        latest.change.row_id = row.row_id
        latest.is_ended = latest.is_ended or bool(latest.values) or latest.has_document

    def ends_insert(self, row: LogMinerRow, decoder: RedoDecoder) -> bool:
        """Take an UPDATE without a text as the end of the INSERT before it, whose documents are NULL unless their rows came.
        False when there is no such INSERT, or when it has ended: then it is not known what it sets."""
        latest = self._latest
        if latest is None or latest.change.op is not Op.CREATE or latest.change.decoder is not decoder:
            return False
        if latest.is_ended or latest.change.row_id not in (None, row.row_id):
            return False
        self.take_end(row)
        latest.is_ended = True
        return True

    def take_other(self, item: _Other) -> None:
        """Take something that belongs to no change, such as a row that cannot be decoded; it keeps its place among the
        changes."""
        self._queue.append(item)

    def end(self) -> None:
        """To be called after the last row: all changes are complete, and `ready` yields what is left."""
        for row, decoder, _ in self._unlocated:
            self._spoil(decoder)
            self._queue.append(self._lost(SchemaMismatchError("a LOB piece without its locator"), row))
        self._unlocated.clear()
        for pending in self._queue:
            if isinstance(pending, Pending) and not pending.is_complete:
                self._complete(pending)
        self._latest = self._document = None

    def ready(self) -> Iterator[Assembled | _Other]:
        """Take out what waits no longer, in order. When too much waits (10 000 changes, or 8 Mi characters of LOBs), the
        oldest change is completed without pieces that may follow; not the latest one."""
        while self._queue:
            head = self._queue[0]
            if isinstance(head, Pending):
                if not head.is_complete:
                    is_too_much = len(self._queue) > _WAITING or self._size > _WAITING_TEXT
                    if not is_too_much or head is self._latest:
                        return  # the latest may lack pieces of a value, which is needed as a whole
                    self._complete(head)
                head = head.change
            self._queue.popleft()
            yield head

    # ---- rows with a piece: 1. the statement is parsed, 2. the change of its row gets it ----

    def _locate(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """Take SELECT_LOB_LOCATOR, which names the LOB that the edits after it are of."""
        self._located, self._in_place = None, row.row_id != PLACEHOLDER_ROW_ID
        self._begins, self._is_written = not self._in_place, False
        if row.sql:
            self._located = parse_locator(row.sql, decoder)

    def _edit(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """Take LOB_WRITE, LOB_TRIM or LOB_ERASE."""
        target, edit = parse_lob_edit(_text_of(row), decoder)
        in_place = self._in_place
        if isinstance(edit, Write):
            in_place = in_place and row.row_id != PLACEHOLDER_ROW_ID  # DBMS_LOB's writes have a ROW_ID
            # A value is written front to back: at its begin another one begins, which has no locator.
            is_another = in_place is not self._in_place or (self._is_written and not edit.offset)
            self._located = None if is_another else self._located
            self._is_written = True
        target = target or self._located
        if target is None or target.decoder is not decoder:
            if not isinstance(edit, Write):
                raise SchemaMismatchError("a LOB piece without its locator")
            self._edit_unlocated(row, decoder, edit)
            return
        column = target.column
        if column is None:
            return
        begins, self._begins = self._begins, False
        pending = self._change_of(row, decoder, target.known)
        if column not in decoder.lobs:
            (pending or self._begin_update(row, target)).spoiled.add(column)
            of = decoder.schema.columns[column]
            raise SchemaMismatchError(f"a LOB piece of the column {of.name} of type {of.type_name}")
        if pending is not None and not in_place and (not pending.takes_lobs or pending.is_past(column, edit, begins=begins)):
            pending = None
        pending = pending or self._begin_update(row, target)
        self._go_on_with(pending)
        if row.row_id != PLACEHOLDER_ROW_ID:
            pending.change.row_id = row.row_id
        if column not in pending.values:
            binary = column in decoder.images or decoder.schema.columns[column].type_name == "BLOB"
            pending.values[column] = LargeValue(self._value_before(pending, column, in_place=in_place), binary=binary)
        pending.is_in_place = pending.is_in_place or in_place
        self._size += pending.apply(column, edit)

    def _edit_unlocated(self, row: LogMinerRow, decoder: RedoDecoder, edit: Write) -> None:
        """Take a LOB_WRITE without locator and block: it is of the latest INSERT, if that leaves its column out and lacks it, else
        of one that comes after it."""
        latest = self._latest
        if (
            latest is None
            or latest.change.op is not Op.CREATE
            or latest.change.decoder is not decoder
            or decoder.schema.id in self._written_first
            or not self._add_unlocated(latest, row, edit)
        ):
            self._unlocated.append((row, decoder, edit))

    def _add_unlocated(self, insert: Pending, row: LogMinerRow, edit: Write) -> bool:
        """Let an INSERT take a LOB_WRITE without locator and block; False when it leaves out no column of its kind or several, or
        when the piece does not go on with the value, as that of another row."""
        decoder, after, types = insert.change.decoder, insert.change.after or (), lob_types(row.sql or "")
        lacking = [i for i in decoder.lobs if after[i] is UNAVAILABLE and decoder.schema.columns[i].type_name in types]
        if len(lacking) != 1:
            return False
        (column,) = lacking
        value = insert.values.get(column) or LargeValue("", binary="BLOB" in types)
        if not value.goes_on_with(edit):
            return False
        insert.values[column] = value
        self._size += insert.apply(column, edit)
        return True

    def _begin_document(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        """Take XML DOC BEGIN or 32K_BEGIN."""
        self._document = None
        sql = _text_of(row)
        target = (parse_xml_begin if row.code == OpCode.XML_BEGIN else parse_string_begin)(sql, decoder)
        column, pending = target.column, self._latest
        if column is None:
            return
        # A column that has a document already gets another statement's.
        is_free = pending is not None and pending.after[column] in (UNAVAILABLE, None)
        is_past = pending is not None and pending.is_ended and pending.change.op is not Op.CREATE
        if pending is None or not is_free or is_past or not pending.fits(decoder, target.known):
            pending = self._begin_update(row, target)
        pending.has_document = True
        self._document = Document(pending, column, sql.lstrip().startswith("XML"))

    def _continue_document(self, row: LogMinerRow, document: Document) -> None:
        """Take a fragment of a document, or its end."""
        if row.code == OpCode.XML_WRITE:
            document.fragments.append(parse_xml_fragment(row.sql, binary=document.binary))
        elif row.code == OpCode.STRING_WRITE:
            document.fragments.append(parse_string_fragment(row.sql or ""))
        else:
            document.end(self._charset)
            self._document = None

    # ---- 2. the change of a row is found, or begins ----

    def _change_of(self, row: LogMinerRow, decoder: RedoDecoder, known: Row) -> Pending | None:
        """The change that waits for pieces of the row that a condition names, None for none; for a row without a known key,
        the latest change. One with another ROWID is of another row, which has the key now or had it before."""
        key = row_key(decoder, known)
        pending = self._latest if key is None else self._open.get(key)
        if pending is not None and PLACEHOLDER_ROW_ID != row.row_id != (pending.change.row_id or row.row_id):
            return None
        return pending if pending is not None and pending.fits(decoder, known) else None

    def _begin_update(self, row: LogMinerRow, target: Target) -> Pending:
        """A new change, the latest one: an UPDATE of a large column alone. The former change of the row is completed."""
        self._leave(target.decoder, target.known)
        row_id = None if row.row_id == PLACEHOLDER_ROW_ID else row.row_id
        change = Assembled(row, row_id, target.decoder, Op.UPDATE, target.known, target.known)
        return self._wait(Pending(change, takes_lobs=True))

    def _take_early_pieces(self, insert: Assembled) -> Pending | None:
        """Take the change with the pieces that came before the INSERT they belong to out of the queue; None for none. LOBs
        without storage in the row come so."""
        early = self._latest
        if early is None or insert.after is None or insert.op is not Op.CREATE or early.change.row.code < OpCode.LOB_LOCATOR:
            return None
        if not early.values or not early.fits(insert.decoder, insert.after):
            return None
        images = insert.decoder.images if early.key is None else frozenset()  # with EMPTY_BLOB() it may be another row
        if any(i in images or insert.after[i] is not UNAVAILABLE for i in early.values):
            return None
        self._latest = None
        if self._queue[-1] is early:
            self._queue.pop()
        else:
            self._queue.remove(early)
        return early

    def _take_unlocated(self, insert: Assembled) -> Pending | None:
        """Take the pieces without a locator that came before the INSERT they belong to; None for none. LOBs of BasicFiles without
        storage in the row come so: the INSERT leaves their column out. Those of which the column is not certain stay."""
        decoder, after = insert.decoder, insert.after
        own = [(row, edit) for row, of, edit in self._unlocated if of is decoder]
        if not own or after is None or insert.op is not Op.CREATE:
            return None
        pending, size = Pending(insert, takes_lobs=True), self._size
        if not all(self._add_unlocated(pending, row, edit) for row, edit in own):
            self._size = size
            return None
        self._unlocated = [piece for piece in self._unlocated if piece[1] is not decoder]
        self._written_first.add(decoder.schema.id)
        return pending

    def _value_before(self, pending: Pending, column: int, *, in_place: bool) -> str | None:
        """What a LOB was before the first piece that a change has of it; None when that is not known, as of an image that was
        decoded: JSON of which a part is written is not known as a whole."""
        value = pending.after[column]
        if column in pending.change.decoder.images:
            return None if isinstance(value, str) or (in_place and pending.change.op is not Op.CREATE) else ""
        if isinstance(value, str):
            return value
        if not in_place or pending.change.op is Op.CREATE:
            return ""
        return pending.known.get(column)

    def _wait(self, pending: Pending) -> Pending:
        """Queue a change whose rows may not be complete yet, as the latest one, and the open one of its row; returns it.
        What is known of the row goes with it: by then another row may have the key that it had."""
        known = self._known.take(pending.change)
        pending.known = {} if pending.change.op is Op.CREATE else known
        self._queue.append(pending)
        self._latest = pending
        if pending.key is not None:
            self._open[pending.key] = pending
        return pending

    def _go_on_with(self, pending: Pending | None) -> None:
        """Make `pending` the latest change, None for none. The one before is completed if it has no known key, since pieces
        find such a change only while it is the latest."""
        latest, self._latest = self._latest, pending
        if latest is not None and latest is not pending and latest.key is None:
            self._complete(latest)

    # ---- 3. a change is complete ----

    def _leave(self, decoder: RedoDecoder, before: Row | None) -> None:
        """To be called when a row is about to be changed again: complete its change so far; without a known key, all open
        changes of the table.

        :param before: what is known of the row; None of an INSERT.
        """
        self._document = None
        self._go_on_with(None)
        if before is None or not decoder.large:
            return
        key = row_key(decoder, before)
        if key is not None:
            left = [self._open[key]] if key in self._open else []
        else:  # it may be any row of the table
            left = [one for one in self._open.values() if one.change.decoder is decoder] if decoder.schema.key else []
        for pending in left:
            self._complete(pending)

    def _complete(self, pending: Pending) -> None:
        """Complete a change, and remember its LOBs; `ready` yields it when its turn has come."""
        if pending.key is not None and self._open.get(pending.key) is pending:
            del self._open[pending.key]
        self._size -= pending.size
        pending.complete()
        self._known.remember(pending)

    def _spoil(self, decoder: RedoDecoder) -> None:
        """Note that a piece of a value in the table is missing: values that it may have belonged to become UNAVAILABLE."""
        document, self._document = self._document, None
        if document is not None:
            document.pending.spoiled.add(document.column)
            return
        if self._latest is not None:
            self._latest.spoiled.update(self._latest.values, self._latest.awaited)
        for pending in self._open.values():
            if pending.change.decoder is decoder:
                pending.spoiled.update(pending.values)


def _text_of(row: LogMinerRow) -> str:
    """The statement of a row with a piece."""
    if not row.sql:
        raise RedoSyntaxError(
            f"LogMiner shows no statement for a large value ({row.info or 'no INFO'}): this redo is older than the table's present structure",
            hint="DDL changed the table after this redo was written and before it was mined. resume-table reads the rows as they are"
            " now; log.mining.strategy=redo_log_catalog uses the structures of that time.",
        )
    return row.sql
