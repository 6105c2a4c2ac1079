"""What adapters need of the database whose redo a server reads; the server has needs of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.oracle import grants
from minercdc.oracle.prerequisites import Finding, redo_findings
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES

_WITHOUT_VALUES = UNMINED_TYPES | {"JSON"}


class ServerPrerequisites:
    """See `oracle.prerequisites.CapturePrerequisites`.

    :param without_values: says, after the table's name, that the columns which follow have no values.
    """

    def __init__(self, without_values: str) -> None:
        self._without_values = without_values

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """Views that cannot be read."""
        for grant, why in grants.missing_views(connection, grants.SERVER_VIEWS):
            fix = f"GRANT SELECT ON {grant.on.removeprefix('SYS.')} TO {user}"
            yield Finding(f"{grant.view} cannot be read ({why})", fix, blocking=True, rule="grant-views")

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """ARCHIVELOG mode and supplemental logging."""
        yield from redo_findings(connection, tables, without_minimal="redo does not hold whole rows")

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Columns whose values do not come."""
        for table in tables:
            names = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in _WITHOUT_VALUES]
            if names:
                yield Finding(
                    f"{table.id}: {self._without_values}: {', '.join(names)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to go on without its changes.",
                    blocking=False,
                    rule="mined-types",
                )
