"""The sandbox's database: opens sessions over one store, one dictionary and one redo log (interfaces.Database)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import apsw

from minercdc.sandbox.catalog import PDB, ROOT, Catalog
from minercdc.sandbox.interfaces import OraError, Procedure, Session, View
from minercdc.sandbox.redo.log import RedoLog
from minercdc.sandbox.session import SandboxSession
from minercdc.sandbox.sql import number, runtime, temporal
from minercdc.sandbox.sql.scalars.registry import register_scalars
from minercdc.sandbox.storage.clock import ScnClock
from minercdc.sandbox.storage.engine import Storage
from minercdc.sandbox.storage.locks import Client

_SERVICES = {"ORCLPDB1": PDB, "ORCLCDB": ROOT}


class SandboxDatabase:
    """See `interfaces.Database`; views and packages find everything they show here."""

    banner = "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production"
    version = (19, 3, 0, 0, 0)

    def __init__(
        self,
        views: Sequence[View],
        procedures: Mapping[str, Procedure],
        constants: Mapping[str, int],
        *,
        now: Callable[[], float],
        start_scn: int,
        log_groups: int,
        log_bytes: int,
        first_sequence: int,
        undo_retention: int | None,
    ) -> None:
        self.clock = ScnClock(start_scn, now)
        self.catalog = Catalog(now())
        self.redo = RedoLog(self.clock.advance, now, groups=log_groups, group_bytes=log_bytes, first_sequence=first_sequence)
        self.storage = Storage(self.clock, self.redo, self.catalog, undo_retention)
        self.transactions = self.storage.transactions
        self.views = {view.name: view for view in views}
        self.procedures = dict(procedures)
        self.constants = dict(constants)
        self.sessions: dict[int, SandboxSession] = {}
        self.startup_time = now()
        self._sids, self._serials = count(20), count(1001, 7)
        self._prepare(self.storage.db)

    def _prepare(self, connection: apsw.Connection) -> None:
        register_scalars(connection)
        runtime.register_views(connection, self.views)
        runtime.watch_cancel(connection)

        def scn_time(scn: bytes | None) -> bytes | None:
            if scn is None:
                return None
            return temporal.encode(temporal.from_ns(self.clock.time_of(number.to_int(scn)) * 10**9))

        def time_scn(cell: bytes | None) -> bytes | None:
            if cell is None:
                return None
            return number.integer(self.clock.scn_at(temporal.to_ns(temporal.decode(cell)) / 1e9))

        connection.create_scalar_function("o_scn_time", cast(Any, scn_time), 1)
        connection.create_scalar_function("o_time_scn", cast(Any, time_scn), 1)

    def new_connection(self) -> apsw.Connection:
        """A private SQLite connection that knows the functions and views but no stored rows."""
        connection = apsw.Connection(":memory:")
        self._prepare(connection)
        return connection

    def password_of(self, user: str) -> str | None:
        """See `interfaces.Database`. A common user wins over a local one of that name, which cannot exist."""
        for container in (ROOT, PDB):
            found = self.catalog.user(container, user)
            if found is not None:
                return found.password
        return None

    def services(self) -> Sequence[str]:
        return tuple(_SERVICES)

    def open_session(self, user: str, service: str, client: Mapping[str, str]) -> SandboxSession:
        """See `interfaces.Database`. Raises ORA-12514, ORA-01017, ORA-28000, ORA-28001, ORA-01045."""
        container = _SERVICES.get(service.upper())
        if container is None:
            raise OraError(12514, f"Cannot connect to database. Service {service} is not registered with the listener.")
        found = self.catalog.user(container, user)
        if found is None:
            raise OraError(1017, "invalid username/password; logon denied")
        if found.locked:
            raise OraError(28000, "The account is locked.")
        if found.expired:
            raise OraError(28001, "The account has expired.")
        if not found.has("CREATE SESSION") and not found.has("CONNECT"):
            raise OraError(1045, f"user {user} lacks CREATE SESSION privilege; logon denied")
        with self.storage.lock:
            sid, serial = next(self._sids), next(self._serials)
            details = {**client, "sid": str(sid), "serial": str(serial)}
            who = Client(sid, serial, user, container, details)
            session = SandboxSession(self, who, service.upper(), client)
            self.sessions[sid] = session
        return session

    def change_password(self, user: str, password: str) -> None:
        """See `interfaces.Database`."""
        for container in (ROOT, PDB):
            if (found := self.catalog.user(container, user)) is not None:
                found.password, found.expired = password, False
                return

    def forget(self, session: Session) -> None:
        """A session has closed."""
        self.sessions.pop(session.sid, None)

    def close(self) -> None:
        """Close sessions and free the store."""
        for session in list(self.sessions.values()):
            session.close()
        with self.storage.lock:
            self.storage.close()


def open_database(
    *,
    views: Sequence[View] = (),
    procedures: Mapping[str, Procedure] = {},
    constants: Mapping[str, int] = {},
    data_dir: Path | None = None,
    now: Callable[[], float] = time.time,
    start_scn: int = 2_000_000,
    log_groups: int = 3,
    log_bytes: int = 16 << 20,
    first_sequence: int = 1,
    undo_retention: int | None = None,
) -> SandboxDatabase:
    """A new, empty database.

    :param procedures: packaged procedures by `PACKAGE.NAME`; `constants` packaged NUMBERs by the same.
    :param data_dir: keep the data there. Not implemented: the database lives as long as the process.
    :param now: host time, seconds since the epoch.
    :param undo_retention: how many SCNs back flashback surely reaches (then ORA-01555); None: as far as the tables go.
    """
    if data_dir is not None:
        raise NotImplementedError("a sandbox database on disk: leave data_dir out")
    return SandboxDatabase(
        views,
        procedures,
        constants,
        now=now,
        start_scn=start_scn,
        log_groups=log_groups,
        log_bytes=log_bytes,
        first_sequence=first_sequence,
        undo_retention=undo_retention,
    )
