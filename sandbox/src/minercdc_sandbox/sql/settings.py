"""Settings of one session, by ALTER SESSION, packages and the client."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox.sql.nls import Nls


@dataclass(slots=True)
class Settings:
    """Settings of a session.

    :ivar schema: current schema, the user unless ALTER SESSION changed it.
    :ivar parameters: settings that only views show.
    :ivar flashback_scn: SCN that DBMS_FLASHBACK shows to queries; None: the present.
    :ivar module, action, client_info: what the client calls its work.
    """

    schema: str
    nls: Nls = field(default_factory=Nls)
    parameters: dict[str, str] = field(default_factory=dict)
    flashback_scn: int | None = None
    module: str | None = None
    action: str | None = None
    client_info: str | None = None
