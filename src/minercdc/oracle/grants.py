"""The privileges that the connector needs in Oracle, one by one, each with what it is for.

A privilege is examined by what it allows, or as one enabled in the session, so that it counts whichever way it was granted:
directly, by a role, or by a privilege on ANY object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

import oracledb

from minercdc.errors import MiningSessionError, PrerequisiteError, SourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.scn import one_row


class Platform(Enum):
    """Who runs the database: it decides how what belongs to SYS is granted."""

    ORACLE = "Oracle"
    RDS = "Amazon RDS"
    AUTONOMOUS = "Autonomous Database"


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege that the connector needs.

    :param privilege: as GRANT names it: `SELECT`, `EXECUTE`, or a system privilege or role.
    :param on: the object, as Oracle's GRANT names it (`SYS.V_$LOG`); '' for a system privilege.
    :param purpose: what the connector needs it for.
    :param required: False: capture works with less.
    """

    privilege: str
    on: str
    purpose: str
    required: bool = True

    @property
    def name(self) -> str:
        """The name for people: `SELECT on V_$LOG`; of a system privilege that alone."""
        return f"{self.privilege} on {self.on.removeprefix('SYS.')}" if self.on else self.privilege

    @property
    def view(self) -> str:
        """The object as a query names it, `V$LOG` where the grant is on `V_$LOG`; '' for a system privilege."""
        return self.on.removeprefix("SYS.").replace("V_$", "V$", 1)

    def statement(self, user: str, *, everywhere: bool = False, platform: Platform = Platform.ORACLE) -> str:
        """The statement, with `;`, that gives the privilege to a user. On Amazon RDS what belongs to SYS is granted by a
        procedure of Amazon's.

        :param everywhere: in all containers, to a common user; without effect on that procedure.
        """
        if platform is Platform.RDS and self.on.startswith("SYS."):
            name = self.on.removeprefix("SYS.")
            return f"EXEC rdsadmin.rdsadmin_util.grant_sys_object('{name}', '{user.upper()}', '{self.privilege}');"
        on = f" ON {self.on}" if self.on else ""
        return f"GRANT {self.privilege}{on} TO {user}{' CONTAINER=ALL' if everywhere else ''};"


def _view(name: str, purpose: str, *, required: bool = True) -> Grant:
    return Grant("SELECT", f"SYS.{name.replace('V$', 'V_$', 1)}", purpose, required)


CREATE_SESSION: Final = Grant("CREATE SESSION", "", "to log on")
SET_CONTAINER: Final = Grant(
    "SET CONTAINER", "", "a common user switches from the root, where LogMiner runs, to the PDB with the tables"
)
LOGMINING: Final = Grant("LOGMINING", "", "LogMiner refuses users without it (since Oracle 12.1)")
DBMS_LOGMNR: Final = Grant("EXECUTE", "SYS.DBMS_LOGMNR", "to list logs for LogMiner, to start and to end it")
DBMS_LOGMNR_D: Final = Grant(
    "EXECUTE", "SYS.DBMS_LOGMNR_D", "log.mining.strategy=redo_log_catalog writes a dictionary into the redo"
)
CREATE_TABLE: Final = Grant("CREATE TABLE", "", "to create the table of `minercdc.log.mining.flush.table`", required=False)
DBMS_FLASHBACK: Final = Grant(
    "EXECUTE", "SYS.DBMS_FLASHBACK", "SELECTs of the user's own in a snapshot are read in a session set to its SCN"
)
LOCK_ANY_TABLE: Final = Grant(
    "LOCK ANY TABLE",
    "",
    "the snapshot locks the tables while it reads their structures; SELECT on the table itself does as well,"
    " SELECT ANY TABLE and READ do not",
)
SELECT_TABLE: Final = Grant("SELECT", "the table", "snapshots read its rows, and the dictionary shows it")
FLASHBACK_TABLE: Final = Grant("FLASHBACK", "the table", "snapshots read it as of one SCN, so that they fit the stream")

