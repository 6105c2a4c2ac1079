"""Reads SCNs, incarnation, clock and character set of the database.

Each function queries at each call, and raises SourceError or PrerequisiteError, as `codes.classify` makes them of Oracle's
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import oracledb

from minercdc.errors import PrerequisiteError, SnapshotTooOldError, SourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.stream.events import Scn

HOST_CLOCK = "SELECT TO_CHAR(SYSTIMESTAMP, 'YYYY-MM-DD HH24:MI:SS.FF6'), TO_CHAR(SYSTIMESTAMP, 'TZH:TZM') FROM DUAL"
"""The statement of `host_clock`, with which each pass begins."""
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def one_row(connection: oracledb.Connection, sql: str, doing: str, **binds: Any) -> tuple[Any, ...]:
    """The first row of a query. Raises SourceError when there is none.

    :param doing: what the query is for; it begins the message of an error.
    """
    with oracle_errors(doing), connection.cursor() as cursor:
        cursor.execute(sql, binds)
        row = cursor.fetchone()
    if row is None:
        raise SourceError(f"{doing}: no row")
    return tuple(row)


def current_scn(connection: oracledb.Connection) -> Scn:
    """CURRENT_SCN of V$DATABASE. Each read moves it forward, and redo up to it may not be written yet. Raises SourceError or
    PrerequisiteError when Oracle refuses."""
    return Scn(int(one_row(connection, "SELECT CURRENT_SCN FROM V$DATABASE", "reading the current SCN")[0]))


def is_cluster(connection: oracledb.Connection) -> bool:
    """Whether CLUSTER_DATABASE is TRUE: instances may be added while others run. False also when V$PARAMETER is not granted, as a
    database that has one redo thread needs no grant. Raises SourceError."""
    sql = "SELECT COUNT(*) FROM V$PARAMETER WHERE NAME = 'cluster_database' AND VALUE = 'TRUE'"
    try:
        return bool(one_row(connection, sql, "reading CLUSTER_DATABASE")[0])
    except PrerequisiteError:
        return False


def written_scn(connection: oracledb.Connection) -> Scn:
    """The SCN up to which redo is written in all open threads: every commit below it is in the logs. A reader of redo reaches
    it even when nothing more is written, which is not so for CURRENT_SCN.

    :raises PrerequisiteError: no redo thread is open.
    """
    sql = "SELECT MIN(LAST_REDO_CHANGE#) FROM V$THREAD WHERE STATUS = 'OPEN'"
    (scn,) = one_row(connection, sql, "reading the redo threads")
    if scn is None:
        raise PrerequisiteError(
            "V$THREAD has no open redo thread",
            hint="The database must be open for writing; a physical standby has no open redo thread.",
        )
    return Scn(int(scn))


def last_redo(connection: oracledb.Connection) -> frozenset[tuple[int, Scn]]:
    """(Number, highest SCN of which redo is written) of each open redo thread; SCN 0 where none is. It changes with every
    COMMIT. Raises SourceError or PrerequisiteError when Oracle refuses."""
    sql = "SELECT THREAD#, LAST_REDO_CHANGE# FROM V$THREAD WHERE STATUS = 'OPEN'"
    with oracle_errors("reading the redo threads"), connection.cursor() as cursor:
        cursor.execute(sql)
        return frozenset((int(thread), Scn(int(scn or 0))) for thread, scn in cursor.fetchall())


@contextmanager
def as_of(connection: oracledb.Connection, scn: int) -> Iterator[None]:
    """Within the context, every query of the session reads as of an SCN (DBMS_FLASHBACK). No transaction may be open.

    :raises PrerequisiteError: EXECUTE on the package is not granted.
    :raises SnapshotTooOldError: the SCN is too far back (ORA-08181).
    """
    doing = f"reading as of SCN {scn} by DBMS_FLASHBACK, which must be granted"
    with oracle_errors(doing), connection.cursor() as cursor:
        cursor.callproc("DBMS_FLASHBACK.ENABLE_AT_SYSTEM_CHANGE_NUMBER", [scn])
    try:
        yield
    finally:
        with oracle_errors("DBMS_FLASHBACK"), connection.cursor() as cursor:
            cursor.callproc("DBMS_FLASHBACK.DISABLE")


def scn_of_time(connection: oracledb.Connection, time: datetime) -> Scn:
    """The SCN of a time, exact to 3 s (TIMESTAMP_TO_SCN).

    :param time: without zone, in UTC.
    :raises SourceError: the time lies in the future by the database's clock, which is looked at here, since Oracle's error
        for that, ORA-08180, is the one for a time too far back, too; or it is too far back.
    """
    now, offset = host_clock(connection)
    present = now - offset
    if time > present:
        raise SourceError(
            f"{time.isoformat()}Z lies in the future; the database's clock says {present.isoformat(timespec='seconds')}Z",
            hint="Give an earlier time.",
        )
    sql = (
        "SELECT TIMESTAMP_TO_SCN(CAST(FROM_TZ(CAST(:time AS TIMESTAMP), 'UTC') AT TIME ZONE"
        " TO_CHAR(SYSTIMESTAMP, 'TZR') AS TIMESTAMP)) FROM DUAL"
    )
    return Scn(int(one_row(connection, sql, f"finding the SCN of {time.isoformat()}Z", time=time)[0]))


def time_of_scn(connection: oracledb.Connection, scn: int) -> str:
    """The time of an SCN on the database's clock, exact to 3 s (SCN_TO_TIMESTAMP), as text with the zone, for messages; a
    text that says so when the time is not known any more (ORA-08181). Raises SourceError or PrerequisiteError when Oracle
    refuses."""
    sql = "SELECT SCN_TO_TIMESTAMP(:scn), TO_CHAR(SYSTIMESTAMP, 'TZR') FROM DUAL"
    try:
        time, zone = one_row(connection, sql, f"finding the time of SCN {scn}", scn=scn)
    except SnapshotTooOldError:
        return "a time that is not known"
    return f"{time:%Y-%m-%d %H:%M:%S} {zone}"


class PdbIdentity(NamedTuple):
    """Which pluggable database it is, and since when it goes on without a break; 0 for what is not known.

    :param con_dbid: CON_DBID, which it keeps when it is unplugged.
    :param con_uid: CON_UID, which is another one each time it is plugged in: in between it may have changed elsewhere.
    :param con_resetlogs: END_RESETLOGS_SCN of its incarnation, 1 at least. It has one more after ALTER PLUGGABLE DATABASE OPEN
        RESETLOGS, which takes back changes that redo has as committed.
    """

    con_dbid: int = 0
    con_uid: int = 0
    con_resetlogs: int = 0

    def completed(self, present: PdbIdentity) -> PdbIdentity:
        """This one, with those parts of `present` that it does not know."""
        return PdbIdentity(
            self.con_dbid or present.con_dbid, self.con_uid or present.con_uid, self.con_resetlogs or present.con_resetlogs
        )


class DatabaseIdentity(NamedTuple):
    """Whose redo it is: redo addresses are unique per thread within a database and its incarnation.

    :param resetlogs: RESETLOGS_CHANGE#, which identifies the incarnation.
    :param pdb: which pluggable database it is; not known where that is not looked at.
    """

    dbid: int
    resetlogs: int
    pdb: PdbIdentity = PdbIdentity()

    def completed(self, present: DatabaseIdentity) -> DatabaseIdentity:
        """As `PdbIdentity.completed`."""
        return DatabaseIdentity(
            self.dbid or present.dbid, self.resetlogs or present.resetlogs, self.pdb.completed(present.pdb)
        )


def database_identity(connection: oracledb.Connection) -> DatabaseIdentity:
    """DBID and incarnation of the database. Raises SourceError or PrerequisiteError when Oracle refuses."""
    sql = "SELECT DBID, RESETLOGS_CHANGE# FROM V$DATABASE"
    dbid, resetlogs = one_row(connection, sql, "reading DBID and incarnation")
    return DatabaseIdentity(int(dbid), int(resetlogs))


def host_clock(connection: oracledb.Connection) -> tuple[datetime, timedelta]:
    """The database host's time at this moment, without zone, and by how much its zone is ahead of UTC.

    :raises SourceError: the database gives no offset.
    """
    time, zone = one_row(connection, HOST_CLOCK, "reading the host's clock")
    match = _OFFSET.fullmatch(str(zone))
    if not match:
        raise SourceError(f"SYSTIMESTAMP has the time zone {zone!r}")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return datetime.fromisoformat(str(time)), -offset if match[1] == "-" else offset


def database_time_zone(connection: oracledb.Connection) -> str:
    """DBTIMEZONE, in which TIMESTAMP WITH LOCAL TIME ZONE is stored: `+02:00`, or the name of a region. Raises SourceError or
    PrerequisiteError when Oracle refuses."""
    return str(one_row(connection, "SELECT DBTIMEZONE FROM DUAL", "reading the time zone of the database")[0])


ROOT = 1
"""CON_ID of CDB$ROOT; that of a database without containers is 0, that of the seed 2, those of PDBs come after it."""


def container_id(connection: oracledb.Connection) -> int:
    """CON_ID of the container that the session works in. Raises SourceError or PrerequisiteError when Oracle refuses."""
    return int(one_row(connection, "SELECT SYS_CONTEXT('USERENV', 'CON_ID') FROM DUAL", "reading the container")[0])


def pdb_is_open(connection: oracledb.Connection) -> bool:
    """Whether the pluggable database that the session works in is open, for writing or for reading only: its dictionary and tables
    can be read by any user then. True where V$PDBS is not granted or does not show it: if it is not open, reading its tables
    fails later. Raises SourceError when Oracle refuses for another reason."""
    sql = "SELECT OPEN_MODE FROM V$PDBS WHERE CON_ID = SYS_CONTEXT('USERENV', 'CON_ID')"
    try:
        with oracle_errors("reading V$PDBS"), connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone()
    except PrerequisiteError:
        return True
    return row is None or row[0] in ("READ WRITE", "READ ONLY")


def character_set(connection: oracledb.Connection) -> str:
    """NLS_CHARACTERSET of the database, such as `AL32UTF8`. Raises SourceError or PrerequisiteError when Oracle refuses."""
    sql = "SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_CHARACTERSET'"
    return str(one_row(connection, sql, "reading the character set")[0])
