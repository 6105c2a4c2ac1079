"""The notification about a schema change."""

from __future__ import annotations

from minercdc.events import Notification, SchemaChange

_LONGEST_DDL = 2000


def of_ddl(change: SchemaChange) -> Notification:
    """The notification of what DDL did to a table, with the first 2000 characters of the statement."""
    data = {"data_collections": f"{change.table.database}.{change.table}", "ddl": change.ddl[:_LONGEST_DDL]}
    data["scn"] = str(change.scn)
    if change.user:
        data["user"] = change.user
    return Notification(f"ddl-{change.scn}-{change.table}", "Schema", "CHANGED", change.time_us, data)
