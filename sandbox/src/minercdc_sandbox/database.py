"""The sandbox's database: opens sessions over one store, one dictionary and one redo log (interfaces.Database)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import apsw

from minercdc_sandbox import downstream
from minercdc_sandbox.catalog import ROOT, SEED, STANDARD, Catalog
from minercdc_sandbox.downstream import ForeignLogs
from minercdc_sandbox.faults import Faults
from minercdc_sandbox.interfaces import Cell, OraError, Procedure, Session, View
from minercdc_sandbox.lobs.sqlite_functions import register_lob_sqlite_functions
from minercdc_sandbox.logminer import values
from minercdc_sandbox.redo.journal import Journal
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.scheduler import Scheduler
from minercdc_sandbox.session import SandboxSession
from minercdc_sandbox.sql import number, runtime, temporal
from minercdc_sandbox.sql.execution import Plan
from minercdc_sandbox.sql.privileges import has_system
from minercdc_sandbox.sql.sqlite_functions.registry import register_sqlite_functions
from minercdc_sandbox.sql.virtual_tables import register_views, view_tables
from minercdc_sandbox.sql_area import SqlArea
from minercdc_sandbox.standby import SERVICE as STANDBY_SERVICE
from minercdc_sandbox.standby import Standby
from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.home import DataDirectory
from minercdc_sandbox.storage.locks import Client
from minercdc_sandbox.table_ddl import table_ddl

_NO_HANDLE = number.integer(0)


class SandboxDatabase:
    """See `interfaces.Database` and `execution.Instance`. One store, dictionary and redo log with the sessions on them; a
    directory's database goes on, any other begins new and empty. Starts the thread of the job scheduler; `close` ends all.

    :param views: dictionary and performance views that queries can name.
    :param procedures: packaged procedures by `PACKAGE.NAME`; `constants` packaged NUMBERs by the same.
    :param data_dir: keep the database there, and go on with the one that is there; None: it ends with the process.
    :param now: host time, seconds since the epoch.
    :param start_scn, first_sequence: first SCN and log sequence of a new database.
    :param log_groups, log_bytes: number of log groups of a redo thread, and the size of each in bytes.
    :param undo_retention: how many SCNs back flashback surely reaches (then ORA-01555); None: no limit by SCNs.
    :param max_string_size: of a new database: STANDARD, or EXTENDED for VARCHAR2 and RAW up to 32767 bytes.
    :ivar banner, version: of the release that it imitates; the caller may set them before the first session.
    :ivar received, shipped: see `execution.Instance`.
    :raises OraError, OSError, apsw.Error: see `DataDirectory`.
    """

    banner = "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production"
    version = (19, 3, 0, 0, 0)

    def __init__(
        self,
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
        max_string_size: str = STANDARD,
    ) -> None:
        self._now = now
        home = None if data_dir is None else DataDirectory(data_dir)
        self._home = home
        kept = None if home is None else home.first_scn()
        self.clock = ScnClock(kept or start_scn, now, None if home is None else home.reserve_scns)
        self.catalog = (home and home.load("catalog")) or Catalog(now())
        if self.is_new:
            self.catalog.max_string_size = max_string_size
        self.redo = self._redo_log(log_groups, log_bytes, first_sequence)
        self.storage = Storage(self.clock, self.redo, self.catalog, undo_retention, home)
        self.transactions = self.storage.transactions
        self.views = {view.name: view for view in views}
        self._view_tables = view_tables(self.views)
        self.procedures = dict(procedures)
        self.constants = dict(constants)
        self.faults = Faults()
        self.standby = Standby()
        self.received: ForeignLogs | None = None
        self.shipped: ForeignLogs | None = None
        self._downstream: SandboxDatabase | None = None
        self.sql_area = SqlArea()
        self.view_plans: dict[object, Plan] = {}
        self.sessions: dict[int, SandboxSession] = {}
        self.startup_time = now()
        # Both travel as 16-bit numbers (python-oracledb reads AUTH_SESSION_ID and AUTH_SERIAL_NUM so): they come round again.
        self._sids, self._serials = cycle(range(20, 65_000)), cycle(range(1001, 65_000, 7))
        self._prepare(self.storage.db)
        if home is not None:
            self.storage.durability.create() if home.is_new else self.storage.restore()
        self._scheduler = Scheduler(self.storage, self._job_session)
        self._scheduler.watch()

    def _redo_log(self, groups: int, group_bytes: int, first_sequence: int) -> RedoLog:
        journal = Journal(self._home.redo) if self._home is not None else None
        advance, now = self.clock.advance, self.clock.now
        return RedoLog(advance, now, groups=groups, group_bytes=group_bytes, first_sequence=first_sequence, journal=journal)

    @property
    def name(self) -> str:
        """The database's name, as V$DATABASE has it."""
        return self.catalog.database_name

    @property
    def instance(self) -> str:
        """The instance's name, as V$INSTANCE has it."""
        return self.catalog.instance_name

    @property
    def is_new(self) -> bool:
        """Whether the database was made by this process: it has no directory, or one in which there was none."""
        return self._home is None or self._home.is_new

    def _prepare(self, connection: apsw.Connection) -> None:
        register_sqlite_functions(connection)
        register_lob_sqlite_functions(connection, self.storage.lobs)
        register_views(connection, self._view_tables)
        runtime.watch_cancel(connection)

        def scn_time(scn: bytes | None) -> bytes | None:
            if scn is None:
                return None
            return temporal.encode(temporal.from_ns(self.clock.time_of(number.to_int(scn)) * 10**9))

        def time_scn(cell: bytes | None) -> bytes | None:
            if cell is None:
                return None
            return number.integer(self.clock.scn_at(temporal.to_ns(temporal.decode(cell)) / 1e9))

        def ddl(kind: str, name: str, schema: str | None) -> str:
            session = cast(SandboxSession, runtime.running_session())
            how = session.state.get("DBMS_METADATA", {})
            owner = schema or session.schema
            # To others, a user's objects do not exist (PL/SQL Packages and Types Reference, DBMS_METADATA, Security Model).
            seen = owner == session.user or has_system(self.catalog, session.container, session.user, "SELECT_CATALOG_ROLE")
            return table_ddl(self.catalog if seen else None, session.container, kind, name, owner, how)

        def mined(handle: bytes | None, name: str | None) -> str | None:
            return values.mine_value(runtime.running_session(), number.to_int(handle or _NO_HANDLE), name or "")

        def present(handle: bytes | None, name: str | None) -> bytes:
            at = number.to_int(handle or _NO_HANDLE)
            return number.integer(values.column_present(runtime.running_session(), at, name or ""))

        def stored(parts: int, *rest: Cell) -> Cell:
            path = [str(part) for part in rest[:parts]]
            return runtime.running_session().programs.call(path, rest[parts:])

        connection.create_scalar_function("o_stored", cast(Any, stored), -1)
        connection.create_scalar_function("o_mine_value", cast(Any, mined), 2)
        connection.create_scalar_function("o_column_present", cast(Any, present), 2)
        connection.create_scalar_function("o_ddl", cast(Any, ddl), 3)
        connection.create_scalar_function("o_scn_time", cast(Any, scn_time), 1)
        connection.create_scalar_function("o_time_scn", cast(Any, time_scn), 1)

    def new_connection(self) -> apsw.Connection:
        """A new private in-memory SQLite connection with the functions and views, without stored rows; the caller closes it."""
        connection = apsw.Connection(":memory:")
        self._prepare(connection)
        return connection

    def _places(self) -> dict[str, tuple[int, int]]:
        """Container id and instance number of each service, by name in upper case.

        A service runs on the first instance, one with `_n` after its name on instance n, if redo thread n is open (a singleton
        service, as clusters have them). The root, PDBs but the seed that are not MOUNTED, and the standby while it is open have
        one each; the downstream database's is not here.
        """
        instances = [number for number, thread in self.redo.threads.items() if thread.is_open]
        containers = {self.catalog.database_name: ROOT}
        for container in self.catalog.containers.values():
            if container.con_id > SEED and container.open_mode != "MOUNTED":
                containers[container.name] = container.con_id
        if self.standby.is_open:
            containers[STANDBY_SERVICE] = ROOT
        return {
            name if instance == 1 else f"{name}_{instance}": (con_id, instance)
            for instance in instances
            for name, con_id in containers.items()
        }

    def open_downstream(self) -> ForeignLogs:
        """Make the downstream database at the first call; the redo that it receives, the same object at each call. See
        `execution.Instance`."""
        if self.shipped is None:
            views, procedures, constants = tuple(self.views.values()), self.procedures, self.constants
            other = SandboxDatabase(views=views, procedures=procedures, constants=constants, now=self._now)
            other.banner, other.version, other.faults = self.banner, self.version, self.faults
            other.catalog.database_name = other.catalog.instance_name = downstream.SERVICE
            other.catalog.dbid = downstream.DBID
            for container in other.catalog.containers.values():
                container.dbid = downstream.DBID + container.con_id - 1
            other.received = self.shipped = ForeignLogs(self.redo, self.catalog, self.storage.lobs)
            self._downstream = other
        return self.shipped

    def _of(self, service: str) -> SandboxDatabase:
        return self._downstream if self._downstream is not None and service.upper() == downstream.SERVICE else self

    def password_of(self, user: str, service: str) -> str | None:
        """The password in clear text, None for an unknown user; for an unknown service the user is looked up in the root. See
        `interfaces.Database`."""
        if (other := self._of(service)) is not self:
            return other.password_of(user, service)
        container, _ = self._places().get(service.upper(), (ROOT, 1))
        found = self.catalog.user(container, user)
        return None if found is None else found.password

    def services(self) -> Sequence[str]:
        """Service names in upper case, with the downstream database's once it is open; see `interfaces.Database`."""
        return (*self._places(), *((downstream.SERVICE,) if self._downstream is not None else ()))

    def open_session(self, user: str, service: str, client: Mapping[str, str], *, renewed: bool = False) -> SandboxSession:
        """Open a session of a user whose password, or whose proxy's, was proved, and put it into `sessions`; see
        `interfaces.Database`. Raises ORA-12514, ORA-01017, ORA-28000, ORA-28001, ORA-01045; ORA-28150 for the member `proxy` of
        `client` that may not log on in the user's place; and as `Faults.meet`."""
        if (other := self._of(service)) is not self:
            return other.open_session(user, service, client, renewed=renewed)
        self.faults.meet("connect", user)
        container, instance = self._places().get(service.upper(), (0, 0))
        if not container:
            raise OraError(12514, f"Cannot connect to database. Service {service} is not registered with the listener.")
        if proxy := client.get("proxy"):
            self._check_account(container, proxy, renewed=renewed)
            known = self.catalog.user(container, user)
            if known is None or proxy not in known.proxies:
                raise OraError(28150, f"user {proxy} not authorized to connect as user {user}")
        self._check_account(container, user, renewed=renewed and not proxy)
        with self.storage.lock:
            sid, serial = next(sid for sid in self._sids if sid not in self.sessions), next(self._serials)
            details = {**client, "sid": str(sid), "serial": str(serial)}
            who = Client(sid, serial, user, container, details, thread=instance)
            session = SandboxSession(self, who, service.upper(), client)
            self.sessions[sid] = session
        return session

    def _check_account(self, container: int, user: str, *, renewed: bool) -> None:
        found = self.catalog.user(container, user)
        if found is None:
            raise OraError(1017, "invalid username/password; logon denied")
        if found.locked:
            raise OraError(28000, "The account is locked.")
        if found.expired and not renewed:
            raise OraError(28001, "The account has expired.")
        if not found.has("CREATE SESSION") and not found.has("CONNECT"):
            raise OraError(1045, f"user {user} lacks CREATE SESSION privilege; logon denied")

    def _job_session(self, owner: str, container: int) -> SandboxSession:
        with self.storage.lock:
            sid, serial = next(sid for sid in self._sids if sid not in self.sessions), next(self._serials)
            details = {"program": "oracle (J000)", "sid": str(sid), "serial": str(serial)}
            client = Client(sid, serial, owner, container, details)
            session = SandboxSession(self, client, "SYS$USERS", {"program": "oracle (J000)"})
            self.sessions[sid] = session
        return session

    def change_password(self, user: str, service: str, password: str) -> None:
        """Set the password and end its expiry, durable when it returns; nothing for an unknown user. For an unknown service the
        user is looked up in the root. See `interfaces.Database`."""
        if (other := self._of(service)) is not self:
            other.change_password(user, service, password)
            return
        container, _ = self._places().get(service.upper(), (ROOT, 1))
        with self.storage.lock:
            if (found := self.catalog.user(container, user)) is not None:
                found.password, found.expired = password, False
                self.catalog.version += 1
                self.storage.durability.settle()

    def forget(self, session: Session) -> None:
        """Take a closed session out of `sessions`; does nothing for one that is not there."""
        self.sessions.pop(session.sid, None)

    def close(self) -> None:
        """Close the downstream database, end the jobs, roll back and close all sessions, then close the store and the data
        directory. Once only."""
        if self._downstream is not None:
            self._downstream.close()
        self._scheduler.stop()
        for session in list(self.sessions.values()):
            session.close()
        with self.storage.lock:
            self.storage.close()
        if self._home is not None:
            self._home.close()