MINING_VIEWS: Final = (
    _view("V$DATABASE", "the present SCN, the incarnation, ARCHIVELOG mode and supplemental logging"),
    _view("V$LOG", "the online logs, for redo that is not archived yet"),
    _view("V$LOGFILE", "the files of the online logs, for LogMiner"),
    _view("V$ARCHIVED_LOG", "the archived logs and their files; the proof that none is missing"),
    _view("V$ARCHIVE_DEST_STATUS", "which archive destinations are local, and valid"),
    _view("V$LOG_HISTORY", "the last log of a closed redo thread, which is not a gap"),
    _view("V$THREAD", "the redo threads, and how far each is written"),
    _view("V$TRANSACTION", "transactions that are open when a snapshot ends: the stream begins before them"),
    _view("V$LOGMNR_CONTENTS", "the redo itself, as rows"),
)
DOWNSTREAM_VIEWS: Final = (
    _view("V$DATABASE", "the DBID and the state of the downstream database"),
    _view("V$FOREIGN_ARCHIVED_LOG", "the logs that it has received; the proof that none is missing"),
    _view("V$LOGMNR_CONTENTS", "the redo itself, as rows"),
)
"""What is read in a downstream database."""
SERVER_VIEWS: Final = tuple(
    view for view in MINING_VIEWS if view.on in ("SYS.V_$DATABASE", "SYS.V_$THREAD", "SYS.V_$TRANSACTION")
)
"""Those of MINING_VIEWS that are read where a server mines the redo (olr, fors_olr)."""
OPTIONAL_VIEWS: Final = (
    _view("V$MYSTAT", "memory of the LogMiner session, which is renewed when it has grown", required=False),
    _view("V$STATNAME", "the name of that figure", required=False),
    _view("V$SESSION", "user and program of the oldest open transactions, for the status page", required=False),
    _view("V$UNDOSTAT", "how long undo is kept, for metrics and `minercdc check`", required=False),
    _view("V$PARAMETER", "whether further redo threads may come; parameters that `minercdc check` looks at", required=False),
    _view("V$PDBS", "which PDB it is, and whether it is open for writing, for `minercdc check`", required=False),
    _view("V$PDB_INCARNATION", "whether the PDB was opened with RESETLOGS after the stored position", required=False),
    Grant("SELECT", "SYS.DBA_2PC_PENDING", "transactions in doubt: V$TRANSACTION does not have them after a crash", False),
    _view("V$RECOVERY_FILE_DEST", "space left for archived logs, for `minercdc check`", required=False),
)
_OF_MINING: Final = frozenset({"SYS.V_$MYSTAT", "SYS.V_$STATNAME", "SYS.V_$PARAMETER", "SYS.V_$RECOVERY_FILE_DEST"})
_OF_REDO: Final = frozenset({"SYS.V_$SESSION", "SYS.DBA_2PC_PENDING"})
CATALOG_ROLE: Final = Grant(
    "SELECT_CATALOG_ROLE",
    "",
    "the text of CREATE TABLE, from DBMS_METADATA, in the schema changes of a snapshot; without it their `ddl` is empty",
    required=False,
)
EXTENT_VIEWS: Final = (
    Grant("SELECT", "SYS.DBA_EXTENTS", "location of the rows of a large table, to read parts of it in parallel", False),
    Grant("SELECT", "SYS.DBA_OBJECTS", "the segments of those extents", False),
)
SEVERAL_INSTANCES: Final = (
    Grant("SELECT", "SYS.GV_$TRANSACTION", "open transactions of all instances (RAC): V$TRANSACTION shows those of one"),
    Grant("SELECT", "SYS.GV_$SESSION", "their users and programs, as V$SESSION shows them of one instance", False),
)


