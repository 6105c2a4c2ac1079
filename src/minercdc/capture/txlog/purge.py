"""Removes rows from SY$TXLOG that every reader has passed, so that a reader which comes too late notices.

PURGED_SCN of SY$SOURCES has the commit SCN up to which rows were removed. It is committed before the first of them goes, and a
reader looks at it in the transaction in which it reads the log: a reader that has not come so far ends, and passes over nothing.
SINCE_SCN goes up to the same SCN, so that no stream begins before it.
"""

from __future__ import annotations

import oracledb

from minercdc.capture.txlog.names import LOG, PURGED, SINCE, SOURCES, quoted
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.errors import ConfigError, LogGapError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.scn import one_row

_ROWS = 10_000
_HAS_PURGED = "SELECT COUNT(*) FROM ALL_TAB_COLUMNS WHERE OWNER = :owner AND TABLE_NAME = :name AND COLUMN_NAME = :col"
_MARK = f"UPDATE {SOURCES} SET {PURGED} = :scn, {SINCE} = GREATEST({SINCE}, :scn) WHERE {PURGED} IS NULL OR {PURGED} < :scn"
_REMOVE = f"DELETE FROM {LOG} WHERE SCN <= :scn AND ROWNUM <= {_ROWS}"


def has_mark(connection: oracledb.Connection, owner: str) -> bool:
    """Whether SY$SOURCES of a schema has the column PURGED_SCN: not where Databus or an earlier release made it. Raises as
    `codes.classify`."""
    [count] = one_row(connection, _HAS_PURGED, f"reading {SOURCES}", owner=owner, name=SOURCES, col=PURGED)
    return int(count) > 0


def purged_up_to(connection: oracledb.Connection, owner: str) -> int:
    """The commit SCN up to which rows of SY$TXLOG were removed, 0 when none were. SY$SOURCES has the column (`has_mark`). Raises
    as `codes.classify`."""
    sql = f"SELECT TO_CHAR(MAX({PURGED})) FROM {quoted(owner)}.{quoted(SOURCES)}"
    [scn] = one_row(connection, sql, f"reading {SOURCES}")
    return int(scn or 0)


def gap_after(position: TxlogPosition, purged: int) -> LogGapError | None:
    """Why a reader cannot go on from a position, with rows up to the SCN `purged` removed; None when it can."""
    if purged <= position.whole_scn:
        return None
    return LogGapError(
        f"{LOG} no longer has transactions up to SCN {purged}, because minercdc txlog purge removed them, but this"
        f" connector has read only up to SCN {position.whole_scn}",
        hint="Take a new snapshot: minercdc offsets reset CONFIG. Next time, also pass this connector's configuration to purge.",
    )


def purge(connection: oracledb.Connection, owner: str, scn: int) -> int:
    """Remove the rows of SY$TXLOG whose commit SCN is at most `scn`, in transactions of 10,000; returns how many. Those of
    transactions whose commit SCN is not noted yet stay. The session's user is the owner of the schema. After an error, rows may
    be left, which the next purge removes.

    :param scn: one that every reader has passed; a later reader that has not is refused (`gap_after`).
    :raises ConfigError: SY$SOURCES has no place to note it.
    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    if not has_mark(connection, owner):
        raise ConfigError(
            [f"{SOURCES} of {owner} has no column {PURGED}"], hint="Run minercdc txlog install CONFIG first, which adds it."
        )
    removed = 0
    with oracle_errors(f"removing rows of {LOG}"), connection.cursor() as cursor:
        cursor.execute(_MARK, {"scn": scn})
        connection.commit()
        while True:
            cursor.execute(_REMOVE, {"scn": scn})
            connection.commit()
            gone = int(cursor.rowcount)
            removed += gone
            if gone < _ROWS:
                return removed
