"""Reads the activity of the database and its retention of redo and undo, for people, not for the capture."""

from __future__ import annotations

from datetime import datetime

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.open_transactions import transactions_view
from minercdc.oracle.scn import one_row
from minercdc.stream.counters.source import SourceTransaction

_OPEN = (
    "SELECT T.XID, T.START_SCN, T.START_DATE, SYSDATE, S.USERNAME, S.PROGRAM, S.MACHINE, S.SID, T.USED_UREC"
    " FROM {transactions} T LEFT JOIN {sessions} S ON S.SADDR = T.SES_ADDR{more}"
    " WHERE T.START_SCN > 0 ORDER BY T.START_SCN FETCH FIRST {most} ROWS ONLY"
)
_OLDEST_ARCHIVED = (
    "SELECT MIN(A.FIRST_TIME) FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = A.RESETLOGS_CHANGE#"
    " WHERE A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' GROUP BY A.THREAD#"
)
_DELETED = "SELECT COUNT(*) FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = A.RESETLOGS_CHANGE# WHERE A.DELETED = 'YES'"
_CURRENT = "SELECT COUNT(*) FROM V$LOG WHERE STATUS = 'CURRENT' AND FIRST_CHANGE# <= :scn"
_HOLDING = (
    "SELECT MIN(FIRST_TIME) FROM V$ARCHIVED_LOG WHERE NAME IS NOT NULL AND STATUS = 'A'"
    " AND FIRST_CHANGE# <= :scn AND NEXT_CHANGE# > :scn",
    "SELECT MIN(FIRST_TIME) FROM V$LOG WHERE FIRST_CHANGE# <= :scn AND NEXT_CHANGE# > :scn",
)
_UNDO = "SELECT MIN(TUNED_UNDORETENTION) FROM V$UNDOSTAT WHERE END_TIME >= SYSDATE - 1 / 24"


def oldest_transactions(connection: oracledb.Connection, most: int) -> tuple[tuple[SourceTransaction, ...], int]:
    """The oldest open transactions of all instances, at most `most` of them, oldest first, and how many are open in all.

    :raises PrerequisiteError: V$THREAD, V$TRANSACTION or V$SESSION is not granted; with several instances, V$THREAD,
        GV$TRANSACTION or GV$SESSION.
    :raises SourceError: Oracle's other errors.
    """
    view = transactions_view(connection)
    several = view.startswith("G")  # addresses are those of an instance
    sql = _OPEN.format(
        transactions=view,
        sessions="GV$SESSION" if several else "V$SESSION",
        more=" AND S.INST_ID = T.INST_ID" if several else "",
        most=most,
    )
    with oracle_errors("reading V$TRANSACTION and V$SESSION"), connection.cursor() as cursor:
        cursor.execute(sql)
        found = tuple(
            SourceTransaction(
                bytes(xid).hex(),
                user or "",
                program or "",
                machine or "",
                int(sid or 0),
                int(scn),
                max((now - began).total_seconds(), 0.0) if began else 0.0,
                int(records or 0),
            )
            for xid, scn, began, now, user, program, machine, sid, records in cursor
        )
    count = one_row(connection, f"SELECT COUNT(*) FROM {view} WHERE START_SCN > 0", "counting the transactions")[0]
    return found, int(count)


def archive_reach(connection: oracledb.Connection) -> float | None:
    """Seconds since the begin of the oldest archived log of this incarnation that is there: the least number of all threads.
    None when no archived log is there. Raises SourceError or PrerequisiteError when a view cannot be read."""
    with oracle_errors("reading V$ARCHIVED_LOG"), connection.cursor() as cursor:
        cursor.execute(_OLDEST_ARCHIVED)
        firsts = [first for (first,) in cursor if first is not None]
    return _age(connection, max(firsts)) if firsts else None


def deletes_archived(connection: oracledb.Connection) -> bool:
    """Whether archived logs of this incarnation were deleted, as the control file remembers. Raises SourceError or
    PrerequisiteError when a view cannot be read."""
    return bool(one_row(connection, _DELETED, "reading V$ARCHIVED_LOG")[0])


def is_in_current_log(connection: oracledb.Connection, scn: int) -> bool:
    """Whether the current log of a thread begins at or before an SCN: such a log is not deleted. Raises SourceError or
    PrerequisiteError when a view cannot be read."""
    return bool(one_row(connection, _CURRENT, "reading V$LOG", scn=scn)[0])


def age_of_log(connection: oracledb.Connection, scn: int) -> float | None:
    """Seconds since the begin of the oldest log, online or archived, that holds an SCN; None when no log has it. Raises
    SourceError or PrerequisiteError when a view cannot be read."""
    times = [one_row(connection, sql, "reading the logs", scn=scn)[0] for sql in _HOLDING]
    found = [time for time in times if time is not None]
    return _age(connection, min(found)) if found else None


def undo_retention(connection: oracledb.Connection) -> float | None:
    """Least number of seconds that Oracle has tuned undo to be kept within the last hour; None when that is not known. Raises
    SourceError or PrerequisiteError when a view cannot be read."""
    tuned = one_row(connection, _UNDO, "reading V$UNDOSTAT")[0]
    return float(tuned) if tuned else None


def _age(connection: oracledb.Connection, time: datetime) -> float:
    now = one_row(connection, "SELECT SYSDATE FROM DUAL", "reading the host's clock")[0]
    return max(float((now - time).total_seconds()), 0.0)
