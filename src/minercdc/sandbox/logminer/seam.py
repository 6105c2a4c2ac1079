"""What LogMiner and the views read of a session beyond the wire's protocol."""

from __future__ import annotations

from typing import Protocol, cast

from minercdc.sandbox.interfaces import Session
from minercdc.sandbox.sql.nls import Nls


class MinedSession(Protocol):
    """A session's container and settings."""

    @property
    def container(self) -> int: ...

    @property
    def nls(self) -> Nls: ...


def mined(session: Session) -> MinedSession:
    """The session with what LogMiner needs of it; the database's own sessions have it all."""
    return cast(MinedSession, session)
