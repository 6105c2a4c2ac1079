"""Checks the signal table; each finding has the SQL that fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.errors import PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary import read_tables
from minercdc.oracle.prerequisites import Finding
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableId, TableSchema

_TEXT = frozenset({"VARCHAR2", "NVARCHAR2", "CHAR", "NCHAR"})
_COLUMNS = "(ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048))"


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
    if found is None:
        fix = f"CREATE TABLE {name} {_COLUMNS}; GRANT SELECT, INSERT, DELETE ON {name} TO {user};"
        yield Finding(
            f"signal.data.collection: there is no table {table} that {user} can see",
            fix,
            blocking=False,
            rule="signal-table",
        )
        return
    yield from _shape(found, name)
    if "DELETE" in marks and found.columns[0].name != "ID":
        old = found.columns[0].name
        yield Finding(
            f"{table}: its first column is {old}; marks of incremental snapshots are deleted by the column ID, as Debezium deletes them",
            f'ALTER TABLE {name} RENAME COLUMN "{old}" TO ID;',
            blocking=False,
            rule="signal-table",
        )
    if redo:
        yield from _logging(connection, table, name)
    for privilege in marks:
        try:
            _try(connection, name, privilege)
        except PrerequisiteError as error:
            fix = f"GRANT SELECT, {privilege} ON {name} TO {user};"
            yield Finding(
                f"{table}: marks of incremental snapshots cannot be written ({error.message})",
                fix,
                blocking=False,
                rule="signal-table",
            )


def _shape(table: TableSchema, name: str) -> Iterator[Finding]:
    columns = table.columns[:3]
    if len(columns) < 3 or any(column.type_name not in _TEXT for column in columns):
        shape = ", ".join(f"{column.name} {column.type_name}" for column in table.columns)
        fix = f"DROP TABLE {name}; CREATE TABLE {name} {_COLUMNS};"
        yield Finding(
            f"{table.id}: three columns of text are needed, id, type, data; it has {shape}",
            fix,
            blocking=False,
            rule="signal-table",
        )
    elif len(table.columns) > 3:
        yield Finding(
            f"{table.id}: has more than three columns, so marks of incremental snapshots cannot be inserted",
            f"ALTER TABLE {name} DROP ({', '.join(column.name for column in table.columns[3:])});",
            blocking=False,
            rule="signal-table",
        )


def _logging(connection: oracledb.Connection, table: TableId, name: str) -> Iterator[Finding]:
    """A finding when not all columns of the table are logged, so that a mark that is deleted may not be recognised. Raises
    SourceError, PrerequisiteError."""
    everything = one_row(connection, "SELECT SUPPLEMENTAL_LOG_DATA_ALL FROM V$DATABASE", "checking V$DATABASE")[0]
    sql = (
        "SELECT COUNT(*) FROM ALL_LOG_GROUPS"
        " WHERE OWNER = :owner AND TABLE_NAME = :name AND LOG_GROUP_TYPE = 'ALL COLUMN LOGGING'"
    )
    logged = one_row(connection, sql, "checking supplemental log groups", owner=table.schema, name=table.table)[0]
    if everything != "YES" and not logged:
        fix = f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"
        yield Finding(
            f"{table}: not all columns are logged: a mark that is deleted may not be recognised",
            fix,
            blocking=False,
            rule="signal-table",
        )


def _try(connection: oracledb.Connection, name: str, privilege: str) -> None:
    """Execute a statement that changes no row, but needs the privilege `INSERT` or `DELETE`, and roll back. Raises
    PrerequisiteError without it (ORA-01031), and as `codes.classify`."""
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
