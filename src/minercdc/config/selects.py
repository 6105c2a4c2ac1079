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
    """A table's name as it is given, in upper case and without blanks and quotes around its parts: `SCHEMA.TABLE` or
    `DATABASE.SCHEMA.TABLE`."""
    return re.sub(r"\s*\.\s*", ".", given.replace('"', "").strip()).upper()


def select_of(selects: Mapping[str, str], table: TableId) -> str | None:
    """The SELECT that is given for a table, with its database or without; None when there is none."""
    return next((selects[name] for name in _names(table) if name in selects), None)


def unmatched(selects: Iterable[str], tables: Iterable[TableId]) -> Iterator[tuple[str, str]]:
    """(Problem, what to do) for each name that has a SELECT and is that of none of these tables."""
    known = {upper: ".".join(table) for table in tables for upper in _names(table)}
    for name in sorted(set(selects) - known.keys()):
        near = get_close_matches(name, known, 1, 0.75)
        meant = f"; did you mean {near[0]}?" if near else ""
        problem = f"snapshot.select.statement.overrides: {name} is no captured table, so a snapshot is refused{meant}"
        yield problem, "Correct it: SCHEMA.TABLE, or DATABASE.SCHEMA.TABLE; or leave it out."


def _names(table: TableId) -> tuple[str, str]:
    return ".".join(table).upper(), str(table).upper()


def unpaired(listed: Sequence[str], selects: Mapping[str, str]) -> Iterator[str]:
    """A problem for each table that is listed without a SELECT, or has one and is not listed.

    :param listed: `snapshot.select.statement.overrides`.
    """
    tables = {plain_name(table) for table in listed}
    for table in sorted(tables - selects.keys()):
        yield f"{SELECT_OVERRIDE}{table}: needed, since snapshot.select.statement.overrides lists the table"
    for table in sorted(selects.keys() - tables):
        yield f"{SELECT_OVERRIDE}{table}: snapshot.select.statement.overrides does not list the table"
