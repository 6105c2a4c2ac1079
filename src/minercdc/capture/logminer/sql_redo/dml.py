"""Turns statements of SQL_REDO into the Rows they stand for.

The native path scans ordinary statements (`native_scan`) and leaves the others to this, which is right for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from minercdc.capture.logminer.sql_redo.text import parse_condition, parse_redo
from minercdc.errors import RedoSyntaxError, SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.codec import LARGE_TYPES, reading_for
from minercdc.values.family import Reading
from minercdc.values.image import Encoding, text_of_image
from minercdc.values.literal import EMPTY_BLOB, NULL, UNSUPPORTED, Literal, text_of
from minercdc.values.lob import TYPES as LOB_TYPES

# What one statement did to a row: before and after. An UPDATE that assigns none of the known columns has neither.
RowChange: TypeAlias = tuple[Op, Row | None, Row | None]

_STORED = re.compile(r"COL (\d+)")


class RedoDecoder:
    """Reads the statements of one table version. Not for use by two threads at once.

    :param lobs: `lob.enabled`; without it LOB, XML and JSON columns are always unavailable, since the rows that hold them are
        not read.
    :ivar unknown: names of columns that redo named and the table version has not; for the caller to warn about.
    :ivar passed_over: names of those of them that the caller has warned about; the caller moves them here.
    :ivar readings: of the columns, in their order: how a literal becomes Row text.
    :ivar hidden: names of columns whose values are always unavailable.
    :ivar following: positions of columns whose values may follow an INSERT that leaves them out.
    :ivar strings: positions of extended strings: short values of theirs come in an UPDATE of their own, too.
    :ivar positions: of the captured columns that are not `hidden`, by name.
    :ivar lobs: positions of the LOB columns whose values are read, JSON columns among them.
    :ivar images: positions of those whose bytes are an image of the value: JSON.
    :ivar large: whether the table has columns whose values may come in rows of their own, and are read.
    :raises ValueDecodeError: a column's type is not supported.
    """

    def __init__(self, schema: TableSchema, *, lobs: bool = False) -> None:
        self.schema = schema
        self.unknown: set[str] = set()
        self.passed_over: set[str] = set()
        self.hidden = frozenset(c.name for c in schema.columns if c.type_name in LARGE_TYPES and not lobs)
        self.positions = {name: i for name, i in schema.positions().items() if name not in self.hidden}
        self.lobs = frozenset(i for i, c in enumerate(schema.columns) if lobs and c.type_name in LOB_TYPES | {"JSON"})
        self.images = frozenset(i for i in self.lobs if schema.columns[i].type_name == "JSON")
        # Left out of an INSERT when they follow; what does not follow is null.
        self.following = frozenset(i for i, c in enumerate(schema.columns) if lobs and _may_follow(c))
        self.strings = frozenset(i for i in self.following if _is_extended(schema.columns[i]))
        self.large = bool(self.lobs or self.following)
        # Keys are compared with those of snapshots, other values are only printed.
        readings = [reading_for(column) for column in schema.columns]
        self.readings: list[Reading] = [r if i in schema.key else r.as_spelled() for i, r in enumerate(readings)]
        # Only such columns can have undoubled apostrophes; elsewhere that could only hide an error.
        self._unescaped = frozenset(
            c.name for c in schema.columns if c.type_name.endswith("VARCHAR2") and (c.length or 0) > 4000
        )

    def decode(self, sql: str) -> RowChange:
        """(operation, before, after) of a statement. An INSERT has no `before`, a DELETE no `after`, and an UPDATE that sets
        no captured column neither: they are None. What redo does not hold is UNAVAILABLE, but None for a column of `following`
        that an INSERT leaves out.

        :raises RedoSyntaxError, ValueDecodeError: the text, or a value in it, cannot be read.
        """
        try:
            dml = parse_redo(sql)
        except RedoSyntaxError:
            if not self._unescaped:
                raise
            dml = parse_redo(sql, unescaped=self._unescaped)
        new = self._texts(dml.new)
        old = dict.fromkeys(self.following, None) if dml.op is Op.CREATE else self._texts(dml.old)
        return self._change(dml.op, new, old)

    def has_places(self, sql: str) -> bool:
        """Whether a statement names columns by their places: it is one for `decode_images`. False when it cannot be read."""
        try:
            dml = parse_redo(sql)
        except RedoSyntaxError:
            return False
        return any(map(self.is_place, (*dml.new, *dml.old)))

    def is_place(self, name: str) -> bool:
        """Whether a name is a place of a stored column, `COL n`, and no column of the table has it."""
        return bool(_STORED.fullmatch(name)) and name not in self.positions and name not in self.schema.stored

    def row_of(self, sql: str, at: int) -> Row:
        """What the condition that goes from index `at` to the end of `sql` holds of a row; other columns are UNAVAILABLE. Raises
        RedoSyntaxError and ValueDecodeError."""
        texts = self._texts(parse_condition(sql, at))
        return tuple(texts.get(i, UNAVAILABLE) for i in range(len(self.schema.columns)))

    def decode_images(self, sql: str, encoding: Encoding, *, may_end_early: bool = False) -> RowChange:
        """As `decode`, of a row that LogMiner could not match with its dictionary: `"COL n" = HEXTORAW('stored bytes')`.
        Large values are UNAVAILABLE, except NULL with `lobs`.

        :param encoding: of the database that wrote the bytes.
        :param may_end_early: an INSERT or DELETE may leave out the last columns: they are NULL, as a row is stored without the
            NULLs at its end.
        :raises SchemaMismatchError: the row has other columns than this table version, or its stored columns are not known.
        :raises RedoSyntaxError, ValueDecodeError: the text, or a value in it, cannot be read.
        """
        dml = parse_redo(sql)
        stored = self.schema.stored
        if not stored or (
            dml.op is Op.CREATE and len(dml.new) != len(stored) and not (may_end_early and len(dml.new) < len(stored))
        ):
            raise SchemaMismatchError(
                f"the columns of the row differ from version {self.schema.version} of the table, which stores "
                + (", ".join(stored) or "not known")
            )
        new, old = self._images(dml.new, encoding), self._images(dml.old, encoding)
        if may_end_early and dml.op is not Op.UPDATE:
            whole, given = (new, dml.new) if dml.op is Op.CREATE else (old, dml.old)
            whole |= dict.fromkeys(self._after_last(given), None)
        return self._change(dml.op, new, old)

    def _change(self, op: Op, new: Mapping[int, Value], old: Mapping[int, Value]) -> RowChange:
        """The change of a statement that gives the values `new` to a row of the values `old`, by position."""
        if op is Op.UPDATE and not new:
            return op, None, None
        before = tuple(old.get(i, UNAVAILABLE) for i in range(len(self.schema.columns)))
        after = tuple(new.get(i, value) for i, value in enumerate(before))
        return op, None if op is Op.CREATE else before, None if op is Op.DELETE else after

    def _after_last(self, literals: Mapping[str, Literal]) -> Iterator[int]:
        """Positions of the captured columns that are stored after the last of those in `literals`; not of large ones, which
        are never in a condition."""
        last = max((int(match[1]) for name in literals if (match := _STORED.fullmatch(name))), default=0)
        for name in self.schema.stored[last:]:
            i = self.positions.get(name)
            if i is not None and self.schema.columns[i].type_name not in LARGE_TYPES:
                yield i

    def _images(self, literals: Mapping[str, Literal], encoding: Encoding) -> dict[int, Value]:
        texts: dict[int, Value] = {}
        for name, literal in literals.items():
            match = _STORED.fullmatch(name)
            if not match or int(match[1]) > len(self.schema.stored):
                raise SchemaMismatchError(f"the table has no stored column {name}")
            i = self.positions.get(self.schema.stored[int(match[1]) - 1])
            if i is None:
                continue
            if literal == NULL:
                texts[i] = None
            elif self.schema.columns[i].type_name in LARGE_TYPES:
                texts[i] = UNAVAILABLE  # a locator
            elif literal.function == "HEXTORAW" and literal.text is not None:
                texts[i] = text_of_image(self.schema.columns[i], _bytes(literal.text), encoding)
            else:
                texts[i] = UNAVAILABLE
        return texts

    def _texts(self, literals: Mapping[str, Literal]) -> dict[int, Value]:
        texts: dict[int, Value] = {}
        for name, literal in literals.items():
            i = self._position(name)
            if i is None:
                continue
            if literal == NULL:
                texts[i] = None
            elif literal.function == UNSUPPORTED or (self.readings[i].follows and literal == EMPTY_BLOB):
                texts[i] = UNAVAILABLE
            else:
                texts[i] = text_of(literal, self.readings[i])
        return texts

    def _position(self, name: str) -> int | None:
        position = self.positions.get(name)
        if position is None and name not in self.hidden:
            self.unknown.add(name)
        return position


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueDecodeError(f"HEXTORAW('{digits[:60]}') is not a sequence of bytes") from None


def _is_extended(column: Column) -> bool:
    """Whether a string is declared longer than without MAX_STRING_SIZE=EXTENDED."""
    return (column.length or 0) > {"VARCHAR2": 4000, "NVARCHAR2": 2000, "RAW": 2000}.get(column.type_name, 1 << 30)


def _may_follow(column: Column) -> bool:
    """Whether values of a column may come in rows of their own: XML documents, VARCHAR2 and NVARCHAR2 that may be longer than
    4000 bytes, with up to four for a character, and RAW longer than 2000."""
    extended = column.type_name in ("VARCHAR2", "NVARCHAR2") and (column.length or 0) > 1000
    return column.type_name == "XMLTYPE" or extended or (column.type_name == "RAW" and (column.length or 0) > 2000)
