"""What `txlog` needs: its objects in the schema of the tables, and the right to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import oracledb

from minercdc.capture.txlog.names import CORE, LOG, MOST_SOURCES, quoted, view_of
from minercdc.capture.txlog.noted import noted_since
from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.prerequisites import Finding
from minercdc.schema.table import TableSchema

_INSTALL = "minercdc txlog install CONFIG, as the owner of the tables; minercdc txlog check CONFIG lists what is missing"


class TxlogPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of `txlog`. Findings come as they are iterated, and so do errors."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """No findings: only rights on objects are needed, which `database` looks at."""
        yield from ()

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Blocking findings: tables are of several schemas (then it is the only one), or too many; for each table, that its
        installation has not ended, or that it cannot be read through its view.

        :raises SourceError, PrerequisiteError: SY$SOURCES or the dictionary cannot be read.
        :raises TransientSourceError: the connection was lost.
        """
        owners = sorted({table.id.schema for table in tables})
        if len(owners) > 1:
            yield Finding(
                f"tables of several schemas are captured: {', '.join(owners)}",
                "Each schema has a log of transactions of its own: use a connector for each.",
                blocking=True,
                rule="txlog",
            )
            return
        if len(tables) > MOST_SOURCES:
            yield Finding(
                f"{len(tables)} tables are captured, and {LOG} can note {MOST_SOURCES}",
                "Leave tables out.",
                blocking=True,
                rule="txlog",
            )
        yield from _unfinished(connection, tables)
        for table in tables:
            owner, view = quoted(table.id.schema), quoted(view_of(table.id.table))
            sql = (
                f"SELECT {owner}.{CORE}.getScn(TX.SCN, TX.ORA_ROWSCN) FROM {owner}.{view} SRC, {owner}.{quoted(LOG)} TX"
                " WHERE SRC.TXN = TX.TXN AND 1 = 0"
            )
            try:
                with oracle_errors("reading"), connection.cursor() as cursor:
                    cursor.execute(sql)
                    cursor.fetchall()
            except TransientSourceError:
                raise
            except (PrerequisiteError, SourceError) as error:
                grants = (
                    f"; then GRANT SELECT ON {view}, {LOG} and EXECUTE ON {CORE} to database.user, if that is another user"
                )
                yield Finding(
                    f"{table.id}: no source of the log of transactions ({error.message})",
                    _INSTALL + grants,
                    blocking=True,
                    rule="txlog",
                )

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """A blocking finding for each table without a key, whose rows a reader cannot distinguish."""
        for table in tables:
            if not table.key:
                yield Finding(
                    f"{table.id}: it has no key", "Add a primary key, or leave the table out.", blocking=True, rule="txlog"
                )


def _unfinished(connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
    for table, since in noted_since(connection, [one.id for one in tables]).items():
        if since is None:
            yield Finding(
                f"{table}: minercdc txlog install has not ended: transactions from before its trigger may be open, and are not noted",
                "Run minercdc txlog install CONFIG again and wait for its end.",
                blocking=True,
                rule="txlog",
            )
