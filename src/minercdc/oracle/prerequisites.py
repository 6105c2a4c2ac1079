"""Checks whether the database is prepared for capture; each finding has a fix, usually SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final, Protocol

import oracledb

from minercdc.config.sections import DatabaseConfig
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import database_name, in_root
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import Platform, platform_of
from minercdc.oracle.policies import policy_findings
from minercdc.oracle.scn import ROOT, container_id, one_row
from minercdc.schema.patterns import configured_pattern, literal_pattern
from minercdc.schema.table import Key, TableId, TableSchema
from minercdc.schema.table_filter import SYSTEM_SCHEMAS, TableFilter
from minercdc.values.codec import is_supported

_NEAR: Final = 0.75
# By who repairs it: the administrator of the database, of Amazon's, of a PDB.
_ARCHIVELOG = (
    "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;",
    "Set the backup retention period of the instance above 0 days: Amazon RDS then archives redo.",
    "Only the administrator of the container database can set ARCHIVELOG mode.",
)
_MINIMAL = (
    "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;",
    "EXEC rdsadmin.rdsadmin_util.alter_supplemental_logging(p_action => 'ADD');",
    "ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA;",
)
_PRIMARY_KEYS = "SELECT TABLE_NAME, STATUS, VALIDATED FROM ALL_CONSTRAINTS WHERE OWNER = :owner AND CONSTRAINT_TYPE = 'P'"
_NO_TABLE = (
    "Correct schema.include.list (patterns of SCHEMA) or table.include.list (of SCHEMA.TABLE); a first start needs a table."
)


class CapturePrerequisites(Protocol):
    """Checks what one adapter needs of the database. The methods raise SourceError or PrerequisiteError when the query of a
    check fails."""

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterable[Finding]:
        """What the session of `connection` is not granted: views and packages; `user` is the session's user, for the GRANT."""

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterable[Finding]:
        """What the database and the captured tables in it lack, as queries show it: settings, objects, grants on the tables."""

    def tables(self, tables: Sequence[TableSchema]) -> Iterable[Finding]:
        """A finding for each of the tables whose changes, or some of them, cannot be read; by their shapes alone, without a
        query."""


def check(
    connection: oracledb.Connection,
    config: DatabaseConfig,
    table_filter: TableFilter,
    needed: CapturePrerequisites,
    of_tables: Callable[[Sequence[TableSchema]], Iterable[Finding]] = lambda _: (),
) -> list[Finding]:
    """All findings, blocking ones first, then those that suspend a table. When privileges are missing that the other checks
    need, only findings on privileges.

    :param connection: to where the tables are; with `database.pdb.name`, privileges are examined in the root, too.
    :param needed: prerequisites of the adapter.
    :param of_tables: gives further findings of the captured tables.
    :raises SourceError, PrerequisiteError: the query of a check failed.
    :raises ConfigError: a pattern took too long, or `database.pdb.name` names several databases.
    """
    findings = list(needed.privileges(connection, config.session_user))
    if config.database_pdb_name:
        with in_root(connection, config):
            findings += needed.privileges(connection, config.session_user)
        findings = list(dict.fromkeys(findings))
    if any(finding.blocking for finding in findings):
        return findings
    tables = read_tables(connection, read_table_ids(connection, table_filter, database_name(config)))
    findings += needed.database(connection, tables)
    findings += needed.tables(tables)
    findings += unsupported_columns(tables)
    findings += policy_findings(connection, [table.id for table in tables], config.session_user)
    user = config.session_user.upper()

    @cache
    def visible() -> Sequence[TableId]:
        return read_table_ids(connection, TableFilter(schema_include=[".*"]), database_name(config))

    if not tables:
        meant = "".join(meant_schema(pattern, visible()) for pattern in table_filter.schema_include)
        in_cdb_root = not config.database_pdb_name and container_id(connection) == ROOT
        where = " in CDB$ROOT; tables are in a pluggable database, which database.pdb.name names" if in_cdb_root else ""
        problem = f"no table is captured: the include and exclude lists select none{where}{meant}"
        findings.append(Finding("captured-tables", Severity.MISSING, problem, _NO_TABLE))
    findings += filter_findings(table_filter, [str(table.id) for table in tables], user, visible)
    if table_filter.schema_exclude or table_filter.table_exclude:
        findings += exclusion_findings(table_filter, visible(), user)
    findings += of_tables(tables)
    return sorted(findings, key=lambda finding: finding.severity)


def unlogged(connection: oracledb.Connection, table: TableId, *, whole_rows: bool = False) -> str:
    """Why redo does not hold the keys of changed rows of a table, with the SQL that repairs it, as text; '' when redo holds
    them. Raises as `SupplementalLogging`.

    :param whole_rows: keys of records are other columns than the primary key: a reason is given unless all columns are
        logged.
    """
    found = next(SupplementalLogging(connection, [table.schema]).findings(table), None)
    return f"{found.problem}. Repair it by: {found.fix}" if found and (found.suspends or whole_rows) else ""


