"""Whether a stored position is of this database: of its DBID, and of its incarnation; and of the same pluggable database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import oracledb

from minercdc.errors import LogGapError, MinerCdcError, PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.present_scn import NOT_THIS_DATABASE
from minercdc.oracle.scn import DatabaseIdentity, PdbIdentity, database_identity, one_row
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
        """The part of `to_json` that says the database: `dbid`, `resetlogs`, `con_dbid` .. as text, without what is not known."""
        of = {"dbid": self.of.dbid, "resetlogs": self.of.resetlogs, **self.of.pdb._asdict()}
        return {name: str(number) for name, number in of.items() if number}


P = TypeVar("P", bound=DatabasePosition)


def identity_of(saved: Mapping[str, Any]) -> DatabaseIdentity:
    """What `DatabasePosition.identity_json` made part of `saved`. Raises ValueError or TypeError for anything else."""
    pdb = PdbIdentity(int(saved.get("con_dbid", 0)), int(saved.get("con_uid", 0)), int(saved.get("con_resetlogs", 0)))
    return DatabaseIdentity(int(saved.get("dbid", 0)), int(saved.get("resetlogs", 0)), pdb)


def granted_identity(connection: oracledb.Connection) -> DatabaseIdentity:
    """DBID and incarnation of the database; `UNKNOWN` where V$DATABASE is not granted. Raises SourceError when Oracle fails."""
    try:
        return database_identity(connection)._replace(pdb=granted_pdb(connection))
    except PrerequisiteError:
        return UNKNOWN


def granted_pdb(connection: oracledb.Connection) -> PdbIdentity:
    """The pluggable database that a connection is in; 0 for each part of which the view is not granted, or does not have it. Raises
    TransientSourceError when the connection is lost."""
    return PdbIdentity(
        con_dbid=_granted(connection, "SELECT CON_DBID FROM V$DATABASE"),
        con_uid=_granted(connection, f"SELECT MAX(CON_UID) FROM V$PDBS WHERE {_HERE}"),
        con_resetlogs=_granted(connection, _RESETLOGS),
    )


_HERE: Final = "CON_ID = SYS_CONTEXT('USERENV', 'CON_ID')"
# NULL without a row; a first incarnation may have no SCN, or 0.
_RESETLOGS: Final = (
    f"SELECT MAX(GREATEST(NVL(END_RESETLOGS_SCN, 1), 1)) FROM V$PDB_INCARNATION WHERE STATUS = 'CURRENT' AND {_HERE}"
)


def _granted(connection: oracledb.Connection, sql: str) -> int:
    try:
        (found,) = one_row(connection, sql, "reading which pluggable database it is")
    except TransientSourceError:
        raise
    except (PrerequisiteError, SourceError):
        return 0
    return int(found or 0)


def other_pdb(stored: PdbIdentity, present: PdbIdentity, name: str) -> LogGapError | None:
    """As `difference`, of a pluggable database `name`, '' for the one that is connected to."""
    what = name or "the pluggable database"
    for part, before, now in zip(PdbIdentity._fields, stored, present, strict=True):
        if before and now and before != now:
            problem = _PDB_PROBLEMS[part].format(what=what, before=before, now=now)
            return LogGapError(problem, hint=NOT_THIS_DATABASE)
    return None


_PDB_PROBLEMS: Final = {
    # Object ids of tables are those of other tables in it.
    "con_dbid": "the stored position is of {what} with CON_DBID {before}, but it has CON_DBID {now} now: it was dropped and created again, or is another one",
    "con_uid": "the stored position is of {what} with CON_UID {before}, but it has CON_UID {now} now: it was unplugged and plugged in again, and may have been changed elsewhere",
    "con_resetlogs": "{what} was opened with RESETLOGS, which ended at SCN {now}, after the stored position: changes that were delivered are taken back by no change in the redo",
}


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
    return other_pdb(stored.pdb, present.pdb, "")


def other_database(connection: oracledb.Connection, position: Position) -> LogGapError | None:
    """The error that says that a position is of another database or incarnation, returned and not raised; None when it is of this
    one, or does not say, or V$DATABASE is not granted. Raises SourceError when Oracle fails."""
    stored = position.of if isinstance(position, Identified) else UNKNOWN
    return None if stored == UNKNOWN else difference(stored, granted_identity(connection))


@runtime_checkable
class OfPdbs(Protocol):
    """A position that knows which pluggable databases it is of, one by one."""

    @property
    def pdb_ids(self) -> Mapping[str, PdbIdentity]:
        """Which each is, by the name of the database; only what is known."""


def pdb_ids(places: Mapping[str, Callable[[], oracledb.Connection]]) -> dict[str, PdbIdentity]:
    """Which each database is, by its name, without those that cannot be read. Opens connections, and closes them.

    :param places: opens a connection to each.
    """
    return _present(places)[0]


def _present(places: Mapping[str, Callable[[], oracledb.Connection]]) -> tuple[dict[str, PdbIdentity], list[str]]:
    """As `pdb_ids`; and the names of which there is no database any more."""
    found, gone = {}, []
    for name, connect in places.items():
        try:
            with closing(connect()) as connection:
                found[name] = granted_pdb(connection)
        except MinerCdcError as error:
            if "ORA-65011" in error.message:
                gone.append(name)
    return {name: one for name, one in found.items() if any(one)}, gone


def other_pdbs(places: Mapping[str, Callable[[], oracledb.Connection]], position: Position) -> LogGapError | None:
    """The error that says that one of the databases is another than when the position was stored, or is not there by its name, returned
    and not raised; None when they are the same, as far as that is known. A name of which nothing is stored may be the new one of a
    database that is stored under another. `places` as of `pdb_ids`."""
    if not isinstance(position, OfPdbs):
        return None
    stored = position.pdb_ids
    present, gone = _present(places)
    if gone:
        return LogGapError(
            f"there is no pluggable database {gone[0]} any more: it was renamed, unplugged or dropped. LogMiner shows redo by the names that"
            " databases have by then, so the last changes in it may be missing",
            hint=f"Set database.pdb.name to where its tables are. {NOT_THIS_DATABASE}",
        )
    left = [one for name, one in stored.items() if name not in places]
    for name, one in present.items():
        gaps = [other_pdb(before, one, name) for before in ([stored[name]] if name in stored else left)]
        if gaps and all(gaps):
            return gaps[0]
    return None


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
    known = position.of.completed(present)
    return position if known == position.of else replace(position, of=known)


def here(connect: Callable[[], oracledb.Connection], position: P) -> P:
    """As `identified`, with a connection that is opened and closed here. Raises what `connect` raises, too."""
    with closing(connect()) as connection:
        return identified(connection, position)
