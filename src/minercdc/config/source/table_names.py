"""Names of tables in properties: which table a name means that a user spelled, with quotes or without, in any case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from minercdc.schema.table import TableId

_T = TypeVar("_T")


def plain_name(given: str) -> str:
    """A table's name as it is given, without blanks around its parts, and without quotes where they change nothing: `SCHEMA.TABLE` or
    `DATABASE.SCHEMA.TABLE`."""
    pieces = given.strip().split('"')
    for at, piece in enumerate(pieces):
        if at % 2 == 0:
            pieces[at] = re.sub(r"\s*\.\s*", ".", piece)
        elif piece != piece.upper():
            pieces[at] = f'"{piece}"'
    return "".join(pieces)


def given_for(given: Mapping[str, _T], table: TableId, tables: Iterable[TableId]) -> _T | None:
    """What is given for a table, by its name with the database or without; None when there is nothing.

    A name means the table that is spelled like it, and where there is none among `tables`, that whose name it is in upper case, as
    without quotes in SQL.

    :param given: by names of `plain_name`.
    """
    full, short = names_of(table)
    mine = [name for name, found in meant(given, tables).items() if table in found]
    # The exact spelling first, and then the name with its database.
    best = min(mine, key=lambda name: (exact(name) not in (full, short), folded(name) != full.upper()), default=None)
    return given[best] if best is not None else None


def meant(names: Iterable[str], tables: Iterable[TableId]) -> dict[str, list[TableId]]:
    """The tables that each name means: those with this spelling, where that of the database does not matter; else those whose names it
    is in upper case."""
    by_name: dict[str, list[TableId]] = {}
    by_full: dict[str, list[TableId]] = {}
    for table in tables:
        full, short = names_of(table)
        by_full.setdefault(full, []).append(table)
        for name in (full, short):
            by_name.setdefault(name, []).append(table)
    found = {}
    for name in names:
        database, _, rest = exact(name).partition(".")
        like_it = by_name.get(exact(name)) or by_full.get(f"{database.upper()}.{rest}")
        found[name] = like_it or by_name.get(folded(name)) or []
    return found


def names_of(table: TableId) -> tuple[str, str]:
    """`DATABASE.SCHEMA.TABLE` and `SCHEMA.TABLE`."""
    return ".".join(table), str(table)


def spelled(table: TableId) -> tuple[str, str]:
    """The names of a table, as SQL needs them."""
    parts = [part if part == part.upper() else f'"{part}"' for part in table]
    return ".".join(parts), ".".join(parts[1:])


def exact(name: str) -> str:
    """A name as of `plain_name` without its quotes."""
    return name.replace('"', "")


def folded(name: str) -> str:
    """A name in upper case but for what is in quotes, without these."""
    return "".join(piece if at % 2 else piece.upper() for at, piece in enumerate(name.split('"')))
