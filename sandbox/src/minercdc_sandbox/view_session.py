"""The session that a view or a package is called with."""

from __future__ import annotations

from typing import TypeAlias, cast

from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.interfaces import Session
from minercdc_sandbox.sql.execution import SqlSession

ViewSession: TypeAlias = SqlSession


def sees(session: ViewSession, container: int) -> bool:
    """Whether a session sees the rows of a container in V$ and CDB_ views: those of its own; in the root those of all others, too,
    if its user may: by CONTAINER_DATA, which SYS and SYSTEM have (Security Guide, "Container Data Objects")."""
    if session.container == container:
        return True
    user = session.catalog.user(ROOT, session.user) if session.container == ROOT else None
    return user is not None and (user.container_data or user.oracle_maintained)


def as_view_session(session: Session) -> ViewSession:
    """The same session with the members that views and packages need; only for sessions of `SandboxDatabase`, which makes no
    others."""
    return cast(ViewSession, session)
