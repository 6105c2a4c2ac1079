"""Statements that are neither queries nor DML, by their first words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.commands.containers import (
    alter_pluggable_database,
    create_pluggable_database,
    drop_pluggable_database,
)
from minercdc_sandbox.sql.commands.database import alter_database, alter_system
from minercdc_sandbox.sql.commands.existence import nothing_to_do
from minercdc_sandbox.sql.commands.grants import create_role, drop_role, grant, revoke
from minercdc_sandbox.sql.commands.settings import alter_session
from minercdc_sandbox.sql.commands.transactions import (
    commit,
    lock_table,
    rollback,
    savepoint,
    set_constraints,
    set_role,
    set_transaction,
)
from minercdc_sandbox.sql.commands.users import alter_user, create_user, drop_user
from minercdc_sandbox.sql.ddl.alter_table import alter_table
from minercdc_sandbox.sql.ddl.comments import comment_on
from minercdc_sandbox.sql.ddl.create_table import create_table
from minercdc_sandbox.sql.ddl.drop_table import drop_table, truncate_table
from minercdc_sandbox.sql.ddl.indexes import alter_index, create_index, drop_index
from minercdc_sandbox.sql.ddl.programs import alter_program, alter_trigger, create_program, create_trigger, drop_program
from minercdc_sandbox.sql.ddl.recycle_bin import flashback_table, purge
from minercdc_sandbox.sql.ddl.sequences import alter_sequence, create_sequence, drop_sequence
from minercdc_sandbox.sql.ddl.views import create_synonym, create_view, drop_synonym, drop_view, rename
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser

Run: TypeAlias = Callable[[SqlSession, Parser], None]


def _creations(words: tuple[str, ...], create: Callable[..., None]) -> list[tuple[tuple[str, ...], Run]]:
    """`create` under the words of CREATE with and without OR REPLACE (then `replacing`) and EDITIONABLE, whose editions the
    sandbox does not have."""
    found: list[tuple[tuple[str, ...], Run]] = []
    for editions in ((), ("EDITIONABLE",), ("NONEDITIONABLE",)):
        found.append((("CREATE", *editions, *words), create))
        found.append((("CREATE", "OR", "REPLACE", *editions, *words), partial(create, replacing=True)))
    return found


_PROGRAMS: list[tuple[tuple[str, ...], Run]] = [
    *_creations(("PACKAGE", "BODY"), partial(create_program, kind="PACKAGE BODY")),
    *_creations(("PACKAGE",), partial(create_program, kind="PACKAGE")),
    *_creations(("FUNCTION",), partial(create_program, kind="FUNCTION")),
    *_creations(("PROCEDURE",), partial(create_program, kind="PROCEDURE")),
    *_creations(("TRIGGER",), create_trigger),
    *((("ALTER", kind), partial(alter_program, kind=kind)) for kind in ("PACKAGE", "FUNCTION", "PROCEDURE")),
    (("ALTER", "TRIGGER"), alter_trigger),
    (("DROP", "PACKAGE", "BODY"), partial(drop_program, kind="PACKAGE BODY")),
    *((("DROP", kind), partial(drop_program, kind=kind)) for kind in ("PACKAGE", "FUNCTION", "PROCEDURE", "TRIGGER")),
]


def run_command(session: SqlSession, sql: str) -> int:
    """Run a statement and return the row count that drivers show, always 0. Raises what the command raises, ORA-03001 for a
    statement of Oracle that `COMMANDS` lacks, ORA-00900 for any other text."""
    parser = Parser(sql)
    for words, command in COMMANDS:
        if parser.word(*words):
            if not nothing_to_do(session, parser, words):
                command(session, parser)
            return 0
    known = [
        *("CREATE", "ALTER", "DROP", "MERGE", "EXPLAIN", "ANALYZE", "AUDIT", "NOAUDIT", "FLASHBACK", "PURGE"),
        *("RENAME", "ASSOCIATE", "DISASSOCIATE"),
    ]
    if parser.token.text in known:
        raise OraError(3001, f"unimplemented feature: {' '.join(sql.split())[:120]}", parser.token.start)
    raise OraError(900, "invalid SQL statement", parser.token.start)


COMMANDS: tuple[tuple[tuple[str, ...], Callable[[SqlSession, Parser], None]], ...] = (
    (("COMMIT",), commit),
    (("ROLLBACK",), rollback),
    (("SAVEPOINT",), savepoint),
    (("SET", "TRANSACTION"), set_transaction),
    (("SET", "ROLE"), set_role),
    (("LOCK", "TABLE"), lock_table),
    (("ALTER", "SESSION"), alter_session),
    (("ALTER", "SYSTEM"), alter_system),
    (("ALTER", "DATABASE"), alter_database),
    (("ALTER", "PLUGGABLE", "DATABASE"), alter_pluggable_database),
    (("CREATE", "PLUGGABLE", "DATABASE"), create_pluggable_database),
    (("DROP", "PLUGGABLE", "DATABASE"), drop_pluggable_database),
    (("CREATE", "USER"), create_user),
    (("ALTER", "USER"), alter_user),
    (("DROP", "USER"), drop_user),
    (("GRANT",), grant),
    (("REVOKE",), revoke),
    (("SET", "CONSTRAINTS"), set_constraints),
    (("SET", "CONSTRAINT"), set_constraints),
    (("CREATE", "ROLE"), create_role),
    (("DROP", "ROLE"), drop_role),
    (("CREATE", "TABLE"), create_table),
    (("CREATE", "GLOBAL", "TEMPORARY", "TABLE"), partial(create_table, temporary="TRANSACTION")),
    (("CREATE", "SEQUENCE"), create_sequence),
    (("ALTER", "SEQUENCE"), alter_sequence),
    (("DROP", "SEQUENCE"), drop_sequence),
    (("CREATE", "VIEW"), create_view),
    (("CREATE", "FORCE", "VIEW"), partial(create_view, force=True)),
    (("CREATE", "OR", "REPLACE", "VIEW"), partial(create_view, replacing=True)),
    (("CREATE", "OR", "REPLACE", "FORCE", "VIEW"), partial(create_view, replacing=True, force=True)),
    (("DROP", "VIEW"), drop_view),
    (("CREATE", "SYNONYM"), create_synonym),
    (("CREATE", "PUBLIC", "SYNONYM"), partial(create_synonym, public=True)),
    (("CREATE", "OR", "REPLACE", "SYNONYM"), partial(create_synonym, replacing=True)),
    (("CREATE", "OR", "REPLACE", "PUBLIC", "SYNONYM"), partial(create_synonym, public=True, replacing=True)),
    (("DROP", "SYNONYM"), drop_synonym),
    (("DROP", "PUBLIC", "SYNONYM"), partial(drop_synonym, public=True)),
    (("RENAME",), rename),
    (("FLASHBACK", "TABLE"), flashback_table),
    (("PURGE",), purge),
    (("ALTER", "TABLE"), alter_table),
    (("DROP", "TABLE"), drop_table),
    (("TRUNCATE", "TABLE"), truncate_table),
    (("CREATE", "INDEX"), create_index),
    (("CREATE", "UNIQUE", "INDEX"), partial(create_index, unique=True)),
    (("ALTER", "INDEX"), alter_index),
    (("DROP", "INDEX"), drop_index),
    (("COMMENT", "ON"), comment_on),
    *_PROGRAMS,
)


REMARKS = {
    "ALTER DATABASE": "ADD and DROP SUPPLEMENTAL LOG DATA, FORCE and NO FORCE LOGGING, ENABLE and DISABLE THREAD, ADD LOGFILE MEMBER",
    "ALTER PLUGGABLE DATABASE": "OPEN, CLOSE; what ALTER DATABASE has",
    "CREATE PLUGGABLE DATABASE": "from the seed",
    "ALTER SEQUENCE": "START WITH with RESTART only (ORA-02283)",
    "ALTER SESSION": "NLS parameters, TIME_ZONE, CONTAINER, CURRENT_SCHEMA, ISOLATION_LEVEL, DDL_LOCK_TIMEOUT, ROW ARCHIVAL VISIBILITY; what tunes Oracle is recorded only; ENABLE, DISABLE and FORCE PARALLEL have no effect",
    "ALTER SYSTEM": "SWITCH LOGFILE, ARCHIVE LOG, CHECKPOINT, KILL and DISCONNECT SESSION, SET LOG_ARCHIVE_DEST_n, UNDO_RETENTION and ENABLE_GOLDENGATE_REPLICATION; ARCHIVE_LAG_TARGET, CLUSTER_DATABASE, DB_RECOVERY_FILE_DEST_SIZE and PGA_AGGREGATE_LIMIT are recorded only",
    "ALTER TABLE": "ADD (identity columns too), MODIFY, DROP, RENAME of columns and constraints, SET UNUSED, states of constraints, READ ONLY, supplemental log groups, "
    "MOVE, ROW MOVEMENT; ADD, DROP, TRUNCATE, MOVE, RENAME, SPLIT, MERGE, EXCHANGE, MODIFY and COALESCE PARTITION, SET INTERVAL",
    "ALTER USER": "password, ACCOUNT LOCK, PASSWORD EXPIRE, GRANT CONNECT THROUGH, SET CONTAINER_DATA to ALL or DEFAULT; quotas and profiles have no effect",
    "CREATE TABLE": "all constraints and their states, identity and virtual columns, DEFAULT ON NULL, columns typed by REFERENCES, AS SELECT, ORGANIZATION INDEX as a heap with an index for its key, ROWDEPENDENCIES, ROW ARCHIVAL, PARTITION BY RANGE [INTERVAL], LIST [AUTOMATIC] and HASH",
    "CREATE GLOBAL TEMPORARY TABLE": "ON COMMIT DELETE and PRESERVE ROWS",
    "CREATE INDEX": "columns, not expressions; LOCAL too",
    "ALTER INDEX": "REBUILD, RENAME TO; storage has no effect",
    "ALTER TRIGGER": "ENABLE, DISABLE, COMPILE, RENAME TO",
    **{
        f"CREATE {kind}": "with its owner's rights; one with errors is refused, not stored as invalid (ORA-24344)"
        for kind in ("FUNCTION", "PACKAGE", "PACKAGE BODY", "PROCEDURE")
    },
    "CREATE TRIGGER": "BEFORE and AFTER INSERT, UPDATE and DELETE, FOR EACH ROW and for statements (not with MERGE, INSERT ALL and array DML), with WHEN and REFERENCING; one with errors is refused, not stored as invalid (ORA-24344)",
    "CREATE FORCE VIEW": "also when its query has errors now",
    "CREATE VIEW": "simple ones can be changed through; WITH READ ONLY and CHECK OPTION",
    "DROP TABLE": "recycle bin, PURGE, CASCADE CONSTRAINTS",
    "FLASHBACK TABLE": "TO BEFORE DROP",
    "GRANT": "system and object privileges and roles; enforced for tables, catalog views, LogMiner and flashback",
    "LOCK TABLE": "all modes, NOWAIT, WAIT n",
    "PURGE": "TABLE, RECYCLEBIN, DBA_RECYCLEBIN",
    "RENAME": "one's own tables, views, sequences and synonyms",
    "SET CONSTRAINTS": "ALL or by name, DEFERRED and IMMEDIATE",
    "SET TRANSACTION": "READ ONLY, READ WRITE, ISOLATION LEVEL, NAME",
    "TRUNCATE TABLE": "a new DATA_OBJECT_ID each time; CASCADE only where no table refers to it",
}
"""Remarks on statements, by their words: mostly the clauses that the sandbox has."""
