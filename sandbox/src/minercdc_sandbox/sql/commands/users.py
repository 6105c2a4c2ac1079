"""CREATE, ALTER and DROP USER."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from minercdc_sandbox.catalog import Container, Grant, User
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Role
from minercdc_sandbox.sql.commands.grants import PREDEFINED
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.sql.tokens import TokenKind


def password(parser: Parser) -> str:
    """Read `IDENTIFIED BY password`; returns the password, case kept. Raises ORA-00988. Syntax errors are those of `Parser`."""
    parser.expect_word("IDENTIFIED")
    parser.expect_word("BY")
    token = parser.take()
    if token.kind not in "WQS":
        raise OraError(988, "missing or invalid password(s)", token.start)
    return parser.sql[token.start : token.end].strip('"') if token.kind is not TokenKind.STRING else token.text


def _masked(sql: str) -> str:
    return re.sub(r"(?is)(identified\s+by\s+)(\"[^\"]*\"|\S+)", r"\1*****", sql)


@dataclass(slots=True)
class _Options:
    """Options of CREATE and ALTER USER besides the password; None or False where there is none; `tablespace`: the default one.

    :ivar others: there are options that mean nothing here, as quotas, profiles, roles, editions.
    """

    tablespace: str | None = None
    locked: bool | None = None
    container_data: bool | None = None
    expired: bool = False
    others: bool = False

    def apply(self, user: User) -> None:
        user.default_tablespace = self.tablespace or user.default_tablespace
        user.locked = user.locked if self.locked is None else self.locked
        user.expired = user.expired or self.expired
        user.container_data = user.container_data if self.container_data is None else self.container_data


def create_user(session: SqlSession, parser: Parser) -> None:
    """CREATE USER, without privileges; the redo does not have the password. Raises ORA-00988, ORA-00922, ORA-01031, ORA-01920 for
    the name of a role, and as `Catalog.add_user`. Commits the open transaction first, as `committed`, and logs itself as DDL.
    Syntax errors are those of `Parser`."""
    name = parser.name(1935, "missing user or role name")
    secret = password(parser)
    options = _options(parser)
    with committed(session):
        require(session.catalog, session.container, session.user, "CREATE USER")
        if name in PREDEFINED or name in session.catalog.containers[session.container].roles:
            raise OraError(1920, f"user name '{name}' conflicts with another user or role name")
        options.apply(session.catalog.add_user(session.container, name, secret, session.storage.clock.now()))
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def alter_user(session: SqlSession, parser: Parser) -> None:
    """ALTER USER: password (which ends its expiry), PASSWORD EXPIRE, ACCOUNT LOCK and UNLOCK, GRANT and REVOKE CONNECT THROUGH;
    the redo does not have the password. Raises ORA-01918, ORA-00988, ORA-00922, ORA-03001 for a proxy that is limited, and
    ORA-01031: without ALTER USER, users may change their own password only (SQL Language Reference, ALTER USER, Prerequisites).
    Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    name = parser.name(1935, "missing user or role name")
    proxies = parser.is_word("GRANT") or parser.is_word("REVOKE")
    secret = password(parser) if parser.is_word("IDENTIFIED") else None
    options = _Options() if proxies else _options(parser)
    if not proxies and secret is None and options == _Options():
        raise OraError(922, "missing or invalid option", parser.token.start)
    if name != session.user or secret is None or options != _Options():
        require(session.catalog, session.container, session.user, "ALTER USER")
    user = session.catalog.user(session.container, name)
    if user is None:
        raise OraError(1918, f"user '{name}' does not exist")
    if proxies:
        _alter_proxies(session, parser, user)
        return
    with committed(session):
        if secret is not None:
            user.password, user.expired = secret, False
        options.apply(user)
        session.storage.log_ddl(session.client, _masked(parser.sql), None, None, None)


