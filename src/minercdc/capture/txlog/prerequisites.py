"""The prerequisites of `txlog`: its objects in the schema of the tables, and the right to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.capture.txlog.names import CORE, LOG, MOST_SOURCES, SOURCES, quoted, view_of
from minercdc.capture.txlog.noted import noted_since
from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.schema.table import TableSchema

_INSTALL = "minercdc txlog install CONFIG, as the owner of the tables; minercdc txlog check CONFIG lists what is missing"


class TxlogPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of `txlog`. Findings come as they are iterated, and so do errors."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """No findings: only rights on objects are needed, which `database` looks at."""
        yield from ()

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Blocking findings: tables are of several schemas (then it is the only one), or too many; for each table, that its
        installation has not ended, or that it cannot be read through its view; where each can, that SY$SOURCES cannot be
        read.

        :raises SourceError, PrerequisiteError: the dictionary cannot be read.
        :raises TransientSourceError: the connection was lost.
        """
        owners = sorted({table.id.schema for table in tables})
        if len(owners) > 1:
            yield Finding(
                "txlog",
                Severity.MISSING,
                f"tables of several schemas are captured: {', '.join(owners)}",
                "Each schema has its own log of transactions: use one connector per schema.",
            )
            return
        if len(tables) > MOST_SOURCES:
            yield Finding(
                "txlog",
                Severity.MISSING,
                f"{len(tables)} tables are captured, but {LOG} can record at most {MOST_SOURCES}",
                "Leave tables out.",
            )
        yield from _unfinished(connection, tables)
        refused = False
        for table in tables:
            owner, view = quoted(table.id.schema), quoted(view_of(table.id.table))
            sql = (
                f"SELECT {owner}.{CORE}.getScn(TX.SCN, TX.ORA_ROWSCN) FROM {owner}.{view} SRC, {owner}.{quoted(LOG)} TX"
                " WHERE SRC.TXN = TX.TXN AND 1 = 0"
            )
            if why := _refusal(connection, sql):
                refused = True
                yield _finding(f"{table.id}: not a source of the log of transactions ({why})", view)
        if refused or not tables:
            return  # the fix of these findings has the grant on SY$SOURCES
        if why := _refusal(connection, f"SELECT NAME, BITNUM FROM {quoted(owners[0])}.{quoted(SOURCES)} WHERE 1 = 0"):
            yield _finding(f"{owners[0]}: the sources of the log of transactions cannot be read ({why})")

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """A blocking finding for each table without a key, whose rows a reader cannot distinguish."""
        for table in tables:
            if not table.key:
                yield Finding(
                    "txlog", Severity.MISSING, f"{table.id}: it has no key", "Add a primary key, or leave the table out."
                )


def _refusal(connection: oracledb.Connection, sql: str) -> str:
    """Why the query is refused; '' when it is not."""
    try:
        with oracle_errors("reading"), connection.cursor() as cursor:
            cursor.execute(sql)
            cursor.fetchall()
    except TransientSourceError:
        raise
    except (PrerequisiteError, SourceError) as error:
        return error.message
    return ""


def _finding(problem: str, *views: str) -> Finding:
    """A finding that blocks, with the grants of a user who is not the owner of the tables.

    :param views: those of tables, quoted.
    """
    read = ", ".join([*views, LOG, SOURCES])
    grants = f"; then GRANT SELECT ON {read} and EXECUTE ON {CORE} to database.user, if that is another user"
    return Finding("txlog", Severity.MISSING, problem, _INSTALL + grants)


def _unfinished(connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
    for table, since in noted_since(connection, [one.id for one in tables]).items():
        if since is None:
            yield Finding(
                "txlog",
                Severity.MISSING,
                f"{table}: minercdc txlog install has not finished: transactions that began before its trigger may be open, and are not recorded",
                "Run minercdc txlog install CONFIG again and wait until it finishes.",
            )
