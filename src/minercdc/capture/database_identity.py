"""Whether a stored position is of this database: of its DBID, and of its incarnation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import oracledb

from minercdc.errors import LogGapError, PrerequisiteError
from minercdc.oracle.present_scn import NOT_THIS_DATABASE
from minercdc.oracle.scn import DatabaseIdentity, database_identity
from minercdc.stream.offset import JsonValue, Position

UNKNOWN: Final = DatabaseIdentity(0, 0)
"""Of a position that an earlier release stored, or where V$DATABASE is not granted: 0 is not compared."""


@runtime_checkable
class Identified(Protocol):
    """A position that knows which database it is of."""

    @property
    def of(self) -> DatabaseIdentity:
        """DBID and incarnation; 0 for each that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabasePosition:
    """Base of positions that are places by SCN, in one database and incarnation.

    :param of: which database it is; `UNKNOWN` is not checked.
    """

    of: DatabaseIdentity = UNKNOWN

    def identity_json(self) -> dict[str, JsonValue]:
        """The part of `to_json` that says the database: `dbid` and `resetlogs` as text; empty where it is not known."""
        return {name: str(number) for name, number in self.of._asdict().items() if number}


P = TypeVar("P", bound=DatabasePosition)


def identity_of(saved: Mapping[str, Any]) -> DatabaseIdentity:
    """What `DatabasePosition.identity_json` made part of `saved`. Raises ValueError or TypeError for anything else."""
    return DatabaseIdentity(int(saved.get("dbid", 0)), int(saved.get("resetlogs", 0)))


def granted_identity(connection: oracledb.Connection) -> DatabaseIdentity:
    """DBID and incarnation of the database; `UNKNOWN` where V$DATABASE is not granted. Raises SourceError when Oracle fails."""
    try:
        return database_identity(connection)
    except PrerequisiteError:
        return UNKNOWN


def difference(stored: DatabaseIdentity, present: DatabaseIdentity) -> LogGapError | None:
    """The error that says that what is stored is of another database or incarnation than the present one, returned and not raised;
    None when it is of the same, as far as both are known."""
    if stored.dbid and present.dbid and present.dbid != stored.dbid:
        return LogGapError(
            f"the stored position belongs to the database with DBID {stored.dbid}, but this one has DBID {present.dbid}",
            hint=NOT_THIS_DATABASE,
        )
    if stored.resetlogs and present.resetlogs and present.resetlogs != stored.resetlogs:
        return LogGapError(
            f"the database was opened with RESETLOGS at SCN {present.resetlogs}, after the stored position",
            hint="Redo addresses and SCNs before and after it cannot be compared: remove the offset and take a new snapshot.",
        )
    return None


def other_database(connection: oracledb.Connection, position: Position) -> LogGapError | None:
    """The error that says that a position is of another database or incarnation, returned and not raised; None when it is of this
    one, or does not say, or V$DATABASE is not granted. Raises SourceError when Oracle fails."""
    stored = position.of if isinstance(position, Identified) else UNKNOWN
    return None if stored == UNKNOWN else difference(stored, granted_identity(connection))


def elsewhere(connect: Callable[[], oracledb.Connection], position: Position) -> LogGapError | None:
    """As `other_database`, with a connection that is opened and closed here. Raises what `connect` raises, too."""
    with closing(connect()) as connection:
        return other_database(connection, position)


def identified(connection: oracledb.Connection, position: P) -> P:
    """The position with DBID and incarnation: those of the database where it has none.

    :raises LogGapError: it is of another database or incarnation.
    :raises SourceError: Oracle fails.
    """
    present = granted_identity(connection)
    if gap := difference(position.of, present):
        raise gap
    known = DatabaseIdentity(position.of.dbid or present.dbid, position.of.resetlogs or present.resetlogs)
    return position if known == position.of else replace(position, of=known)


def here(connect: Callable[[], oracledb.Connection], position: P) -> P:
    """As `identified`, with a connection that is opened and closed here. Raises what `connect` raises, too."""
    with closing(connect()) as connection:
        return identified(connection, position)
