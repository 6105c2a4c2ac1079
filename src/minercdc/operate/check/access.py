"""Examines rules of privileges beside those that each start examines. Each function examines the rule of its name, and raises
SourceError or PrerequisiteError when the rule cannot be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from minercdc.errors import PrerequisiteError, SourceError
from minercdc.operate.check.source import Examine, ExaminedSource, advice
from minercdc.oracle import grants
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import Grant
from minercdc.oracle.present_scn import present_scn
from minercdc.schema.table import TableId

_DICTIONARY_PROBE = "SYS.DBMS_LOGMNR_D.BUILD(OPTIONS => SYS.DBMS_LOGMNR_D.STORE_IN_REDO_LOGS)"
_FLASHBACK_PROBE = "SYS.DBMS_FLASHBACK.DISABLE"


def _missing(source: ExaminedSource, rule: str, grant: Grant, why: str) -> Finding:
    fix = grant.statement(source.user, everywhere=source.is_common and grant.on.startswith("SYS."), platform=source.platform)
    problem = f"{grant.name} is not granted ({why}): {grant.purpose}"
    return Finding(rule, Severity.MISSING if grant.required else Severity.ADVICE, problem, fix)


def _refusal(source: ExaminedSource, sql: str) -> str:
    """Oracle's message when a statement is refused for want of a privilege; '' when it is executed, or fails for another
    reason. Its rows are not fetched, and nothing is rolled back. Raises nothing of Oracle's."""
    try:
        with oracle_errors("trying it"), source.connection.cursor() as cursor:
            cursor.execute(sql)
    except PrerequisiteError as error:
        return error.message
    except SourceError:
        return ""  # DDL was a moment ago, another session has the table locked, it is external: no privilege is missing
    return ""


def _name(table: TableId) -> str:
    return f'"{table.schema}"."{table.table}"'


def grant_more_views(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, not blocking, for each view of figures, and with several snapshot threads for each of extents, that the user
    may not read."""
    wanted = grants.optional_views(mines=source.mines, reads_redo=source.reads_redo)
    wanted += grants.EXTENT_VIEWS if source.config.snapshot.snapshot_max_threads > 1 else ()
    for grant, why in grants.missing_views(source.connection, wanted):
        yield _missing(source, "grant-more-views", grant, why)


def grant_dictionary(source: ExaminedSource) -> Iterator[Finding]:
    """A blocking finding when EXECUTE on DBMS_LOGMNR_D is missing, where the dictionary is to be in redo."""
    if source.mines and source.config.log_mining.log_mining_strategy == "redo_log_catalog":
        for grant, why in grants.missing_package(source.connection, grants.DBMS_LOGMNR_D, _DICTIONARY_PROBE):
            yield _missing(source, "grant-dictionary", grant, why)


def grant_tables(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, which suspends, for each captured table without SELECT; one that the user cannot see at all is a matter of
    `include-list`."""
    if source.privileges & {"SELECT ANY TABLE", "READ ANY TABLE"}:
        return
    for table in source.tables:
        if why := _refusal(source, f"SELECT 1 FROM {_name(table.id)} WHERE 1 = 0"):
            problem = f"{table.id}: SELECT is not granted ({why}): {grants.SELECT_TABLE.purpose}"
            yield Finding("grant-tables", Severity.SUSPENDS, problem, f"GRANT SELECT ON {_name(table.id)} TO {source.user};")


def grant_flashback(source: ExaminedSource) -> Iterator[Finding]:
    """A finding, which suspends, for each captured table that may be read, but not as of an SCN; none with the adapter
    `flashback`, which examines that itself."""
    if source.config.database.database_connection_adapter == "flashback" or "FLASHBACK ANY TABLE" in source.privileges:
        return  # flashback examines it at each start
    scn = present_scn(source.connection)
    for table in source.tables:
        readable = not _refusal(source, f"SELECT 1 FROM {_name(table.id)} WHERE 1 = 0")
        if readable and (why := _refusal(source, f"SELECT 1 FROM {_name(table.id)} AS OF SCN {scn} WHERE 1 = 0")):
            problem = f"{table.id}: FLASHBACK is not granted ({why}): {grants.FLASHBACK_TABLE.purpose}"
            yield Finding(
                "grant-flashback", Severity.SUSPENDS, problem, f"GRANT FLASHBACK ON {_name(table.id)} TO {source.user};"
            )


def grant_lock(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when captured tables may not be locked, where snapshots lock them. It tries that in ROW SHARE
    mode, which holds up DDL only, and rolls back at once."""
    if source.config.snapshot.snapshot_locking_mode != "shared" or "LOCK ANY TABLE" in source.privileges:
        return
    try:
        refused = [
            table.id for table in source.tables if _refusal(source, f"LOCK TABLE {_name(table.id)} IN ROW SHARE MODE NOWAIT")
        ]
    finally:
        source.connection.rollback()
    for table in refused[:1]:
        fix = f"GRANT LOCK ANY TABLE TO {source.user}; or GRANT SELECT ON {_name(table)} TO {source.user}; or snapshot.locking.mode=none"
        more = f", nor {len(refused) - 1} more tables" if len(refused) > 1 else ""
        yield advice("grant-lock", f"{table} may not be locked{more}: {grants.LOCK_ANY_TABLE.purpose}", fix)


def grant_dbms_flashback(source: ExaminedSource) -> Iterator[Finding]:
    """A blocking finding when EXECUTE on DBMS_FLASHBACK is missing, where a snapshot reads SELECTs of the user's own."""
    snapshot = source.config.snapshot
    if snapshot.snapshot_select_statement_overrides or snapshot.snapshot_query_mode == "custom":
        for grant, why in grants.missing_package(source.connection, grants.DBMS_FLASHBACK, _FLASHBACK_PROBE):
            yield _missing(source, "grant-dbms-flashback", grant, why)


def grant_flush_table(source: ExaminedSource) -> Iterator[Finding]:
    """One finding, advice, when a flush table is configured, is not there, and may not be created."""
    table = source.config.log_mining.minercdc_log_mining_flush_table
    if not source.mines or not table:
        return
    there = source.rows("SELECT 1 FROM USER_TABLES WHERE TABLE_NAME = :name", "reading USER_TABLES", name=table.upper())
    if not there and not source.privileges & {"CREATE TABLE", "CREATE ANY TABLE", "DBA", "RESOURCE"}:
        fix = f"{grants.CREATE_TABLE.statement(source.user)} ALTER USER {source.user} QUOTA 1M ON USERS;"
        yield advice(
            "grant-flush-table",
            f"{source.user} has no table {table} and may not create it: the log writer is not woken",
            fix,
        )


OF_TABLES: Final[Mapping[str, Examine]] = {
    "grant-more-views": grant_more_views,
    "grant-dictionary": grant_dictionary,
    "grant-tables": grant_tables,
    "grant-flashback": grant_flashback,
    "grant-lock": grant_lock,
    "grant-dbms-flashback": grant_dbms_flashback,
    "grant-flush-table": grant_flush_table,
}
