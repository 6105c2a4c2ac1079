"""ALTER SYSTEM and ALTER DATABASE: log switches, sessions to kill, redo threads, archive destinations, database-wide logging."""

from __future__ import annotations

import re
from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.definitions import supplemental_kinds
from minercdc_sandbox.sql.parse.statements import Parser

_DESTINATION = re.compile(r"LOG_ARCHIVE_DEST_([1-9]|[12][0-9]|3[01])$")
_LOCATION = re.compile(r"\s*LOCATION\s*=\s*(\S+?)/?\s*(MANDATORY|OPTIONAL)?\s*$", re.I)


def need(session: SqlSession, privilege: str) -> None:
    """Raises ORA-01031 unless the user is SYS or has the privilege itself, as `User.has`."""
    user = session.catalog.user(session.container, session.user)
    if session.user != "SYS" and (user is None or not user.has(privilege)):
        raise OraError(1031, "insufficient privileges")


def alter_system(session: SqlSession, parser: Parser) -> None:
    """ALTER SYSTEM: log switches of all open threads, CHECKPOINT, KILL and DISCONNECT SESSION, SET; ARCHIVE LOG ALL does nothing.
    Raises ORA-03001 for others, ORA-01031 without the privilege, ORA-00026, ORA-00027 and ORA-00030 for a session, ORA-00922,
    ORA-02017, ORA-16019 and ORA-16179 for a value. Syntax errors are those of `Parser`."""
    if parser.token.text not in ("SWITCH", "ARCHIVE", "CHECKPOINT", "KILL", "DISCONNECT", "SET"):
        raise OraError(3001, "unimplemented feature: this ALTER SYSTEM", parser.token.start)
    need(session, "ALTER SYSTEM")
    if (
        parser.word("SWITCH", "LOGFILE")
        or parser.word("ARCHIVE", "LOG", "CURRENT")
        or parser.word("SWITCH", "ALL", "LOGFILE")
    ):
        parser.end()
        with session.storage.lock:
            for number, thread in list(session.database.redo.threads.items()):
                if thread.is_open:
                    session.database.redo.switch(number)
    elif parser.word("ARCHIVE", "LOG", "ALL"):
        parser.end()
    elif parser.word("CHECKPOINT"):
        parser.end()
        session.database.redo.checkpoint()
    elif parser.word("KILL", "SESSION") or parser.word("DISCONNECT", "SESSION"):
        _kill(session, parser)
    elif parser.word("SET"):
        _set_parameter(session, parser)
    else:
        raise OraError(3001, "unimplemented feature: this ALTER SYSTEM", parser.token.start)


def _kill(session: SqlSession, parser: Parser) -> None:
    at = parser.token.start
    given = re.fullmatch(r"(\d+)\s*,\s*(\d+)(\s*,\s*@\d+)?", parser.take().text)
    if given is None:
        raise OraError(26, "missing or invalid session ID", at)
    if parser.word("POST_TRANSACTION"):
        raise OraError(3001, "unimplemented feature: DISCONNECT SESSION .. POST_TRANSACTION", at)
    parser.word("IMMEDIATE")
    parser.end()
    other = session.database.sessions.get(int(given[1]))
    if other is None or other.serial != int(given[2]):
        raise OraError(30, "User session ID does not exist.", at)
    if other is session:
        raise OraError(27, "cannot kill current session", at)
    other.kill()


def _set_parameter(session: SqlSession, parser: Parser) -> None:
    at = parser.token.start
    name = parser.name(2065, "illegal option for ALTER SYSTEM")
    place = _DESTINATION.match(name)
    if place is None and name not in _PARAMETERS:
        raise OraError(3001, f"unimplemented feature: ALTER SYSTEM SET {name}", at)
    parser.expect_op("=")
    value = parser.take().text
    if name in _RECORDED and parser.token.text in tuple("KMGT"):
        value += parser.take().text
    if parser.word("SCOPE"):
        parser.expect_op("=")
        parser.take()
    parser.end()
    if place is None:
        with session.storage.lock:
            _PARAMETERS[name](session, value, at)
        return
    location = _LOCATION.match(value)
    if value.strip() and location is None:
        raise OraError(16179, f'incremental changes to "{name.lower()}" not allowed with SPFILE', at)
    with session.storage.lock:
        session.database.redo.set_destination(int(place[1]), location[1] if location else None)


def _undo_retention(session: SqlSession, value: str, at: int) -> None:
    if not value.isdecimal():
        raise OraError(2017, "integer value required", at)
    session.storage.keep_undo_for(int(value))
    session.catalog.version += 1


def _goldengate(session: SqlSession, value: str, at: int) -> None:
    session.catalog.goldengate = _truth(value, at)
    session.catalog.version += 1


def _truth(value: str, at: int) -> bool:
    if value.upper() not in ("TRUE", "FALSE"):
        raise OraError(922, "missing or invalid option", at)
    return value.upper() == "TRUE"


