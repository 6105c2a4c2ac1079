"""The session that a view or a package is called with."""

from __future__ import annotations

from typing import TypeAlias, cast

from minercdc_sandbox.interfaces import Session
from minercdc_sandbox.sql.execution import SqlSession

ViewSession: TypeAlias = SqlSession


def as_view_session(session: Session) -> ViewSession:
    """The wire's session as the database made it; the database makes no other."""
    return cast(ViewSession, session)
