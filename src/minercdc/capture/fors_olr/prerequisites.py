"""What `fors_olr` needs of the database; the server has needs of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.oracle.prerequisites import Finding, redo_findings, unreadable_views
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES

_VIEWS = ("V$DATABASE", "V$THREAD", "V$TRANSACTION")


class ForsPrerequisites:
    """See `oracle.prerequisites.CapturePrerequisites`."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """Views that cannot be read."""
        yield from unreadable_views(connection, _VIEWS, user)

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """ARCHIVELOG mode and supplemental logging."""
        yield from redo_findings(connection, tables, without_minimal="redo does not hold whole rows")

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Columns whose values do not come."""
        for table in tables:
            names = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in UNMINED_TYPES]
            if names:
                yield Finding(
                    f"{table.id}: FORS Oracle Logical Replicator has no values of columns of these types: {', '.join(names)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to go on without its changes.",
                    blocking=False,
                )
