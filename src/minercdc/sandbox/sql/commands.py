"""Statements that are neither queries nor DML: transaction control, ALTER SESSION/SYSTEM/DATABASE, users, LOCK TABLE, DDL."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from minercdc.sandbox.catalog import Grant
from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ddl, definitions, dml, formats, zones
from minercdc.sandbox.sql.parser import Parser
from minercdc.sandbox.storage import locks
from minercdc.sandbox.storage.transactions import Undo

if TYPE_CHECKING:
    from minercdc.sandbox.session import SandboxSession


def run(session: SandboxSession, sql: str) -> int:
    """Run it and return the row count drivers show (0). Raises ORA-00900 for what is no statement, ORA-03001 for what is not here."""
    parser = Parser(sql)
    for words, command in _COMMANDS:
        if parser.word(*words):
            command(session, parser)
            return 0
    known = [
        "CREATE",
        "ALTER",
        "DROP",
        "MERGE",
        "EXPLAIN",
        "ANALYZE",
        "AUDIT",
        "NOAUDIT",
        "FLASHBACK",
        "PURGE",
        "RENAME",
        "ASSOCIATE",
        "DISASSOCIATE",
    ]
    if parser.token.text in known:
        raise OraError(3001, f"unimplemented feature: {' '.join(sql.split())[:120]}", parser.token.start)
    raise OraError(900, "invalid SQL statement", parser.token.start)


# ---- transaction control ----


def _commit(session: SandboxSession, parser: Parser) -> None:
    parser.word("WORK")
    parser.word("WRITE", "WAIT")
    parser.end()
    session.commit()


def _rollback(session: SandboxSession, parser: Parser) -> None:
    parser.word("WORK")
    if parser.word("TO"):
        parser.word("SAVEPOINT")
        name = parser.name()
        parser.end()
        session.rollback_to(name)
        return
    parser.end()
    session.rollback()


def _savepoint(session: SandboxSession, parser: Parser) -> None:
    name = parser.name()
    parser.end()
    session.savepoint(name)


def _set_transaction(session: SandboxSession, parser: Parser) -> None:
    if session.client.transaction is not None and session.client.transaction.undo:
        raise OraError(1453, "SET TRANSACTION must be first statement of transaction")
    if parser.word("NAME"):
        name = parser.take()
        parser.end()
        with session.storage.lock:
            session.storage.begin(session.client).name = name.text
        return
    if parser.word("READ", "WRITE") or parser.word("ISOLATION", "LEVEL", "READ", "COMMITTED"):
        parser.end()
        return
    raise OraError(3001, "unimplemented feature: SET TRANSACTION of this kind", parser.token.start)


def _set_role(session: SandboxSession, parser: Parser) -> None:
    while parser.take().kind != "E":
        pass


def _lock_table(session: SandboxSession, parser: Parser) -> None:
    places = [parser.token.start]
    names = [parser.qualified()]
    while parser.op(","):
        places.append(parser.token.start)
        names.append(parser.qualified())
    parser.expect_word("IN")
    modes = {
        ("ROW", "SHARE"): locks.ROW_SHARE,
        ("SHARE", "UPDATE"): locks.ROW_SHARE,
        ("ROW", "EXCLUSIVE"): locks.ROW_EXCLUSIVE,
        ("SHARE", "ROW", "EXCLUSIVE"): locks.SHARE_ROW_EXCLUSIVE,
        ("SHARE",): locks.SHARE,
        ("EXCLUSIVE",): locks.EXCLUSIVE,
    }
    mode = next((mode for words, mode in modes.items() if parser.word(*words)), None)
    if mode is None:
        raise OraError(1737, "valid modes: [ROW] SHARE, [[SHARE] ROW] EXCLUSIVE, SHARE UPDATE", parser.token.start)
    parser.expect_word("MODE")
    wait = parser.lock_wait()
    parser.end()
    with session.storage.lock:
        for (owner, name), at in zip(names, places, strict=True):
            table = dml.target_table(session.environment, owner, name, at)
            transaction = session.storage.begin(session.client)
            before = session.storage.locks.lock_table(session.client, table, mode, wait.seconds)
            transaction.undo.append(Undo("L", table, before))


# ---- ALTER SESSION, SYSTEM, DATABASE ----

_NLS = {
    "NLS_DATE_FORMAT": "date_format",
    "NLS_TIMESTAMP_FORMAT": "timestamp_format",
    "NLS_TIMESTAMP_TZ_FORMAT": "timestamp_tz_format",
    "NLS_NUMERIC_CHARACTERS": "numeric_characters",
    "NLS_LANGUAGE": "language",
    "NLS_TERRITORY": "territory",
    "NLS_SORT": "sort",
    "NLS_COMP": "comp",
}
_RECORDED = frozenset(
    [
        "HASH_AREA_SIZE",
        "SORT_AREA_SIZE",
        "WORKAREA_SIZE_POLICY",
        "OPTIMIZER_MODE",
        "DDL_LOCK_TIMEOUT",
        "STATISTICS_LEVEL",
        "EVENTS",
        "NLS_LENGTH_SEMANTICS",
        "NLS_DATE_LANGUAGE",
        "NLS_CURRENCY",
        "NLS_ISO_CURRENCY",
        "NLS_CALENDAR",
        "CURSOR_SHARING",
        "TRACEFILE_IDENTIFIER",
        "SQL_TRACE",
        "ISOLATION_LEVEL",
        "PLSQL_WARNINGS",
        "RESUMABLE",
        "ERROR_ON_OVERLAP_TIME",
        "NLS_DUAL_CURRENCY",
    ]
)


def _alter_session(session: SandboxSession, parser: Parser) -> None:
    parser.expect_word("SET", 2248, "invalid option for ALTER SESSION")
    settings: list[tuple[str, str, int]] = []
    while parser.token.kind != "E" and parser.token.text != ";":
        at = parser.token.start
        name = parser.name(2248, "invalid option for ALTER SESSION")
        parser.expect_op("=")
        sign = parser.op("-", "+") or ""
        value = parser.take()
        text = value.text
        if name == "ISOLATION_LEVEL":
            text = f"{text} {parser.take().text}".strip()
        elif name == "CONTAINER" and parser.token.text == "$":
            text += parser.take().text
        settings.append((name, sign + text, at))
    for name, value_text, at in settings:
        _set(session, name, value_text, at)


def _set(session: SandboxSession, name: str, value: str, at: int) -> None:
    if name in _NLS:
        _set_nls(session, name, value)
    elif name == "TIME_ZONE":
        session.nls = replace(session.nls, time_zone=_time_zone(value))
    elif name == "CURRENT_SCHEMA":
        if session.catalog.user(session.container, value) is None:
            raise OraError(1435, "user does not exist", at)
        session.schema = value
    elif name == "CONTAINER":
        _set_container(session, value.upper())
    elif name == "ISOLATION_LEVEL" and value.upper() != "READ COMMITTED":
        raise OraError(3001, f"unimplemented feature: ISOLATION_LEVEL = {value}", at)
    elif name == "DDL_LOCK_TIMEOUT" and not (value.isdigit() and int(value) <= 1_000_000):
        raise OraError(68, f"invalid value {value} for parameter ddl_lock_timeout, must be between 0 and 1000000", at)
    elif name in _RECORDED:
        session.parameters[name] = value
    else:
        raise OraError(2248, "invalid option for ALTER SESSION", at)


def _set_nls(session: SandboxSession, name: str, value: str) -> None:
    if name.endswith("_FORMAT"):
        formats.elements(value)
    if name == "NLS_NUMERIC_CHARACTERS" and (len(value) != 2 or value[0] == value[1]):
        raise OraError(12705, "Cannot access NLS data files or invalid environment specified")
    if name in ("NLS_SORT", "NLS_COMP") and value.upper() != "BINARY":
        raise OraError(3001, f"unimplemented feature: {name} = {value}")
    if name == "NLS_LANGUAGE" and value.upper() not in ("AMERICAN", "ENGLISH"):
        raise OraError(3001, f"unimplemented feature: {name} = {value}")
    session.nls = replace(session.nls, **{_NLS[name]: value})


def _time_zone(value: str) -> str:
    if value.upper() in ("DBTIMEZONE", "LOCAL"):
        return "+00:00"
    return zones.text(zones.parse(value))


def _set_container(session: SandboxSession, name: str) -> None:
    container = session.catalog.container_named(name)
    user = session.catalog.user(session.container, session.user)
    if user is None or not user.common:
        raise OraError(1031, "insufficient privileges")
    if session.in_transaction():
        raise OraError(65023, f"active transaction exists in container {session.userenv('CON_NAME')}")
    session.client.container = container.con_id
    session.schema = session.user


def _alter_system(session: SandboxSession, parser: Parser) -> None:
    if (
        parser.word("SWITCH", "LOGFILE")
        or parser.word("ARCHIVE", "LOG", "CURRENT")
        or parser.word("SWITCH", "ALL", "LOGFILE")
    ):
        parser.end()
        with session.storage.lock:
            for thread in list(session.database.redo.threads):
                session.database.redo.switch(thread)
    elif parser.word("ARCHIVE", "LOG", "ALL"):
        parser.end()
    elif parser.word("CHECKPOINT"):
        parser.end()
        session.database.redo.checkpoint()
    else:
        raise OraError(3001, "unimplemented feature: this ALTER SYSTEM", parser.token.start)


def _alter_database(session: SandboxSession, parser: Parser) -> None:
    adding = parser.word("ADD")
    if not adding and not parser.word("DROP"):
        raise OraError(3001, "unimplemented feature: this ALTER DATABASE", parser.token.start)
    if not parser.word("SUPPLEMENTAL", "LOG", "DATA"):
        raise OraError(3001, "unimplemented feature: this ALTER DATABASE", parser.token.start)
    flags = definitions.supplemental_kinds(parser) if parser.token.text == "(" else ["MIN"]
    parser.end()
    fields = {"MIN": "minimal", "ALL": "all", "PRIMARY KEY": "primary_key", "UNIQUE": "unique", "FOREIGN KEY": "foreign_key"}
    with session.storage.lock:
        session.commit()
        for flag in flags:
            setattr(session.catalog.logging, fields[flag], adding)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


# ---- users and privileges ----


def _password(parser: Parser) -> str:
    parser.expect_word("IDENTIFIED")
    parser.expect_word("BY")
    token = parser.take()
    if token.kind not in "WQS":
        raise OraError(988, "missing or invalid password(s)", token.start)
    return parser.sql[token.start : token.end].strip('"') if token.kind != "S" else token.text


def _masked(sql: str) -> str:
    return re.sub(r"(?is)(identified\s+by\s+)(\"[^\"]*\"|\S+)", r"\1*****", sql)


def _create_user(session: SandboxSession, parser: Parser) -> None:
    name = parser.name(1935, "missing user or role name")
    password = _password(parser)
    _rest(parser)
    with session.storage.lock:
        session.commit()
        session.catalog.add_user(session.container, name, password, session.storage.clock.now())
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def _alter_user(session: SandboxSession, parser: Parser) -> None:
    name = parser.name(1935, "missing user or role name")
    user = session.catalog.user(session.container, name)
    if user is None:
        raise OraError(1918, f"user '{name}' does not exist")
    password = _password(parser) if parser.is_word("IDENTIFIED") else None
    text = parser.sql.upper()
    _rest(parser)
    with session.storage.lock:
        session.commit()
        user.password = password or user.password
        if "ACCOUNT LOCK" in text or "ACCOUNT UNLOCK" in text:
            user.locked = "ACCOUNT LOCK" in text
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def _drop_user(session: SandboxSession, parser: Parser) -> None:
    name = parser.name(1935, "missing user or role name")
    cascade = parser.word("CASCADE")
    parser.end()
    with session.storage.lock:
        session.commit()
        if any(other.user == name for other in session.database.sessions.values()):
            raise OraError(1940, "cannot drop a user that is currently connected")
        for table in [t for t in session.catalog.tables(session.container) if t.owner == name and cascade]:
            session.storage.segments.drop(f"seg_{table.data_object_id}")
        session.catalog.drop_user(session.container, name, cascade=cascade)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _rest(parser: Parser) -> None:
    """User options (quota, tablespace, profile) are accepted and mean nothing here."""
    options = ["DEFAULT", "TEMPORARY", "QUOTA", "PROFILE", "PASSWORD", "ACCOUNT", "CONTAINER", "ENABLE"]
    while parser.token.kind != "E" and parser.token.text != ";":
        if parser.token.text not in options:
            raise OraError(922, "missing or invalid option", parser.token.start)
        parser.take()
        while parser.token.kind != "E" and parser.token.text not in options and parser.token.text != ";":
            parser.take()


def _grant(session: SandboxSession, parser: Parser) -> None:
    _privileges(session, parser, "TO", set.add)


def _revoke(session: SandboxSession, parser: Parser) -> None:
    _privileges(session, parser, "FROM", _discard)


def _discard(grants: set[Grant], grant: Grant) -> None:
    if grant not in grants:
        raise OraError(1927, "cannot REVOKE privileges you did not grant")
    grants.discard(grant)


def _privileges(session: SandboxSession, parser: Parser, before: str, apply: Callable[[set[Grant], Grant], None]) -> None:
    names: list[str] = [""]
    while not parser.is_word("ON") and not parser.is_word(before):
        token = parser.take()
        if token.kind == "E":
            raise OraError(990, "missing or invalid privilege", token.start)
        if token.text == ",":
            names.append("")
        else:
            names[-1] = f"{names[-1]} {token.text}".strip()
    target: str | None = None
    if parser.word("ON"):
        parser.word("DIRECTORY")
        owner, name = parser.qualified()
        target = f"{owner or session.schema}.{name}"
    parser.expect_word(before)
    grantees = [parser.name(987, "missing or invalid username(s)")]
    while parser.op(","):
        grantees.append(parser.name(987, "missing or invalid username(s)"))
    while parser.any_word("WITH", "GRANT", "ADMIN", "OPTION", "CONTAINER", "ALL", "CURRENT", "DELEGATE") or parser.op("="):
        pass
    parser.end()
    with session.storage.lock:
        session.commit()
        for grantee in grantees:
            if grantee == "PUBLIC":
                continue
            user = session.catalog.user(session.container, grantee)
            if user is None:
                raise OraError(1917, f"user or role '{grantee}' does not exist")
            for privilege in names:
                apply(user.grants, Grant(privilege, target))
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


_COMMANDS: tuple[tuple[tuple[str, ...], Callable[[SandboxSession, Parser], None]], ...] = (
    (("COMMIT",), _commit),
    (("ROLLBACK",), _rollback),
    (("SAVEPOINT",), _savepoint),
    (("SET", "TRANSACTION"), _set_transaction),
    (("SET", "ROLE"), _set_role),
    (("LOCK", "TABLE"), _lock_table),
    (("ALTER", "SESSION"), _alter_session),
    (("ALTER", "SYSTEM"), _alter_system),
    (("ALTER", "DATABASE"), _alter_database),
    (("ALTER", "PLUGGABLE", "DATABASE"), _alter_database),
    (("CREATE", "USER"), _create_user),
    (("ALTER", "USER"), _alter_user),
    (("DROP", "USER"), _drop_user),
    (("GRANT",), _grant),
    (("REVOKE",), _revoke),
    (("CREATE", "TABLE"), ddl.create_table),
    (("ALTER", "TABLE"), ddl.alter_table),
    (("DROP", "TABLE"), ddl.drop_table),
    (("TRUNCATE", "TABLE"), ddl.truncate_table),
    (("CREATE", "INDEX"), ddl.create_index),
    (("CREATE", "UNIQUE", "INDEX"), ddl.create_unique_index),
    (("DROP", "INDEX"), ddl.drop_index),
    (("COMMENT", "ON"), ddl.comment_on),
)
