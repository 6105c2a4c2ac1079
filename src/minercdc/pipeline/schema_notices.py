"""The notification about a schema change."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc.stream.events import Notification, SchemaChange

_LONGEST_DDL = 2000


def of_ddl(change: SchemaChange) -> Iterator[Notification]:
    """The notification of what DDL did to a table, with the first 2000 characters of the statement; none without a statement, or for a
    structure that a snapshot read."""
    if change.snapshot or not change.ddl:
        return
    data = {"data_collections": f"{change.table.database}.{change.table}", "ddl": change.ddl[:_LONGEST_DDL]}
    data["scn"] = str(change.scn)
    if change.user:
        data["user"] = change.user
    yield Notification(f"ddl-{change.scn}-{change.table}", "Schema", "CHANGED", change.time_us, data)
