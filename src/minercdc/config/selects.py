"""SELECTs that tables are read by in the initial snapshot: `snapshot.select.statement.overrides.SCHEMA.TABLE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

SELECT_OVERRIDE = "snapshot.select.statement.overrides."


def take_selects(rest: dict[str, str], token: str | None) -> Iterator[tuple[str, str]]:
    """(`SCHEMA.TABLE` in upper case, SELECT) of each property for one, taken out of `rest`.

    :param token: stands for `AS OF SCN n`, and is removed, since the SELECT's transaction reads as of the snapshot's SCN; None for
        none.
    """
    for name in [name for name in rest if name.startswith(SELECT_OVERRIDE)]:
        select = rest.pop(name).strip().rstrip(";")
        yield name.removeprefix(SELECT_OVERRIDE).upper(), select.replace(token, "") if token else select


def unpaired(listed: Sequence[str], selects: Mapping[str, str]) -> Iterator[str]:
    """A problem for each table that is listed without a SELECT, or has one and is not listed.

    :param listed: `snapshot.select.statement.overrides`.
    """
    tables = {table.upper() for table in listed}
    for table in sorted(tables - selects.keys()):
        yield f"{SELECT_OVERRIDE}{table}: needed, since snapshot.select.statement.overrides lists the table"
    for table in sorted(selects.keys() - tables):
        yield f"{SELECT_OVERRIDE}{table}: snapshot.select.statement.overrides does not list the table"
