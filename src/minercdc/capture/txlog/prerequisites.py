"""The prerequisites of `txlog`: its objects in the schema of the tables, and the right to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import oracledb

from minercdc.capture.txlog.names import CORE, LOG, MOST_SOURCES, SOURCES, quoted, trigger_of, view_of
from minercdc.capture.txlog.noted import noted_since
from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableId, TableSchema

_TRIGGERS = "SELECT TRIGGER_NAME, STATUS FROM ALL_TRIGGERS WHERE OWNER = :owner"
_INSTALL = "minercdc txlog install CONFIG, as the owner of the tables; minercdc txlog check CONFIG lists what is missing"


class TxlogPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of `txlog`. Findings come as they are iterated, and so do errors."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """No findings: only rights on objects are needed, which `database` looks at."""
        yield from ()

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Blocking findings: tables are of several schemas (then it is the only one), or too many; for each table, that its
        installation has not ended, that its trigger is disabled or missing (where the user is the owner, or may see triggers),
        or that it cannot be read through its view; where each can, that SY$SOURCES cannot be read.

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
        since = noted_since(connection, [one.id for one in tables])
        yield from _unfinished(since)
        yield from _without_trigger(connection, [table for table, scn in since.items() if scn is not None])
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


def _unfinished(noted: Mapping[TableId, int | None]) -> Iterator[Finding]:
    for table, since in noted.items():
        if since is None:
            yield Finding(
                "txlog",
                Severity.MISSING,
                f"{table}: minercdc txlog install has not finished: transactions that began before its trigger may be open, and are not recorded",
                "Run minercdc txlog install CONFIG again and wait until it finishes.",
            )


def _without_trigger(connection: oracledb.Connection, tables: Sequence[TableId]) -> Iterator[Finding]:
    """A finding for each table whose trigger notes nothing. Another user than the owner may not see triggers: then one that is not
    found may be there."""
    if not tables:
        return
    [user] = one_row(connection, "SELECT USER FROM DUAL", "reading the user")
    owner = tables[0].schema
    with oracle_errors("looking for the triggers"), connection.cursor() as cursor:
        status = dict[str, str](cursor.execute(_TRIGGERS, {"owner": owner}).fetchall())
    for table in tables:
        found = status.get(trigger_of(table.table), "missing" if user == owner else "ENABLED")
        if found != "ENABLED":
            yield Finding(
                "txlog",
                Severity.MISSING,
                f"{table}: its trigger {trigger_of(table.table)} is {found.lower()}, so changes are not recorded",
                f"{_INSTALL}. Take an incremental snapshot of the table if its rows were changed meanwhile.",
            )
