"""Where a new schema object goes: its owner, its name not yet taken, and the privilege to make it."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.privileges import require

_RESOURCE = frozenset({"SEQUENCE"})
"""Kinds of which the role RESOURCE may create its own (Security Guide, predefined roles); TABLE too."""


def new_name(session: SqlSession, owner: str | None, name: str, kind: str, *, replaced: object = None) -> str:
    """The owner. Raises ORA-00955, ORA-01031, ORA-01918.

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
