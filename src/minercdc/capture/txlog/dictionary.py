"""Reads what the dictionary shows of the user's own objects, for `installation` to compare."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import oracledb

from minercdc.capture.txlog.names import COALESCE_JOB, COLUMN, LOG, SETTINGS, SIGNAL_JOB, SINCE, SOURCES
from minercdc.oracle.codes import oracle_errors

_OBJECTS = (
    "SELECT OBJECT_TYPE, OBJECT_NAME, STATUS FROM USER_OBJECTS"
    " WHERE OBJECT_TYPE IN ('TABLE', 'VIEW', 'SEQUENCE', 'INDEX', 'PACKAGE', 'PACKAGE BODY', 'TRIGGER')"
)
_SOURCE = (
    "SELECT TYPE, NAME, TEXT FROM USER_SOURCE WHERE TYPE IN ('PACKAGE', 'PACKAGE BODY', 'TRIGGER') ORDER BY TYPE, NAME, LINE"
)
_JOBS = (
    "SELECT JOB_NAME, JOB_ACTION, REPEAT_INTERVAL, ENABLED FROM USER_SCHEDULER_JOBS"
    f" WHERE JOB_NAME IN ('{COALESCE_JOB}', '{SIGNAL_JOB}') ORDER BY JOB_NAME"
)


@dataclass(frozen=True, slots=True)
class Registered:
    """A row of SY$SOURCES, which registers a table as a source.

    :param bit: number of the table's bit in the masks of SY$TXLOG, from 0.
    :param txn_added: `install` added the column TXN.
    :param waited: no transaction is open that changed rows before the trigger was there.
    :param since_known: SINCE_SCN has the SCN from which on SY$TXLOG has all transactions on the table.
    """

    bit: int
    txn_added: bool
    waited: bool
    since_known: bool


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A row of USER_SCHEDULER_JOBS: what the job runs, and its REPEAT_INTERVAL, '' for none."""

    action: str
    interval: str
    enabled: bool


@dataclass(slots=True)
class Existing:
    """What is there in the user's own schema, as `read_existing` found it.

    :param objects: STATUS by type and name.
    :param sources: texts of programs by type and name; `views` queries by name, of SY$.. only.
    :param columns: names by table, hidden columns too.
    :param indexed: tables with an index that begins with TXN.
    :param disabled: names of triggers that are disabled.
    :param registered: rows of SY$SOURCES by table name; {} when that table is missing.
    :param jobs: those of minercdc, by name.
    :param invisible: the release has invisible columns: 12.1 and later.
    :param row_dependencies: of SY$TXLOG.
    :param has_settings: SYNC_CORE_SETTINGS has its row.
    """

    objects: dict[tuple[str, str], str] = field(default_factory=dict)
    sources: dict[tuple[str, str], str] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    columns: dict[str, list[str]] = field(default_factory=dict)
    indexed: set[str] = field(default_factory=set)
    disabled: set[str] = field(default_factory=set)
    registered: dict[str, Registered] = field(default_factory=dict)
    jobs: dict[str, FoundJob] = field(default_factory=dict)
    invisible: bool = True
    row_dependencies: bool = False
    has_settings: bool = False


def read_existing(connection: oracledb.Connection) -> Existing:
    """What there is in the user's own schema now; nothing is changed there. Raises SourceError or PrerequisiteError, as
    `codes.classify` makes them, when a query fails."""
    found = Existing(invisible=int(connection.version.split(".")[0]) >= 12)
    with oracle_errors("reading the dictionary"), connection.cursor() as cursor:
        _read_texts(cursor, found)
        first = "SELECT TABLE_NAME FROM USER_IND_COLUMNS WHERE COLUMN_NAME = :name AND COLUMN_POSITION = 1"
        found.indexed = {table for (table,) in cursor.execute(first, {"name": COLUMN})}
        found.disabled = {
            name for (name,) in cursor.execute("SELECT TRIGGER_NAME FROM USER_TRIGGERS WHERE STATUS = 'DISABLED'")
        }
        found.jobs = {
            name: FoundJob(action, interval or "", enabled == "TRUE")
            for name, action, interval, enabled in cursor.execute(_JOBS)
        }
        dependencies = "SELECT DEPENDENCIES FROM USER_TABLES WHERE TABLE_NAME = :name"
        found.row_dependencies = any(one.strip() == "ENABLED" for (one,) in cursor.execute(dependencies, {"name": LOG}))
        _read_own_tables(cursor, found)
    return found


def _read_texts(cursor: oracledb.Cursor, found: Existing) -> None:
    """Read `objects`, `sources`, `views` and `columns` of `found` from the dictionary views of the user's own schema. The
    driver's errors pass through."""
    found.objects = {(kind, name): status for kind, name, status in cursor.execute(_OBJECTS)}
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, name, line in cursor.execute(_SOURCE):
        texts[kind, name].append(line or "")
    found.sources = {
        key: "".join(line if line.endswith("\n") else f"{line}\n" for line in lines) for key, lines in texts.items()
    }
    views = cursor.execute("SELECT VIEW_NAME, TEXT FROM USER_VIEWS WHERE VIEW_NAME LIKE 'SY$%'")
    found.views = {name: text or "" for name, text in views}
    columns: dict[str, list[str]] = defaultdict(list)
    every = "SELECT TABLE_NAME, COLUMN_NAME FROM USER_TAB_COLS ORDER BY TABLE_NAME, INTERNAL_COLUMN_ID"
    for table, column in cursor.execute(every):
        columns[table].append(column)
    found.columns = dict(columns)


def _read_own_tables(cursor: oracledb.Cursor, found: Existing) -> None:
    """Set `has_settings` and `registered` of `found` from SYNC_CORE_SETTINGS and SY$SOURCES, where these are there.
    `found.objects` and `found.columns` are set before. The driver's errors pass through."""
    if ("TABLE", SETTINGS) in found.objects:
        cursor.execute(f"SELECT COUNT(*) FROM {SETTINGS}")
        found.has_settings = int((cursor.fetchone() or (0,))[0]) > 0
    if ("TABLE", SOURCES) in found.objects:
        has = found.columns.get(SOURCES, ())
        added, waited = (name if name in has else "0" for name in ("TXN_ADDED", "WAITED"))
        known = f"NVL2({SINCE}, 1, 0)" if SINCE in has else "0"
        rows = cursor.execute(f"SELECT NAME, BITNUM, {added}, {waited}, {known} FROM {SOURCES} ORDER BY BITNUM")
        found.registered = {name: Registered(int(bit), *(int(flag) == 1 for flag in flags)) for name, bit, *flags in rows}
