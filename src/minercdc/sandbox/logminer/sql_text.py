"""SQL_REDO and SQL_UNDO of row changes, rendered by closures compiled once per table version and text options.

    insert into "S"."T"("A","B") values ('1',NULL);
    update "S"."T" set "B" = 'x', "C" = NULL where "A" = '1' and "B" IS NULL and ROWID = 'AAA..';
    delete from "S"."T" where "A" = '1' and "B" = 'x' and ROWID = 'AAA..';

An undo record (ROLLBACK=1) carries no supplemental data: a delete names the ROWID only, an update has no key.
When the dictionary's version is not the record's, columns are `COL n` and values HEXTORAW of the stored bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minercdc.sandbox.interfaces import Cell, RedoOp, RedoRecord, StoredColumn, TableVersion
from minercdc.sandbox.lobs.values import LobStore
from minercdc.sandbox.logminer.large_text import LargeText, empty_lob, lob_literal
from minercdc.sandbox.logminer.literals import BARE, Literal, bare_string, literal, raw_literal, raw_national
from minercdc.sandbox.redo.large_values import Large, in_row, large_columns, large_of
from minercdc.sandbox.sql.nls import Nls

Render = Callable[[RedoRecord], tuple[str, str | None]]
"""SQL_REDO and SQL_UNDO of one record."""
Texts: TypeAlias = "Sequence[str | None] | Mapping[int, str | None]"
"""Literals by position, None for NULL."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What START_LOGMNR's options and the session's NLS settings make of the text.

    :param strings: dates, timestamps and intervals are bare strings (STRING_LITERALS_IN_STMT).
    :param lobs: where the contents of LOBs are.
    :param since_23: texts as 23ai prints them: LOB rows are whole PL/SQL blocks, and the undo of an insert names its row.
    """

    nls: Nls
    row_ids: bool = True
    delimiter: bool = True
    lobs: LobStore | None = None
    since_23: bool = True
    strings: bool = False

    @property
    def end(self) -> str:
        """What closes a statement."""
        return ";" if self.delimiter else ""


class Shape:
    """Text of one table version's changes.

    :param owner, table: as shown, without quotes.
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
        self._end = options.end
        self._literals = list(literals)
        self._insert = f"insert into {target}({','.join(names)}) values ("
        self._update = f"update {target} set "
        self._delete = f"delete from {target}"
        self._is_null = [f"{name} IS NULL" for name in names]
        self._equals = [f"{name} = " for name in names]
        self._set_null = [f"{name} = NULL" for name in names]
        self._all = tuple(range(len(names)))
        large = large_columns(columns)
        self.has_long = any(large_of(column) is Large.LONG for column in columns)
        if large or self.has_long:
            self._all = tuple(at for at, column in enumerate(columns) if large_of(column) is None)
        self._names, self._large = names, large
        self._empty = {at: empty_lob(columns[at]) for at, (kind, _) in large.items() if kind is Large.LOB}
        self._target = target
        self.large: LargeText | None = None
        if large and options.lobs is not None:
            self.large = LargeText(
                target, names, columns, options.lobs, self._where_large, options.since_23, options.end, {}
            )
        self.render: dict[RedoOp, Render] = {
            RedoOp.INSERT: self._render_insert,
            RedoOp.UPDATE: self._render_update,
            RedoOp.DELETE: self._render_delete,
        }
        self.render_redo: dict[RedoOp, Callable[[RedoRecord], str]] = {
            RedoOp.INSERT: lambda record: self._inserted(record.after or ()),
            RedoOp.UPDATE: self._update_redo,
            RedoOp.DELETE: self._delete_redo,
        }
        """SQL_REDO alone: nothing is rendered for what only SQL_UNDO shows."""

    # ---- clauses ----

    def _texts(self, row: Sequence[Cell]) -> list[str | None]:
        """Literals of a row, None for NULL."""
        return [text(cell) if cell is not None else None for text, cell in zip(self._literals, row, strict=False)]

    def _texts_at(self, row: Sequence[Cell], positions: Sequence[int]) -> dict[int, str | None]:
        """The same of some columns, by position."""
        literals = self._literals
        return {at: None if (cell := row[at]) is None else literals[at](cell) for at in positions}

    def _insert_text(self, texts: Sequence[str | None]) -> str:
        return f"{self._insert}{','.join([text or 'NULL' for text in texts])}){self._end}"

    def _inserted(self, row: Sequence[Cell]) -> str:
        """LOBs begin as EMPTY_CLOB(); XML documents and extended strings that left the row are not there (B.7)."""
        if not self._large:
            return self._insert_text(self._texts(row))
        names, texts = [], []
        for at, cell in enumerate(row):
            kind = self._large[at][0] if at in self._large else None
            if kind is Large.XML or (kind is Large.EXTENDED and cell is not None and not in_row(cell, kind)):
                continue
            names.append(self._names[at])
            texts.append("NULL" if cell is None else self._empty.get(at) or self._literals[at](cell))
        return f"insert into {self._target}({','.join(names)}) values ({','.join(texts)}){self._end}"

    def _where_large(self, record: RedoRecord, prefix: str) -> str:
        """The row of a LOB, XML or extended string record: never by its ROWID."""
        row = record.after or ()
        places = self._all if record.logged is None else [at for at in record.logged if at in self._all]
        terms = []
        for at in places:
            cell = row[at]
            terms.append(prefix + (self._is_null[at] if cell is None else self._equals[at] + self._literals[at](cell)))
        if not terms:
            terms.append(f"ROWID = '{record.row_id}'")
        return " where " + " and ".join(terms)

    def _set_clause(self, texts: Mapping[int, str | None], positions: Sequence[int]) -> str:
        return ", ".join([self._set_null[i] if (text := texts[i]) is None else self._equals[i] + text for i in positions])

    def _where(self, texts: Texts, positions: Sequence[int], row_id: str | None) -> str:
        terms = [self._is_null[i] if (text := texts[i]) is None else self._equals[i] + text for i in positions]
        if row_id is not None:
            terms.append(f"ROWID = '{row_id}'")
        return " where " + " and ".join(terms) + self._end if terms else self._end

    def _row_id(self, record: RedoRecord) -> str | None:
        return record.row_id if self._options.row_ids else None

    # ---- statements ----

    def _render_insert(self, record: RedoRecord) -> tuple[str, str | None]:
        row = record.after or ()
        redo = self._inserted(row)
        if record.undo:
            return redo, None
        return redo, self._delete + self._where(self._texts_at(row, self._all), self._all, self._row_id(record))

    def _delete_redo(self, record: RedoRecord) -> str:
        if record.undo:  # 23ai prints the ROWID here whatever NO_ROWID_IN_STMT says; older releases do not (DBZ-3235)
            named = self._options.since_23 or self._options.row_ids
            return self._delete + (f" where ROWID = '{record.row_id}'" if named else "") + self._end
        return self._delete + self._where(self._texts_at(record.before or (), self._all), self._all, self._row_id(record))

    def _render_delete(self, record: RedoRecord) -> tuple[str, str | None]:
        return self._delete_redo(record), None if record.undo else self._inserted(record.before or ())

    def _update_redo(self, record: RedoRecord) -> str:
        return self._update_text(record, record.after or (), record.before or ())

    def _render_update(self, record: RedoRecord) -> tuple[str, str | None]:
        undo = None if record.undo else self._update_text(record, record.before or (), record.after or ())
        return self._update_redo(record), undo

    def _update_text(self, record: RedoRecord, new: Sequence[Cell], old: Sequence[Cell]) -> str:
        """The statement that makes `new` out of `old`."""
        row_id = self._row_id(record)
        changed = self._set_clause(self._texts_at(new, record.changed), record.changed)
        if record.undo:
            return self._update + changed + self._where({}, (), row_id)
        logged = self._all if record.logged is None else record.logged
        if self._large or self.has_long:
            logged = tuple(at for at in logged if at in self._all)
        return self._update + changed + self._where(self._texts_at(old, logged), logged, row_id)


def known_shape(version: TableVersion, options: TextOptions) -> Shape:
    """For records the dictionary's version fits."""
    names = [f'"{column.name}"' for column in version.columns]
    literals: list[Literal] = []
    for column in version.columns:
        kind = large_of(column)
        if kind is Large.XML:  # its documents have rows of their own
            literals.append(raw_literal)
        elif kind is Large.LOB and options.lobs is not None:
            literals.append(lob_literal(column, options.lobs, literal(column, options.nls)))
        else:
            shown = literal(column, options.nls)
            literals.append(bare_string(shown) if options.strings and column.type in BARE else shown)
    return Shape(version.owner, version.table, names, literals, options, version.columns)


def raw_shape(owner: str, table: str, width: int, options: TextOptions, national: Collection[int] = frozenset()) -> Shape:
    """For records of another version, or of a table the dictionary does not know: `COL n`, HEXTORAW.

    :param national: positions of columns stored in UTF-16.
    """
    names = [f'"COL {n}"' for n in range(1, width + 1)]
    literals = [raw_national if at in national else raw_literal for at in range(width)]
    return Shape(owner, table, names, literals, options)
