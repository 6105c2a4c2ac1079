"""Checks what LogMiner needs: privileges, ARCHIVELOG mode, supplemental logging, names and types that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import oracledb

from minercdc.errors import PrerequisiteError
from minercdc.oracle import grants
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.prerequisites import redo_findings
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES
from minercdc.values.document import LOG_JSON

_LONGEST_NAME = 30  # bytes; LogMiner gives no usable SQL for longer names of tables or columns
_JSON = "SELECT COUNT(*) FROM V$PARAMETER WHERE NAME = 'enable_goldengate_replication' AND VALUE = 'TRUE'"
_ROLE = "SELECT DATABASE_ROLE, OPEN_MODE FROM V$DATABASE"


class LogMinerPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of both LogMiner adapters. Findings come as they are iterated, and so
    do errors."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """A blocking finding for each privilege that mining lacks in the session's container, with the statement that grants it.

        :raises SourceError, PrerequisiteError: what is granted cannot be read.
        """
        missing = list(chain(grants.missing_mining(connection), grants.missing_views(connection, grants.MINING_VIEWS)))
        if not missing:
            return
        platform = grants.platform_of(connection)
        for grant, why in missing:
            fix = grant.statement(user.upper(), everywhere=user.upper().startswith("C##"), platform=platform)
            rule = "grant-views" if grant in grants.MINING_VIEWS else "grant-logminer"
            yield Finding(rule, Severity.MISSING, f"{grant.name} is not granted ({why}): {grant.purpose}", fix)

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Findings about the database's role, ARCHIVELOG mode and supplemental logging, and, not blocking, a finding for each
        table with JSON whose rows LogMiner does not show.

        :raises SourceError, PrerequisiteError: V$DATABASE cannot be read, or as `redo_findings`.
        """
        role, mode = one_row(connection, _ROLE, "reading the database's role")
        if role not in ("PRIMARY", "SNAPSHOT STANDBY"):
            yield Finding(
                "database-role",
                Severity.MISSING,
                f"the database is a {role} ({mode}): database.* must be the primary database",
                "Connect to the primary: database.hostname, database.port, database.dbname. A physical standby is mined by secondary.* and"
                " capture.mode=physical_standby.",
            )
        yield from redo_findings(connection, tables, without_minimal="LogMiner cannot show whole rows")
        with_json = [table for table in tables if any(column.type_name == "JSON" for column in table.columns)]
        if with_json and not _is_json_logged(connection):
            for table in with_json:
                yield Finding(
                    "mined-types",
                    Severity.ADVICE,
                    f"{table.id}: LogMiner shows changes of tables with JSON columns only if ENABLE_GOLDENGATE_REPLICATION is TRUE",
                    f"{LOG_JSON}; or leave the table out: table.exclude.list={table.id}",
                )

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Findings, not blocking, for tables that LogMiner does not show: with names over 30 bytes, or columns of some types."""
        for table in tables:
            long_names = [
                name for name in (table.id.table, *(c.name for c in table.columns)) if len(name.encode()) > _LONGEST_NAME
            ]
            if long_names:
                yield Finding(
                    "long-names",
                    Severity.ADVICE,
                    f"{table.id}: LogMiner does not show changes of tables with names over {_LONGEST_NAME} bytes: "
                    + ", ".join(long_names),
                    f"Exclude the table by table.exclude.list, or rename {long_names[0]}.",
                )
            unmined = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in UNMINED_TYPES]
            if unmined:
                yield Finding(
                    "mined-types",
                    Severity.ADVICE,
                    f"{table.id}: LogMiner does not show changes of tables with columns of these types: {', '.join(unmined)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to continue without its changes.",
                )


def _is_json_logged(connection: oracledb.Connection) -> bool:
    """Whether ENABLE_GOLDENGATE_REPLICATION is TRUE; False also when V$PARAMETER is not granted, which nothing else
    needs."""
    try:
        return bool(one_row(connection, _JSON, "reading ENABLE_GOLDENGATE_REPLICATION")[0])
    except PrerequisiteError:
        return False
