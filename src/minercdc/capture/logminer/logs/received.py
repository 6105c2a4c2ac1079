"""SQL for the archived logs that a downstream database has received of the source, as its V$FOREIGN_ARCHIVED_LOG lists them.

The facts are docs/reference/logminer-facts.md#a-10.
"""

from __future__ import annotations

from typing import Final

import oracledb

from minercdc.oracle.scn import one_row

RECEIVED: Final = (
    "V$FOREIGN_ARCHIVED_LOG A WHERE A.SOURCE_DBID = :dbid AND A.RESETLOGS_CHANGE# = :resetlogs AND A.NAME IS NOT NULL"
    " AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' AND A.NEXT_CHANGE# <= :now"
)
"""FROM and WHERE of a query for them, with the binds of `of_source`. Logs of other databases and incarnations are left out,
and logs that end above the source's present SCN: what NEXT_CHANGE# is while a log is still received is not known."""
_SOURCE: Final = "SELECT DBID, RESETLOGS_CHANGE#, CURRENT_SCN FROM V$DATABASE"


def of_source(connection: oracledb.Connection) -> dict[str, int]:
    """The binds of `RECEIVED`, read now: the source's DBID, incarnation and present SCN.

    :param connection: to the source.
    :raises SourceError, PrerequisiteError: V$DATABASE cannot be read.
    """
    dbid, resetlogs, now = one_row(connection, _SOURCE, "reading the database id and incarnation of the source")
    return {"dbid": int(dbid), "resetlogs": int(resetlogs), "now": int(now)}
