"""Applies DDL statements to table shapes.

What a text does not say (the type of a column that has a domain, whether a column is NOT NULL once some constraint is gone) is taken
from the dictionary as it is now, column by column; all else is as of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from minercdc.schema.ddl import (
    AddColumns,
    AddKey,
    Change,
    CommentOn,
    CreateTable,
    DropColumns,
    DropConstraint,
    DropUnused,
    ModifyColumn,
    NullUnsaid,
    RenameColumn,
    RenameConstraint,
    RowArchival,
    SetConstraint,
    ShapeUnclear,
)
from minercdc.schema.table import Column, Key, TableId, TableSchema, key_of

UNUSED: Final = re.compile(r"|SYS_C\d+_\d+:\d\d:\d\d\$")
"""Names in `stored` of columns that are UNUSED: that which SET UNUSED gives them holds the time, so that after DDL it is ''."""

_ARCHIVE_STATE: Final = "ORA_ARCHIVE_STATE"
_MADE_BY_ORACLE: Final = re.compile(r"SYS_C\d+$")  # names of constraints that have none in the text

ReadPresent = Callable[[], TableSchema | None]
"""Reads the table as the dictionary has it now, whatever it is called by now; None when it is gone."""


def nothing_present() -> TableSchema | None:
    """A `ReadPresent` of a table that is gone."""
    return None


def apply_changes(table: TableSchema, changes: Sequence[Change], present: ReadPresent = nothing_present) -> TableSchema:
    """The table after ALTER TABLE, with the `version` of `table`. `present` is called only if the text does not say all.

    Without a dictionary, what may have ended counts as ended: a key, and NOT NULL of its columns.

    :raises ShapeUnclear: a change names a column that the table lacks, or adds one that it has; or a type is nowhere to be had.
    """
    altering = _Altering(table, present)
    for change in changes:
        altering.apply(change)
    return altering.altered()


class _Altering:
    """One table while a statement is applied to it."""

    def __init__(self, table: TableSchema, present: ReadPresent) -> None:
        self._table, self._read = table, present
        self._columns = list(table.columns)
        self._stored = list(table.stored)
        self._present: TableSchema | None = None
        self._is_read = False
        # A table whose keys are not known has the one that it was read with.
        assumed = (Key("P", tuple(table.columns[i].name for i in table.key)),) if table.key else ()
        self._keys = list(assumed if table.keys is None else table.keys)
        self._keys_known = table.keys is not None

    def altered(self) -> TableSchema:
        keys = tuple(self._keys)
        return replace(
            self._table,
            columns=tuple(self._columns),
            key=key_of(self._columns, keys),
            stored=tuple(self._stored),
            keys=keys if self._keys_known else None,
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
            case AddKey(key):
                self._keys = [*(other for other in self._keys if key.kind != "P" or other.kind != "P"), key]
                if key.kind == "P" and key.holds:
                    self._set_nullable(key.columns, nullable=False)
            case DropConstraint() | SetConstraint():
                self._constraint(change)
            case RenameConstraint(name, new_name):
                if _MADE_BY_ORACLE.match(name) and any(not key.name for key in self._keys):
                    self._keys_known = False  # the new name may be that of a key without a known one
                self._keys = [key._replace(name=new_name) if key.name == name else key for key in self._keys]
            case NullUnsaid(name):
                self._look_up_nulls((name,))

    def present(self) -> TableSchema | None:
        if not self._is_read:
            self._present, self._is_read = self._read(), True
        return self._present

    def _add(self, added: Sequence[Column]) -> None:
        if {column.name for column in added} & {column.name for column in self._columns}:
            raise ShapeUnclear("an added column is there already")
        self._columns.extend(self._typed(column) for column in added)
        self._stored += [column.name for column in added] if self._stored else []

    def _typed(self, column: Column) -> Column:
        """A column with its type: that of the dictionary where the text does not say it."""
        return column if column.type_name else typed(column, self.present())

    def _modify(self, change: ModifyColumn) -> None:
        i = self._index(change.column.name)
        if i is None:
            return
        if change.type_given and not change.column.type_name:
            change = replace(change, column=self._typed(change.column), null_given=True)
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
        self._keys = [key for key in self._keys if not set(key.columns) & set(names)]

    def _rename(self, name: str, new_name: str) -> None:
        i = self._index(name)
        if i is not None:
            self._columns[i] = replace(self._columns[i], name=new_name)
        self._stored = [new_name if part == name else part for part in self._stored]
        self._keys = [
            key._replace(columns=tuple(new_name if part == name else part for part in key.columns)) for key in self._keys
        ]

    def _archive(self, comes: bool) -> None:
        if not comes:
            self._drop((_ARCHIVE_STATE,), unused=False)
        elif self._stored:
            present, known = self.present(), self._stored
            names = list(present.stored) if present is not None and _ARCHIVE_STATE in present.stored else []
            # Oracle may make a further column, before it.
            until = names[: names.index(_ARCHIVE_STATE) + 1] if names else []
            self._stored = until if until[: len(known)] == known else [*known, _ARCHIVE_STATE]

    def _constraint(self, change: DropConstraint | SetConstraint) -> None:
        if isinstance(change, SetConstraint) and change.enabled is None and change.validated is None:
            return  # RELY and the like
        found = change.meant.among(self._keys)
        # A key whose name is not known has one that Oracle made.
        unnamed = bool(_MADE_BY_ORACLE.match(change.meant.name)) and any(not key.name for key in self._keys)
        if isinstance(change, DropConstraint) and change.keeps_index:
            found = None
            unnamed = True
        if found is None:
            # A check, a foreign key, or NOT NULL: unless it may be a key whose name, or which, is not known.
            if change.meant.kind or not self._keys_known or unnamed:
                self._look_up_keys(change)
            self._look_up_nulls([column.name for column in self._columns], loosens=_loosens(change))
            return
        self._keys.remove(found)
        if isinstance(change, DropConstraint):
            after = None
        else:
            after = change.set_in(found)
            self._keys.append(after)
        if not self._keys_known:
            self._look_up_keys(change)
        if found.kind == "P" and (after is None or not after.holds):
            self._look_up_nulls(found.columns)
        elif after is not None and after.holds and found.kind == "P":
            self._set_nullable(found.columns, nullable=False)

    def _look_up_keys(self, change: DropConstraint | SetConstraint) -> None:
        """Take the keys of the dictionary. Without one, none that the change may be about is left."""
        present = self.present()
        if present is not None and present.keys is not None:
            self._keys, self._keys_known = list(present.keys), True
        elif present is not None:
            self._keys = [Key("P", tuple(present.columns[i].name for i in present.key))] if present.key else []
        elif isinstance(change, DropConstraint) or change.enabled is False or change.validated is False:
            self._keys = []

    def _look_up_nulls(self, names: Sequence[str], *, loosens: bool = False) -> None:
        """Take from the dictionary which of the columns are NOT NULL. `loosens`: none has become so by the change, only by a later one."""
        present = self.present()
        nullable = {column.name: column.nullable for column in present.columns} if present is not None else {}
        keys = {name for key in self._keys if key.kind == "P" and key.holds for name in key.columns}
        for i, column in enumerate(self._columns):
            if column.name in names and column.name not in keys and (present is None or column.name in nullable):
                self._columns[i] = replace(column, nullable=nullable.get(column.name, True) or (loosens and column.nullable))

    def _set_nullable(self, names: Sequence[str], *, nullable: bool) -> None:
        for name in names:
            i = self._index(name)
            if i is not None:
                self._columns[i] = replace(self._columns[i], nullable=nullable)

    def _index(self, name: str) -> int | None:
        """Position of a column; None for one that is virtual, or left out for its type. Raises ShapeUnclear when that is not
        known, since the stored columns are not."""
        for i, column in enumerate(self._columns):
            if column.name == name:
                return i
        if not self._stored:
            raise ShapeUnclear(f"no column {name}")
        return None


def typed(column: Column, present: TableSchema | None) -> Column:
    """A column whose type the text does not say, as the dictionary has it now. Raises ShapeUnclear when that has not got it."""
    for found in present.columns if present is not None else ():
        if found.name == column.name:
            return replace(found, comment=None)
    raise ShapeUnclear(f"the type of column {column.name} is not in the text")


def _loosens(change: DropConstraint | SetConstraint) -> bool:
    """Whether the change can only take a rule away, or leave it."""
    return isinstance(change, DropConstraint) or (change.enabled is not True and change.validated is not True)


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
    if change.null_given:
        column = replace(column, nullable=new.nullable)
    return replace(column, default=new.default) if change.default_given else column


def create_table(statement: CreateTable, table: TableId, present: ReadPresent = nothing_present) -> TableSchema:
    """The table that CREATE TABLE makes: version 1, no object id, columns of all types.

    :raises ShapeUnclear: the type of a column is neither in the text nor in the dictionary.
    """
    if not statement.columns:
        raise ShapeUnclear("CREATE TABLE AS SELECT * of a table that has changed since")
    columns = tuple(column if column.type_name else typed(column, present()) for column in statement.columns)
    key = key_of(columns, statement.keys)
    return TableSchema(table, columns, key, stored=statement.stored, keys=statement.keys)
