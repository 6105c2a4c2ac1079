"""Reads the memory of our session in the database: that of a LogMiner session grows, and only its end frees it."""

from __future__ import annotations

import oracledb

from minercdc.oracle.scn import one_row

# V$MYSTAT needs no knowledge of the own SID; V$PROCESS would need a grant on V$SESSION, too.
_PGA = "SELECT M.VALUE FROM V$MYSTAT M JOIN V$STATNAME N ON N.STATISTIC# = M.STATISTIC# WHERE N.NAME = 'session pga memory'"


def session_pga(connection: oracledb.Connection) -> int:
    """Bytes of PGA that the session's server process holds now (Oracle Reference, Statistics Descriptions).

    :raises PrerequisiteError: V$MYSTAT or V$STATNAME is not granted.
    :raises SourceError: Oracle's other errors, as `codes.classify` makes them.
    """
    return int(one_row(connection, _PGA, "reading the session's memory")[0])
