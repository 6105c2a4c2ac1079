"""Who may do what: object privileges, system privileges and roles (Security Guide, Configuring Privilege and Role Authorization).

An object the user has no privilege on at all does not exist for him (ORA-00942); with another privilege it is ORA-01031.
"""

from __future__ import annotations

from minercdc_sandbox.catalog import Catalog, Grant
from minercdc_sandbox.interfaces import OraError

ANY = {
    "SELECT": ("SELECT ANY TABLE", "READ ANY TABLE"),
    "READ": ("SELECT ANY TABLE", "READ ANY TABLE"),
    "INSERT": ("INSERT ANY TABLE",),
    "UPDATE": ("UPDATE ANY TABLE",),
    "DELETE": ("DELETE ANY TABLE",),
    "LOCK": ("LOCK ANY TABLE",),
    "FLASHBACK": ("FLASHBACK ANY TABLE",),
    "ALTER": ("ALTER ANY TABLE",),
    "DROP": ("DROP ANY TABLE",),
    "INDEX": ("CREATE ANY INDEX",),
    "COMMENT": ("COMMENT ANY TABLE",),
}
"""System privileges that stand for an object privilege on any table outside SYS."""

ENOUGH = {
    "SELECT": frozenset({"SELECT", "READ"}),
    "LOCK": frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "ALTER"}),
    "COMMENT": frozenset[str](),
}
"""Object privileges that allow an action, where they are not just the one of its name."""

_OPEN = ("ALL_", "USER_", "SESSION_", "ROLE_", "NLS_", "PRODUCT_", "DICT", "PLAN_TABLE", "CAT", "TAB", "COLS")
"""Views that everybody sees, by how their names begin; V$NLS_PARAMETERS and V$VERSION too."""
_OPEN_V = frozenset(["V$NLS_PARAMETERS", "V$NLS_VALID_VALUES", "V$VERSION", "V$TIMEZONE_NAMES", "V$OPTION"])


def grants_of(catalog: Catalog, container: int, user: str) -> set[Grant]:
    """All a user has, directly, by PUBLIC and by roles in roles."""
    place = catalog.containers[container]
    found = place.users.get(user)
    pending = list(found.grants) if found is not None else []
    if "PUBLIC" in place.roles:
        pending += [g for g in place.roles["PUBLIC"].grants if isinstance(g, Grant)]
    seen: set[Grant] = set()
    while pending:
        grant = pending.pop()
        if grant in seen:
            continue
        seen.add(grant)
        role = place.roles.get(grant.privilege) if grant.object is None else None
        if role is not None:
            pending += [g for g in role.grants if isinstance(g, Grant)]
    return seen


def has_system(catalog: Catalog, container: int, user: str, *wanted: str) -> bool:
    """Whether one of these system privileges or roles was granted; DBA has all."""
    if user == "SYS":
        return True
    names = {grant.privilege for grant in grants_of(catalog, container, user) if grant.object is None}
    return bool(names & {"DBA", "ALL PRIVILEGES", *wanted})


def require(catalog: Catalog, container: int, user: str, *wanted: str) -> None:
    """Raises ORA-01031 when none of these was granted."""
    if not has_system(catalog, container, user, *wanted):
        raise OraError(1031, "insufficient privileges")


def check_object(catalog: Catalog, container: int, user: str, privilege: str, owner: str, name: str, at: int) -> None:
    """May the user do this with another's object? Raises ORA-00942, ORA-01031."""
    if user in (owner, "SYS"):
        return
    grants = grants_of(catalog, container, user)
    system = {grant.privilege for grant in grants if grant.object is None}
    if system & {"DBA", "ALL PRIVILEGES", *ANY.get(privilege, ())}:
        return
    path = f"{owner}.{name}"
    here = {grant.privilege for grant in grants if grant.object == path}
    if here & (ENOUGH.get(privilege, frozenset({privilege})) | {"ALL"}):
        return
    if here or system & {one for many in ANY.values() for one in many if one in ("SELECT ANY TABLE", "READ ANY TABLE")}:
        raise OraError(1031, "insufficient privileges", at)
    raise OraError(942, f'table or view "{owner}"."{name}" does not exist', at)


GUARDED = frozenset(["DBMS_LOGMNR", "DBMS_LOGMNR_D", "DBMS_FLASHBACK"])
"""Packages that PUBLIC may not execute; EXECUTE_CATALOG_ROLE may, and who was granted EXECUTE on one."""


def may_execute(catalog: Catalog, container: int, user: str, package: str) -> bool:
    """Whether the package is there for the user; for others its name does not exist (PLS-00201).

    Raises ORA-01031 for DBMS_LOGMNR without LOGMINING, which 12c and later want besides EXECUTE (Utilities, LogMiner).
    """
    if package not in GUARDED or user in ("SYS", "SYSTEM"):
        return True
    grants = grants_of(catalog, container, user)
    system = {grant.privilege for grant in grants if grant.object is None}
    if system & {"DBA", "ALL PRIVILEGES"}:
        return True
    here = {grant.privilege for grant in grants if grant.object == f"SYS.{package}"}
    if not here & {"EXECUTE", "ALL"} and not system & {"EXECUTE_CATALOG_ROLE", "EXECUTE ANY PROCEDURE"}:
        return False
    if package == "DBMS_LOGMNR" and "LOGMINING" not in system:
        raise OraError(1031, "insufficient privileges")
    return True


def check_view(catalog: Catalog, container: int, user: str, view: str, at: int) -> None:
    """V$ and DBA_ views take SELECT_CATALOG_ROLE, SELECT ANY DICTIONARY or a grant on the view. Raises ORA-00942."""
    if user in ("SYS", "SYSTEM") or view.startswith(_OPEN) or view in _OPEN_V:
        return
    grants = grants_of(catalog, container, user)
    system = {grant.privilege for grant in grants if grant.object is None}
    if system & {"DBA", "ALL PRIVILEGES", "SELECT_CATALOG_ROLE", "SELECT ANY DICTIONARY"}:
        return
    spellings = {f"SYS.{view}", f"SYS.{view.replace('V$', 'V_$', 1)}", f"PUBLIC.{view}"}
    if not any(grant.object in spellings and grant.privilege in ("SELECT", "READ", "ALL") for grant in grants):
        raise OraError(942, f'table or view "{view}" does not exist', at)
