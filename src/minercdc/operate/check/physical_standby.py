"""Examines rules of the physical standby that LogMiner runs in. Each function examines the rule of its name; its findings are
advice, and it raises SourceError or PrerequisiteError when the rule cannot be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import oracledb

from minercdc.errors import SnapshotTooOldError
from minercdc.operate.check.source import Examine, ExaminedSource, advice, number_of
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding
from minercdc.oracle.scn import one_row

_LONGEST_LAG: Final = 3_600  # seconds; ARCHIVE_LAG_TARGET has at most 7200
_FORGOTTEN: Final = 5 * 86_400
_NEWEST: Final = (
    "SELECT A.THREAD#, MAX(A.SEQUENCE#) FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = A.RESETLOGS_CHANGE#"
    " WHERE A.STANDBY_DEST = 'NO' AND A.ARCHIVED = 'YES' GROUP BY A.THREAD# ORDER BY A.THREAD#"
)
_AGE: Final = (
    "SELECT ROUND((CAST(SYSTIMESTAMP AS DATE) - CAST(SCN_TO_TIMESTAMP(:scn) AS DATE)) * 86400) FROM DUAL"  # exact to 3 s
)


def standby_apply(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the standby (`source.secondary`) is not READ ONLY WITH APPLY."""
    mode = str(one_row(_standby(source), "SELECT OPEN_MODE FROM V$DATABASE", "reading V$DATABASE of the standby")[0])
    if mode != "READ ONLY WITH APPLY":
        fix = "On the standby: ALTER DATABASE RECOVER MANAGED STANDBY DATABASE DISCONNECT FROM SESSION;"
        yield advice(
            "standby-apply", f"the standby is {mode}: it does not apply redo, and nothing is captured until it does", fix
        )


def standby_transport(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, advice, for each redo thread of which archived logs, the newest one apart, have not reached the standby
    (`source.secondary`)."""
    received = dict(newest_archived(_standby(source)))
    for thread, sequence in newest_archived(source.connection):
        first = received.get(thread, 0) + 1
        if first < sequence:  # the newest one may be on its way
            fix = (
                "See why: SELECT DEST_NAME, STATUS, ERROR FROM V$ARCHIVE_DEST_STATUS WHERE TYPE = 'PHYSICAL'; then ALTER SYSTEM SET"
                " LOG_ARCHIVE_DEST_STATE_n = ENABLE;"
            )
            problem = f"thread {thread}: the logs up to {sequence} are archived, but none after {first - 1} has reached the standby"
            yield advice("standby-transport", problem, fix)


def standby_lag(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the SCN that the standby (`source.secondary`) has applied is of more than an hour ago."""
    applied = number_of(one_row(_standby(source), "SELECT CURRENT_SCN FROM V$DATABASE", "reading the applied SCN")[0])
    try:
        seconds = number_of(one_row(source.connection, _AGE, "finding the age of the applied SCN", scn=applied)[0])
    except SnapshotTooOldError:  # ORA-08181: five days are remembered
        seconds = _FORGOTTEN
    if seconds > _LONGEST_LAG:
        fix = "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 900; on the standby: SELECT NAME, VALUE FROM V$DATAGUARD_STATS;"
        age = "days ago" if seconds == _FORGOTTEN else f"{seconds / 3600:.1f} h ago"
        has_applied = f"redo up to SCN {applied}, of {age}" if applied else "no redo yet"
        yield advice("standby-lag", f"the standby has applied {has_applied}", fix)


OF_STANDBY: Final[Mapping[str, Examine]] = {
    "standby-apply": standby_apply,
    "standby-transport": standby_transport,
    "standby-lag": standby_lag,
}
"""The functions of the rules that need a session in the standby, `ExaminedSource.secondary`."""


def _standby(source: ExaminedSource) -> oracledb.Connection:
    assert source.secondary is not None
    return source.secondary


def newest_archived(connection: oracledb.Connection) -> list[tuple[int, int]]:
    """(Number, sequence number of the last log that the database has archived, or as a standby received) of each redo thread
    with such a log, in order. Raises SourceError and PrerequisiteError."""
    with oracle_errors("reading V$ARCHIVED_LOG"), connection.cursor() as cursor:
        cursor.execute(_NEWEST)
        return [(int(thread), int(sequence)) for thread, sequence in cursor]
