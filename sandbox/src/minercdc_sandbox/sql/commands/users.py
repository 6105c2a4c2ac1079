"""CREATE, ALTER and DROP USER."""

from __future__ import annotations

import re

from minercdc_sandbox.catalog import User
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.tokens import TokenKind


def password(parser: Parser) -> str:
    """Read `IDENTIFIED BY password`. Raises ORA-00988."""
    parser.expect_word("IDENTIFIED")
    parser.expect_word("BY")
    token = parser.take()
    if token.kind not in "WQS":
        raise OraError(988, "missing or invalid password(s)", token.start)
    return parser.sql[token.start : token.end].strip('"') if token.kind is not TokenKind.STRING else token.text


def _masked(sql: str) -> str:
    return re.sub(r"(?is)(identified\s+by\s+)(\"[^\"]*\"|\S+)", r"\1*****", sql)


def create_user(session: SqlSession, parser: Parser) -> None:
    """CREATE USER. Raises ORA-00988, ORA-00922, and as `Catalog.add_user`."""
    name = parser.name(1935, "missing user or role name")
    secret = password(parser)
    _rest(parser)
    with committed(session):
        session.catalog.add_user(session.container, name, secret, session.storage.clock.now())
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def alter_user(session: SqlSession, parser: Parser) -> None:
    """ALTER USER: password, PASSWORD EXPIRE, ACCOUNT LOCK and UNLOCK, GRANT and REVOKE CONNECT THROUGH. Raises ORA-01918, ORA-00988,
    ORA-00922, ORA-03001 for a proxy that is limited."""
    name = parser.name(1935, "missing user or role name")
    user = session.catalog.user(session.container, name)
    if user is None:
        raise OraError(1918, f"user '{name}' does not exist")
    if parser.is_word("GRANT") or parser.is_word("REVOKE"):
        _alter_proxies(session, parser, user)
        return
    secret = password(parser) if parser.is_word("IDENTIFIED") else None
    text = parser.sql.upper()
    _rest(parser)
    with committed(session):
        if secret is not None:
            user.password, user.expired = secret, False
        user.expired = user.expired or "PASSWORD EXPIRE" in text
        if "ACCOUNT LOCK" in text or "ACCOUNT UNLOCK" in text:
            user.locked = "ACCOUNT LOCK" in text
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def _alter_proxies(session: SqlSession, parser: Parser, user: User) -> None:
    """`GRANT CONNECT THROUGH proxy` and `REVOKE ..` (SQL Language Reference, ALTER USER, proxy_clause). Roles and authentication that a
    proxy is limited to are refused."""
    granted = parser.take().text == "GRANT"
    parser.expect_word("CONNECT")
    parser.expect_word("THROUGH")
    if parser.is_word("ENTERPRISE"):
        raise OraError(3001, "unimplemented feature: CONNECT THROUGH ENTERPRISE USERS", parser.token.start)
    proxy = parser.name(1935, "missing user or role name")
    if parser.is_word("WITH") or parser.is_word("AUTHENTICATION") or parser.is_word("AUTHENTICATED"):
        raise OraError(3001, f"unimplemented feature: CONNECT THROUGH .. {parser.token.text}", parser.token.start)
    parser.end()
    if session.catalog.user(session.container, proxy) is None:
        raise OraError(1918, f"user '{proxy}' does not exist")
    with committed(session):
        (user.proxies.add if granted else user.proxies.discard)(proxy)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def drop_user(session: SqlSession, parser: Parser) -> None:
    """DROP USER. Raises ORA-01918, ORA-01922, and ORA-01940 for a user who is connected."""
    name = parser.name(1935, "missing user or role name")
    cascade = parser.word("CASCADE")
    parser.end()
    with committed(session):
        if any(other.user == name for other in session.database.sessions.values()):
            raise OraError(1940, "cannot drop a user that is currently connected")
        for table in [t for t in session.catalog.tables(session.container) if t.owner == name and cascade]:
            session.storage.drop_segment(table)
        _drop_objects(session, name, cascade=cascade)
        session.catalog.drop_user(session.container, name, cascade=cascade)
        for user in session.catalog.containers[session.container].users.values():
            user.proxies.discard(name)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _drop_objects(session: SqlSession, name: str, *, cascade: bool) -> None:
    """Drop views, synonyms and sequences of the user, and purge his recycle bin. Raises ORA-01922 for the former without
    `cascade`."""
    place = session.catalog.containers[session.container]
    for objects in (place.views, place.synonyms, place.sequences):
        owned = [key for key in objects if key[0] == name]
        if owned and not cascade:
            raise OraError(1922, f"CASCADE must be specified to drop '{name}'")
        for key in owned:
            del objects[key]
    for table in [t for t in place.dropped.values() if t.owner == name]:
        session.storage.drop_segment(table)
        session.catalog.purge(table)


def _rest(parser: Parser) -> None:
    """User options (quota, tablespace, profile) are accepted and mean nothing here."""
    options = ["DEFAULT", "TEMPORARY", "QUOTA", "PROFILE", "PASSWORD", "ACCOUNT", "CONTAINER", "ENABLE"]
    if parser.token.text not in (*options, ";") and parser.token.kind is not TokenKind.END:
        raise OraError(922, "missing or invalid option", parser.token.start)
    while parser.token.kind is not TokenKind.END and parser.token.text != ";":
        parser.take()
