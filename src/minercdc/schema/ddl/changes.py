"""Applies DDL statements to table shapes.

What a text does not say (the type of a column that has a domain, or refers to another one) is taken from the dictionary as it is now,
column by column; all else is as of the statement. `changed_constraints` applies what changes constraints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from minercdc.schema.ddl.changed_constraints import Constraints, Dictionary, ReadPresent
from minercdc.schema.ddl.statements import (
    AddColumns,
    AddKey,
    AddNotNull,
    Change,
    CommentOn,
    CreateTable,
    DropColumns,
    DropUnused,
    ModifyColumn,
    NullUnsaid,
    RenameColumn,
    RowArchival,
    ShapeUnclear,
)
from minercdc.schema.table import Column, Key, TableId, TableSchema, key_of, with_nulls

UNUSED: Final = re.compile(r"|SYS_C\d+_\d+:\d\d:\d\d\$")
"""Names in `stored` of columns that are UNUSED: that which SET UNUSED gives them holds the time, so that after DDL it is ''."""

HIDDEN: Final = re.compile(r"SYS_NC\d{5}\$")
"""Names in `stored` of columns that Oracle makes itself."""

_ARCHIVE_STATE: Final = "ORA_ARCHIVE_STATE"
# A table with one of these gets no column of its own for defaults (SQL Language Reference, ALTER TABLE, DEFAULT).
_WITHOUT_OPTIMIZATION: Final = frozenset(["CLOB", "NCLOB", "BLOB", "BFILE", "XMLTYPE", "JSON", "VECTOR"])


def nothing_present() -> TableSchema | None:
    """A `ReadPresent` of a table that is gone."""
    return None


def apply_changes(
    table: TableSchema, changes: Sequence[Change], present: ReadPresent = nothing_present, at: datetime | None = None
) -> TableSchema:
    """The table after ALTER TABLE, with the `version` of `table`. `present` is called only if the text does not say all.

    Without a dictionary, what may have ended counts as ended: a key, and NOT NULL of a column.

    :param at: when the statement ran, in the time of the database's host: a constraint that the dictionary has since a later time is
        none of its. None: not known, and every one is taken.
    :raises ShapeUnclear: a change names a column that the table lacks, or adds one that it has; or a type is nowhere to be had.
    """
    altering = _Altering(table, present, at)
    altering.filled = {
        column.name
        for change in changes
        if isinstance(change, AddColumns)
        for column in change.columns
        if column.default is not None and not _is_required(column.name, changes)
    }
    for change in changes:
        altering.apply(change)
    return altering.altered()


def _is_required(column: str, changes: Sequence[Change]) -> bool:
    """Whether the same statement makes a column NOT NULL."""
    for change in changes:
        if isinstance(change, AddNotNull) and change.not_null.column == column and change.not_null.holds:
            return True
        if isinstance(change, AddKey) and change.key.is_not_null and column in change.key.columns:
            return True
    return False


class _Altering:
    """One table while a statement is applied to it.

    :ivar filled: names of the columns that it adds with a default, and which may be NULL.
    """

    filled: Collection[str] = ()

    def __init__(self, table: TableSchema, present: ReadPresent, at: datetime | None) -> None:
        self._table = table
        self._dictionary = Dictionary(present, at)
        self._columns = list(table.columns)
        self._stored = list(table.stored)
        self._added: set[str] = set()
        self._constraints = Constraints.of(table, self._dictionary)

    def altered(self) -> TableSchema:
        keys, not_nulls = self._constraints.keys, self._constraints.not_nulls
        columns = with_nulls(self._columns, keys, not_nulls)
        return replace(
            self._table,
            columns=columns,
            key=key_of(columns, keys),
            stored=tuple(self._stored),
            keys=tuple(keys) if self._constraints.keys_known else None,
            not_nulls=tuple(not_nulls) if self._constraints.nulls_known else None,
        )

    def apply(self, change: Change) -> None:
        match change:
            case AddColumns(added):
                self._add(added)
            case ModifyColumn():
                self._modify(change)
            case DropColumns(names, unused):
                self._drop(names, unused)
            case DropUnused():
                self._stored = [name for name in self._stored if not UNUSED.fullmatch(name)]
            case RenameColumn(name, new_name):
                self._rename(name, new_name)
            case RowArchival(comes):
                self._archive(comes)
            case NullUnsaid(name) if name in self._added:
                self._columns = [with_default(one, self._dictionary) if one.name == name else one for one in self._columns]
                self._constraints.apply(change)
            case _:
                self._constraints.apply(change)

    def _add(self, added: Sequence[Column]) -> None:
        if {column.name for column in added} & {column.name for column in self._columns}:
            raise ShapeUnclear("an added column is there already")
        self._added.update(column.name for column in added)
        self._columns.extend(self._typed(column) for column in added)
        for column in added if self._stored else ():
            self._stored += [*(self._hidden_before(column) if column.name in self.filled else ()), column.name]

    def _hidden_before(self, added: Column) -> list[str]:
        """Names of the stored columns that Oracle adds itself before one with a default that may be NULL: the rows of before get the
        default without being written, and the first such column of a table brings a hidden one, which says which rows have its value
        (docs/reference/logminer-facts.md#b-6-5). The dictionary knows; where the table is gone, the rule of
        the manual decides."""
        if any(column.type_name in _WITHOUT_OPTIMIZATION for column in self._columns):
            return []
        if any(map(HIDDEN.fullmatch, self._stored)):
            return []
        present = self._dictionary.present
        if present is None:
            return [f"SYS_NC{len(self._stored) + 1:05d}$"]
        # A column before it is older, unless an old one has this name since. One after it may have been dropped, and added again.
        like = {one.name for one in present.columns if (one.type_name, one.default) == (added.type_name, added.default)}
        names = list(present.stored)
        return [
            name
            for name in names
            if HIDDEN.fullmatch(name) and added.name not in like.intersection(names[: names.index(name)])
        ][:1]

    def _typed(self, column: Column) -> Column:
        """A column with its type: that of the dictionary where the text does not say it."""
        return column if column.type_name else typed(column, self._dictionary.present)

    def _modify(self, change: ModifyColumn) -> None:
        i = self._index(change.column.name)
        if change.null_given:
            self._constraints.loosen(change.column.name)
        if i is None:
            return
        if change.type_given and not change.column.type_name:
            change = replace(change, column=self._typed(change.column))
        self._columns[i] = _modified(self._columns[i], change)

    def _drop(self, names: Sequence[str], unused: bool) -> None:
        for name in names:
            i = self._index(name)
            if i is not None:
                del self._columns[i]
        # The numbering closes up after DROP, also of what was UNUSED, and keeps a gap without a name after SET UNUSED.
        if unused:
            self._stored = ["" if name in names else name for name in self._stored]
        else:
            self._stored = [name for name in self._stored if name not in names and not UNUSED.fullmatch(name)]
        self._constraints.drop_columns(names)

    def _rename(self, name: str, new_name: str) -> None:
        i = self._index(name)
        if i is not None:
            self._columns[i] = replace(self._columns[i], name=new_name)
        self._stored = [new_name if part == name else part for part in self._stored]
        self._constraints.rename_column(name, new_name)

    def _archive(self, comes: bool) -> None:
        if not comes:
            self._drop((_ARCHIVE_STATE,), unused=False)
        elif self._stored:
            present, known = self._dictionary.present, self._stored
            names = list(present.stored) if present is not None and _ARCHIVE_STATE in present.stored else []
            # Oracle may make a further column, before it. Other columns are later: it went and came again.
            until = names[: names.index(_ARCHIVE_STATE)] if names else []
            is_whole = until[: len(known)] == known and all(map(HIDDEN.fullmatch, until[len(known) :]))
            self._stored = [*(until if is_whole else known), _ARCHIVE_STATE]

    def _index(self, name: str) -> int | None:
        """Position of a column; None for one that is virtual, or left out for its type."""
        for i, column in enumerate(self._columns):
            if column.name == name:
                return i
        if not self._stored:
            raise ShapeUnclear(f"no column {name}")
        return None


def typed(column: Column, present: TableSchema | None) -> Column:
    """A column whose type the text does not say, with that which it has in the dictionary now. Raises ShapeUnclear when that has not got
    the column."""
    for found in present.columns if present is not None else ():
        if found.name == column.name:
            return replace(column, type_name=found.type_name, length=found.length, scale=found.scale)
    raise ShapeUnclear(f"the type of column {column.name} is not in the text")


def with_default(column: Column, dictionary: Dictionary) -> Column:
    """A column of a domain, with the default of the dictionary where the text gives none."""
    present = dictionary.present
    found = [one.default for one in present.columns if one.name == column.name] if present is not None else []
    return replace(column, default=found[0]) if found and column.default is None else column


def with_index(table: TableSchema, index: Key) -> TableSchema:
    """The table after CREATE UNIQUE INDEX, with the `version` of `table`."""
    same = ("I", index.name, index.owner)
    keys = (*(key for key in table.keys or () if (key.kind, key.name, key.owner) != same), index)
    return replace(table, keys=keys, key=key_of(table.columns, keys))


def with_index_changed(table: TableSchema, index: Key, new_name: str = "") -> TableSchema:
    """The table after DROP of an index, or with `new_name` RENAME; it has to be one of its `keys`."""
    left = tuple(key for key in table.keys or () if key is not index)
    if new_name:
        left += (index._replace(name=new_name),)
    return replace(table, keys=left, key=key_of(table.columns, left))


def commented(table: TableSchema, statement: CommentOn) -> TableSchema:
    """The table after COMMENT ON, with the `version` of `table`. The comment of a column that `table` lacks changes nothing:
    such a column is left out for its type."""
    if statement.column is None:
        return replace(table, comment=statement.text)
    columns = (
        replace(column, comment=statement.text) if column.name == statement.column else column for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _modified(column: Column, change: ModifyColumn) -> Column:
    new = change.column
    if change.type_given:
        column = replace(column, type_name=new.type_name, length=new.length, scale=new.scale)
    return replace(column, default=new.default) if change.default_given else column


def create_table(
    statement: CreateTable, table: TableId, present: ReadPresent = nothing_present, at: datetime | None = None
) -> TableSchema:
    """The table that CREATE TABLE makes: version 1, no object id, columns of all types.

    :param present, at: as of `apply_changes`.
    :raises ShapeUnclear: the type of a column is neither in the text nor in the dictionary.
    """
    if not statement.columns:
        raise ShapeUnclear("CREATE TABLE with the columns of a table that has changed since")
    dictionary = Dictionary(present, at)
    columns = [column if column.type_name else typed(column, dictionary.present) for column in statement.columns]
    not_nulls = list(statement.not_nulls)
    for name in sorted(statement.unsaid):
        not_nulls = dictionary.with_not_nulls(name, not_nulls)
    if statement.query is None:
        columns = [with_default(one, dictionary) if one.name in statement.unsaid else one for one in columns]
    with_null = with_nulls(columns, statement.keys, not_nulls)
    key = key_of(with_null, statement.keys)
    return TableSchema(table, with_null, key, stored=statement.stored, keys=statement.keys, not_nulls=tuple(not_nulls))
