"""Checks whether the database is prepared for capture, all of it in one go, with the SQL that fixes each finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import oracledb

from minercdc.config.sections import DatabaseConfig
from minercdc.errors import PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import database_name
from minercdc.oracle.dictionary import read_table_ids, read_tables
from minercdc.oracle.scn import one_row
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES, is_supported

# What the connector reads; grants are on the V_$ forms.
_VIEWS = ("V$DATABASE", "V$LOG", "V$LOGFILE", "V$ARCHIVED_LOG", "V$ARCHIVE_DEST_STATUS", "V$THREAD", "V$TRANSACTION")
_NO_TABLE = "Correct schema.include.list or table.include.list; a table created later is captured from its first row."
# LogMiner gives no usable SQL for tables with longer names of table or columns.
_LONGEST_NAME = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    :param fix: SQL, or what else to do.
    :param blocking: without it changes would be lost or capture fails; otherwise capture works with less.
    """

    problem: str
    fix: str
    blocking: bool


def check(connection: oracledb.Connection, config: DatabaseConfig, table_filter: TableFilter) -> list[Finding]:
    """Everything found, blocking findings first. An error means that the check itself could not be done.

    :param connection: to where the tables are.
    """
    findings = list(_views(connection, config.database_user))
    if any(finding.blocking for finding in findings):
        return findings
    tables = read_tables(connection, read_table_ids(connection, table_filter, database_name(config)))
    findings += _database(connection, tables)
    findings += table_findings(tables)
    if not tables:
        findings.append(Finding("no table is captured: the include and exclude lists leave none", _NO_TABLE, blocking=False))
    findings += filter_findings(table_filter.table_include, [str(table.id) for table in tables])
    return sorted(findings, key=lambda finding: not finding.blocking)


def _views(connection: oracledb.Connection, user: str) -> Iterator[Finding]:
    for view in _VIEWS:
        try:
            with oracle_errors(view), connection.cursor() as cursor:
                cursor.execute(f"SELECT 1 FROM {view} WHERE 1 = 0")
        except PrerequisiteError as error:
            fix = f"GRANT SELECT ON {view.replace('V$', 'V_$')} TO {user}"
            yield Finding(f"{view} cannot be read ({error.message})", fix, blocking=True)


def _database(connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
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
            "minimal supplemental logging is off: LogMiner cannot tell whole rows",
            "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;",
            blocking=True,
        )
    if all_columns != "YES":
        logged = _tables_with_all_columns(connection, {table.id.schema for table in tables})
        for table in tables:
            if (table.id.schema, table.id.table) not in logged:
                yield Finding(
                    f"{table.id}: not all columns are logged: before images are partial, columns may be missing",
                    f'ALTER TABLE "{table.id.schema}"."{table.id.table}" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;',
                    blocking=False,
                )


def _tables_with_all_columns(connection: oracledb.Connection, owners: Iterable[str]) -> set[tuple[str, str]]:
    sql = "SELECT TABLE_NAME FROM ALL_LOG_GROUPS WHERE OWNER = :owner AND LOG_GROUP_TYPE = 'ALL COLUMN LOGGING'"
    found: set[tuple[str, str]] = set()
    with oracle_errors("checking supplemental log groups"), connection.cursor() as cursor:
        for owner in sorted(owners):
            cursor.execute(sql, {"owner": owner})
            found.update((owner, table) for (table,) in cursor)
    return found


def table_findings(tables: Sequence[TableSchema]) -> Iterator[Finding]:
    """What is known of single tables without asking the database."""
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
        unsupported = [f"{column.name} {column.type_name}" for column in table.columns if not is_supported(column)]
        if unsupported:
            yield Finding(
                f"{table.id}: columns of unsupported types are left out: {', '.join(unsupported)}",
                f"Accept it, or leave the table out: table.exclude.list={table.id}",
                blocking=False,
            )
        unmined = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in UNMINED_TYPES]
        if unmined:
            yield Finding(
                f"{table.id}: LogMiner does not show changes of tables with columns of these types: {', '.join(unmined)}",
                "Leave the table out, or set event.processing.failure.handling.mode=warn to go on without its changes.",
                blocking=False,
            )


def filter_findings(patterns: Sequence[str], names: Sequence[str]) -> Iterator[Finding]:
    """Patterns of `table.include.list` that match no table, most often by a slip."""
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name, re.IGNORECASE) for name in names):
            yield Finding(
                f"table.include.list: '{pattern}' matches no table",
                "Correct it, or create the table; it is captured from then on.",
                blocking=False,
            )
