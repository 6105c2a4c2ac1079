"""Applies DDL to the constraints of a table: its keys, and its NOT NULL constraints.

Each constraint is known by its name and state, so that a statement which names one says all. Two things a text does not say, which the
dictionary says:

    SYS_Cn     a name that Oracle made: a constraint that has none in the text that made it may be the one which is meant
    a domain   may bring a NOT NULL constraint, or take it away; so may DEFAULT in place of DEFAULT ON NULL

The dictionary is that of now. A constraint that it has since a later time than the statement's (LAST_CHANGE) is not taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, Self

from minercdc.schema.ddl.statements import (
    AddKey,
    AddNotNull,
    Change,
    DropConstraint,
    DropIdentity,
    NullUnsaid,
    RenameConstraint,
    SetConstraint,
)
from minercdc.schema.table import Key, NotNull, TableSchema, key_of, with_nulls

CLOCKS: Final = timedelta(seconds=3)
"""How far times of the dictionary (LAST_CHANGE, LAST_DDL_TIME) and the TIMESTAMP of redo may differ for one moment: whole seconds of the
host's local time, of several hosts with RAC."""

_MADE_BY_ORACLE: Final = re.compile(
    r"SYS_C\d+$|BIN\$"
)  # names of constraints that have none in the text, or are from the recycle bin

ReadPresent = Callable[[], TableSchema | None]
"""Reads the table as the dictionary has it now, whatever it is called by now; None when it is gone."""


class Dictionary:
    """A table as the dictionary has it now, read when it is first needed, and which of its constraints there were `at` some time."""

    def __init__(self, read: ReadPresent, at: datetime | None) -> None:
        self._read, self._at = read, at

    @cached_property
    def present(self) -> TableSchema | None:
        """The table; None when it is gone."""
        return self._read()

    def named(self, name: str) -> Key | NotNull | None:
        """The constraint of this name; None when there is none, or there is a later one of this name."""
        found: list[Key | NotNull] = [*self.known_keys(), *self.known_not_nulls()]
        return next((one for one in found if one.name == name), None)

    def known_keys(self) -> list[Key]:
        """The keys, without later ones."""
        present = self.present
        if present is None:
            return []
        return [key for key in _keys(present) if self._was_there(key.name)]

    def known_not_nulls(self) -> list[NotNull]:
        """The NOT NULL constraints, without later ones."""
        present = self.present
        if present is None:
            return []
        return [one for one in _not_nulls(present) if self._was_there(one.name)]

    def kept_index(self, key: Key) -> Key | None:
        """The unique index that is left where a key is dropped or disabled: it was made before the key, as it is there now and no later one.
        None when there is none."""
        present = self.present
        for index, made in present.indexes.items() if present is not None else ():
            if index.columns == key.columns and (self._at is None or made < self._at):
                return index
        return None

    def has_column(self, name: str) -> bool:
        """Whether the table has this column."""
        return self.present is not None and any(column.name == name for column in self.present.columns)

    def with_not_nulls(self, column: str, known: Iterable[NotNull]) -> list[NotNull]:
        """The constraints of `known`, with those that the dictionary has of a column besides."""
        found = list(known)
        said = {one.name for one in found if one.column == column}
        # What the text calls by no name has one by now.
        unnamed = "" in said
        return found + [
            one
            for one in self.known_not_nulls()
            if one.column == column and one.name not in said and not (unnamed and _is_made(one))
        ]

    def _was_there(self, name: str) -> bool:
        assert self.present is not None
        changed = self.present.changed.get(name)
        # What comes so shortly after the statement counts as its own: its DDL follows at once, but what is missed would be missing for ever.
        return self._at is None or changed is None or changed <= self._at + CLOCKS


def without_domain(table: TableSchema, present: TableSchema | None) -> TableSchema:
    """The table after a domain is gone, with the `version` of `table`: without the NOT NULL constraints named by Oracle, and the defaults,
    that the dictionary has not any more. `table` itself where nothing of it is known, or the table is gone."""
    if table.not_nulls is None or present is None or present.not_nulls is None:
        return table
    names, columns = {one.name for one in present.not_nulls}, {one.column for one in present.not_nulls}
    left = tuple(
        one for one in table.not_nulls if not _is_made(one) or one.name in names or (not one.name and one.column in columns)
    )
    defaults = {column.name: column.default for column in present.columns}
    kept = (c if defaults.get(c.name, c.default) is not None else replace(c, default=None) for c in table.columns)
    after = with_nulls(kept, table.keys or (), left)
    key = table.key if table.keys is None else key_of(after, table.keys)
    return replace(table, columns=after, key=key, not_nulls=left)


def _is_made(one: Key | NotNull) -> bool:
    return not one.name or bool(_MADE_BY_ORACLE.match(one.name))


