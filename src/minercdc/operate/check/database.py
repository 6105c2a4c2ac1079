"""Examines rules of redo, archive, undo, memory and sessions. Each function examines the rule of its name; its findings are
advice, and it raises SourceError or PrerequisiteError, as `ExaminedSource.rows`, when the rule cannot be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from minercdc.operate.check.source import Examine, ExaminedSource, advice, number_of
from minercdc.oracle import activity
from minercdc.oracle.dictionary.tables import read_row_statistics
from minercdc.oracle.finding import Finding
from minercdc.oracle.grants import Platform
from minercdc.oracle.open_transactions import transactions_view
from minercdc.oracle.scn import character_set, container_id
from minercdc.values.image import CHARACTER_SETS

_LEAST_ARCHIVE_SECONDS: Final = 86_400
_LEAST_FREE: Final = 0.15
_MOST_SWITCHES: Final = 12  # an hour and thread: Oracle's manuals advise a log for 15 to 30 minutes
_LEAST_GROUPS: Final = 3
_ROWS_PER_SECOND: Final = 10_000  # of a snapshot, one core (docs/performance.md)
_SWITCHES = (
    "SELECT THREAD#, TO_CHAR(FIRST_TIME, 'YYYY-MM-DD HH24'), COUNT(*) FROM V$LOG_HISTORY WHERE FIRST_TIME > SYSDATE - 1"
    " GROUP BY THREAD#, TO_CHAR(FIRST_TIME, 'YYYY-MM-DD HH24') ORDER BY 3 DESC"
)
_ARCHIVED_LOGS = "SELECT 1 FROM V$ARCHIVED_LOG WHERE NAME IS NOT NULL AND STATUS = 'A' AND ROWNUM = 1"
_DESTINATIONS = (
    "SELECT DEST_NAME, STATUS, TYPE, ERROR FROM V$ARCHIVE_DEST_STATUS WHERE STATUS <> 'INACTIVE' ORDER BY DEST_NAME"
)


def force_logging(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the database does not force logging."""
    ((forced,),) = source.rows("SELECT FORCE_LOGGING FROM V$DATABASE", "reading V$DATABASE")
    if forced == "YES":
        return
    rds = source.platform is Platform.RDS
    fix = "EXEC rdsadmin.rdsadmin_util.force_logging(p_enable => TRUE);" if rds else "ALTER DATABASE FORCE LOGGING;"
    yield advice(
        "force-logging",
        "the database does not force logging: rows of direct-path loads with NOLOGGING are not in the redo",
        fix,
    )


