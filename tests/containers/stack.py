"""compose.yaml with the sandbox and compose/local.yaml, under a project name and on ports of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import oracledb
from tests.containers.engine import EngineError, command
from tests.containers.images import CONNECTOR, ROOT

from minercdc.local.ports import free_port

SERVICES = ("kafka", "sandbox", "connector-sandbox", "lake-sandbox")
FILES = ("compose.yaml", "compose/local.yaml")
HEALTHY_SECONDS = 900.0  # ends what hangs only
_POLL_SECONDS = 1.0  # a question to the engine starts a process: a tenth of a second of CPU


def compose_program() -> list[str] | None:
    """`docker compose`, or `docker-compose` of version 1; None when neither is installed."""
    docker = shutil.which("docker")
    if docker and not subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        return [docker, "compose"]
    first = shutil.which("docker-compose")
    return [first] if first else None


def await_true(what: str, condition: Callable[[], object], seconds: float = HEALTHY_SECONDS) -> None:
    """:raises AssertionError: it does not become true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(_POLL_SECONDS)


def await_said(container: str, text: str, seconds: float, since: int = 0) -> int:
    """Wait until a container has written `text`; the place in its log after that.

    :param since: place in its log, both streams, to look from.
    :raises AssertionError: it does not come in time; with the end of the log.
    """
    try:
        await_true(f"{container}: {text}", lambda: text in command("docker", "logs", container)[since:], seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{command('docker', 'logs', container)[-3000:]}") from None
    return command("docker", "logs", container).index(text, since) + len(text)


class Stack:
    """The services, from `with` to its end, which removes containers, volumes and network.

    :ivar project: name of the Compose project, prefix of its network and volumes.
    """

    def __init__(self) -> None:
        program = compose_program()
        if program is None:
            raise EngineError("neither docker compose nor docker-compose is installed")
        self.project = f"minercdc-test-{uuid.uuid4().hex[:8]}"
        self.oracle_port, self.kafka_port, self.status_port = free_port(), free_port(), free_port()
        self._environment = {
            **os.environ,
            "COMPOSE_PROFILES": "sandbox",
            "COMPOSE_PROJECT_NAME": self.project,
            "ORACLE_PORT": str(self.oracle_port),
            "KAFKA_PORT": str(self.kafka_port),
            "STATUS_PORT": str(self.status_port),
        }
        self._compose = program + [word for file in FILES for word in ("-f", file)]

    @property
    def brokers(self) -> str:
        """Kafka's published address."""
        return f"localhost:{self.kafka_port}"

    @property
    def network(self) -> str:
        """Name of the network that its containers are in."""
        return f"{self.project}_default"

    def connector_environment(self) -> list[str]:
        """Options of `docker run`: what compose/connector.yaml takes from the environment, for the sandbox."""
        database = ("DATABASE_HOST=sandbox", f"DATABASE_PORT={self.oracle_port}", "DATABASE_NAME=ORCLCDB")
        names = (*database, "DATABASE_PDB=ORCLPDB1", "DATABASE_PASSWORD=minercdc", "STATUS_PORT=8089")
        return [word for name in names for word in ("--env", name)]

    def __enter__(self) -> Self:
        try:
            self.up()
        except BaseException:
            self.down("--volumes")
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.down("--volumes")

    def compose(self, *arguments: str) -> str:
        """:raises EngineError: it fails."""
        return command(*self._compose, *arguments, cwd=ROOT, env=self._environment)

    def up(self, *services: str) -> None:
        """Start these, by default all, with what they depend on, and wait until they are healthy."""
        self.compose("up", "-d", "--no-build", *services)
        for service in services or SERVICES:
            self.await_healthy(service)

    def down(self, *options: str) -> None:
        """Remove containers and network."""
        self.compose("down", "--timeout", "15", *options)

    def container(self, service: str) -> str:
        """Id of a service's container, running or not."""
        return command("docker", "ps", "-aq", "--no-trunc", *self._filters(f"com.docker.compose.service={service}")).strip()

    def left(self) -> str:
        """What the engine still has of the project."""
        kinds = (["ps", "-a"], ["volume", "ls"], ["network", "ls"])
        return "".join(command("docker", *kind, "-q", *self._filters()) for kind in kinds)

    def _filters(self, *labels: str) -> list[str]:
        wanted = (f"com.docker.compose.project={self.project}", *labels)
        return [word for label in wanted for word in ("--filter", f"label={label}")]

    def inspect(self, service: str) -> dict[str, Any]:
        """What `docker inspect` says about its container."""
        found: dict[str, Any] = json.loads(command("docker", "inspect", self.container(service)))[0]
        return found

    def await_healthy(self, service: str) -> None:
        """:raises AssertionError: it does not get healthy in time; with its log."""

        container = self.container(service)

        def healthy() -> bool:
            return command("docker", "inspect", "--format", "{{.State.Health.Status}}", container).strip() == "healthy"

        try:
            await_true(f"{service} is healthy", healthy)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log(service)[-4000:]}") from None

    def log(self, service: str) -> str:
        """What a service has written, both streams."""
        return command("docker", "logs", self.container(service))

    def execute(self, service: str, *arguments: str) -> str:
        """Output of a program inside a service's container."""
        return command("docker", "exec", self.container(service), *arguments)

    def crash(self, service: str) -> None:
        """SIGKILL for its process by no request to the engine, as a machine without memory does; its restart policy then acts."""
        pid = self.inspect(service)["State"]["Pid"]
        program = f"import os, signal; os.kill({pid}, signal.SIGKILL)"
        command("docker", "run", "--rm", "--pid", "host", "--user", "0", "--entrypoint", "python", CONNECTOR, "-c", program)

    def kill(self, service: str) -> None:
        """`docker kill`, after which the engine restarts nothing by itself."""
        command("docker", "kill", self.container(service))

    def start(self, service: str) -> None:
        """`docker start`."""
        command("docker", "start", self.container(service))

    def connect(self) -> oracledb.Connection:
        """To the shop, by the database's published port."""
        return oracledb.connect(user="SHOP", password="shop", dsn=f"localhost:{self.oracle_port}/ORCLPDB1")

    def scn(self) -> int:
        """The database's current SCN."""
        dsn = f"localhost:{self.oracle_port}/ORCLPDB1"
        with oracledb.connect(user="SYSTEM", password="oracle", dsn=dsn) as connection, connection.cursor() as cursor:
            (found,) = cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE")
        return int(found[0])

    def last_commit(self) -> int:
        """The SCN of the commit that changed the rows of SHOP last, but for what it deleted."""
        with self.connect() as connection, connection.cursor() as cursor:
            tables = [name for (name,) in cursor.execute("SELECT TABLE_NAME FROM USER_TABLES")]
            found = [cursor.execute(f'SELECT MAX(ORA_ROWSCN) FROM "{name}"').fetchone() for name in tables]
        return max(int(one[0] or 0) for one in found if one)
