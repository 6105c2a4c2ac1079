"""CREATE and DROP ROLE, GRANT and REVOKE of system privileges, roles and object privileges."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.catalog import Grant
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Role, Sequence, StoredView, Synonym
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privilege_names import OBJECT, all_of, is_role, is_system
from minercdc_sandbox.sql.privileges import grants_of, require
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.tables import Table

PREDEFINED = frozenset(
    ["DBA", "CONNECT", "RESOURCE", "SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "DELETE_CATALOG_ROLE", "PUBLIC"]
)
"""Roles every database has."""


@dataclass(slots=True)
class _Request:
    privileges: list[str]
    object: str | None
    all: bool
    grantees: list[str]
    option: bool


def create_role(session: SqlSession, parser: Parser) -> None:
    """CREATE ROLE, in this container. Raises ORA-01031, ORA-01921 for the name of a role or user. Commits the open transaction
    first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    name = parser.name(1935, "missing user or role name")
    parser.word("NOT", "IDENTIFIED")
    while parser.any_word("CONTAINER", "ALL", "CURRENT") or parser.op("="):
        pass
    parser.end()
    with committed(session):
        require(session.catalog, session.container, session.user, "CREATE ROLE")
        place = session.catalog.containers[session.container]
        if name in place.roles or name in place.users or name in PREDEFINED:
            raise OraError(1921, f"role name '{name}' conflicts with another user or role name")
        place.roles[name] = Role(name, session.storage.clock.now())
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def drop_role(session: SqlSession, parser: Parser) -> None:
    """DROP ROLE, which takes it from all that have it. Raises ORA-01031, ORA-01919. Commits the open transaction first, as
    `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    name = parser.name(1935, "missing user or role name")
    parser.end()
    with committed(session):
        require(session.catalog, session.container, session.user, "DROP ANY ROLE")
        place = session.catalog.containers[session.container]
        if name not in place.roles:
            raise OraError(1919, f"role '{name}' does not exist")
        del place.roles[name]
        for holder in (*place.users, *place.roles):
            grants = _grants(session, holder)
            grants -= _matching(grants, name, None)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def grant(session: SqlSession, parser: Parser) -> None:
    """GRANT to users and roles of this container; what they have with an option keeps it. Raises ORA-00942, ORA-00990, ORA-01031,
    ORA-01749, ORA-01917, ORA-01919, ORA-03001 for privileges on columns. Commits the open transaction first, as `committed`, and
    logs itself as DDL. Syntax errors are those of `Parser`."""
    request = _request(session, parser, "TO")
    with committed(session):
        _may_grant(session, request)
        holders = _holders(session, request)
        for grants in holders:
            for privilege in request.privileges:
                found = _matching(grants, privilege, request.object)
                grants -= found
                option = request.option or any(isinstance(g, Grant) and g.option for g in found)
                grants.add(Grant(privilege, request.object, option))
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def revoke(session: SqlSession, parser: Parser) -> None:
    """REVOKE; ALL of an object's privileges takes those that there are. One that fails takes none. Raises ORA-01927, ORA-01951
    and ORA-01952 for a privilege or role that was not granted, and as `grant`. Commits the open transaction first, as
    `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    request = _request(session, parser, "FROM")
    with committed(session):
        _may_grant(session, request)
        gone: list[tuple[set[object], set[object]]] = []
        for holder, grants in zip(request.grantees, _holders(session, request), strict=True):
            for privilege in request.privileges:
                found = _matching(grants, privilege, request.object)
                if not found and request.object is not None and not request.all:
                    raise OraError(1927, "cannot REVOKE privileges you did not grant")
                if not found and request.object is None:
                    role = is_role(privilege)
                    raise OraError(
                        1951 if role else 1952, f"{'ROLE' if role else 'system privileges'} not granted to '{holder}'"
                    )
                gone.append((grants, found))
        for grants, found in gone:
            grants -= found
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _holders(session: SqlSession, request: _Request) -> list[set[object]]:
    """The sets of grants of the grantees, in their order, for the caller to change. Raises ORA-01749, ORA-01917."""
    if request.object is not None and session.user in request.grantees:
        raise OraError(1749, "you may not GRANT/REVOKE privileges to/from yourself")
    return [_grants(session, holder) for holder in request.grantees]


def _grants(session: SqlSession, holder: str) -> set[object]:
    place = session.catalog.containers[session.container]
    user = place.users.get(holder)
    if user is not None:
        return user.grants  # type: ignore[return-value]
    if holder == "PUBLIC" and holder not in place.roles:
        place.roles[holder] = Role(holder, session.catalog.created, oracle_maintained=True)
    if holder not in place.roles:
        raise OraError(1917, f"user or role '{holder}' does not exist")
    return place.roles[holder].grants


def _matching(grants: set[object], privilege: str, object_: str | None) -> set[object]:
    return {g for g in grants if isinstance(g, Grant) and (g.privilege, g.object) == (privilege, object_)}


def _may_grant(session: SqlSession, request: _Request) -> None:
    """Check that the user may grant what is requested, and set the privileges that ALL means. Object privileges: the owner, with
    the grant option, or with GRANT ANY OBJECT PRIVILEGE. Raises ORA-00942, ORA-00990, ORA-01031, ORA-01919."""
    catalog, container, user = session.catalog, session.container, session.user
    if request.object is None:
        roles = catalog.containers[container].roles
        for privilege in request.privileges:
            if privilege in OBJECT or not (is_role(privilege) or is_system(privilege)):
                raise OraError(990, "missing or invalid privilege")
            if is_role(privilege) and privilege not in PREDEFINED and privilege not in roles:
                raise OraError(1919, f"role '{privilege}' does not exist")
        require(catalog, container, user, "GRANT ANY PRIVILEGE", "GRANT ANY ROLE")
        return
    owner, _, name = request.object.partition(".")
    if owner != "SYS" and catalog.object_named(container, owner, name) is None:
        raise OraError(942, f'table or view "{owner}"."{name}" does not exist')
    if not set(request.privileges) <= OBJECT:
        raise OraError(990, "missing or invalid privilege")
    if request.all:
        request.privileges = list(all_of(_kind(session, owner, name)))
    mine = {g.privilege for g in grants_of(catalog, container, user) if g.object == request.object and g.option}
    if owner == user or set(request.privileges) <= mine:
        return
    require(catalog, container, user, "GRANT ANY OBJECT PRIVILEGE")


def _kind(session: SqlSession, owner: str, name: str) -> str:
    found = session.catalog.object_named(session.container, owner, name)
    if isinstance(found, Synonym):
        found = session.catalog.object_named(session.container, found.table_owner, found.table_name)
    kinds = ((Table, "TABLE"), (StoredView, "VIEW"), (Sequence, "SEQUENCE"))
    return next((kind for of, kind in kinds if isinstance(found, of)), "PROGRAM")


def _request(session: SqlSession, parser: Parser, before: str) -> _Request:
    names: list[str] = [""]
    while not parser.is_word("ON") and not parser.is_word(before):
        token = parser.take()
        if token.kind is TokenKind.END or token.text == "(":
            column = token.text == "("
            text = "unimplemented feature: privileges on columns" if column else "missing or invalid privilege"
            raise OraError(3001 if column else 990, text, token.start)
        if token.text == ",":
            names.append("")
        else:
            names[-1] = f"{names[-1]} {token.text}".strip()
    target: str | None = None
    if parser.word("ON"):
        parser.word("DIRECTORY")
        owner, name = parser.qualified()
        if owner is None and session.catalog.object_named(session.container, session.schema, name) is None:
            packages = {procedure.partition(".")[0] for procedure in session.database.procedures}
            owner = "SYS" if name in packages else None  # by the public synonym of the package
        target = f"{owner or session.schema}.{name}"
        names = ["ALL" if privilege == "ALL PRIVILEGES" else privilege for privilege in names]
    parser.expect_word(before)
    grantees = parser.listed(lambda: parser.name(987, "missing or invalid username(s)"))
    option = parser.is_word("WITH")
    while parser.any_word("WITH", "GRANT", "ADMIN", "OPTION", "CONTAINER", "ALL", "CURRENT", "DELEGATE") or parser.op("="):
        pass
    parser.word("CASCADE", "CONSTRAINTS")
    parser.end()
    return _Request(names, target, target is not None and names == ["ALL"], grantees, option)