class SupplementalLogging:
    """Supplemental logging of the database and of the tables of `owners`, as it was when this object was made.

    Minimal logging shows an UPDATE with the columns that changed and the ROWID only; a DELETE has all columns. Logging of primary
    keys adds the primary key to every UPDATE, logging of unique keys only those of which a column changed.

    :raises SourceError, PrerequisiteError: V$DATABASE, ALL_LOG_GROUPS or ALL_CONSTRAINTS cannot be read.
    """

    def __init__(self, connection: oracledb.Connection, owners: Iterable[str]) -> None:
        sql = "SELECT SUPPLEMENTAL_LOG_DATA_ALL, SUPPLEMENTAL_LOG_DATA_PK FROM V$DATABASE"
        everything, keys = one_row(connection, sql, "checking V$DATABASE")
        self._all, self._keys = everything == "YES", keys == "YES"
        self._groups: dict[str, set[tuple[str, str]]] = {"ALL COLUMN LOGGING": set(), "PRIMARY KEY LOGGING": set()}
        self._with_key: set[tuple[str, str]] = set()
        with oracle_errors("checking supplemental log groups"), connection.cursor() as cursor:
            for owner in sorted(owners):
                cursor.execute(
                    "SELECT TABLE_NAME, LOG_GROUP_TYPE FROM ALL_LOG_GROUPS WHERE OWNER = :owner", {"owner": owner}
                )
                for table, kind in cursor:
                    self._groups.setdefault(kind, set()).add((owner, table))
                cursor.execute(_PRIMARY_KEYS, {"owner": owner})
                self._with_key.update(
                    (owner, table)
                    for table, status, validated in cursor
                    if Key("P", (), enabled=status == "ENABLED", validated=validated == "VALIDATED").holds
                )

    def findings(self, table: TableId, *, keyed: bool = True) -> Iterator[Finding]:
        """What is missing for one table of `owners`, at most one finding. Without a primary key that holds (`Key.holds`), rows
        have another key, which needs ALL COLUMN LOGGING.

        :param keyed: it has a key that redo has to hold; False: a missing one suspends nothing.
        """
        name = (table.schema, table.table)
        if self._all or name in self._groups["ALL COLUMN LOGGING"]:
            return
        fix = f'ALTER TABLE "{table.schema}"."{table.table}" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;'
        if not keyed or (name in self._with_key and (self._keys or name in self._groups["PRIMARY KEY LOGGING"])):
            problem = f"{table}: not all columns are logged: before images are partial, columns may be missing"
            yield Finding("table-logging", Severity.ADVICE, problem, fix)
            return
        problem = (
            f"{table}: supplemental logging is missing: redo does not hold the key of a row that is changed or deleted, so the table"
            " is suspended at the first such row"
        )
        yield Finding("table-logging", Severity.SUSPENDS, problem, fix)


def _fix(connection: oracledb.Connection, fixes: tuple[str, str, str]) -> str:
    of_oracle, of_amazon, of_pdb = fixes
    if platform_of(connection) is Platform.RDS:
        return of_amazon
    user = str(one_row(connection, "SELECT USER FROM DUAL", "reading the user")[0])
    return of_pdb if container_id(connection) > ROOT and not user.startswith("C##") else of_oracle


