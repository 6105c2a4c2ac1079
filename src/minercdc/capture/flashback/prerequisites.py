"""The prerequisites of `flashback`: SELECT and FLASHBACK on each table, and tables whose versions Oracle shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.errors import PrerequisiteError, SnapshotTooOldError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.present_scn import PresentScn
from minercdc.schema.table import TableSchema

_NO_VERSIONS = frozenset(["LONG", "LONG RAW"])


class FlashbackPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of `flashback`. Findings come as they are iterated, and so do errors."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """One finding, not blocking, when the user may read no exact present SCN. Raises as `PresentScn.read`."""
        present = PresentScn()
        present.read(connection)
        if not present.is_exact:
            yield Finding(
                "present-scn",
                Severity.ADVICE,
                "the present SCN can be read only through TIMESTAMP_TO_SCN: changes arrive up to three seconds later",
                f"GRANT EXECUTE ON DBMS_FLASHBACK TO {user}, or SELECT ON V_$DATABASE",
            )

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """A blocking finding for each table whose versions cannot be read, for want of a grant or otherwise; none for a table
        that had DDL a moment ago. Raises as `PresentScn.read`, and TransientSourceError when the connection is lost."""
        scn = PresentScn().read(connection)
        for table in tables:
            name = f'"{table.id.schema}"."{table.id.table}"'
            sql = f"SELECT 1 FROM {name} VERSIONS BETWEEN SCN {scn} AND {scn} WHERE 1 = 0"
            try:
                with oracle_errors(f"reading the versions of {table.id}"), connection.cursor() as cursor:
                    cursor.execute(sql)
                    cursor.fetchall()
            except PrerequisiteError as error:
                fix = f"GRANT SELECT, FLASHBACK ON {name} TO {connection.username.upper()}"
                yield Finding(
                    "grant-flashback", Severity.MISSING, f"{table.id}: its versions cannot be read ({error.message})", fix
                )
            except SnapshotTooOldError:
                continue  # DDL was a moment ago
            except TransientSourceError:
                raise
            except SourceError as error:
                fix = f"Leave the table out: table.exclude.list={table.id}"
                yield Finding(
                    "grant-flashback", Severity.MISSING, f"{table.id}: its versions cannot be read ({error.message})", fix
                )

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """A finding, not blocking, for each table with columns of types that VERSIONS BETWEEN refuses: LONG and LONG RAW."""
        for table in tables:
            names = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in _NO_VERSIONS]
            if names:
                yield Finding(
                    "mined-types",
                    Severity.ADVICE,
                    f"{table.id}: Oracle cannot show row versions of tables with columns of these types: {', '.join(names)}",
                    f"Leave the table out: table.exclude.list={table.id}",
                )