def _recorded(name: str) -> Callable[[SqlSession, str, int], None]:
    """The setter (session, value, offset) of a parameter whose value the views show, and that has no effect here. Sizes may end
    in K, M, G or T; the setter raises ORA-02017 for others."""

    def record(session: SqlSession, value: str, at: int) -> None:
        number = re.fullmatch(r"(\d+)([KMGT]?)", value.upper())
        if number is None:
            raise OraError(2017, "integer value required", at)
        size = int(number[1]) << 10 * " KMGT".index(number[2] or " ")
        session.catalog.parameters = {**session.catalog.parameters, name.lower(): str(size)}
        session.catalog.version += 1

    return record


def _cluster_database(session: SqlSession, value: str, at: int) -> None:
    session.catalog.parameters = {**session.catalog.parameters, "cluster_database": str(_truth(value, at)).upper()}
    session.catalog.version += 1


_RECORDED = ("ARCHIVE_LAG_TARGET", "DB_RECOVERY_FILE_DEST_SIZE", "PGA_AGGREGATE_LIMIT")
_PARAMETERS: dict[str, Callable[[SqlSession, str, int], None]] = {
    **{name: _recorded(name) for name in _RECORDED},
    "CLUSTER_DATABASE": _cluster_database,
    "UNDO_RETENTION": _undo_retention,
    "ENABLE_GOLDENGATE_REPLICATION": _goldengate,
}
"""Parameters of ALTER SYSTEM SET besides LOG_ARCHIVE_DEST_n."""


def alter_database(session: SqlSession, parser: Parser) -> None:
    """ALTER DATABASE: redo threads, log file members, supplemental logging, [NO] FORCE LOGGING. Raises ORA-03001 for others,
    ORA-01031 without the privilege, ORA-12920, ORA-12921, and as `RedoLog.enable_thread`, `RedoLog.disable_thread` and the other
    methods of the redo log. Syntax errors are those of `Parser`."""
    if parser.token.text not in ("ADD", "DROP", "ENABLE", "DISABLE", "FORCE", "NO"):
        raise OraError(3001, "unimplemented feature: this ALTER DATABASE", parser.token.start)
    need(session, "ALTER DATABASE")
    if parser.word("ADD", "LOGFILE", "MEMBER"):
        _add_member(session, parser)
    elif parser.word("FORCE", "LOGGING"):
        _force_logging(session, parser, wanted=True)
    elif parser.word("NO", "FORCE", "LOGGING"):
        _force_logging(session, parser, wanted=False)
    elif parser.word("ENABLE"):
        kind = "PUBLIC" if parser.word("PUBLIC") else "PRIVATE"
        number = _thread_number(parser)
        with session.storage.lock:
            session.database.redo.enable_thread(number, kind)
    elif parser.word("DISABLE"):
        number = _thread_number(parser)
        with session.storage.lock:
            session.database.redo.disable_thread(number)
    elif parser.word("ADD", "SUPPLEMENTAL", "LOG", "DATA"):
        _supplemental(session, parser, adding=True)
    elif parser.word("DROP", "SUPPLEMENTAL", "LOG", "DATA"):
        _supplemental(session, parser, adding=False)
    else:
        raise OraError(3001, "unimplemented feature: this ALTER DATABASE", parser.token.start)


def _force_logging(session: SqlSession, parser: Parser, *, wanted: bool) -> None:
    """Read the end and set FORCE LOGGING, as a DDL. All changes are in the redo here in any case. Raises ORA-12920 or ORA-12921
    when it is so already (Error Messages). Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax
    errors are those of `Parser`."""
    parser.end()
    if session.catalog.force_logging == wanted:
        number, word = (12920, "already in") if wanted else (12921, "not in")
        raise OraError(number, f"database is {word} force logging mode")
    with committed(session):
        session.catalog.force_logging = wanted
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _thread_number(parser: Parser) -> int:
    parser.expect_word("THREAD", 2246, "missing EVENTS text")
    token = parser.take()
    parser.end()
    if not token.text.isdecimal() or not 1 <= int(token.text) <= 4:
        raise OraError(3001, "unimplemented feature: redo threads but 1 to 4", token.start)
    return int(token.text)


def _add_member(session: SqlSession, parser: Parser) -> None:
    member = parser.take().text
    parser.expect_word("TO", 905, "missing keyword")
    parser.expect_word("GROUP", 905, "missing keyword")
    group = parser.take()
    parser.end()
    with session.storage.lock:
        session.database.redo.add_member(int(group.text) if group.text.isdecimal() else 0, member)


def _supplemental(session: SqlSession, parser: Parser, *, adding: bool) -> None:
    flags = supplemental_kinds(parser) if parser.token.text == "(" else ["MIN"]
    parser.end()
    fields = {"MIN": "minimal", "ALL": "all", "PRIMARY KEY": "primary_key", "UNIQUE": "unique", "FOREIGN KEY": "foreign_key"}
    with committed(session):
        for flag in flags:
            setattr(session.catalog.logging, fields[flag], adding)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)
