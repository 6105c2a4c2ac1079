"""SELECT statements for tables in the initial snapshot: `snapshot.select.statement.overrides.SCHEMA.TABLE`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from minercdc.config.source.table_names import exact, given_for, meant, plain_name, spelled
from minercdc.config.source.table_names import folded as folded_name
from minercdc.schema.select_text import without_end
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


def select_of(selects: Mapping[str, str], table: TableId, tables: Iterable[TableId]) -> str | None:
    """The SELECT that is given for a table, one of `tables`; None when there is none."""
    return given_for(selects, table, tables)


def unmatched(selects: Iterable[str], tables: Iterable[TableId]) -> Iterator[tuple[str, str]]:
    """(Problem, what to do) for each name that has a SELECT and is that of none of these tables."""
    tables = list(tables)
    known = {name.upper(): name for table in tables for name in spelled(table)}
    for name in sorted(name for name, found in meant(selects, tables).items() if not found):
        near = get_close_matches(exact(name).upper(), known, 1, 0.75)
        hint = f"; did you mean {known[near[0]]}?" if near else ""
        problem = f"snapshot.select.statement.overrides: {name} is not a captured table, so a snapshot is refused{hint}"
        yield problem, "Correct it: SCHEMA.TABLE, or DATABASE.SCHEMA.TABLE, spelled as in the dictionary; or leave it out."


def unpaired(listed: Sequence[str], selects: Mapping[str, str]) -> Iterator[str]:
    """A problem for each table that is listed without a SELECT, has one and is not listed, or has one that is empty. Names in another spelling are one where
    they are the same in upper case.

    :param listed: `snapshot.select.statement.overrides`.
    """
    tables = {plain_name(table) for table in listed}
    lacking, unlisted = tables - selects.keys(), selects.keys() - tables
    folded = {folded_name(name) for name in lacking} & {folded_name(name) for name in unlisted}
    for table in sorted(name for name in lacking if folded_name(name) not in folded):
        yield f"{SELECT_OVERRIDE}{table}: needed, since snapshot.select.statement.overrides lists the table"
    for table in sorted(name for name in unlisted if folded_name(name) not in folded):
        yield f"{SELECT_OVERRIDE}{table}: snapshot.select.statement.overrides does not list the table"
    for table in sorted(name for name, select in selects.items() if not select.strip()):
        yield f"{SELECT_OVERRIDE}{table}: there is no SELECT in it, so the whole table would be published"
