"""SQL_REDO and SQL_UNDO of row changes, rendered by closures that a `Shape` compiles for a table version and text options.

    insert into "S"."T"("A","B") values ('1',NULL);
    update "S"."T" set "B" = 'x', "C" = NULL where "A" = '1' and "B" IS NULL and ROWID = 'AAA..';
    delete from "S"."T" where "A" = '1' and "B" = 'x' and ROWID = 'AAA..';

An undo record (ROLLBACK=1) carries no supplemental data: a delete names the ROWID only, an update has no key.
When the dictionary's version is not the record's, columns are `COL n` and values HEXTORAW of the stored bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from minercdc_sandbox.interfaces import OraType
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.logminer.large_text import JSON_HINT, LargeText, empty_lob, lob_literal
from minercdc_sandbox.logminer.literals import BARE, Literal, bare_string, literal, raw_literal, raw_national
from minercdc_sandbox.logminer.row_text import PLAIN, PRETTY, Columns, Row, RowText
from minercdc_sandbox.records import RedoOp, RedoRecord, StoredColumn, TableVersion
from minercdc_sandbox.redo.large_values import XML_CLOB, Large, in_row, large_columns, large_of
from minercdc_sandbox.sql.nls import Nls

_REMEMBERED_SHAPES = 256


class Texts(NamedTuple):
    """Functions that make SQL_REDO, and SQL_UNDO, which gets old and new values the other way round; None for no SQL_UNDO."""

    redo: RowText
    undo: RowText | None


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Options of START_LOGMNR and NLS settings that the text depends on.

    :param row_ids: WHERE has the ROWID; `delimiter`: statements end in a semicolon.
    :param lobs: where the contents of LOBs are; None: the records of large values have no text.
    :param since_23: texts as 23ai prints them: LOB rows are whole PL/SQL blocks, and the undo of an insert names its row.
    :param strings: dates, timestamps and intervals are bare strings (STRING_LITERALS_IN_STMT).
    :param pretty: statements in lines (PRINT_PRETTY_SQL).
    :param json: rows with JSON have texts, see `redo.large_values.large_of`.
    """

    nls: Nls
    row_ids: bool = True
    delimiter: bool = True
    lobs: LobStore | None = None
    since_23: bool = True
    strings: bool = False
    pretty: bool = False
    json: bool = False

    @property
    def end(self) -> str:
        """The text that closes a statement: a semicolon or ''."""
        return ";" if self.delimiter else ""


# Debezium's parser would end at each INSERT that shows it, and ADD .. DEFAULT is common (docs/reference/logminer-facts.md#b-6-5).
_COUNTS_DEFAULTS = re.compile(r"SYS_NC\d{5}\$")


