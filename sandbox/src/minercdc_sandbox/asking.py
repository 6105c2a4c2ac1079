"""What views and packages read of the session that asks, beyond the wire's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from minercdc_sandbox.interfaces import Session
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.storage.locks import Client

if TYPE_CHECKING:
    from minercdc_sandbox.database import SandboxDatabase


class AskingSession(Session, Protocol):
    """A database session with its place and settings.

    :ivar schema: current schema, `user` unless ALTER SESSION changed it.
    :ivar state: session state of packages, by package name.
    :ivar details: program, machine, osuser, .. as the client told at connect.
    :ivar logon_time: host seconds.
    :ivar pga: bytes that the views tell of the session's memory.
    """

    database: SandboxDatabase
    service: str
    schema: str
    nls: Nls
    state: dict[str, Any]
    details: Mapping[str, str]
    client: Client
    logon_time: float
    pga: int
    flashback_scn: int | None

    @property
    def container(self) -> int: ...

    def userenv(self, name: str) -> str | None:
        """SYS_CONTEXT('USERENV', name)."""


def asking(session: Session) -> AskingSession:
    """The session as the database made it."""
    return cast(AskingSession, session)
