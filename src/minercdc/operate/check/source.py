"""The source database as the rules of `minercdc check` examine it, and the form of their reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import Platform
from minercdc.schema.table import TableSchema


@dataclass(frozen=True, slots=True)
class ExaminedSource:
    """The source database of a configuration, with a session in it; the owner closes the connections.

    :param config: of one database, where the given one names several pluggable ones.
    :param connection: to where the tables are, or to the root while the rules of redo are examined.
    :param tables: the captured ones; () while the rules of redo are examined.
    :param mines: redo is read by LogMiner.
    :param privileges: system privileges and roles of the session.
    :param secondary: to the root of the physical standby or downstream database that is mined; None: the source itself is.
    :param reads_redo: redo is read, by LogMiner or by a server.
    """

    config: ConnectorConfig
    connection: oracledb.Connection
    tables: Sequence[TableSchema]
    platform: Platform
    mines: bool
    privileges: frozenset[str]
    secondary: oracledb.Connection | None = None
    reads_redo: bool = True

    @property
    def user(self) -> str:
        """Name of the user in a GRANT, in upper case."""
        return self.config.database.session_user.upper()

    @property
    def is_common(self) -> bool:
        """Whether a grant to the user can be for all containers."""
        return self.user.startswith("C##")

    def rows(self, sql: str, doing: str, **binds: object) -> list[tuple[object, ...]]:
        """All rows of a query on `connection`, [] for none. Raises SourceError or PrerequisiteError.

        :param doing: what the query is for; it begins the message of an error.
        """
        with oracle_errors(doing), self.connection.cursor() as cursor:
            cursor.execute(sql, binds)
            return [tuple(row) for row in cursor]

    def number(self, parameter: str) -> int | None:
        """A parameter of the database that is a whole number; None when there is none of the name, or it has no value.

        :param parameter: its name, in lower case.
        :raises PrerequisiteError, SourceError: V$PARAMETER is not granted, or cannot be read.
        """
        sql = "SELECT VALUE FROM V$PARAMETER WHERE NAME = :name"
        found = self.rows(sql, "reading V$PARAMETER", name=parameter)
        return int(str(found[0][0])) if found and found[0][0] else None


Examine = Callable[[ExaminedSource], Iterator[Finding]]


def advice(rule: str, problem: str, fix: str) -> Finding:
    """A finding that neither blocks capture nor suspends a table, for the rule of the name `rule`."""
    return Finding(rule, Severity.ADVICE, problem, fix)


def number_of(value: object) -> int:
    """A whole NUMBER that the driver gave, as number or text; 0 for NULL."""
    return int(str(value)) if value is not None else 0
