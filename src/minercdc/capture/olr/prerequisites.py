"""What `olr` needs of the database; OpenLogReplicator has needs of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.errors import PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.prerequisites import Finding, SupplementalLogging
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES

_VIEWS = ("V$DATABASE", "V$THREAD", "V$TRANSACTION")


class OlrPrerequisites:
    """See `oracle.prerequisites.CapturePrerequisites`."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """Views that cannot be read."""
        for view in _VIEWS:
            try:
                with oracle_errors(view), connection.cursor() as cursor:
                    cursor.execute(f"SELECT 1 FROM {view} WHERE 1 = 0")
            except PrerequisiteError as error:
                fix = f"GRANT SELECT ON {view.replace('V$', 'V_$')} TO {user}"
                yield Finding(f"{view} cannot be read ({error.message})", fix, blocking=True)

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """ARCHIVELOG mode and supplemental logging."""
        sql = "SELECT LOG_MODE, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_ALL FROM V$DATABASE"
        log_mode, minimal, all_columns = one_row(connection, sql, "checking V$DATABASE")
        if log_mode != "ARCHIVELOG":
            yield Finding(
                f"the database is in {log_mode} mode: redo is overwritten before it is read",
                "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;",
                blocking=True,
            )
        if minimal not in ("YES", "IMPLICIT"):
            yield Finding(
                "minimal supplemental logging is off: redo does not hold whole rows",
                "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;",
                blocking=True,
            )
        if all_columns != "YES":
            logging = SupplementalLogging(connection, {table.id.schema for table in tables})
            for table in tables:
                yield from logging.findings(table.id, keyed=bool(table.key))

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Columns whose values do not come."""
        for table in tables:
            names = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in UNMINED_TYPES]
            if names:
                yield Finding(
                    f"{table.id}: values of columns of these types are not read from OpenLogReplicator: {', '.join(names)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to go on without its changes.",
                    blocking=False,
                )
