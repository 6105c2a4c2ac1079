"""Users, privileges and roles: ALL_USERS, DBA_USERS, .._SYS_PRIVS, .._ROLE_PRIVS, .._TAB_PRIVS, SESSION_PRIVS, SESSION_ROLES."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Grant, User
from minercdc_sandbox.interfaces import Session
from minercdc_sandbox.view_session import as_view_session
from minercdc_sandbox.views.shape import Row, date, view, yes_no

_ROLES = frozenset(
    ("DBA", "CONNECT", "RESOURCE", "SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "DELETE_CATALOG_ROLE", "ALL PRIVILEGES")
)
_COMMON_FLAGS = "COMMON V3, INHERITED V3"
_SYS_PRIVS = f"{{grantee}} V128, PRIVILEGE V40, ADMIN_OPTION V3, {_COMMON_FLAGS}"
_ROLE_PRIVS = (
    "{grantee} V128, GRANTED_ROLE V128, ADMIN_OPTION V3, DELEGATE_OPTION V3, DEFAULT_ROLE V3, OS_GRANTED V3, "
    + _COMMON_FLAGS
)
_TAB_PRIVS = (
    "GRANTEE V128, {owner} V128, TABLE_NAME V128, GRANTOR V128, PRIVILEGE V40, GRANTABLE V3, HIERARCHY V3, COMMON V3, "
    "TYPE V24, INHERITED V3"
)
_ALL_USERS = (
    "USERNAME V128, USER_ID N, CREATED D, COMMON V3, ORACLE_MAINTAINED V1, INHERITED V3, DEFAULT_COLLATION V100, "
    "IMPLICIT V3, ALL_SHARD V3, EXTERNAL_SHARD V3"
)
_DBA_USERS = (
    "USERNAME V128, USER_ID N, PASSWORD V4000, ACCOUNT_STATUS V32, LOCK_DATE D, EXPIRY_DATE D, DEFAULT_TABLESPACE V30, "
    "TEMPORARY_TABLESPACE V30, LOCAL_TEMP_TABLESPACE V30, CREATED D, PROFILE V128, INITIAL_RSRC_CONSUMER_GROUP V128, "
    "EXTERNAL_NAME V4000, PASSWORD_VERSIONS V17, EDITIONS_ENABLED V1, AUTHENTICATION_TYPE V8, PROXY_ONLY_CONNECT V1, "
    "COMMON V3, LAST_LOGIN D, ORACLE_MAINTAINED V1, INHERITED V3, DEFAULT_COLLATION V100, IMPLICIT V3"
)


def _account_status(locked: bool, expired: bool) -> str:
    """DBA_USERS.ACCOUNT_STATUS (Database Reference)."""
    parts = ["EXPIRED"] * expired + ["LOCKED"] * locked
    return " & ".join(parts) or "OPEN"


def _users(session: Session) -> list[User]:
    return as_view_session(session).database.catalog.users(as_view_session(session).container)


def _all_users(session: Session) -> Iterator[Row]:
    for user in _users(session):
        yield _user(user)


def _dba_users(session: Session) -> Iterator[Row]:
    for user in _users(session):
        yield {
            **{key: value for key, value in _user(user).items() if key not in ("ALL_SHARD", "EXTERNAL_SHARD")},
            "ACCOUNT_STATUS": _account_status(user.locked, user.expired),
            "DEFAULT_TABLESPACE": user.default_tablespace,
            "TEMPORARY_TABLESPACE": "TEMP",
            "LOCAL_TEMP_TABLESPACE": "TEMP",
            "PROFILE": "DEFAULT",
            "PASSWORD_VERSIONS": "11G 12C",
            "EDITIONS_ENABLED": "N",
            "AUTHENTICATION_TYPE": "PASSWORD",
            "PROXY_ONLY_CONNECT": "N",
        }


def _grants(session: Session) -> Iterator[tuple[User, Grant]]:
    for user in _users(session):
        for grant in sorted(user.grants, key=lambda grant: (grant.privilege, grant.object or "")):
            yield user, grant


def _roles(session: Session) -> frozenset[str]:
    """The roles in the session's container: Oracle's own, and those of CREATE ROLE."""
    return _ROLES.union(as_view_session(session).database.catalog.containers[as_view_session(session).container].roles)


def _sys_privs(session: Session) -> Iterator[Row]:
    roles = _roles(session)
    for user, grant in _grants(session):
        if grant.object is None and grant.privilege not in roles:
            yield _sys_priv(user, grant)


def _role_privs(session: Session) -> Iterator[Row]:
    roles = _roles(session)
    for user, grant in _grants(session):
        if grant.object is None and grant.privilege in roles:
            yield _role_priv(user, grant)


def _tab_privs(session: Session) -> Iterator[Row]:
    for user, grant in _grants(session):
        if grant.object is not None:
            yield _tab_priv(user, grant)


def _session_privs(session: Session) -> Iterator[Row]:
    for row in _sys_privs(session):
        if row["GRANTEE"] == session.user:
            yield {"PRIVILEGE": row["PRIVILEGE"]}


def _session_roles(session: Session) -> Iterator[Row]:
    for row in _role_privs(session):
        if row["GRANTEE"] == session.user:
            yield {"ROLE": row["GRANTED_ROLE"]}


def _all_tab_privs(session: Session) -> Iterator[Row]:
    for row in _tab_privs(session):
        yield {("TABLE_SCHEMA" if key == "OWNER" else key): value for key, value in row.items()}


def _user_tab_privs(session: Session) -> Iterator[Row]:
    return (row for row in _tab_privs(session) if session.user in (row["GRANTEE"], row["OWNER"]))


def _own_sys_privs(session: Session) -> Iterator[Row]:
    for row in _sys_privs(session):
        if row["GRANTEE"] == session.user:
            yield {("USERNAME" if key == "GRANTEE" else key): value for key, value in row.items()}


def _own_role_privs(session: Session) -> Iterator[Row]:
    for row in _role_privs(session):
        if row["GRANTEE"] == session.user:
            yield {("USERNAME" if key == "GRANTEE" else key): value for key, value in row.items()}


def _user(user: User) -> Row:
    return {
        "USERNAME": user.name,
        "USER_ID": user.user_id,
        "CREATED": date(user.created),
        "COMMON": yes_no(user.common),
        "ORACLE_MAINTAINED": "Y" if user.oracle_maintained else "N",
        "INHERITED": "NO",
        "DEFAULT_COLLATION": "USING_NLS_COMP",
        "IMPLICIT": "NO",
        "ALL_SHARD": "NO",
        "EXTERNAL_SHARD": "NO",
    }


def _sys_priv(user: User, grant: Grant) -> Row:
    return {
        "GRANTEE": user.name,
        "PRIVILEGE": grant.privilege,
        "ADMIN_OPTION": yes_no(grant.option),
        "COMMON": yes_no(user.common),
        "INHERITED": "NO",
    }


def _role_priv(user: User, grant: Grant) -> Row:
    return {
        "GRANTEE": user.name,
        "GRANTED_ROLE": grant.privilege,
        "ADMIN_OPTION": yes_no(grant.option),
        "DELEGATE_OPTION": "NO",
        "DEFAULT_ROLE": "YES",
        "OS_GRANTED": "NO",
        "COMMON": yes_no(user.common),
        "INHERITED": "NO",
    }


def _tab_priv(user: User, grant: Grant) -> Row:
    owner, _, name = (grant.object or "").partition(".")
    return {
        "GRANTEE": user.name,
        "OWNER": owner,
        "TABLE_NAME": name,
        "GRANTOR": owner,
        "PRIVILEGE": grant.privilege,
        "GRANTABLE": yes_no(grant.option),
        "HIERARCHY": "NO",
        "COMMON": yes_no(user.common),
        "TYPE": "TABLE",
        "INHERITED": "NO",
    }


VIEWS = (
    view("ALL_USERS", _ALL_USERS, _all_users),
    view("DBA_USERS", _DBA_USERS, _dba_users),
    view("DBA_SYS_PRIVS", _SYS_PRIVS.format(grantee="GRANTEE"), _sys_privs),
    view("USER_SYS_PRIVS", _SYS_PRIVS.format(grantee="USERNAME"), _own_sys_privs),
    view("DBA_ROLE_PRIVS", _ROLE_PRIVS.format(grantee="GRANTEE"), _role_privs),
    view("USER_ROLE_PRIVS", _ROLE_PRIVS.format(grantee="USERNAME"), _own_role_privs),
    view("DBA_TAB_PRIVS", _TAB_PRIVS.format(owner="OWNER"), _tab_privs),
    view("USER_TAB_PRIVS", _TAB_PRIVS.format(owner="OWNER"), _user_tab_privs),
    view("ALL_TAB_PRIVS", _TAB_PRIVS.format(owner="TABLE_SCHEMA"), _all_tab_privs),
    view("SESSION_PRIVS", "PRIVILEGE V40", _session_privs),
    view("SESSION_ROLES", "ROLE V128", _session_roles),
)
