"""Checks a downstream database that LogMiner is to run in: whether it is one for this source, and the grants there.

The facts are docs/reference/logminer-facts.md#a-10.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import oracledb

from minercdc.capture.logminer.logs.physical_standby import Identity
from minercdc.oracle import grants
from minercdc.oracle.finding import Finding, Severity


def downstream_findings(source: Identity, downstream: Identity) -> Iterator[Finding]:
    """What keeps redo of the source from being mined there: one finding, which blocks capture, or none."""
    problem, fix = "", "Correct secondary.hostname, secondary.port, secondary.dbname or secondary.url."
    if source.role != "PRIMARY":
        problem = f"database.* is a {source.role} ({source.mode}): it must be the primary database, because the dictionary is written to its redo"
        fix = "Correct database.hostname, database.port, database.dbname or database.url."
    elif downstream.dbid == source.dbid:
        problem = f"secondary.* has the DBID of database.*, {source.dbid}: it is that database or a copy of it, not a downstream database"
        fix += " A physical standby is capture.mode=physical_standby; DBNEWID (nid) gives a copy its own DBID."
    elif downstream.mode != "READ WRITE":
        problem = (
            f"the downstream database is a {downstream.role}, {downstream.mode}: LogMiner takes a dictionary in redo only where it"
            " can write (ORA-01300)"
        )
        fix = "On the downstream database: ALTER DATABASE OPEN;"
    if problem:
        yield Finding("downstream-role", Severity.MISSING, problem, fix)


def grant_findings(connection: oracledb.Connection, user: str) -> Iterator[Finding]:
    """A blocking finding for each privilege that the session lacks in the downstream database, with the statement that grants it.

    :param connection: to the root of the downstream database.
    :param user: whom the statements grant it to.
    :raises SourceError, PrerequisiteError: the session's privileges, or a view, cannot be read for another reason than a grant.
    """
    missing = chain(grants.missing_mining(connection), grants.missing_views(connection, grants.DOWNSTREAM_VIEWS))
    for grant, why in missing:
        fix = f"On the downstream database: {grant.statement(user.upper(), everywhere=user.upper().startswith('C##'))}"
        problem = f"{grant.name} is not granted in the downstream database ({why}): {grant.purpose}"
        yield Finding("downstream-grants", Severity.MISSING, problem, fix)
