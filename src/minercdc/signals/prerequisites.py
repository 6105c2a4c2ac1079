"""Checks the signal table; each finding has the SQL that fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import oracledb

from minercdc.errors import PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableId
from minercdc.stream.signal_table import COLUMNS, wrong_columns

_ALL_COLUMNS: Final = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"


def signal_table_findings(
    connection: oracledb.Connection, table: TableId, user: str, marks: Sequence[str], *, redo: bool = True
) -> Iterator[Finding]:
    """What is wrong with the signal table, none when nothing is. Changes are captured all the same, so no finding is
    blocking. With `marks`, statements are tried, and what is not committed on `connection` is rolled back.

    :param user: the connector's database user.
    :param redo: the table is read from redo, which has to hold its columns.
    :param marks: what the connector does to the table, INSERT or DELETE; empty when it only reads the table.
    :raises SourceError, PrerequisiteError: Oracle refuses a check itself.
    """
    name = f'"{table.schema}"."{table.table}"'
    found = next(iter(read_tables(connection, [table])), None)
    grant = f" GRANT SELECT, INSERT, DELETE ON {name} TO {user};" if user.upper() != table.schema else ""
    create = f"CREATE TABLE {name} {COLUMNS};{grant}"
    if found is None:
        yield Finding(
            "signal-table", Severity.ADVICE, f"signal.data.collection: there is no table {table} that {user} can see", create
        )
        return
    again = f"DROP TABLE {name}; {create}" + (f" {_ALL_COLUMNS.format(name)}" if redo else "")
    for wrong in wrong_columns(found, again, deletes="DELETE" in marks):
        yield Finding("signal-table", Severity.ADVICE, f"{table}: {wrong.problem}", wrong.fix)
    if redo:
        yield from _logging(connection, table, name)
    for privilege in marks:
        try:
            _try(connection, name, privilege)
        except PrerequisiteError as error:
            fix = f"GRANT SELECT, {privilege} ON {name} TO {user};"
            yield Finding(
                "signal-table",
                Severity.ADVICE,
                f"{table}: marks of incremental snapshots cannot be written ({error.message})",
                fix,
            )


def _logging(connection: oracledb.Connection, table: TableId, name: str) -> Iterator[Finding]:
    """A finding when not all columns of the table are logged, so that a mark that is deleted may not be recognised."""
    everything = one_row(connection, "SELECT SUPPLEMENTAL_LOG_DATA_ALL FROM V$DATABASE", "checking V$DATABASE")[0]
    sql = (
        "SELECT COUNT(*) FROM ALL_LOG_GROUPS"
        " WHERE OWNER = :owner AND TABLE_NAME = :name AND LOG_GROUP_TYPE = 'ALL COLUMN LOGGING'"
    )
    logged = one_row(connection, sql, "checking supplemental log groups", owner=table.schema, name=table.table)[0]
    if everything != "YES" and not logged:
        yield Finding(
            "signal-table",
            Severity.ADVICE,
            f"{table}: not all columns are logged: a mark that is deleted may not be recognised",
            _ALL_COLUMNS.format(name),
        )


def _try(connection: oracledb.Connection, name: str, privilege: str) -> None:
    """Execute a statement that changes no row, but needs the privilege `INSERT` or `DELETE`, and roll back."""
    sql = (
        f"INSERT INTO {name} SELECT * FROM {name} WHERE 1 = 0"
        if privilege == "INSERT"
        else f"DELETE FROM {name} WHERE 1 = 0"
    )
    try:
        with oracle_errors(f"checking {privilege}"), connection.cursor() as cursor:
            cursor.execute(sql)
    finally:
        connection.rollback()
