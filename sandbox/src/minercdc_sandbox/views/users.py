"""Users, privileges and roles: ALL_USERS, DBA_USERS, .._SYS_PRIVS, .._ROLE_PRIVS, .._TAB_PRIVS, SESSION_PRIVS, SESSION_ROLES."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Grant, User
from minercdc_sandbox.sql.privileges import grants_of
from minercdc_sandbox.view_session import ViewSession
from minercdc_sandbox.views.shape import Row, Value, date, view, yes_no

_ROLES = frozenset(
    ("DBA", "CONNECT", "RESOURCE", "SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "DELETE_CATALOG_ROLE", "ALL PRIVILEGES")
)
_COMMON_FLAGS = "COMMON V3, INHERITED V3=NO"
_SYS_PRIVS = f"{{grantee}} V128, PRIVILEGE V40, ADMIN_OPTION V3, {_COMMON_FLAGS}"
_ROLE_PRIVS = (
    "{grantee} V128, GRANTED_ROLE V128, ADMIN_OPTION V3, DELEGATE_OPTION V3=NO, DEFAULT_ROLE V3=YES, OS_GRANTED V3=NO, "
    + _COMMON_FLAGS
)
_TAB_PRIVS = (
    "GRANTEE V128, {owner} V128, TABLE_NAME V128, GRANTOR V128, PRIVILEGE V40, GRANTABLE V3, HIERARCHY V3=NO, COMMON V3, "
    "TYPE V24=TABLE, INHERITED V3=NO"
)
_ALL_USERS = (
    "USERNAME V128, USER_ID N, CREATED D, COMMON V3, ORACLE_MAINTAINED V1, INHERITED V3=NO, "
    "DEFAULT_COLLATION V100=USING_NLS_COMP, IMPLICIT V3=NO, ALL_SHARD V3=NO, EXTERNAL_SHARD V3=NO"
)
_DBA_USERS = (
    "USERNAME V128, USER_ID N, PASSWORD V4000, ACCOUNT_STATUS V32, LOCK_DATE D, EXPIRY_DATE D, DEFAULT_TABLESPACE V30, "
    "TEMPORARY_TABLESPACE V30=TEMP, LOCAL_TEMP_TABLESPACE V30=TEMP, CREATED D, PROFILE V128=DEFAULT, "
    "INITIAL_RSRC_CONSUMER_GROUP V128, EXTERNAL_NAME V4000, PASSWORD_VERSIONS V17=11G 12C, EDITIONS_ENABLED V1=N, "
    "AUTHENTICATION_TYPE V8=PASSWORD, PROXY_ONLY_CONNECT V1=N, COMMON V3, LAST_LOGIN D, ORACLE_MAINTAINED V1, "
    "INHERITED V3=NO, DEFAULT_COLLATION V100=USING_NLS_COMP, IMPLICIT V3=NO"
)


def _users(session: ViewSession) -> list[User]:
    return session.database.catalog.users(session.container)


def _user(user: User) -> dict[str, Value]:
    return {
        "USERNAME": user.name,
        "USER_ID": user.user_id,
        "CREATED": date(user.created),
        "COMMON": yes_no(user.common),
        "ORACLE_MAINTAINED": "Y" if user.oracle_maintained else "N",
    }


def _all_users(session: ViewSession) -> Iterator[Row]:
    return map(_user, _users(session))


def _dba_users(session: ViewSession) -> Iterator[Row]:
    for user in _users(session):
        yield {
            **_user(user),
            "ACCOUNT_STATUS": " & ".join(["EXPIRED"] * user.expired + ["LOCKED"] * user.locked) or "OPEN",
            "DEFAULT_TABLESPACE": user.default_tablespace,
        }


def _grants(session: ViewSession) -> Iterator[tuple[User, Grant]]:
    for user in _users(session):
        for grant in sorted(user.grants, key=lambda grant: (grant.privilege, grant.object or "")):
            yield user, grant


def _roles(session: ViewSession) -> frozenset[str]:
    """The roles in the session's container: Oracle's own, and those of CREATE ROLE."""
    return _ROLES.union(session.database.catalog.containers[session.container].roles)


def _sys_privs(session: ViewSession) -> Iterator[Row]:
    roles = _roles(session)
    for user, grant in _grants(session):
        if grant.object is None and grant.privilege not in roles:
            yield {
                "GRANTEE": user.name,
                "PRIVILEGE": grant.privilege,
                "ADMIN_OPTION": yes_no(grant.option),
                "COMMON": yes_no(user.common),
            }


def _role_privs(session: ViewSession) -> Iterator[Row]:
    roles = _roles(session)
    for user, grant in _grants(session):
        if grant.object is None and grant.privilege in roles:
            yield {
                "GRANTEE": user.name,
                "GRANTED_ROLE": grant.privilege,
                "ADMIN_OPTION": yes_no(grant.option),
                "COMMON": yes_no(user.common),
            }


def _tab_privs(session: ViewSession) -> Iterator[Row]:
    for user, grant in _grants(session):
        if grant.object is not None:
            owner, _, name = grant.object.partition(".")
            yield {
                "GRANTEE": user.name,
                "OWNER": owner,
                "TABLE_NAME": name,
                "GRANTOR": owner,
                "PRIVILEGE": grant.privilege,
                "GRANTABLE": yes_no(grant.option),
                "COMMON": yes_no(user.common),
            }


def _session_privs(session: ViewSession) -> Iterator[Row]:
    """SESSION_PRIVS: system privileges of the session's user, those of the roles, too (Oracle Database Reference, SESSION_PRIVS),
    each once."""
    roles = _roles(session)
    grants = grants_of(session.database.catalog, session.container, session.user)
    names = {grant.privilege for grant in grants if grant.object is None} - roles
    return ({"PRIVILEGE": name} for name in sorted(names))


def _session_roles(session: ViewSession) -> Iterator[Row]:
    return ({"ROLE": row["GRANTED_ROLE"]} for row in _own(_role_privs(session), session))


def _all_tab_privs(session: ViewSession) -> Iterator[Row]:
    return (
        {("TABLE_SCHEMA" if key == "OWNER" else key): value for key, value in row.items()} for row in _tab_privs(session)
    )


def _user_tab_privs(session: ViewSession) -> Iterator[Row]:
    return (row for row in _tab_privs(session) if session.user in (row["GRANTEE"], row["OWNER"]))


def _own(rows: Iterator[Row], session: ViewSession) -> Iterator[Row]:
    """Of rows with GRANTEE those of the session's user, with that column named USERNAME."""
    for row in rows:
        if row["GRANTEE"] == session.user:
            yield {("USERNAME" if key == "GRANTEE" else key): value for key, value in row.items()}


VIEWS = (
    view("ALL_USERS", _ALL_USERS, _all_users),
    view("DBA_USERS", _DBA_USERS, _dba_users),
    view("DBA_SYS_PRIVS", _SYS_PRIVS.format(grantee="GRANTEE"), _sys_privs),
    view("USER_SYS_PRIVS", _SYS_PRIVS.format(grantee="USERNAME"), lambda session: _own(_sys_privs(session), session)),
    view("DBA_ROLE_PRIVS", _ROLE_PRIVS.format(grantee="GRANTEE"), _role_privs),
    view("USER_ROLE_PRIVS", _ROLE_PRIVS.format(grantee="USERNAME"), lambda session: _own(_role_privs(session), session)),
    view("DBA_TAB_PRIVS", _TAB_PRIVS.format(owner="OWNER"), _tab_privs),
    view("USER_TAB_PRIVS", _TAB_PRIVS.format(owner="OWNER"), _user_tab_privs),
    view("ALL_TAB_PRIVS", _TAB_PRIVS.format(owner="TABLE_SCHEMA"), _all_tab_privs),
    view("SESSION_PRIVS", "PRIVILEGE V40", _session_privs),
    view("SESSION_ROLES", "ROLE V128", _session_roles),
)