class Shape:
    """Text of one table version's changes; compiles the function of each form of statement at its first use and keeps it.

    :param owner, table: as shown, without quotes; `names` with quotes, by position, as `literals`.
    :param columns: of the dictionary's version; () for records of another version or an unknown table.
    :ivar large: text of the records of large values; None when the table has none or their contents are not known.
    :ivar has_long: whether it has a LONG or LONG RAW column.
    """

    def __init__(
        self,
        owner: str,
        table: str,
        names: Sequence[str],
        literals: Sequence[Literal],
        options: TextOptions,
        columns: Sequence[StoredColumn] = (),
    ) -> None:
        target = f'"{owner}"."{table}"'
        self._options = options
        self._literals = list(literals)
        alias = any(large_of(column) is Large.XML and column.storage == XML_CLOB for column in columns)
        layout = PRETTY if options.pretty else PLAIN
        hidden = frozenset(at for at, column in enumerate(columns) if _COUNTS_DEFAULTS.fullmatch(column.name))
        self._columns = Columns(target, names, self._literals, options.end, layout, alias, hidden)
        self._is_null = [f"{name} IS NULL" for name in names]
        self._equals = [f"{name} = " for name in names]
        self._all = tuple(at for at in range(len(names)) if at not in hidden)
        large = large_columns(columns, json=options.json)
        self.has_long = any(large_of(column) is Large.LONG for column in columns)
        if columns:
            self._all = tuple(at for at in self._all if large_of(columns[at], json=options.json) is None)
        self._large = large
        self._empty = {at: empty_lob(columns[at]) for at, (kind, _) in large.items() if kind is Large.LOB}
        self.large: LargeText | None = None
        if large and options.lobs is not None:
            self.large = LargeText(
                target, names, columns, options.lobs, self._where_large, options.since_23, options.end, {}
            )
        self._texts: dict[tuple[RedoOp, tuple[int, ...], tuple[int, ...] | None, bool], Texts] = {}

    def render(self, record: RedoRecord) -> tuple[str, str | None]:
        """SQL_REDO and SQL_UNDO of one INSERT, UPDATE or DELETE record; None for no SQL_UNDO."""
        redo, undo = self.texts(record.op, record.changed, record.logged, record.undo)
        row_id, old, new = record.row_id, record.before or (), record.after or ()
        return redo(row_id, old, new), None if undo is None else undo(row_id, new, old)

    def redo(self, record: RedoRecord) -> str:
        """SQL_REDO of one INSERT, UPDATE or DELETE record."""
        text = self.texts(record.op, record.changed, record.logged, record.undo).redo
        return text(record.row_id, record.before or (), record.after or ())

    def texts(self, op: RedoOp, changed: tuple[int, ...], logged: tuple[int, ...] | None, undo: bool) -> Texts:
        """Texts of all changes with these fields of `RedoRecord`, compiled at first use."""
        key = (op, changed, logged, undo)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = self._compiled(*key)
        return found

    def _where_large(self, record: RedoRecord, prefix: str) -> str:
        """` where ..` of the row of a LOB, XML or extended string record, by the values of its logged columns; by its ROWID only
        if there are none."""
        row = record.after or ()
        places = self._all if record.logged is None else [at for at in record.logged if at in self._all]
        terms = []
        for at in places:
            cell = row[at]
            terms.append(prefix + (self._is_null[at] if cell is None else self._equals[at] + self._literals[at](cell)))
        if not terms:
            terms.append(f"ROWID = '{record.row_id}'")
        return " where " + " and ".join(terms)

    def _compiled(self, op: RedoOp, changed: tuple[int, ...], logged: tuple[int, ...] | None, undo: bool) -> Texts:
        columns, row_ids = self._columns, self._options.row_ids
        if op is RedoOp.UPDATE:
            found_by = self._all if logged is None else logged
            if len(self._all) < len(columns.names):
                found_by = tuple(at for at in found_by if at in self._all)
            text = columns.update(changed, () if undo else found_by, row_id=row_ids)
            return Texts(text, None if undo else text)
        insert: RowText = partial(self._insert_large, frozenset(changed)) if self._large else columns.insert()
        if not undo:
            delete = columns.delete(self._all, row_id=row_ids)
            return Texts(insert, delete) if op is RedoOp.INSERT else Texts(delete, insert)
        if op is RedoOp.INSERT:
            return Texts(insert, None)
        # 23ai prints the ROWID here whatever NO_ROWID_IN_STMT says; older releases do not (DBZ-3235)
        return Texts(columns.delete((), row_id=self._options.since_23 or row_ids), None)

    def _insert_large(self, early: frozenset[int], _row_id: str | None, _old: Row, new: Row) -> str:
        """INSERT of a row with large values. LOBs that are not NULL begin as empty ones; XML documents, extended strings that
        left the row, and LOBs that were written before, at the positions `early`, are not there
        (docs/reference/logminer-facts.md#b-7)."""
        names, texts = [], []
        layout = self._columns.layout
        for at, cell in enumerate(new):
            kind = self._large[at][0] if at in self._large else None
            if at in self._columns.hidden or at in early:
                continue
            if kind is Large.XML or (kind is Large.EXTENDED and cell is not None and not in_row(cell, kind)):
                continue
            names.append(self._columns.names[at])
            texts.append("NULL" if cell is None else self._empty.get(at) or self._literals[at](cell))
        if layout.values is not None:
            items = [
                f"{name} IS NULL" if text == "NULL" else f"{name} = {text}" for name, text in zip(names, texts, strict=True)
            ]
            return f"insert into {self._columns.target}{layout.values}{layout.comma.join(items)}{self._columns.end}"
        return f"insert into {self._columns.target}({','.join(names)}) values ({','.join(texts)}){self._columns.end}"


def known_shape(version: TableVersion, options: TextOptions) -> Shape:
    """A new shape for records of the table version that the dictionary has: real column names and literals. Raises as `literal`."""
    names = [f'"{column.name}"' for column in version.columns]
    literals: list[Literal] = []
    for column in version.columns:
        kind = large_of(column, json=options.json)
        if kind is Large.XML:  # its documents have rows of their own
            literals.append(raw_literal)
        elif kind is Large.LOB and options.lobs is not None:
            literals.append(lob_literal(column, options.lobs, _lob_text(column, options.nls)))
        else:
            shown = literal(column, options.nls)
            literals.append(bare_string(shown) if options.strings and column.type in BARE else shown)
    return Shape(version.owner, version.table, names, literals, options, version.columns)


def _lob_text(column: StoredColumn, nls: Nls) -> Literal:
    """The literal by which the content, a str or bytes, of a LOB in the row is shown."""
    if column.type is OraType.JSON:  # its OSON image after a hint (dbz#1884)
        return lambda cell: JSON_HINT + raw_literal(cell)
    return literal(column, nls)


class Shapes:
    """The shapes that a session's readings have made, at most 256, then all are forgotten, so that a poll does not compile the
    same statements again."""

    def __init__(self) -> None:
        self._known: dict[tuple[TableVersion, TextOptions], Shape] = {}

    def known(self, version: TableVersion, options: TextOptions) -> Shape:
        """`known_shape`, remembered but for tables with large values. Raises as `literal`."""
        shape = self._known.get((version, options))
        if shape is None:
            shape = known_shape(version, options)
            if shape.large is None:  # else it counts pieces of one reading
                if len(self._known) >= _REMEMBERED_SHAPES:
                    self._known.clear()
                self._known[version, options] = shape
        return shape


def raw_shape(owner: str, table: str, width: int, options: TextOptions, national: Collection[int] = frozenset()) -> Shape:
    """Shape for records of another version, or of a table the dictionary does not know: columns are `COL n`, from 1 to `width`,
    values HEXTORAW.

    :param national: positions of columns stored in UTF-16.
    """
    names = [f'"COL {n}"' for n in range(1, width + 1)]
    literals = [raw_national if at in national else raw_literal for at in range(width)]
    return Shape(owner, table, names, literals, options)
