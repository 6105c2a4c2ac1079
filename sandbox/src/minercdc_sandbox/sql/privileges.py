"""Object privileges, system privileges and roles (Security Guide, Configuring Privilege and Role Authorization).

An object on which the user has no privilege does not exist for the user (ORA-00942); with only other privileges it is ORA-01031.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minercdc_sandbox.catalog import Catalog, Grant, User
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Role

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
"""System privileges that allow an action on objects of all owners."""

ENOUGH = {
    "SELECT": frozenset({"SELECT", "READ"}),
    "LOCK": frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "ALTER"}),
    "COMMENT": frozenset[str](),
}
"""Object privileges that allow an action, if they are others than the one of its name."""

_OPEN = ("ALL_", "USER_", "SESSION_", "ROLE_", "NLS_", "PRODUCT_", "DICT", "PLAN_TABLE", "CAT", "TAB", "COLS")
"""How the names of views begin that all users may read; besides, those of `_OPEN_V`."""
_OPEN_V = frozenset(["V$NLS_PARAMETERS", "V$NLS_VALID_VALUES", "V$VERSION", "V$TIMEZONE_NAMES", "V$OPTION"])


def grants_of(catalog: Catalog, container: int, user: str) -> set[Grant]:
    """A new set of the grants to a user, to PUBLIC and, at any depth, to the roles among them; only PUBLIC's for an unknown user.
    Raises KeyError for an unknown container."""
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


def move_grants(catalog: Catalog, container: int, owner: str, old: str, new: str | None) -> None:
    """Let all grants on the object `owner`.`old` of the container follow its `new` name; with None they are gone with the object.
    The caller increases `catalog.version`."""
    place = catalog.containers[container]
    was = f"{owner}.{old}"
    holders: list[User | Role] = [*place.users.values(), *place.roles.values()]
    for holder in holders:
        grants: set[Any] = holder.grants
        for grant in [g for g in grants if isinstance(g, Grant) and g.object == was]:
            grants.remove(grant)
            if new is not None:
                grants.add(replace(grant, object=f"{owner}.{new}"))


def _system(grants: set[Grant]) -> set[str]:
    return {grant.privilege for grant in grants if grant.object is None}


def has_system(catalog: Catalog, container: int, user: str, *wanted: str) -> bool:
    """Whether the user has one of these system privileges or roles, itself or by roles, or DBA or ALL PRIVILEGES; SYS has all."""
    if user == "SYS":
        return True
    return bool(_system(grants_of(catalog, container, user)) & {"DBA", "ALL PRIVILEGES", *wanted})


def require(catalog: Catalog, container: int, user: str, *wanted: str) -> None:
    """Raises ORA-01031 unless the user has one of the privileges by `has_system`."""
    if not has_system(catalog, container, user, *wanted):
        raise OraError(1031, "insufficient privileges")


def check_object(catalog: Catalog, container: int, user: str, privilege: str, owner: str, name: str, at: int) -> None:
    """Check that a user may do what `privilege` allows on an object. Raises ORA-00942 for one that does not exist for the user,
    ORA-01031 for one that exists, but without `privilege`, with `at` as position. Whether the object is there is not looked at.

    An owner and SYS have all privileges; others need the object privilege of that name (where `ENOUGH` has it, one of those), ALL
    on the object, a system privilege of `ANY`, DBA or ALL PRIVILEGES.
    """
    if user in (owner, "SYS"):
        return
    grants = grants_of(catalog, container, user)
    system = _system(grants)
    if system & {"DBA", "ALL PRIVILEGES", *ANY.get(privilege, ())}:
        return
    path = f"{owner}.{name}"
    here = {grant.privilege for grant in grants if grant.object == path}
    if here & (ENOUGH.get(privilege, frozenset({privilege})) | {"ALL"}):
        return
    if here or system & {"SELECT ANY TABLE", "READ ANY TABLE"}:
        raise OraError(1031, "insufficient privileges", at)
    raise OraError(942, f'table or view "{owner}"."{name}" does not exist', at)


GUARDED = frozenset(["DBMS_LOGMNR", "DBMS_LOGMNR_D", "DBMS_FLASHBACK", "DBMS_ALERT"])
"""Packages that are not granted to PUBLIC."""


def may_execute(catalog: Catalog, container: int, user: str, package: str, *, direct: bool = False) -> bool:
    """Whether the user may execute a supplied package: SYS and SYSTEM any; others need EXECUTE, EXECUTE_CATALOG_ROLE, EXECUTE ANY
    PROCEDURE, DBA or ALL PRIVILEGES for a `GUARDED` one.

    Raises ORA-01031 for DBMS_LOGMNR without LOGMINING, DBA and ALL PRIVILEGES: EXECUTE alone is not enough since 12c (Utilities).

    :param direct: not through roles, which stored programs with their owner's rights do not see (PL/SQL Language Reference,
        "Invoker's Rights and Definer's Rights").
    """
    if package not in GUARDED or user in ("SYS", "SYSTEM"):
        return True
    found = catalog.containers[container].users.get(user)
    grants = set(found.grants) if direct and found is not None else grants_of(catalog, container, user)
    system = _system(grants)
    if direct:
        system -= {"DBA", "EXECUTE_CATALOG_ROLE"}
    if system & {"DBA", "ALL PRIVILEGES"}:
        return True
    here = {grant.privilege for grant in grants if grant.object == f"SYS.{package}"}
    if not here & {"EXECUTE", "ALL"} and not system & {"EXECUTE_CATALOG_ROLE", "EXECUTE ANY PROCEDURE"}:
        return False
    if package == "DBMS_LOGMNR" and "LOGMINING" not in system:
        raise OraError(1031, "insufficient privileges")
    return True


def may_call(catalog: Catalog, container: int, user: str, owner: str, name: str) -> bool:
    """Whether the user may execute the stored program `owner`.`name`: its owner, SYS, or with DBA, EXECUTE on it or EXECUTE ANY
    PROCEDURE, also by roles."""
    if user in (owner, "SYS"):
        return True
    grants = grants_of(catalog, container, user)
    if _system(grants) & {"DBA", "ALL PRIVILEGES", "EXECUTE ANY PROCEDURE"}:
        return True
    return any(grant.object == f"{owner}.{name}" and grant.privilege in ("EXECUTE", "ALL") for grant in grants)


def check_view(catalog: Catalog, container: int, user: str, view: str, at: int) -> None:
    """Check that a user may read a supplied view. Raises ORA-00942, with `at` as position, for a V$ or DBA_ view without
    SELECT_CATALOG_ROLE, SELECT ANY DICTIONARY, DBA or a grant on the view.

    SYS and SYSTEM may read all views; all users the open ones, as ALL_ and USER_ views.
    """
    if user in ("SYS", "SYSTEM") or view.startswith(_OPEN) or view in _OPEN_V:
        return
    grants = grants_of(catalog, container, user)
    system = _system(grants)
    if system & {"DBA", "ALL PRIVILEGES", "SELECT_CATALOG_ROLE", "SELECT ANY DICTIONARY"}:
        return
    spellings = {f"SYS.{view}", f"SYS.{view.replace('V$', 'V_$', 1)}", f"PUBLIC.{view}"}
    if not any(grant.object in spellings and grant.privilege in ("SELECT", "READ", "ALL") for grant in grants):
        raise OraError(942, f'table or view "{view}" does not exist', at)
