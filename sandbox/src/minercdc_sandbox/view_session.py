"""The session that a view or a package is called with."""

from __future__ import annotations

from typing import TypeAlias, cast

from minercdc_sandbox.interfaces import Session
from minercdc_sandbox.sql.execution import SqlSession

ViewSession: TypeAlias = SqlSession


def as_view_session(session: Session) -> ViewSession:
    """The same session with the members that views and packages need; only for sessions of `SandboxDatabase`, which makes no
    others."""
    return cast(ViewSession, session)