def redo_findings(
    connection: oracledb.Connection, tables: Sequence[TableSchema], *, without_minimal: str
) -> Iterator[Finding]:
    """Findings of what redo lacks: ARCHIVELOG mode and minimal supplemental logging, which block; and supplemental logging of the
    tables, which does not.

    :param without_minimal: text that says what follows when minimal supplemental logging is off.
    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    sql = "SELECT LOG_MODE, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_ALL FROM V$DATABASE"
    log_mode, minimal, all_columns = one_row(connection, sql, "checking V$DATABASE")
    if log_mode != "ARCHIVELOG":
        yield Finding(
            "archivelog",
            Severity.MISSING,
            f"the database is in {log_mode} mode: redo is overwritten before it is read",
            _fix(connection, _ARCHIVELOG),
        )
    if minimal not in ("YES", "IMPLICIT"):
        yield Finding(
            "minimal-logging",
            Severity.MISSING,
            f"minimal supplemental logging is off: {without_minimal}",
            _fix(connection, _MINIMAL),
        )
    if all_columns != "YES":
        logging = SupplementalLogging(connection, {table.id.schema for table in tables})
        for table in tables:
            yield from logging.findings(table.id, keyed=bool(table.key))


def unsupported_columns(tables: Sequence[TableSchema]) -> Iterator[Finding]:
    """A finding, not blocking, for each table with columns of unsupported types, which are left out of every record."""
    for table in tables:
        names = [f"{column.name} {column.type_name}" for column in table.columns if not is_supported(column)]
        if names:
            yield Finding(
                "column-types",
                Severity.ADVICE,
                f"{table.id}: columns of unsupported types are left out: {', '.join(names)}",
                f"Accept it, or leave the table out: table.exclude.list={table.id}",
            )


def filter_findings(
    table_filter: TableFilter, names: Sequence[str], user: str, visible: Callable[[], Sequence[TableId]] = tuple
) -> Iterator[Finding]:
    """A finding, not blocking, for each pattern of the include lists that none of the captured tables matches, most often by
    a slip, or since `user` has no privilege on the table. Raises ConfigError when a pattern takes too long.

    :param names: `SCHEMA.TABLE` of each; without any, no schema is found to be missing, since that is a finding of its own.
    :param visible: all tables that `user` may see, to find the one that was meant; called when a pattern matches none.
    """
    schemas = {name.partition(".")[0] for name in names}
    for pattern in table_filter.schema_include:
        if schemas and not any(map(configured_pattern(pattern).matches, schemas)):
            yield Finding(
                "include-list",
                Severity.ADVICE,
                f"schema.include.list: '{pattern}' matches no schema with a captured table",
                f"Correct it; or, where its tables are there, GRANT SELECT, FLASHBACK ON them TO {user};",
            )
    for pattern in table_filter.table_include:
        if not any(table_filter.matches(pattern, name) for name in names):
            yield Finding(
                "include-list",
                Severity.ADVICE,
                f"table.include.list: '{pattern}' matches no table{meant_table(pattern, _in_schemas(table_filter, visible()))}",
                f"Correct it: patterns are SCHEMA.TABLE; or create the table, which is captured from then on; or, where it is there, GRANT SELECT, FLASHBACK ON it TO {user};",
            )


def _in_schemas(table_filter: TableFilter, tables: Iterable[TableId]) -> list[TableId]:
    patterns = [configured_pattern(one) for one in table_filter.schema_include]
    return [table for table in tables if not patterns or any(one.matches(table.schema) for one in patterns)]


def meant_table(pattern: str, visible: Iterable[TableId]) -> str:
    """`; did you mean SCHEMA.TABLE?` for a pattern of tables that matches none: one with another database or schema, or with none,
    or with a name that is nearly the same; '' when there is no such table."""
    plain = _plain(pattern)
    by_name = {str(table).upper(): str(table) for table in visible if table.schema not in SYSTEM_SCHEMAS}
    last_two = ".".join(plain.split(".")[-2:])
    same = [name for name in by_name if name == last_two or name.partition(".")[2] == plain]
    return _meant([literal_pattern(by_name[name]) for name in same[:2] or get_close_matches(plain, by_name, 1, _NEAR)])


def meant_schema(pattern: str, visible: Iterable[TableId]) -> str:
    """As `meant_table`, for a pattern of schemas; '' also when it matches one."""
    plain = _plain(pattern)
    schemas = {table.schema.upper(): table.schema for table in visible if table.schema not in SYSTEM_SCHEMAS}
    if any(map(configured_pattern(pattern).matches, schemas)):
        return ""
    same = [part for part in plain.split(".") if part in schemas]
    return _meant([schemas[name] for name in same[:1] or get_close_matches(plain, schemas, 1, _NEAR)])


def _plain(pattern: str) -> str:
    return pattern.replace("\\", "").replace('"', "").upper()


def _meant(names: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def exclusion_findings(table_filter: TableFilter, visible: Sequence[TableId], user: str) -> Iterator[Finding]:
    """A finding, not blocking, for each pattern of the exclude lists that matches nothing, most often by a slip: what it
    should leave out is captured. Raises ConfigError when a pattern takes too long.

    :param visible: all tables that `user` may see, system schemas included.
    """
    schemas, tables = {table.schema for table in visible} | SYSTEM_SCHEMAS, [str(table) for table in visible]
    unmatched = [
        ("schema", one) for one in table_filter.schema_exclude if not any(map(configured_pattern(one).matches, schemas))
    ]
    for one in table_filter.table_exclude:
        if not any(table_filter.matches(one, name) for name in tables):
            unmatched.append(("table", one))
    for kind, pattern in unmatched:
        problem = f"{kind}.exclude.list: '{pattern}' matches no {kind} that {user} can see, so it excludes nothing"
        fix = f"Correct it if a {kind} is captured that should not be."
        yield Finding("exclude-list", Severity.ADVICE, problem, fix)