def platform_of(connection: oracledb.Connection) -> Platform:
    """Who runs the database, by what only such databases have: the user RDSADMIN (RDS); CLOUD_SERVICE of the session's context
    (AUTONOMOUS). ORACLE when there is neither, and where the context cannot be queried for that parameter.

    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    sql = "SELECT COUNT(*) FROM ALL_USERS WHERE USERNAME = 'RDSADMIN'"
    if one_row(connection, sql, "looking for the user RDSADMIN")[0]:
        return Platform.RDS
    with suppress(SourceError):  # ORA-02003: a release that does not know the parameter
        if one_row(connection, "SELECT SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') FROM DUAL", "reading the context")[0]:
            return Platform.AUTONOMOUS
    return Platform.ORACLE


def session_privileges(connection: oracledb.Connection) -> frozenset[str]:
    """Names of the system privileges and roles that are enabled in the session, in upper case. Raises SourceError when they
    cannot be read."""
    with oracle_errors("reading SESSION_PRIVS"), connection.cursor() as cursor:
        privileges = [name for (name,) in cursor.execute("SELECT PRIVILEGE FROM SESSION_PRIVS")]
        return frozenset([*privileges, *(name for (name,) in cursor.execute("SELECT ROLE FROM SESSION_ROLES"))])


def optional_views(*, mines: bool, reads_redo: bool) -> list[Grant]:
    """Those of `OPTIONAL_VIEWS` that are read with an adapter, in the same order.

    :param mines: the adapter reads redo by LogMiner.
    :param reads_redo: redo is read at all, so that open transactions are looked at.
    """
    unread = (frozenset() if mines else _OF_MINING) | (frozenset() if reads_redo else _OF_REDO)
    return [view for view in OPTIONAL_VIEWS if view.on not in unread]


def missing_views(connection: oracledb.Connection, views: Sequence[Grant]) -> Iterator[tuple[Grant, str]]:
    """Those of the views that cannot be read, each with Oracle's answer; each is tried when it is iterated to. Raises
    SourceError for another error than a missing grant."""
    for grant in views:
        try:
            with oracle_errors(grant.view), connection.cursor() as cursor:
                cursor.execute(f"SELECT 1 FROM {grant.view} WHERE 1 = 0")
        except PrerequisiteError as error:
            yield grant, error.message
        except MiningSessionError:
            continue  # V$LOGMNR_CONTENTS without LogMiner: ORA-01306, so it is granted


def missing_mining(connection: oracledb.Connection) -> Iterator[tuple[Grant, str]]:
    """The grants that are missing for mining, LOGMINING and EXECUTE on DBMS_LOGMNR, each with Oracle's answer. It calls
    END_LOGMNR, which changes nothing, since no LogMiner may run in the session. Raises SourceError for another error than a
    missing grant."""
    privileges = session_privileges(connection)
    if not privileges & {"LOGMINING", "DBA"}:
        yield LOGMINING, "SESSION_PRIVS does not have it"
    try:
        with oracle_errors("calling DBMS_LOGMNR"), connection.cursor() as cursor:
            cursor.execute("BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;")
    except PrerequisiteError as error:
        if "ORA-01031" not in error.message:  # that is for LOGMINING
            yield DBMS_LOGMNR, error.message
    except MiningSessionError:
        pass  # ORA-01307: no LogMiner session, so the package may be called


def missing_package(connection: oracledb.Connection, grant: Grant, probe: str) -> Iterator[tuple[Grant, str]]:
    """The grant, with Oracle's answer, when a block that names the package cannot be compiled; else nothing. Raises
    SourceError for another error than a missing grant.

    :param grant: EXECUTE on the package.
    :param probe: a PL/SQL statement that names the package; it is compiled, and never executed.
    """
    try:
        with oracle_errors(f"calling {grant.on.removeprefix('SYS.')}"), connection.cursor() as cursor:
            cursor.execute(f"BEGIN IF 1 = 0 THEN {probe}; END IF; END;")
    except PrerequisiteError as error:
        yield grant, error.message
