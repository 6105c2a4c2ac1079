"""Checks whether redo can be mined in the database, and the container, that a LogMiner session works in."""

from __future__ import annotations

import oracledb

from minercdc.capture.logminer.logs.downstream import downstream_findings
from minercdc.capture.logminer.logs.physical_standby import identity, role_findings
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.errors import PrerequisiteError
from minercdc.oracle.finding import Finding
from minercdc.oracle.scn import ROOT, container_id


def place_findings(primary: oracledb.Connection, mined: oracledb.Connection, *, is_downstream: bool) -> list[Finding]:
    """What keeps the primary's redo from being mined in another database: one blocking finding, or []. Raises SourceError and
    PrerequisiteError when one of both cannot be read.

    :param mined: connection to that other database.
    :param is_downstream: it is to be a downstream database, else a physical standby.
    """
    find = downstream_findings if is_downstream else role_findings
    return list(find(identity(primary), identity(mined)))


def check_place(session: MiningSession, *, archived_only: bool) -> None:
    """Check that redo can be mined where the session is.

    :param archived_only: within a PDB, LogMiner reads to the newest redo, whatever logs are listed, which is not wanted then.
    :raises PrerequisiteError: a database is not what the configuration says, as after roles were exchanged; the session is in
        a PDB where that will not do; or a grant is missing.
    :raises SourceError: a database cannot be read.
    """
    if session.mined is not None:
        if session.mined.is_downstream and container_id(session.primary) > ROOT:
            raise PrerequisiteError(
                "database.*: the dictionary for a downstream database must be written in the root, but this is a pluggable database",
                hint="Set database.dbname to the service of the root, database.pdb.name to the pluggable database, and use a common user.",
            )
        for finding in place_findings(session.primary, session.connection, is_downstream=session.mined.is_downstream):
            raise PrerequisiteError(finding.problem, hint=finding.fix)
    if session.within_pdb and archived_only:
        raise PrerequisiteError(
            "log.mining.archive.log.only.mode: within a PDB, LogMiner reads the online logs, too",
            hint="Leave it out, or mine in the root: database.pdb.name, and a common user.",
        )
