"""Settings of one session."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox.sql.nls import Nls


@dataclass(slots=True)
class Settings:
    """Settings of a session, by ALTER SESSION, packages and the client; they end with it.

    :ivar schema: current schema.
    :ivar nls: replaced as a whole when one of them changes.
    :ivar parameters: values of ALTER SESSION that are only recorded, by name, and DDL_LOCK_TIMEOUT and ROW ARCHIVAL VISIBILITY,
        which have an effect.
    :ivar flashback_scn: SCN that queries see by DBMS_FLASHBACK; None when it is disabled.
    :ivar module, action, client_info: as the client or DBMS_APPLICATION_INFO set them; None when not set.
    """

    schema: str
    nls: Nls = field(default_factory=Nls)
    parameters: dict[str, str] = field(default_factory=dict)
    flashback_scn: int | None = None
    module: str | None = None
    action: str | None = None
    client_info: str | None = None