def nologging_tables(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, advice, for each captured table that is NOLOGGING, where redo is read and logging is not forced."""
    if not source.reads_redo or source.rows("SELECT 1 FROM V$DATABASE WHERE FORCE_LOGGING = 'YES'", "reading V$DATABASE"):
        return
    captured = {(table.id.schema, table.id.table) for table in source.tables}
    for owner in sorted({schema for schema, _ in captured}):
        sql = "SELECT TABLE_NAME FROM ALL_TABLES WHERE OWNER = :owner AND LOGGING = 'NO'"
        for (name,) in source.rows(sql, "reading ALL_TABLES", owner=owner):
            if (owner, name) in captured:
                fix = f'ALTER TABLE "{owner}"."{name}" LOGGING;'
                yield advice(
                    "nologging-tables", f"{owner}.{name} is NOLOGGING: direct-path loads into it are not in the redo", fix
                )


def archive_destination(source: ExaminedSource) -> Iterator[Finding]:
    """Findings, advice: one when there is no valid local archive destination, or none of the configured ones; and one for
    each that failed or is disabled. A service may hide the destinations, and list archived logs all the same."""
    found = source.rows(_DESTINATIONS, "reading V$ARCHIVE_DEST_STATUS")
    usable = {str(name) for name, status, kind, _ in found if (status, kind) == ("VALID", "LOCAL")}
    wanted = source.config.log_mining.archive_destination_name
    shown = ", ".join(sorted(usable)) or "none"
    if wanted and found and not usable & set(wanted):
        problem = f"archive.destination.name: {', '.join(wanted)} is not a valid local destination; valid ones: {shown}"
        yield advice("archive-destination", problem, "Name one of these, or leave the property out.")
    elif not usable and (found or not source.rows(_ARCHIVED_LOGS, "reading V$ARCHIVED_LOG")):
        fix = "ALTER SYSTEM SET LOG_ARCHIVE_DEST_1 = 'LOCATION=/a/directory';"
        yield advice(
            "archive-destination", "there is no valid local archive destination: archived logs cannot be mined", fix
        )
    for name, status, _, error in found:
        if status in ("ERROR", "FULL", "BAD PARAM", "DISABLED") or error:
            fix = f"Repair it, then: ALTER SYSTEM SET {str(name).replace('_DEST_', '_DEST_STATE_')} = ENABLE;"
            yield advice("archive-destination", f"archive destination {name} is {status}: {error or 'no reason given'}", fix)


def archive_retention(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when archived logs were deleted, and the oldest of those that are left began less than a day ago,
    or none is left."""
    reach = activity.archive_reach(source.connection)
    if not activity.deletes_archived(source.connection) or (reach or 0) >= _LEAST_ARCHIVE_SECONDS:
        return
    fix = (
        "EXEC rdsadmin.rdsadmin_util.set_configuration('archivelog retention hours', 24);"
        if source.platform is Platform.RDS
        else "RMAN: DELETE ARCHIVELOG ALL COMPLETED BEFORE 'SYSDATE - 2'; instead of the present deletion job"
    )
    hours = f"the oldest that is left began {(reach or 0) / 3600:.1f} h ago" if reach else "none is left"
    yield advice(
        "archive-retention",
        f"archived logs are deleted, and {hours}: the connector cannot recover from an outage of that length",
        fix,
    )


def recovery_area(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the recovery area is full to more than 85 %, not counting what can be reclaimed."""
    sql = "SELECT NAME, SPACE_LIMIT, SPACE_USED, SPACE_RECLAIMABLE FROM V$RECOVERY_FILE_DEST"
    for name, limit, used, reclaimable in source.rows(sql, "reading V$RECOVERY_FILE_DEST"):
        size, taken = number_of(limit), number_of(used) - number_of(reclaimable)
        if name and size and taken > size * (1 - _LEAST_FREE):
            fix = f"ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = {-(-size * 2 >> 30)}G;"
            problem = f"the recovery area {name} is used to {taken / size:.0%} of {size / (1 << 30):.1f} GiB"
            yield advice("recovery-area", problem, fix)


def archive_lag(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when ARCHIVE_LAG_TARGET is 0, and only archived logs are mined or several redo threads are open."""
    only = source.config.log_mining.log_mining_archive_log_only_mode
    threads = source.rows("SELECT THREAD# FROM V$THREAD WHERE STATUS = 'OPEN'", "reading V$THREAD")
    if (only or len(threads) > 1) and not source.number("archive_lag_target"):
        why = (
            "changes arrive when their log is archived" if only else f"{len(threads)} redo threads wait for the slowest one"
        )
        fix = "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 900;"
        yield advice("archive-lag", f"{why}, and a quiet instance does not switch its log: ARCHIVE_LAG_TARGET is 0", fix)


def log_switches(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, advice, for each redo thread with more than twelve log switches in an hour of the last day; it names the
    hour with the most."""
    seen: set[object] = set()
    for thread, hour, count in source.rows(_SWITCHES, "reading V$LOG_HISTORY"):
        if thread in seen or number_of(count) <= _MOST_SWITCHES:
            continue
        seen.add(thread)
        sql = "SELECT MAX(BYTES) FROM V$LOG WHERE THREAD# = :thread"
        ((size,),) = source.rows(sql, "reading V$LOG", thread=thread)
        wanted = -(-number_of(size) * number_of(count) // (4 << 20))  # for four switches in that hour
        problem = f"thread {thread} switched logs {count} times in the hour from {hour}:00; its logs have {number_of(size) >> 20} MiB"
        fix = f"ALTER DATABASE ADD LOGFILE THREAD {thread} SIZE {wanted}M; as many groups as there are, then drop the small ones"
        yield advice("log-switches", problem, fix)


def log_groups(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, advice, for each redo thread with fewer than three groups of online logs."""
    sql = "SELECT THREAD#, COUNT(*), MAX(BYTES) FROM V$LOG GROUP BY THREAD# ORDER BY THREAD#"
    for thread, count, size in source.rows(sql, "reading V$LOG"):
        if number_of(count) < _LEAST_GROUPS:
            fix = f"ALTER DATABASE ADD LOGFILE THREAD {thread} SIZE {number_of(size) >> 20}M;"
            yield advice("log-groups", f"thread {thread} has {count} groups of online logs", fix)


def old_transactions(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when archived logs were deleted, and the oldest open transaction began before the oldest one that
    is left; none where LogMiner does not read the redo. The root would not show transactions of a pluggable database."""
    if not source.mines:
        return
    reach = activity.archive_reach(source.connection)
    if not activity.deletes_archived(source.connection):
        return
    for one in activity.oldest_transactions(source.connection, 1)[0]:
        if one.age_seconds > (reach or 0):
            who = f"of {one.user or 'an unknown user'} ({one.program or 'no program named'}), session {one.sid}"
            problem = (
                f"transaction {one.xid} {who}, is open for {one.age_seconds / 3600:.1f} h: redo of its start is deleted"
            )
            yield advice("old-transactions", problem, f"End it: ALTER SYSTEM KILL SESSION '{one.sid},serial#';")


def undo_retention(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when undo is kept for less time than the largest captured table, by the optimizer's statistics,
    takes to be read at 10,000 rows a second; none when either is not known."""
    kept = activity.undo_retention(source.connection)
    largest = max(
        read_row_statistics(source.connection, [table.id for table in source.tables]).items(),
        default=None,
        key=lambda x: x[1],
    )
    if kept is None or largest is None:
        return
    needed = largest[1] / _ROWS_PER_SECOND
    if needed > kept:
        problem = f"undo is kept for {kept:.0f} s, and a snapshot of {largest[0]} with {largest[1]:,} rows takes about {needed:.0f} s"
        yield advice("undo-retention", problem, f"ALTER SYSTEM SET UNDO_RETENTION = {int(needed * 1.5)};")


def undo_errors(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when queries ended with ORA-01555, or transactions failed for lack of undo space, within a day."""
    sql = "SELECT SUM(SSOLDERRCNT), SUM(NOSPACEERRCNT) FROM V$UNDOSTAT WHERE BEGIN_TIME > SYSDATE - 1"
    for old, full in source.rows(sql, "reading V$UNDOSTAT"):
        if number_of(old) or number_of(full):
            problem = f"within a day, {number_of(old)} queries ended with ORA-01555, and {number_of(full)} transactions failed for lack of undo space"
            fix = "ALTER DATABASE DATAFILE 'file of the undo tablespace' AUTOEXTEND ON; ALTER TABLESPACE undo_tablespace RETENTION GUARANTEE;"
            yield advice("undo-errors", problem, fix)


def pga_limit(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when PGA_AGGREGATE_LIMIT is set and below twice `minercdc.log.mining.session.max.pga.bytes`."""
    limit, most = source.number("pga_aggregate_limit"), source.config.log_mining.minercdc_log_mining_session_max_pga_bytes
    if limit and most and limit < 2 * most:
        problem = f"PGA_AGGREGATE_LIMIT is {limit >> 20} MiB, and the LogMiner session may grow to {most >> 20} MiB before it is renewed"
        fix = (
            f"ALTER SYSTEM SET PGA_AGGREGATE_LIMIT = {2 * most >> 20}M; or a lower minercdc.log.mining.session.max.pga.bytes"
        )
        yield advice("pga-limit", problem, fix)


def known_character_set(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the database's character set is not known here: the rule `character-set`."""
    if (found := character_set(source.connection)) not in CHARACTER_SETS:
        problem = f"the character set {found} is not supported: text in rows from before an ALTER TABLE cannot be read"
        yield advice("character-set", problem, "log.mining.strategy=redo_log_catalog; no row is then shown as stored bytes")


def pdb_open(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when the pluggable database of the session is not open read write, or is open restricted; none
    outside a container database."""
    if not container_id(source.connection):
        return
    sql = "SELECT NAME, OPEN_MODE, RESTRICTED FROM V$PDBS WHERE CON_ID = SYS_CONTEXT('USERENV', 'CON_ID')"
    for name, mode, restricted in source.rows(sql, "reading V$PDBS"):
        if mode != "READ WRITE" or restricted == "YES":
            shown = "restricted" if restricted == "YES" else mode
            yield advice("pdb-open", f"{name} is open {shown}", f"ALTER PLUGGABLE DATABASE {name} OPEN READ WRITE FORCE;")


def grant_instances(source: ExaminedSource) -> Iterator[Finding]:
    """Finds nothing, but raises PrerequisiteError where GV$TRANSACTION is needed and not granted."""
    view = transactions_view(source.connection)
    if view.startswith("G"):
        source.rows(f"SELECT 1 FROM {view} WHERE 1 = 0", f"reading {view}")
    yield from ()


OF_REDO: Final[Mapping[str, Examine]] = {
    "grant-instances": grant_instances,
    "force-logging": force_logging,
    "archive-destination": archive_destination,
    "archive-retention": archive_retention,
    "recovery-area": recovery_area,
    "archive-lag": archive_lag,
    "log-switches": log_switches,
    "log-groups": log_groups,
    "pga-limit": pga_limit,
}
"""The functions of the rules that are examined in the root of the source, where LogMiner reads redo."""

OF_TABLES: Final[Mapping[str, Examine]] = {
    "nologging-tables": nologging_tables,
    "old-transactions": old_transactions,
    "undo-retention": undo_retention,
    "undo-errors": undo_errors,
    "character-set": known_character_set,
    "pdb-open": pdb_open,
}
"""The functions of the rules that are examined where the tables are, with each adapter."""
