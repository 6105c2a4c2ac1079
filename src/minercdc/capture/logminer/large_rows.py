"""Rows of one transaction on tables with large columns -> whole changes.

    INSERT[-]           LOB columns read EMPTY_CLOB(), whatever they are; then, until another row of the table is touched:
        UPDATE[R]       sets LOBs that fit into the row, also to NULL: their values in the INSERT
        9, 10+, 11, 29  pieces of one LOB column that does not fit: begun by a locator (9)
    UPDATE[-]           of plain columns; the LOB columns of the same statement follow likewise
    UPDATE[R]           complete, with the LOBs that fit
    68, 70+, 71         an XML document for the INSERT or UPDATE before it, or of an UPDATE of that column alone
    91, 92+, 93         a string beyond 4000 bytes, likewise

[R]: with a ROW_ID, [-]: with the placeholder. A locator with the placeholder begins a value of its own; one with a ROW_ID
is DBMS_LOB at work on the value that is there. Rows are one change when the values in their conditions fit: those of one
statement follow each other, and pieces of LOBs find the latest change of their row, also with changes of other rows between.
So a change may wait for pieces until the transaction ends, its row is changed again, or too much waits; what came after it
waits for it, for changes keep their order. Tables without large columns never merge (docs/reference/logminer-facts.md#d-25).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from minercdc.capture.logminer.dml import RedoDecoder
from minercdc.capture.logminer.glue import RowChange
from minercdc.capture.logminer.large_change import Assembled, Pending
from minercdc.capture.logminer.large_text import (
    Target,
    Write,
    parse_lob_edit,
    parse_locator,
    parse_string_begin,
    parse_string_piece,
    parse_xml_begin,
    parse_xml_piece,
)
from minercdc.capture.logminer.large_value import LargeValue
from minercdc.capture.logminer.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode
from minercdc.errors import DecodeError, SchemaMismatchError
from minercdc.events import UNAVAILABLE, Op, Row, Value
from minercdc.schema.table import TableId
from minercdc.values.image import text_of_bytes

# Values of LOBs are remembered within the transaction, for DBMS_LOB to go on with, up to this many characters in all.
_REMEMBERED: Final = 8 * 1024 * 1024
_ENTRY: Final = 300  # what one costs beside its text, about
# What waits for pieces of large values, or after a change that does: changes, and characters of LOBs in all.
_WAITING: Final = 10_000
_WAITING_TEXT: Final = 8 * 1024 * 1024


_RowKey: TypeAlias = tuple[TableId, Row]
_Other = TypeVar("_Other")


@dataclass(slots=True)
class _Document:
    """An XML document or a long string while its pieces come in.

    :ivar column: its position.
    """

    pending: Pending
    column: int
    binary: bool
    pieces: list[str | bytes | None] = field(default_factory=list)


class LargeRowAssembler(Generic[_Other]):
    """Assembles the rows of one transaction, fed in order; what belongs to no change keeps its place among them.

    :param charset: NLS_CHARACTERSET, in which binary XML is printed.
    """

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self._queue: deque[Pending | Assembled | _Other] = deque()
        self._open: dict[_RowKey, Pending] = {}
        self._latest: Pending | None = None  # what the rows of its statement may go on with
        self._size = 0
        self._document: _Document | None = None
        self._located: tuple[Target | None, bool] = (None, True)
        self._begins = False  # no piece came since the locator
        self._known: dict[tuple[TableId, Row, int], str] = {}
        self._known_size = 0

    def take_dml(self, row: LogMinerRow, decoder: RedoDecoder, change: RowChange) -> Iterator[Assembled | _Other]:
        """An INSERT, UPDATE or DELETE that was decoded; yields what is complete now."""
        op, before, after = change
        row_id = None if row.row_id == PLACEHOLDER_ROW_ID else row.row_id
        if decoder.large and op is Op.UPDATE and before and after and self._complete(decoder, before, after, row_id):
            return
        early = self._early_pieces(decoder, op, after)
        if early is not None and self._queue[-1] is early:
            self._queue.pop()
        elif early is not None:
            self._queue.remove(early)
        self._leave(decoder, before)
        if before is None and after is None:
            pass
        elif not decoder.large or after is None:
            self._forget(decoder, before)
            self._queue.append(Assembled(row, row_id, decoder, op, before, after))
        else:
            pending = Pending(row, row_id, decoder, op, before, list(after), op is Op.CREATE or row_id is None)
            if op is Op.CREATE:
                pending.awaited = {i for i in decoder.lobs if after[i] == ""}
            if early is not None:
                pending.values, pending.spoiled, pending.size = early.values, early.spoiled, early.size
            self._wait(pending)
        yield from self._ready()

    def take_piece(self, row: LogMinerRow, decoder: RedoDecoder) -> Iterator[Assembled | _Other]:
        """A row of one of the LARGE_CODES; yields what is complete now.

        :raises DecodeError: it cannot be read; the value it belongs to is not known any more.
        """
        code = row.code
        try:
            if code == OpCode.LOB_LOCATOR:
                self._located, self._begins = (None, row.row_id == PLACEHOLDER_ROW_ID), True
                if row.sql:
                    self._located = (parse_locator(row.sql, decoder), row.row_id == PLACEHOLDER_ROW_ID)
            elif code in (OpCode.LOB_WRITE, OpCode.LOB_TRIM, OpCode.LOB_ERASE):
                self._edit(row, decoder)
            elif code in (OpCode.XML_BEGIN, OpCode.STRING_BEGIN):
                self._document = None
                target = (parse_xml_begin if code == OpCode.XML_BEGIN else parse_string_begin)(row.sql or "", decoder)
                self._begin_document(row, decoder, target)
            elif code in (OpCode.XML_WRITE, OpCode.STRING_WRITE):
                self._continue_document(row)
            else:
                self._end_document()
        except DecodeError:
            self._spoil(decoder)
            raise
        yield from self._ready()

    def take_other(self, item: _Other) -> Iterator[Assembled | _Other]:
        """Something that belongs to no change, such as a row that cannot be decoded; it keeps its place among the changes."""
        self._queue.append(item)
        yield from self._ready()

    def flush(self) -> Iterator[Assembled | _Other]:
        """Nothing more belongs to any change."""
        for pending in self._queue:
            if isinstance(pending, Pending):
                self._close(pending)
        self._latest = self._document = None
        yield from self._ready()

    # ---- what waits ----

    def _wait(self, pending: Pending) -> None:
        """A change begins, whose rows may not be complete; it is the latest of its row."""
        self._queue.append(pending)
        self._latest = pending
        key = _row_key(pending.decoder, pending.after)
        if key is not None:
            self._open[key] = pending

    def _leave(self, decoder: RedoDecoder, before: Row | None) -> None:
        """A row is about to be changed again: nothing more belongs to its change so far. Pieces of rows without a known key find
        their change only while it is the latest."""
        self._document = None
        self._go_on_with(None)
        if before is None or not decoder.large:
            return
        key = _row_key(decoder, before)
        if key is not None:
            if pending := self._open.get(key):
                self._close(pending)
        elif decoder.schema.key:
            for pending in [one for one in self._open.values() if one.decoder is decoder]:
                self._close(pending)

    def _go_on_with(self, pending: Pending | None) -> None:
        latest, self._latest = self._latest, pending
        if latest is not None and latest is not pending and _row_key(latest.decoder, latest.after) is None:
            self._close(latest)

    def _ready(self) -> Iterator[Assembled | _Other]:
        """What waits no longer, in order; the oldest change has to go on without its pieces when too much waits."""
        while self._queue:
            head = self._queue[0]
            if isinstance(head, Pending):
                if head.whole is None:
                    if len(self._queue) <= _WAITING and self._size <= _WAITING_TEXT:
                        return
                    if head is self._latest:
                        return  # its value may lack pieces, and is needed as a whole
                    self._close(head)
                assert head.whole is not None
                head = head.whole
            self._queue.popleft()
            yield head

    def _close(self, pending: Pending) -> None:
        """Nothing more belongs to a change."""
        if pending.whole is not None:
            return
        key = _row_key(pending.decoder, pending.after)
        if key is not None and self._open.get(key) is pending:
            del self._open[key]
        self._size -= pending.size
        unknown = len(pending.spoiled)
        after = pending.after
        for i, value in pending.values.items():
            text = value.text()
            after[i] = UNAVAILABLE if text is None else text
            unknown += text is None
        for i in pending.spoiled:
            after[i] = UNAVAILABLE
        whole = tuple(after)
        self._remember(pending, whole)
        pending.whole = Assembled(
            pending.row, pending.row_id, pending.decoder, pending.op, pending.before, whole, unknown
        )  # fmt: skip

    # ---- LOBs ----

    def _complete(self, decoder: RedoDecoder, before: Row, after: Row, row_id: str | None) -> bool:
        """Whether an UPDATE gives the latest change nothing but LOBs it lacks; they are its now."""
        pending = self._latest
        if pending is None or not pending.takes_lobs or pending.decoder is not decoder or row_id is None:
            return False
        changed = {i for i, value in enumerate(after) if value is not before[i] and value != before[i]}
        free = pending.awaited if pending.op is Op.CREATE else decoder.lobs - set(pending.values)
        if not changed or not changed <= free or pending.row_id not in (None, row_id) or not pending.fits(before):
            return False
        if any(i in pending.values or (pending.op is Op.UPDATE and pending.after[i] is not UNAVAILABLE) for i in changed):
            return False
        for i in changed:
            pending.after[i] = after[i]
        pending.awaited -= changed
        pending.row_id = row_id
        return True

    def _early_pieces(self, decoder: RedoDecoder, op: Op, after: Row | None) -> Pending | None:
        """Pieces that came before the INSERT they belong to: LOBs without storage in the row (B.7.1)."""
        pending = self._latest
        if pending is None or op is not Op.CREATE or after is None or pending.decoder is not decoder:
            return None
        if pending.row.code < OpCode.LOB_LOCATOR or any(after[i] is not UNAVAILABLE for i in pending.values):
            return None
        return pending if pending.values and pending.fits(after) else None

    def _edit(self, row: LogMinerRow, decoder: RedoDecoder) -> None:
        target, edit = parse_lob_edit(row.sql or "", decoder)
        located, is_new = self._located
        target = target or located
        if target is None or target.decoder is not decoder:
            raise SchemaMismatchError("a LOB piece without its locator")
        column, known = target.column, target.known
        if column is None or column not in decoder.lobs:
            return
        # A value that begins again is another statement's; a locator for the TRIM of a BasicFile is not.
        begins, self._begins = self._begins and is_new and isinstance(edit, Write), False
        pending = self._change_of(decoder, known)
        if pending is None or not (pending.takes_lobs or not is_new) or (begins and pending.has(column)):
            self._leave(decoder, known)
            pending = self._update(row, decoder, known, takes_lobs=True)
            self._wait(pending)
        self._go_on_with(pending)
        if row.row_id != PLACEHOLDER_ROW_ID:
            pending.row_id = row.row_id
        if column not in pending.values:
            base = self._base(pending, column, is_new)
            binary = decoder.schema.columns[column].type_name == "BLOB"
            pending.values[column] = LargeValue(base, binary=binary)
        pending.awaited.discard(column)
        pending.values[column].apply(edit)
        size = len(edit.data) if isinstance(edit, Write) else 0
        pending.size += size
        self._size += size

    def _change_of(self, decoder: RedoDecoder, known: Row) -> Pending | None:
        """The change that waits for pieces of the row that a condition names."""
        key = _row_key(decoder, known)
        pending = self._latest if key is None else self._open.get(key)
        fits = pending is not None and pending.whole is None and pending.decoder is decoder and pending.fits(known)
        return pending if fits else None

    def _base(self, pending: Pending, column: int, is_new: bool) -> str | None:
        """What the LOB was before its first piece; None when that is not known."""
        value = pending.after[column]
        if isinstance(value, str):
            return value
        if is_new or pending.op is Op.CREATE:
            return ""
        return self._known.get((pending.decoder.schema.id, _key(pending.decoder, pending.after), column))

    def _update(self, row: LogMinerRow, decoder: RedoDecoder, known: Row, *, takes_lobs: bool) -> Pending:
        row_id = None if row.row_id == PLACEHOLDER_ROW_ID else row.row_id
        return Pending(row, row_id, decoder, Op.UPDATE, known, list(known), takes_lobs)

    # ---- documents ----

    def _begin_document(self, row: LogMinerRow, decoder: RedoDecoder, target: Target) -> None:
        column, known = target.column, target.known
        if column is None:
            return
        pending = self._latest
        if pending is None or pending.decoder is not decoder or self._has(pending, column) or not pending.fits(known):
            self._leave(decoder, known)
            pending = self._update(row, decoder, known, takes_lobs=False)
            self._wait(pending)
        self._document = _Document(pending, column, (row.sql or "").lstrip().startswith("XML"))

    @staticmethod
    def _has(pending: Pending, column: int) -> bool:
        """Whether the pending change gave this column a document already: another statement's, then."""
        return pending.after[column] is not UNAVAILABLE and pending.after[column] is not None

    def _continue_document(self, row: LogMinerRow) -> None:
        document = self._document
        if document is None:
            return  # of a column that is not captured, or whose beginning could not be read
        if row.code == OpCode.XML_WRITE:
            document.pieces.append(parse_xml_piece(row.sql, binary=document.binary))
        else:
            document.pieces.append(parse_string_piece(row.sql or ""))

    def _end_document(self) -> None:
        document, self._document = self._document, None
        if document is None:
            return
        pieces = [piece for piece in document.pieces if piece is not None]
        raw = b"".join(piece for piece in pieces if isinstance(piece, bytes))
        text = text_of_bytes(raw, self._charset) if raw else "".join(piece for piece in pieces if isinstance(piece, str))
        document.pending.after[document.column] = text if pieces else None

    def _spoil(self, decoder: RedoDecoder) -> None:
        """A piece is missing: what it may have belonged to must not look complete."""
        document, self._document = self._document, None
        if document is not None:
            document.pending.spoiled.add(document.column)
            return
        if self._latest is not None:
            self._latest.spoiled.update(self._latest.values, self._latest.awaited)
        for pending in self._open.values():
            if pending.decoder is decoder:
                pending.spoiled.update(pending.values)

    # ---- values of LOBs that this transaction knows ----

    def _remember(self, pending: Pending, after: Row) -> None:
        schema = pending.decoder.schema
        if not schema.key:
            return
        key, old = _key(pending.decoder, after), _key(pending.decoder, pending.before or after)
        for i in pending.decoder.lobs:
            value = after[i]
            kept = self._take(schema.id, old, i)
            if value is UNAVAILABLE and i not in pending.values and i not in pending.spoiled:
                value = kept if kept is not None else UNAVAILABLE
            if isinstance(value, str) and self._known_size + len(value) + _ENTRY <= _REMEMBERED:
                self._known[schema.id, key, i] = value
                self._known_size += len(value) + _ENTRY

    def _forget(self, decoder: RedoDecoder, before: Row | None) -> None:
        if before is not None and self._known:
            for i in decoder.lobs:
                self._take(decoder.schema.id, _key(decoder, before), i)

    def _take(self, table: TableId, key: Row, column: int) -> str | None:
        kept = self._known.pop((table, key, column), None)
        if kept is not None:
            self._known_size -= len(kept) + _ENTRY
        return kept


def _key(decoder: RedoDecoder, row: Row | list[Value]) -> Row:
    return tuple(row[i] for i in decoder.schema.key)


def _row_key(decoder: RedoDecoder, row: Row | list[Value]) -> _RowKey | None:
    """What a row is found by; None when it has no key, or redo does not hold it."""
    key = _key(decoder, row)
    return (decoder.schema.id, key) if key and UNAVAILABLE not in key else None
