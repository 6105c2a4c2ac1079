"""The columns of the signal table: `id`, `type` and `data`, read and written by their places, as Debezium does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from minercdc.schema.table import Column, TableSchema

COLUMNS: Final = "(ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048))"
_NAMES: Final = ("ID", "TYPE", "DATA")
_LENGTHS: Final = (42, 32, 128)  # characters of the longest id, type and data that a mark has, about
_TEXT: Final = frozenset({"VARCHAR2", "NVARCHAR2", "CHAR", "NCHAR"})


class Wrong(NamedTuple):
    """Something that is wrong with the columns.

    :param problem: what, for people; without the table's name.
    :param fix: SQL.
    """

    problem: str
    fix: str


def taken_for(table: TableSchema) -> str:
    """Which columns are taken for others by their places, as `NOTE is taken for ID`; '' where none with a name of these is at
    another's place."""
    names = [column.name for column in table.columns]
    if all(name not in names or names.index(name) == place for place, name in enumerate(_NAMES)):
        return ""
    pairs = zip(names, _NAMES, strict=False)
    return ", ".join(f"{name} is taken for {wanted}" for name, wanted in pairs if name != wanted)


def wrong_columns(table: TableSchema, again: str, *, deletes: bool) -> Iterator[Wrong]:
    """What is wrong with the columns of a signal table, each with the SQL that repairs it; none when nothing is.

    :param again: SQL that makes a right table in place of this one. What it holds are signals that were acted on.
    :param deletes: marks are deleted, by the column ID.
    """
    name = f'"{table.id.schema}"."{table.id.table}"'
    names = [column.name for column in table.columns]
    more = [one for one in names if one not in _NAMES] if set(_NAMES) <= set(names) else names[3:]
    kept = [column for column in table.columns if column.name not in more]
    has = f"three columns of text are needed, ID, TYPE, DATA in this order; it has {', '.join(map(_shown, table.columns))}"
    if len(kept) < len(_NAMES) or any(column.type_name not in _TEXT for column in kept) or _are_misplaced(kept):
        taken = taken_for(table)
        yield Wrong(f"{has}{f': {taken}' if taken else ''}", again)
        return
    if more:
        taken = taken_for(table) or "signals and marks cannot be inserted"
        yield Wrong(f"{has}: {taken}", f"ALTER TABLE {name} DROP ({_listed(more)});")
    if deletes and kept[0].name != "ID":
        yield Wrong(
            f"its first column is {kept[0].name}; marks of incremental snapshots are deleted by the column ID, as Debezium deletes them",
            f'ALTER TABLE {name} RENAME COLUMN "{kept[0].name}" TO ID;',
        )
    for column, length in zip(kept, _LENGTHS, strict=True):
        if column.length is not None and column.length < length:
            yield Wrong(
                f"{column.name} has {column.length} characters; marks of incremental snapshots need {length}",
                f'ALTER TABLE {name} MODIFY ("{column.name}" {column.type_name}({length}));',
            )


def _are_misplaced(columns: Sequence[Column]) -> bool:
    """Whether one of three columns has the name of another place's."""
    return any(column.name in _NAMES and column.name != name for column, name in zip(columns, _NAMES, strict=False))


def _shown(column: Column) -> str:
    return f"{column.name} {column.type_name}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
