"""Finds tables that are captured but were not when the snapshot was taken: their older rows reach no reader."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Final

import oracledb

from minercdc.errors import SnapshotTooOldError
from minercdc.oracle.codes import oracle_errors
from minercdc.schema.patterns import literal_pattern
from minercdc.schema.table import TableId, TableSchema

_TABLES: Final = (
    "SELECT OBJECT_NAME, OBJECT_ID FROM ALL_OBJECTS WHERE OWNER = :owner AND OBJECT_TYPE = 'TABLE'"
    " AND CREATED <= CAST(SCN_TO_TIMESTAMP(:scn) AS DATE)"
)


def captured_later(
    connection: oracledb.Connection, captured: Iterable[TableId], known: Collection[TableSchema], scn: int
) -> list[TableId]:
    """Those of the captured tables that the stream does not know and that are not younger than it: its redo has no CREATE TABLE of
    them. All that it does not know where the time of the SCN is not known any more.

    :param captured: tables of one database, that of `connection`.
    :param known: tables that the stream knows, of all databases; one that was renamed since is among them by its OBJECT_ID.
    :param scn: where the stream goes on.
    :raises SourceError, PrerequisiteError: the dictionary cannot be read.
    """
    names = {table.id for table in known}
    unknown = sorted(table for table in captured if table not in names)
    ids = {(table.id.database, table.object_id) for table in known}
    found: list[TableId] = []
    for (database, owner), tables in groupby(unknown, key=lambda table: (table.database, table.schema)):
        some = list(tables)
        try:
            with oracle_errors(f"looking for tables of {owner}"), connection.cursor() as cursor:
                cursor.execute(_TABLES, {"owner": owner, "scn": scn})
                older = {name for name, number in cursor if (database, int(number)) not in ids}
        except SnapshotTooOldError:
            older = {table.table for table in some}
        found += [table for table in some if table.table in older]
    return found


def unread_rows(table: TableId) -> str:
    """What becomes of the rows that such a table has, for the log, with the command that has them read."""
    return (
        f"{table} is newly captured: its existing rows are not published, only their changes."
        f"  To read them: {how_to_read(table)}"
    )


def how_to_read(table: TableId) -> str:
    """The command that has the rows of a table read."""
    return f"minercdc signal CONFIG execute-snapshot --collection {literal_pattern('.'.join(table))}"
