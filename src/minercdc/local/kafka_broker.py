"""A real single-node Kafka broker (KRaft) as a child process, with no Docker and no shell scripts."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from minercdc.errors import LocalServiceError
from minercdc.local.artifacts import BROKER
from minercdc.local.jars import Advance, fetch
from minercdc.local.java import NO_TRACES, find_java
from minercdc.local.ports import EVERYWHERE, free_port, listening

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listeners={listeners},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners={advertised}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}
inter.broker.listener.name=PLAINTEXT
controller.quorum.voters=1@127.0.0.1:{controller_port}
log.dirs={data}/log
num.partitions=1
default.replication.factor=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.hours=-1
log.cleaner.dedupe.buffer.size=8388608
message.max.bytes=16777216
num.network.threads=2
num.io.threads=4
"""

_LOG4J = """\
<?xml version="1.0"?><Configuration status="WARN"><Appenders><Console name="C"><PatternLayout pattern="[%d] %p %m (%c)%n"/>
</Console></Appenders><Loggers><Root level="WARN"><AppenderRef ref="C"/></Root></Loggers></Configuration>
"""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


class KafkaBroker:
    """A broker with its data and log in `data`; a later broker started there has the same topics. It runs from `start` to
    `stop`, or as a context manager.

    :param port: 0 for a free one.
    :param advertised: `HOST:PORT` that clients are sent to; default where it listens.
    :param external: `HOST:PORT` by which clients of another network reach it; it also listens on that port. '' for none.
    :param listeners: more listeners on `host`: name in upper case -> security protocol and port.
    :param properties: more properties of the server, as of such listeners.
    :param advance: called with the jars done and the jars in all while they are fetched.
    """

    def __init__(
        self,
        data: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised: str = "",
        external: str = "",
        listeners: Mapping[str, tuple[str, int]] | None = None,
        properties: Mapping[str, str] | None = None,
        advance: Advance | None = None,
    ) -> None:
        self.data = data.absolute()
        self.host = host
        self.port = port or free_port()
        self._advertised = advertised
        self._external = external
        self._listeners = dict(listeners or {})
        self._more = dict(properties or {})
        self._advance = advance
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT that clients connect to: `advertised`, else where it listens, as localhost for an address such as 0.0.0.0."""
        if self._advertised:
            return self._advertised
        return f"{'localhost' if self.host in EVERYWHERE else self.host}:{self.port}"  # clients cannot be sent to 0.0.0.0

    @property
    def pid(self) -> int:
        """Process id of the broker; 0 when it does not run."""
        return self._process.pid if self._process else 0

    def start(self, *, timeout: float = 180) -> Self:
        """Start and wait until it answers, at most `timeout` seconds; fetches its jars when they are not cached.

        :raises LocalServiceError: no jars or Java, port in use, its storage cannot be formatted, or it ended or did not answer in
            time.
        :raises OSError: `data`, or the cache of jars, cannot be written.
        :raises ValueError: as `fetch_directory`.
        """
        if listening(self.host, self.port):
            raise LocalServiceError(f"port {self.port} of {self.host} is in use", hint="choose another with --port")
        self.data.mkdir(parents=True, exist_ok=True)
        properties = self.data / "server.properties"
        listeners, advertised = f"PLAINTEXT://{self.host}:{self.port}", f"PLAINTEXT://{self.bootstrap_servers}"
        if self._external:
            listeners += f",EXTERNAL://{self.host}:{self._external.rpartition(':')[2]}"
            advertised += f",EXTERNAL://{self._external}"
        for name, (_, port) in self._listeners.items():
            listeners += f",{name}://{self.host}:{port}"
            advertised += f",{name}://{self.host}:{port}"
        protocols = "".join(f",{name}:{protocol}" for name, (protocol, _) in self._listeners.items())
        # The system may offer a port twice while nothing listens on it.
        controller_port = free_port(taken={self.port, *(port for _, port in self._listeners.values())})
        text = _PROPERTIES.format(
            listeners=listeners, advertised=advertised, controller_port=controller_port, data=self.data, protocols=protocols
        )
        properties.write_text(text + "".join(f"{name}={_escaped(value)}\n" for name, value in self._more.items()))
        (self.data / "log4j2.xml").write_text(_LOG4J)
        java = self._java()
        if not (self.data / "log" / "meta.properties").exists():
            self._format(java, properties)
        self._log = (self.data / "broker.log").open("ab")
        # a session of its own: Ctrl-C at the terminal reaches us alone, and we stop the broker
        self._process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True
        )
        self._await(time.monotonic() + timeout)
        return self

    def _java(self) -> list[str]:
        jars = fetch("kafka-broker", BROKER, self._advance)
        return [
            *(str(find_java()), NO_TRACES, f"-Djava.io.tmpdir={self._scratch()}"),
            *("-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Dlog4j2.configurationFile={self.data / 'log4j2.xml'}",
            *("-cp", os.pathsep.join(map(str, jars))),
        ]

    def _scratch(self) -> Path:
        """A directory for temporary files, which are of no use once the broker has ended."""
        scratch = self.data / "tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        return scratch

    def _format(self, java: list[str], properties: Path) -> None:
        # by StorageTool, never by writing meta.properties: only the tool finalizes group.version and transaction.version
        cluster_id = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        done = subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LocalServiceError(
                f"the broker's storage in {self.data} could not be formatted: {(done.stdout + done.stderr).strip()[-500:]}"
            )

    def _await(self, deadline: float) -> None:
        assert self._process is not None
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise LocalServiceError(
                    f"the broker ended with status {self._process.returncode}; see {self.data / 'broker.log'}"
                )
            if listening(self.host, self.port):
                return
            time.sleep(0.05)
        self.stop()
        raise LocalServiceError(f"the broker did not answer in time; see {self.data / 'broker.log'}")

    def kill(self) -> None:
        """Kill it, as a crash would; nothing when it does not run."""
        if self._process:
            self._process.kill()
            self._ended()

    def stop(self) -> None:
        """Shut it down by SIGTERM, by SIGKILL after 30 s; safe to call twice."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._ended()

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait()
        self._process = None
        shutil.rmtree(self.data / "tmp", ignore_errors=True)
        if self._log:
            self._log.close()

    def check(self) -> None:
        """Raise LocalServiceError if the broker has ended by itself; nothing before `start` and after `stop` or `kill`."""
        if self._process and (status := self._process.poll()) is not None:
            raise LocalServiceError(f"the broker ended with status {status}; see {self.data / 'broker.log'}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
