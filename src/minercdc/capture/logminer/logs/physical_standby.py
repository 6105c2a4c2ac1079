"""Checks a physical standby that LogMiner is to run in: whether it is one, and what of the captured tables cannot be mined there.

The facts are docs/reference/logminer-facts.md#a-9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.scn import one_row
from minercdc.schema.table_filter import TableFilter

_IDENTITY: Final = "SELECT DBID, DATABASE_ROLE, OPEN_MODE FROM V$DATABASE"
# Rows of these have object ids that are not the table's, and no dictionary says to which table they belong.
_UNNAMED: Final = (
    "SELECT OWNER, TABLE_NAME FROM ALL_TABLES WHERE PARTITIONED = 'YES' OR IOT_TYPE IS NOT NULL OR CLUSTER_NAME IS NOT NULL"
    " ORDER BY OWNER, TABLE_NAME"
)
_EXCHANGED: Final = (
    "After a switchover, swap database.* and secondary.* and continue from the same offset; after a failover, or without a standby:"
    " capture.mode=primary."
)


class Identity(NamedTuple):
    """A database's id, role and state, as V$DATABASE has them.

    :param role: PRIMARY, PHYSICAL STANDBY, ..
    :param mode: READ WRITE, READ ONLY, READ ONLY WITH APPLY, MOUNTED.
    """

    dbid: int
    role: str
    mode: str


def identity(connection: oracledb.Connection) -> Identity:
    """The Identity of the session's database now. Raises SourceError, PrerequisiteError."""
    dbid, role, mode = one_row(connection, _IDENTITY, "reading the database's role")
    return Identity(int(dbid), str(role), str(mode))


def role_findings(primary: Identity, standby: Identity) -> Iterator[Finding]:
    """What is wrong with the roles of both databases: one finding, which blocks capture, or none."""
    problem, fix = "", _EXCHANGED
    if primary.role != "PRIMARY":
        problem = (
            f"database.* is a {primary.role} ({primary.mode}): it must be the primary database, which has the dictionary"
        )
    elif standby.role != "PHYSICAL STANDBY":
        problem = f"secondary.* is a {standby.role} ({standby.mode}), not a physical standby"
    elif standby.dbid != primary.dbid:
        problem = (
            f"secondary.* is a standby of another database: its DBID is {standby.dbid}, that of database.* {primary.dbid}"
        )
        fix = "Correct secondary.hostname, secondary.port, secondary.dbname or secondary.url."
    elif not standby.mode.startswith("READ ONLY"):
        problem = f"the standby of secondary.* is {standby.mode}: LogMiner's user cannot log on, or read its views"
        fix = "On the standby: ALTER DATABASE OPEN READ ONLY; if redo is applied at the same time, this requires a licence for Active Data Guard."
    if problem:
        yield Finding("standby-role", Severity.MISSING, problem, fix)


def table_findings(connection: oracledb.Connection, captured: TableFilter) -> Iterator[Finding]:
    """A blocking finding for each captured table whose rows cannot be placed without a dictionary, in order of owner and name.

    :param connection: to where the tables are, in the primary.
    :raises SourceError, PrerequisiteError: the dictionary cannot be read.
    :raises ConfigError: a pattern of `captured` took too long.
    """
    with oracle_errors("reading ALL_TABLES"), connection.cursor() as cursor:
        cursor.execute(_UNNAMED)
        for owner, table in cursor.fetchall():
            if captured.includes(owner, table):
                yield unnamed_table(owner, table)


def unnamed_table(owner: str, table: str) -> Finding:
    """The blocking finding for a table whose rows cannot be placed without a dictionary, since it is partitioned,
    index-organized or clustered."""
    return Finding(
        "standby-tables",
        Severity.MISSING,
        f"{owner}.{table} is partitioned, index-organized or clustered: redo identifies its rows by separate object ids, and"
        " LogMiner cannot resolve these on a physical standby without a dictionary",
        f"Leave the table out: table.exclude.list={owner}.{table}; or mine in the primary: capture.mode=primary.",
    )
