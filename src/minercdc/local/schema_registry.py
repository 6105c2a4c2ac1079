"""A real schema registry (Apicurio) as a child process, in memory, with Confluent's REST API."""

from __future__ import annotations

import subprocess
import time
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from minercdc.errors import LocalServiceError
from minercdc.local.artifacts import REGISTRY
from minercdc.local.jars import Advance, fetch_directory
from minercdc.local.java import NO_TRACES, find_java
from minercdc.local.ports import free_port
from minercdc.web.client import ask

_JAVA = 21  # its class files need it
_API = "/apis/ccompat/v7"


class LocalRegistry:
    """A registry that begins without schemas, and forgets them when it stops. It runs from `start` to `stop`, or as a
    context manager.

    :param log: file for its output.
    :param port: 0 for a free one.
    :param advance: called with the archives done and the archives in all while they are fetched.
    """

    def __init__(self, log: Path, *, host: str = "127.0.0.1", port: int = 0, advance: Advance | None = None) -> None:
        self.log = log.absolute()
        self.host = host
        self.port = port or free_port()
        self._advance = advance
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: TemporaryDirectory[str] | None = None

    @property
    def url(self) -> str:
        """The URL for a converter's `schema.registry.url`."""
        return f"http://{self.host}:{self.port}{_API}"

    def start(self, *, seconds: float = 180) -> Self:
        """Start it, and wait until it answers; it is fetched when it is not cached. The log is overwritten.

        :raises LocalServiceError: it cannot be fetched, there is no Java for it, it ended, or does not answer within `seconds`.
        :raises OSError: the log, or the cache of what is fetched, cannot be written.
        :raises ValueError: as `fetch_directory`.
        """
        program = next(fetch_directory("registry", REGISTRY, self._advance).rglob("quarkus-run.jar"))
        self._scratch = TemporaryDirectory(prefix="minercdc-registry-")
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(str(find_java(_JAVA)), NO_TRACES, f"-Djava.io.tmpdir={self._scratch.name}"),
                    *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    *(f"-Dquarkus.http.host={self.host}", f"-Dquarkus.http.port={self.port}"),
                    *("-Dquarkus.management.host=127.0.0.1", "-Dquarkus.management.port=0"),
                    *("-Dapicurio.storage.kind=sql", "-Dapicurio.rest.deletion.artifact.enabled=true"),
                    *("-jar", str(program)),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=program.parent,
                start_new_session=True,  # Ctrl-C at the terminal reaches us alone, and we stop it
            )
        deadline = time.monotonic() + seconds
        while not self._answers():
            self.check()
            if time.monotonic() > deadline:
                self.stop()
                raise LocalServiceError(f"the schema registry did not answer in time; see {self.log}")
            time.sleep(0.1)
        return self

    def _answers(self) -> bool:
        try:
            status, _ = ask(self.host, self.port, f"{_API}/subjects", 5)
        except OSError:
            return False
        return status == HTTPStatus.OK

    def check(self) -> None:
        """Raise LocalServiceError if it has ended by itself; nothing before `start` and after `stop`."""
        if self._process and (status := self._process.poll()) is not None:
            self._ended()
            raise LocalServiceError(f"the schema registry ended with status {status}; see {self.log}")

    def stop(self) -> None:
        """Shut it down by SIGTERM, by SIGKILL after 30 s; safe to call twice."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._ended()

    def _ended(self) -> None:
        self._process = None
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
