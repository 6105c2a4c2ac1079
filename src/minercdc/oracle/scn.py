"""SCNs, incarnation, clock and character set of the database."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import oracledb

from minercdc.errors import SourceError
from minercdc.events import Scn
from minercdc.oracle.codes import oracle_errors

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def one_row(connection: oracledb.Connection, sql: str, doing: str, **binds: Any) -> tuple[Any, ...]:
    """The only row of a query. Raises SourceError when there is none."""
    with oracle_errors(doing), connection.cursor() as cursor:
        cursor.execute(sql, binds)
        row = cursor.fetchone()
    if row is None:
        raise SourceError(f"{doing}: no row")
    return tuple(row)


def current_scn(connection: oracledb.Connection) -> Scn:
    """CURRENT_SCN; each read moves it forward, and redo up to it may not be written yet."""
    return Scn(int(one_row(connection, "SELECT CURRENT_SCN FROM V$DATABASE", "reading the current SCN")[0]))


def resetlogs_scn(connection: oracledb.Connection) -> int:
    """RESETLOGS_CHANGE#: identifies the incarnation, within which redo addresses are unique per thread."""
    return int(one_row(connection, "SELECT RESETLOGS_CHANGE# FROM V$DATABASE", "reading the incarnation")[0])


def oldest_open_scn(connection: oracledb.Connection) -> Scn | None:
    """START_SCN of the oldest transaction that is open in any container; None when there is none.

    START_SCN is 0 for a moment when a transaction begins; such a one has no change yet.
    """
    sql = "SELECT MIN(START_SCN) FROM V$TRANSACTION WHERE START_SCN > 0"
    oldest = one_row(connection, sql, "reading the open transactions")[0]
    return None if oldest is None else Scn(int(oldest))


def host_offset(connection: oracledb.Connection) -> timedelta:
    """Offset of the database host's time zone from UTC, at this moment."""
    text = one_row(connection, "SELECT TO_CHAR(SYSTIMESTAMP, 'TZH:TZM') FROM DUAL", "reading the host's time zone")[0]
    match = _OFFSET.fullmatch(str(text))
    if not match:
        raise SourceError(f"SYSTIMESTAMP has the time zone {text!r}")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -offset if match[1] == "-" else offset


def character_set(connection: oracledb.Connection) -> str:
    """NLS_CHARACTERSET of the database."""
    sql = "SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_CHARACTERSET'"
    return str(one_row(connection, sql, "reading the character set")[0])