def _keys(table: TableSchema) -> tuple[Key, ...]:
    """The keys; where they are not known, the one that the table was read with. A primary key that leaves its columns nullable is
    deferrable, which earlier releases did not keep."""
    assumed = (Key("P", tuple(table.columns[i].name for i in table.key)),) if table.key else ()
    keys = assumed if table.keys is None else table.keys
    nullable = {column.name for column in table.columns if column.nullable}
    if table.not_nulls is not None:
        return keys
    return tuple(
        key._replace(deferrable=True) if key.is_not_null and not nullable.isdisjoint(key.columns) else key for key in keys
    )


def _not_nulls(table: TableSchema) -> tuple[NotNull, ...]:
    """The NOT NULL constraints; where they are not known, one for each column that no primary key makes NOT NULL."""
    if table.not_nulls is not None:
        return table.not_nulls
    implied = {name for key in _keys(table) if key.is_not_null for name in key.columns}
    return tuple(NotNull(column.name) for column in table.columns if not column.nullable and column.name not in implied)


class Constraints:
    """The constraints of one table while a statement is applied to it.

    :ivar keys, not_nulls: as of TableSchema; assumed ones where `keys_known`, `nulls_known` are False.
    """

    def __init__(self, keys: Sequence[Key], not_nulls: Sequence[NotNull], dictionary: Dictionary) -> None:
        self.keys, self.not_nulls = list(keys), list(not_nulls)
        self.keys_known = self.nulls_known = True
        self._columns: list[str] = []
        self._dictionary = dictionary

    @classmethod
    def of(cls, table: TableSchema, dictionary: Dictionary) -> Self:
        """Those of a table."""
        found = cls(_keys(table), _not_nulls(table), dictionary)
        found.keys_known, found.nulls_known = table.keys is not None, table.not_nulls is not None
        found._columns = [column.name for column in table.columns]
        return found

    def apply(self, change: Change) -> None:
        """Apply a change of a constraint; of others nothing."""
        match change:
            case AddKey(key):
                self.keys = [*(other for other in self.keys if key.kind != "P" or other.kind != "P"), key]
            case AddNotNull(not_null):
                self._add(not_null)
            case DropConstraint() | SetConstraint():
                self._change(change)
            case RenameConstraint(name, new_name):
                self._rename(name, new_name)
            case NullUnsaid(column, on_null):
                if not on_null or any(one.on_null and one.column == column for one in self.not_nulls):
                    self._look_up(column)
            case DropIdentity(column):
                self.loosen(column)

    def loosen(self, column: str) -> None:
        """Take the NOT NULL constraint of a column away."""
        self.not_nulls = [one for one in self.not_nulls if one.column != column]

    def drop_columns(self, names: Sequence[str]) -> None:
        """Take away what is on these columns."""
        self.keys = [key for key in self.keys if not set(key.columns) & set(names)]
        self.not_nulls = [one for one in self.not_nulls if one.column not in names]

    def rename_column(self, name: str, new_name: str) -> None:
        """Follow RENAME COLUMN."""
        self.keys = [
            key._replace(columns=tuple(new_name if part == name else part for part in key.columns)) for key in self.keys
        ]
        self.not_nulls = [one._replace(column=new_name) if one.column == name else one for one in self.not_nulls]

    def _add(self, not_null: NotNull) -> None:
        """One without a name is implied, by an identity or DEFAULT ON NULL, where the column is NOT NULL already: Oracle refuses to make
        it so once more (ORA-01442)."""
        if not_null.name or not any(one.column == not_null.column and one.holds for one in self.not_nulls):
            self.not_nulls.append(not_null)

    def _rename(self, name: str, new_name: str) -> None:
        if _MADE_BY_ORACLE.match(name) and self._called(name) is None:
            # The new name may be that of a constraint without a known one.
            found = self._matching(self._dictionary.named(new_name))
            gone: list[Key | NotNull] = [*self._gone_keys(), *self._gone_nulls()]
            if found is None and len(gone) == 1:
                found = gone[0]
            if found is not None:
                self._put(found, found._replace(name=name))
            else:  # a check or a foreign key, or one that is gone by now
                self.keys_known = self.keys_known and not self._gone_keys()
                self.nulls_known = self.nulls_known and not self._gone_nulls()
        self.keys = [key._replace(name=new_name) if key.name == name else key for key in self.keys]
        self.not_nulls = [one._replace(name=new_name) if one.name == name else one for one in self.not_nulls]

    def _look_up(self, column: str) -> None:
        """Take the NOT NULL constraints of a column from the dictionary."""
        if self._dictionary.present is None or self._dictionary.has_column(column):
            self.loosen(column)
            self.not_nulls += [one for one in self._dictionary.known_not_nulls() if one.column == column]

    def _change(self, change: DropConstraint | SetConstraint) -> None:
        if isinstance(change, SetConstraint) and change.enabled is None and change.validated is None:
            return  # RELY and the like
        found = change.meant.among(self.keys) if change.meant.kind else self._called(change.meant.name)
        if found is None and _MADE_BY_ORACLE.match(change.meant.name):
            found = self._matching(self._dictionary.named(change.meant.name))
        if found is None:
            self._change_unknown(change)
            return
        self._put(found, _after(change, found))
        if isinstance(found, Key) and not self.keys_known:
            self._look_up_keys(change)
        elif isinstance(found, Key) and change.keeps_index:
            self._keep_index(found)
        elif isinstance(found, Key) and (isinstance(change, DropConstraint) or change.enabled is False):
            kept = self._dictionary.kept_index(found)
            if kept is not None and not any(
                (one.kind, one.name, one.columns) == ("I", kept.name, kept.columns) for one in self.keys
            ):
                self.keys.append(kept)
        if isinstance(found, Key) and found.is_not_null and not self.nulls_known:
            for column in found.columns:
                self._look_up(column)

    def _change_unknown(self, change: DropConstraint | SetConstraint) -> None:
        """Apply a change of a constraint that is none of the known ones: a check or a foreign key, or one whose name is not known."""
        made = bool(_MADE_BY_ORACLE.match(change.meant.name))
        if not self.keys_known or change.meant.kind:
            self._look_up_keys(change)
        elif made and _loosens(change):
            for key in self._gone_keys():
                self._put(key, _after(change, key))
        if not self.nulls_known:
            for column in [one.column for one in self.not_nulls if not one.name] if _loosens(change) else self._columns:
                self._look_up(column)
        elif made and _loosens(change):
            for one in self._gone_nulls():
                self._put(one, _after(change, one))

    def _gone_keys(self) -> list[Key]:
        """The keys without a name that the dictionary has not any more."""
        there = {(key.kind, key.columns) for key in self._dictionary.known_keys()}
        return [key for key in self.keys if not key.name and key.kind != "I" and (key.kind, key.columns) not in there]

    def _gone_nulls(self) -> list[NotNull]:
        """The NOT NULL constraints without a name that the dictionary has not any more."""
        there = {one.column for one in self._dictionary.known_not_nulls()}
        return [one for one in self.not_nulls if not one.name and one.column not in there]

    def _called(self, name: str) -> Key | NotNull | None:
        known: list[Key | NotNull] = [*(key for key in self.keys if key.kind != "I"), *self.not_nulls]
        return next((one for one in known if one.name == name), None)

    def _matching(self, present: Key | NotNull | None) -> Key | NotNull | None:
        """The constraint without a name that is this one of the dictionary."""
        if isinstance(present, Key):
            return next((k for k in self.keys if not k.name and k[:2] == present[:2]), None)
        if isinstance(present, NotNull):
            return next((one for one in self.not_nulls if not one.name and one.column == present.column), None)
        return None

    def _put(self, old: Key | NotNull, new: Key | NotNull | None) -> None:
        """Put a constraint in the place of another; None takes it away."""
        if isinstance(old, Key):
            self.keys = [one for key in self.keys for one in ((key,) if key is not old else (new,)) if isinstance(one, Key)]
        else:
            self.not_nulls = [
                one
                for known in self.not_nulls
                for one in ((known,) if known is not old else (new,))
                if isinstance(one, NotNull)
            ]

    def _keep_index(self, key: Key) -> None:
        """Note the unique index that KEEP INDEX leaves of a key: the dictionary knows whether it is unique."""
        present = self._dictionary.present
        for index in present.keys or () if present is not None else ():
            if index.kind == "I" and index.columns == key.columns:
                self.keys.append(index)

    def _look_up_keys(self, change: DropConstraint | SetConstraint) -> None:
        """Take the keys of the dictionary. Without one, none that the change may be about is left."""
        present = self._dictionary.present
        if present is not None:
            self.keys, self.keys_known = self._dictionary.known_keys(), present.keys is not None
        elif isinstance(change, DropConstraint) or change.enabled is False or change.validated is False:
            self.keys = []


def _after(change: DropConstraint | SetConstraint, one: Key | NotNull) -> Key | NotNull | None:
    """A constraint after the change; None when it is dropped."""
    if isinstance(change, DropConstraint):
        return None
    if isinstance(one, Key):
        return change.set_in(one)
    return change.set_in(one)


def _loosens(change: DropConstraint | SetConstraint) -> bool:
    """Whether the change can only take a rule away, or leave it; ENABLE NOVALIDATE takes away what it has validated."""
    if isinstance(change, DropConstraint) or change.validated is False:
        return True
    return change.enabled is not True and change.validated is not True
