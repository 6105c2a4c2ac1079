"""The owner of a new schema object, and the checks of its name and of the privilege to create it."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.privileges import require

_RESOURCE = frozenset({"SEQUENCE"})
"""Kinds that the role RESOURCE may create in its own schema (Security Guide, predefined roles)."""


def new_name(session: SqlSession, owner: str | None, name: str, kind: str, *, replaced: object = None) -> str:
    """The owner of a new object, the current schema without `owner`. Raises ORA-00955, ORA-01031, ORA-01918.

    :param kind: of the privilege: SEQUENCE, SYNONYM or VIEW.
    :param replaced: the object that CREATE OR REPLACE may replace.
    """
    place = owner or session.schema
    catalog = session.catalog
    if catalog.user(session.container, place) is None:
        raise OraError(1918, f"user '{place}' does not exist")
    if place == session.user:
        roles = ("RESOURCE",) if kind in _RESOURCE else ()
        require(catalog, session.container, session.user, f"CREATE {kind}", f"CREATE ANY {kind}", *roles)
    else:
        require(catalog, session.container, session.user, f"CREATE ANY {kind}")
    found = catalog.object_named(session.container, place, name)
    if found is not None and found is not replaced:
        raise OraError(955, "name is already used by an existing object")
    return place
