"""What LogMiner needs: views, ARCHIVELOG mode, supplemental logging, names and types that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.oracle.prerequisites import Finding, redo_findings, unreadable_views
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES

# What the connector reads.
_VIEWS = ("V$DATABASE", "V$LOG", "V$LOGFILE", "V$ARCHIVED_LOG", "V$ARCHIVE_DEST_STATUS", "V$THREAD", "V$TRANSACTION")
_LONGEST_NAME = 30  # bytes; LogMiner gives no usable SQL for longer names of tables or columns


class LogMinerPrerequisites:
    """See `oracle.prerequisites.CapturePrerequisites`."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """Views that cannot be read."""
        yield from unreadable_views(connection, _VIEWS, user)

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """ARCHIVELOG mode and supplemental logging."""
        yield from redo_findings(connection, tables, without_minimal="LogMiner cannot show whole rows")

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Names that are too long, and types whose tables LogMiner does not show."""
        for table in tables:
            long_names = [
                name for name in (table.id.table, *(c.name for c in table.columns)) if len(name.encode()) > _LONGEST_NAME
            ]
            if long_names:
                yield Finding(
                    f"{table.id}: LogMiner does not show changes of tables with names over {_LONGEST_NAME} bytes: "
                    + ", ".join(long_names),
                    f"Exclude the table by table.exclude.list, or rename {long_names[0]}.",
                    blocking=False,
                )
            unmined = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in UNMINED_TYPES]
            if unmined:
                yield Finding(
                    f"{table.id}: LogMiner does not show changes of tables with columns of these types: {', '.join(unmined)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to go on without its changes.",
                    blocking=False,
                )
