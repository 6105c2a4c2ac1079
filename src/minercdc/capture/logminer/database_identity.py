"""Whether a stored position is of this database: its DBID, its incarnation, and an SCN that it has reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace

import oracledb

from minercdc.capture.database_identity import difference, pdb_ids
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.oracle.present_scn import not_reached
from minercdc.oracle.scn import PdbIdentity, database_identity

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
        found = database_identity(connection)
    return replace(position, dbid=position.dbid or found.dbid, resetlogs=position.resetlogs or found.resetlogs)


def with_pdb_ids(places: Mapping[str, Connect], position: LogMinerPosition) -> LogMinerPosition:
    """The position with what it does not know of its pluggable databases, as they are now; of those that can be read. Opens
    connections, and closes them.

    :param places: opens a connection to each database.
    """
    unknown = PdbIdentity()
    missing = {name: connect for name, connect in places.items() if not all(position.pdb_ids.get(name, unknown))}
    found = {name: position.pdb_ids.get(name, unknown).completed(present) for name, present in pdb_ids(missing).items()}
    return replace(position, pdb_ids={**position.pdb_ids, **found}) if found else position
