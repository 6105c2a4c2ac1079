"""ALTER SESSION."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import zones
from minercdc_sandbox.sql.date_formats import check_of_dates, elements
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.sql.userenv import session_value

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
        *("HASH_AREA_SIZE", "SORT_AREA_SIZE", "WORKAREA_SIZE_POLICY", "OPTIMIZER_MODE", "DDL_LOCK_TIMEOUT"),
        *("STATISTICS_LEVEL", "EVENTS", "NLS_LENGTH_SEMANTICS", "NLS_DATE_LANGUAGE", "NLS_CURRENCY"),
        *("NLS_ISO_CURRENCY", "NLS_CALENDAR", "CURSOR_SHARING", "TRACEFILE_IDENTIFIER", "SQL_TRACE"),
        *("PLSQL_WARNINGS", "RESUMABLE", "ERROR_ON_OVERLAP_TIME", "NLS_DUAL_CURRENCY"),
    ]
)


ARCHIVAL_VISIBILITY = "ROW ARCHIVAL VISIBILITY"


def alter_session(session: SqlSession, parser: Parser) -> None:
    """ALTER SESSION: set the session's NLS settings, time zone, schema, container and others. Raises ORA-02248 for unknown
    options; for values ORA-00068, ORA-01435, ORA-01821, ORA-01874, ORA-01882, ORA-12705 and ORA-03001; for CONTAINER ORA-01031,
    ORA-65011 and ORA-65023. Settings before the one that fails stay. Syntax errors are those of `Parser`."""
    if parser.any_word("ENABLE", "DISABLE", "FORCE") and parser.word("PARALLEL"):
        if not parser.any_word("DML", "DDL", "QUERY"):
            raise OraError(2248, "invalid option for ALTER SESSION", parser.token.start)
        if parser.word("PARALLEL"):
            parser.integer()
        parser.end()
        return
    parser.expect_word("SET", 2248, "invalid option for ALTER SESSION")
    if parser.word("ROW", "ARCHIVAL", "VISIBILITY"):
        _set_archival_visibility(session, parser)
        return
    settings: list[tuple[str, str, int]] = []
    while parser.token.kind is not TokenKind.END and parser.token.text != ";":
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


def _set_archival_visibility(session: SqlSession, parser: Parser) -> None:
    """Read `= ACTIVE | ALL` and set whether archived rows are seen (SQL Language Reference, ALTER SESSION). Raises ORA-02248.
    Syntax errors are those of `Parser`."""
    parser.expect_op("=")
    wanted = parser.any_word("ACTIVE", "ALL")
    if wanted is None:
        raise OraError(2248, "invalid option for ALTER SESSION", parser.token.start)
    parser.end()
    session.settings.parameters[ARCHIVAL_VISIBILITY] = wanted


def _set(session: SqlSession, name: str, value: str, at: int) -> None:
    if name in _NLS:
        _set_nls(session, name, value)
    elif name == "TIME_ZONE":
        session.settings.nls = replace(session.settings.nls, time_zone=_time_zone(value))
    elif name == "CURRENT_SCHEMA":
        if session.catalog.user(session.container, value) is None:
            raise OraError(1435, "user does not exist", at)
        session.settings.schema = value
    elif name == "CONTAINER":
        _set_container(session, value.upper())
    elif name == "ISOLATION_LEVEL":
        if value.upper() not in ("READ COMMITTED", "SERIALIZABLE"):
            raise OraError(2248, "invalid option for ALTER SESSION", at)
        session.client.serializable = value.upper() == "SERIALIZABLE"
    elif name == "DDL_LOCK_TIMEOUT" and not (value.isdecimal() and int(value) <= 1_000_000):
        raise OraError(68, f"invalid value {value} for parameter ddl_lock_timeout, must be between 0 and 1000000", at)
    elif name in _RECORDED:
        session.settings.parameters[name] = value
    else:
        raise OraError(2248, "invalid option for ALTER SESSION", at)


def _set_nls(session: SqlSession, name: str, value: str) -> None:
    if name.endswith("_FORMAT"):
        check_of_dates(value) if name == "NLS_DATE_FORMAT" else elements(value)
    if name == "NLS_NUMERIC_CHARACTERS" and (len(value) != 2 or value[0] == value[1]):
        raise OraError(12705, "Cannot access NLS data files or invalid environment specified")
    if name in ("NLS_SORT", "NLS_COMP") and value.upper() != "BINARY":
        raise OraError(3001, f"unimplemented feature: {name} = {value}")
    if name == "NLS_LANGUAGE" and value.upper() not in ("AMERICAN", "ENGLISH"):
        raise OraError(3001, f"unimplemented feature: {name} = {value}")
    session.settings.nls = replace(session.settings.nls, **{_NLS[name]: value})


def _time_zone(value: str) -> str:
    if value.upper() in ("DBTIMEZONE", "LOCAL"):
        return "+00:00"
    return zones.text(zones.parse(value))


def _set_container(session: SqlSession, name: str) -> None:
    """Switch to a container, with the user's own schema; for common users with the privilege SET CONTAINER (SQL Language
    Reference, ALTER SESSION, Prerequisites). Raises ORA-65011, ORA-01031, ORA-65023 within a transaction."""
    container = session.catalog.container_named(name)
    user = session.catalog.user(session.container, session.user)
    if user is None or not user.common:
        raise OraError(1031, "insufficient privileges")
    require(session.catalog, session.container, session.user, "SET CONTAINER")
    if session.in_transaction():
        raise OraError(65023, f"active transaction exists in container {session_value(session, 'CON_NAME')}")
    session.client.container = container.con_id
    session.settings.schema = session.user
