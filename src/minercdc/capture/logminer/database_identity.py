"""Whether a stored position is of this database: its DBID, its incarnation, and an SCN that it has reached."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import oracledb

from minercdc.capture.database_identity import difference
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.oracle.present_scn import not_reached
from minercdc.oracle.scn import database_identity

Connect = Callable[[], oracledb.Connection]


def check_database(connection: oracledb.Connection, position: LogMinerPosition) -> None:
    """Check that a position is a place in this database's redo: of its DBID and present incarnation, as far as the position has
    them, and not beyond its present SCN.

    :raises LogGapError: it is not.
    :raises SourceError, PrerequisiteError: V$DATABASE cannot be read.
    """
    if gap := difference(position.of, database_identity(connection)):
        raise gap
    if gap := not_reached(connection, position.reached_scn):
        raise gap


def identified(connect: Connect, position: LogMinerPosition) -> LogMinerPosition:
    """The position with DBID and incarnation: those of the database where it has none, as one of an earlier release. Opens a
    connection if so, and closes it. Raises as `check_database`, which the position has passed."""
    if position.dbid and position.resetlogs:
        return position
    with closing(connect()) as connection:
        dbid, resetlogs, _ = database_identity(connection)
    return replace(position, dbid=position.dbid or dbid, resetlogs=position.resetlogs or resetlogs)
