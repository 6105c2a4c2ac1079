"""Finds captured tables of which a policy may show the user a part only: redo has all of it, and a snapshot what the query shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import oracledb

from minercdc.errors import PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import session_privileges
from minercdc.schema.table import TableId


class _Kind(NamedTuple):
    """A kind of policies.

    :param exempt: the privilege of those whom they do not concern.
    :param sql: owner and name of the tables that have one which is enabled.
    """

    exempt: str
    sql: str
    problem: str


_KINDS: Final = (
    _Kind(
        "EXEMPT ACCESS POLICY",
        "SELECT OBJECT_OWNER, OBJECT_NAME FROM ALL_POLICIES WHERE SEL = 'YES' AND ENABLE = 'YES'",
        "a policy (DBMS_RLS) may hide rows from the user: snapshots would not have them, and a table that is read again would"
        " have them deleted",
    ),
    _Kind(
        "EXEMPT REDACTION POLICY",
        "SELECT OBJECT_OWNER, OBJECT_NAME FROM REDACTION_POLICIES WHERE TRIM(ENABLE) = 'YES'",
        "a policy (DBMS_REDACT) may show the user other values: snapshots would have those, and the stream the stored ones",
    ),
)


def policy_findings(connection: oracledb.Connection, tables: Sequence[TableId], user: str) -> Iterator[Finding]:
    """Advice for each of the tables that has a policy from which the user is not exempt; none where the views of policies cannot be
    read. Whether a policy concerns the user, only its function knows.

    :raises TransientSourceError: the connection is lost.
    :raises SourceError: the privileges cannot be read.
    """
    captured = {(table.schema, table.table): table for table in tables}
    for kind in _KINDS:
        found = [captured[name] for name in sorted(set(_with_policy(connection, kind.sql))) if name in captured]
        if found and kind.exempt not in session_privileges(connection):
            for table in found:
                fix = f"GRANT {kind.exempt} TO {user};"
                yield Finding("policies", Severity.ADVICE, f"{table}: {kind.problem}", fix)


def _with_policy(connection: oracledb.Connection, sql: str) -> list[tuple[str, str]]:
    try:
        with oracle_errors("reading the policies of tables"), connection.cursor() as cursor:
            cursor.execute(sql)
            return [(str(owner), str(name)) for owner, name in cursor]
    except TransientSourceError:
        raise
    except (SourceError, PrerequisiteError):
        return []