def _alter_proxies(session: SqlSession, parser: Parser, user: User) -> None:
    """Read and apply `GRANT CONNECT THROUGH proxy` and `REVOKE ..` (SQL Language Reference, ALTER USER, proxy_clause). Raises
    ORA-01918 for an unknown proxy, ORA-03001 for ENTERPRISE USERS and for roles and authentication that a proxy is limited to.
    Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
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
    """DROP USER [CASCADE], with all that the user owns, the recycle bin too, and grants on it. Raises ORA-01031, ORA-01918,
    ORA-01922 for objects outside the recycle bin without CASCADE, ORA-28014 for SYS and SYSTEM, and ORA-01940 for a user who is
    connected. Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    name = parser.name(1935, "missing user or role name")
    cascade = parser.word("CASCADE")
    parser.end()
    with committed(session):
        require(session.catalog, session.container, session.user, "DROP USER")
        user = session.catalog.user(session.container, name)
        if user is None:
            raise OraError(1918, f"user '{name}' does not exist")
        if user.oracle_maintained:
            raise OraError(28014, "cannot drop administrative user or role")
        everywhere = session.catalog.containers.values()
        places = list(everywhere) if user.common else [session.catalog.containers[session.container]]
        here = {place.con_id for place in places}
        if any(other.user == name and other.client.container in here for other in session.database.sessions.values()):
            raise OraError(1940, "cannot drop a user that is currently connected")
        if not cascade and any(_owns(place, name) for place in places):
            raise OraError(1922, f"CASCADE must be specified to drop '{name}'")
        for place in places:
            _drop_objects(session, place, name)
        session.catalog.drop_user(session.container, name, cascade=cascade)
        for place in places:
            for other in place.users.values():
                other.proxies.discard(name)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _owns(place: Container, name: str) -> bool:
    """Whether the user of this name owns an object of the container that is not in the recycle bin."""
    kinds: tuple[Iterable[tuple[str, str]], ...] = (
        *(place.tables, place.views, place.synonyms, place.sequences),
        *(place.programs, place.bodies, place.triggers, place.jobs),
    )
    return any(owner == name for objects in kinds for owner, _ in objects)


def _drop_objects(session: SqlSession, place: Container, name: str) -> None:
    """Drop tables, views, synonyms and sequences of the user, with foreign keys that refer to the tables and grants on all objects, and
    purge the user's part of the recycle bin."""
    owned = [t for t in place.tables.values() if t.owner == name]
    for child in place.tables.values():
        child.constraints = [c for c in child.constraints if c.reference is None or c.reference[0] != name]
    for table in [*owned, *(t for t in place.dropped.values() if t.owner == name)]:
        session.storage.drop_segment(table)
        session.catalog.purge(table)
    kinds: tuple[dict[tuple[str, str], Any], ...] = (place.views, place.synonyms, place.sequences)
    for objects in kinds:
        for key in [key for key in objects if key[0] == name]:
            del objects[key]
    holders: list[User | Role] = [*place.users.values(), *place.roles.values()]
    for holder in holders:
        grants: set[Any] = holder.grants
        grants -= {g for g in grants if isinstance(g, Grant) and g.object is not None and g.object.startswith(f"{name}.")}


def _options(parser: Parser) -> _Options:
    """Read the options to the end of the statement. Raises ORA-00922, ORA-00959 without a tablespace's name. Syntax errors are
    those of `Parser`."""
    found = _Options()
    while parser.token.kind is not TokenKind.END:
        if parser.word("DEFAULT", "TABLESPACE"):
            found.tablespace = parser.name(959, "tablespace does not exist")
        elif parser.word("PASSWORD", "EXPIRE"):
            found.expired = True
        elif parser.word("SET", "CONTAINER_DATA"):
            parser.expect_op("=")
            word = parser.any_word("ALL", "DEFAULT")
            if word is None or parser.is_word("FOR"):
                raise OraError(
                    3001, "unimplemented feature: CONTAINER_DATA of single containers or views", parser.token.start
                )
            found.container_data = word == "ALL"
        elif parser.word("ACCOUNT"):
            word = parser.any_word("LOCK", "UNLOCK")
            if word is None:
                raise OraError(922, "missing or invalid option", parser.token.start)
            found.locked = word == "LOCK"
        else:
            _other_option(parser)
            found.others = True
    return found


def _other_option(parser: Parser) -> None:
    """Read an option that means nothing here. Raises ORA-00922 for any other. Syntax errors are those of `Parser`."""
    if parser.word("CONTAINER"):
        parser.expect_op("=")
        known = parser.any_word("ALL", "CURRENT") is not None
    elif parser.word("QUOTA"):
        parser.take()  # UNLIMITED or a number
        parser.any_word("K", "M", "G", "T", "P", "E")
        known = parser.word("ON") and parser.take().is_name
    elif parser.word("DEFAULT", "ROLE"):
        known = True
        if not parser.any_word("NONE"):
            parser.names()
            if parser.word("EXCEPT"):
                parser.names()
    elif parser.word("ENABLE", "EDITIONS"):
        known = True
    else:
        named = (
            parser.word("PROFILE")
            or parser.word("TEMPORARY", "TABLESPACE")
            or parser.word("LOCAL", "TEMPORARY", "TABLESPACE")
        )
        known = named and parser.take().is_name
    if not known:
        raise OraError(922, "missing or invalid option", parser.token.start)
