"""The sandbox as a server: one database with its views and packages, seeded, and a listener.

with SandboxServer(seeds=[path]) as server:        in this process, for tests
    oracledb.connect(user=.., password=.., dsn=server.dsn)
serve("127.0.0.1", 1521, [path])                   in the foreground, until SIGINT or SIGTERM
"""

from __future__ import annotations

import signal
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import apsw

from minercdc_sandbox import alerts, client_packages, faults_package, flashback_package, scheduler
from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.faults import Faults
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.lobs import dbms_lob
from minercdc_sandbox.logminer.packages import CONSTANTS, NEW_TEXTS_SINCE, PROCEDURES
from minercdc_sandbox.seed import SeedError, run_script
from minercdc_sandbox.views.families import ALL_VIEWS
from minercdc_sandbox.wire.listener import Listener
from minercdc_sandbox.wire.tls import server_context

SERVICE, ROOT_SERVICE = "ORCLPDB1", "ORCLCDB"
_RELEASES = {
    "19c": ("Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production", (19, 3, 0, 0, 0)),
    "23ai": (
        "Oracle AI Database 26ai Enterprise Edition Release 23.26.0.0.0 - Production (minercdc sandbox)",
        (23, 26, 0, 0, 0),
    ),
}
ALL_PROCEDURES = {
    **PROCEDURES,
    **faults_package.PROCEDURES,
    **flashback_package.PROCEDURES,
    **dbms_lob.PROCEDURES,
    **client_packages.PROCEDURES,
    **alerts.PROCEDURES,
    **scheduler.PROCEDURES,
}
"""Procedures of all packages by qualified name."""


def sandbox_database(
    profile: str = "23ai",
    data_dir: Path | None = None,
    max_string_size: str = "standard",
    now: Callable[[], float] = time.time,
) -> SandboxDatabase:
    """A database with all views and packages, which imitates the release `profile`, 19c or 23ai; the caller closes it. Raises
    ValueError for an unknown profile, and as `SandboxDatabase`.

    :param data_dir, now: as of `SandboxDatabase`; `max_string_size`: `standard` or `extended`.
    """
    if profile not in _RELEASES:
        raise ValueError(f"profile {profile!r}: known are {', '.join(_RELEASES)}")
    database = SandboxDatabase(
        views=ALL_VIEWS,
        procedures=ALL_PROCEDURES,
        constants={**CONSTANTS, **dbms_lob.CONSTANTS, **client_packages.CONSTANTS, **alerts.CONSTANTS},
        data_dir=data_dir,
        max_string_size=max_string_size.upper(),
        now=now,
    )
    database.banner, database.version = _RELEASES[profile]
    database.catalog.since_23 = database.version[0] >= NEW_TEXTS_SINCE
    return database


class SandboxServer:
    """An Oracle-compatible server on a port, from `start` (or `with`) to `stop`, which also frees the port and the directory when
    `start` was not called. The constructor opens the database and binds the port.

    :param port: 0 for a free one; then `port` has its number.
    :param seeds: SQL scripts to run before clients may connect, in a database that is new.
    :param data_dir: keep the database there, and go on with the one that is there; None: it ends with the process.
    :param profile: release to imitate: `19c` or `23ai`.
    :param max_string_size: of a new database, `standard` or `extended`.
    :param tls: for a TCPS port, see `wire.tls.server_context`; None for TCP.
    :raises OSError: the address cannot be bound, and see `DataDirectory`.
    :raises OraError, apsw.Error: see `DataDirectory`.
    :raises ValueError: the profile is unknown.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        seeds: Sequence[Path] = (),
        *,
        data_dir: Path | None = None,
        profile: str = "23ai",
        max_string_size: str = "standard",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.database = sandbox_database(profile, data_dir, max_string_size)
        try:
            self._listener = Listener(self.database, host, port, profile, tls)
        except OSError:
            self.database.close()
            raise
        self.host, self.port = self._listener.address
        self._seeds = tuple(seeds)

    @property
    def faults(self) -> Faults:
        """The server's faults, for tests in the same process. Other tests call DBMS_SANDBOX."""
        return self.database.faults

    @property
    def dsn(self) -> str:
        """Easy Connect string of the pluggable database ORCLPDB1, for TCP; TCPS needs `tcps://` before it."""
        return f"{self.host}:{self.port}/{SERVICE}"

    def start(self) -> None:
        """Run the seeds if the database is new, then let clients connect. Raises as `run_script`; the server must then be
        stopped, as `with` does."""
        for seed in self._seeds if self.database.is_new else ():
            run_script(self.database, seed, SERVICE)
        self._listener.start()

    def stop(self) -> None:
        """End all connections; open transactions roll back. Then close the database. Once only."""
        self._listener.stop()
        self.database.close()

    def __enter__(self) -> SandboxServer:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _next_steps(server: SandboxServer, tls: bool) -> list[str]:
    """Lines to print: how to connect, from this machine or, where a container publishes the same port, from its host."""
    host = "localhost" if server.host in ("0.0.0.0", "::") else server.host
    dsn = f"{'tcps://' if tls else ''}{host}:{server.port}/{SERVICE}"
    return [
        f'connect: oracledb.connect(user="SYSTEM", password="oracle", dsn="{dsn}")',
        f"capture: user C##MINERCDC, password minercdc, services {ROOT_SERVICE} and {SERVICE}",
    ]


def serve(
    host: str,
    port: int,
    seeds: Sequence[Path],
    data_dir: Path | None = None,
    profile: str = "23ai",
    max_string_size: str = "standard",
    certificate: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, whose handlers are set and put back at the end; print `ready HOST:PORT` and how to connect
    to stdout once clients may connect. Main thread only.

    :param port, seeds, data_dir, profile, max_string_size: as of `SandboxServer`.
    :param certificate: PEM file; makes the port a TCPS port. `key`: its key's file; None when the key is in the certificate's
        file.
    :raises SystemExit: with one line of text when the certificate, port, data directory or profile cannot be used, or a seed
        fails.
    :raises OraError: as `run_script`.
    """
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        try:
            tls = server_context(certificate, key) if certificate is not None else None
        except OSError as error:
            raise SystemExit(f"the certificate {certificate} or its key cannot be used: {error.strerror or error}") from None
        unusable = f"the data directory {data_dir} cannot be used"
        try:
            server = SandboxServer(
                host, port, seeds, data_dir=data_dir, profile=profile, max_string_size=max_string_size, tls=tls
            )
        except OSError as error:  # of a socket, it has no file name
            failed = f"cannot listen on {host}:{port}" if error.filename is None else unusable
            raise SystemExit(f"{failed}: {error.strerror or error}") from None
        except apsw.Error as error:
            raise SystemExit(f"{unusable}: {error}") from None
        except (ValueError, OraError) as error:
            raise SystemExit(str(error)) from None
        try:
            with server:
                print(f"ready {server.host}:{server.port}", *_next_steps(server, tls is not None), sep="\n", flush=True)
                stopping.wait()
        except SeedError as error:
            raise SystemExit(str(error)) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        sys.stdout.flush()
