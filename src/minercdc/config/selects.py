"""SELECTs that tables are read by in the initial snapshot: `snapshot.select.statement.overrides.SCHEMA.TABLE`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from minercdc.config.select_text import without_end
from minercdc.schema.table import TableId

SELECT_OVERRIDE = "snapshot.select.statement.overrides."


def take_selects(rest: dict[str, str], token: str | None) -> Iterator[tuple[str, str]]:
    """(The table's name as of `plain_name`, SELECT without its end) of each property for one, taken out of `rest`.

    :param token: stands for `AS OF SCN n`, and is removed, since the SELECT's transaction reads as of the snapshot's SCN; None for
        none.
    """
    for name in [name for name in rest if name.startswith(SELECT_OVERRIDE)]:
        select = without_end(rest.pop(name).strip())
        yield plain_name(name.removeprefix(SELECT_OVERRIDE)), select.replace(token, "") if token else select


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


def select_of(selects: Mapping[str, str], table: TableId, tables: Iterable[TableId]) -> str | None:
    """The SELECT that is given for a table, with its database or without; None when there is none.

    A name means the table that is spelled like it, and where there is none among `tables`, that whose name it is in upper case, as
    without quotes in SQL.

    :param selects: by names of `plain_name`.
    """
    full, short = _names(table)
    mine = [name for name, meant in _meant(selects, tables).items() if table in meant]
    # The exact spelling first, and then the name with its database.
    best = min(mine, key=lambda name: (_exact(name) not in (full, short), _folded(name) != full.upper()), default=None)
    return selects[best] if best is not None else None


def unmatched(selects: Iterable[str], tables: Iterable[TableId]) -> Iterator[tuple[str, str]]:
    """(Problem, what to do) for each name that has a SELECT and is that of none of these tables."""
    tables = list(tables)
    known = {name.upper(): name for table in tables for name in _spelled(table)}
    for name in sorted(name for name, meant in _meant(selects, tables).items() if not meant):
        near = get_close_matches(_exact(name).upper(), known, 1, 0.75)
        meant = f"; did you mean {known[near[0]]}?" if near else ""
        problem = f"snapshot.select.statement.overrides: {name} is no captured table, so a snapshot is refused{meant}"
        yield problem, "Correct it: SCHEMA.TABLE, or DATABASE.SCHEMA.TABLE, spelled as in the dictionary; or leave it out."


def _meant(selects: Iterable[str], tables: Iterable[TableId]) -> dict[str, list[TableId]]:
    """The tables that each name means: those with this spelling, where that of the database does not matter; else those whose names it
    is in upper case."""
    by_name: dict[str, list[TableId]] = {}
    by_full: dict[str, list[TableId]] = {}
    for table in tables:
        full, short = _names(table)
        by_full.setdefault(full, []).append(table)
        for name in (full, short):
            by_name.setdefault(name, []).append(table)
    found = {}
    for name in selects:
        database, _, rest = _exact(name).partition(".")
        spelled = by_name.get(_exact(name)) or by_full.get(f"{database.upper()}.{rest}")
        found[name] = spelled or by_name.get(_folded(name)) or []
    return found


def _names(table: TableId) -> tuple[str, str]:
    return ".".join(table), str(table)


def _spelled(table: TableId) -> tuple[str, str]:
    """The names of a table, as SQL needs them."""
    parts = [part if part == part.upper() else f'"{part}"' for part in table]
    return ".".join(parts), ".".join(parts[1:])


def _exact(name: str) -> str:
    return name.replace('"', "")


def _folded(name: str) -> str:
    """A name in upper case but for what is in quotes, without these."""
    return "".join(piece if at % 2 else piece.upper() for at, piece in enumerate(name.split('"')))


def unpaired(listed: Sequence[str], selects: Mapping[str, str]) -> Iterator[str]:
    """A problem for each table that is listed without a SELECT, or has one and is not listed. Names in another spelling are one where
    they are the same in upper case.

    :param listed: `snapshot.select.statement.overrides`.
    """
    tables = {plain_name(table) for table in listed}
    lacking, unlisted = tables - selects.keys(), selects.keys() - tables
    folded = {_folded(name) for name in lacking} & {_folded(name) for name in unlisted}
    for table in sorted(name for name in lacking if _folded(name) not in folded):
        yield f"{SELECT_OVERRIDE}{table}: needed, since snapshot.select.statement.overrides lists the table"
    for table in sorted(name for name in unlisted if _folded(name) not in folded):
        yield f"{SELECT_OVERRIDE}{table}: snapshot.select.statement.overrides does not list the table"
