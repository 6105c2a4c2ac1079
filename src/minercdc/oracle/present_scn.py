"""Reads the present SCN, also for users who may not read V$DATABASE: by the first of three ways that is granted.

V$DATABASE.CURRENT_SCN                       exact, and moves the SCN forward
DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER      exact; EXECUTE on the package
TIMESTAMP_TO_SCN(SYSTIMESTAMP)               needs no grant; up to three seconds old
"""

from __future__ import annotations

import time
from typing import Final

import oracledb

from minercdc.errors import LogGapError, PrerequisiteError, SourceError
from minercdc.oracle.scn import one_row, written_scn
from minercdc.stream.events import Scn

_WAYS: Final = (
    "SELECT CURRENT_SCN FROM V$DATABASE",
    "SELECT DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER FROM DUAL",
    "SELECT TIMESTAMP_TO_SCN(SYSTIMESTAMP) FROM DUAL",
)
PATIENCE = 1.0
NOT_THIS_DATABASE: Final = (
    "Check that database.hostname, database.port and database.dbname lead to the captured database. If they do, remove"
    " the offset and take a new snapshot: minercdc offsets reset CONFIG (with snapshot.mode=when_needed a start takes one by"
    " itself, unless a snapshot was under way)."
)
"""What to do about a stored position that is of another database."""
_INVALID_IDENTIFIER = 904  # what a package that is not granted looks like in SQL


class PresentScn:
    """Reads the present SCN, and remembers which way is granted: a way that was refused once is not tried again."""

    def __init__(self) -> None:
        self._way = 0

    @property
    def is_exact(self) -> bool:
        """Whether what `read` returned last was the present SCN, not one of up to three seconds before; True before the first
        `read`."""
        return self._way < len(_WAYS) - 1

    def read(self, connection: oracledb.Connection) -> Scn:
        """The present SCN, or one of up to three seconds before (`is_exact`); queries can read AS OF it.

        :raises SourceError, PrerequisiteError: Oracle refuses even TIMESTAMP_TO_SCN, or fails otherwise than for a grant.
        """
        while True:
            try:
                return Scn(int(one_row(connection, _WAYS[self._way], "reading the current SCN")[0]))
            except PrerequisiteError:
                if not self.is_exact:
                    raise
            except SourceError as error:
                if error.ora_code != _INVALID_IDENTIFIER or not self.is_exact:
                    raise
            self._way += 1


def present_scn(connection: oracledb.Connection) -> Scn:
    """As `PresentScn.read` of a new one: by the first way that is granted."""
    return PresentScn().read(connection)


def not_reached(connection: oracledb.Connection, scn: int) -> LogGapError | None:
    """The error that says that the database has not come to an SCN that was read from it, returned and not raised; None when it
    has. So it is with another database, and with one that was restored or created again. It is looked at for a moment: an
    instance of several learns of a commit in another one later; for some seconds where the SCN may be of three seconds ago.

    :raises SourceError, PrerequisiteError: as `PresentScn.read`.
    """
    present, begun = PresentScn(), time.monotonic()
    while (now := present.read(connection)) < scn:
        if time.monotonic() - begun >= (PATIENCE if present.is_exact else 4 * PATIENCE):
            return LogGapError(
                f"the stored position has SCN {scn}, but the database is only at SCN {now}: it is another database, or was restored or created again",
                hint=NOT_THIS_DATABASE,
            )
        time.sleep(PATIENCE / 4)
    return None


def reached_scn(connection: oracledb.Connection) -> Scn:
    """An SCN that the stream comes to even when nothing more is written: `written_scn`, or the present SCN where V$THREAD is
    not granted, as where no redo is read, or has no open thread. Raises as `PresentScn.read`."""
    try:
        return written_scn(connection)
    except PrerequisiteError:
        return present_scn(connection)
