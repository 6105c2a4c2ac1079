"""The processes under measurement: each stage runs in one of its own, so that its CPU seconds are its alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import oracledb
import psutil

SECRET = {"MINERCDC_DATABASE_PASSWORD": "minercdc"}
"""What the environment of a process with a connector's configuration needs."""


class MeasuredProcess:
    """A Python module running as a child, its output in a file.

    :param arguments: after `python -m`.
    :param log: file for both outputs.
    """

    def __init__(self, arguments: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.log = log
        self._output = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        self._facts = psutil.Process(self._process.pid)

    def cpu(self) -> float:
        """CPU seconds used by now, user and system, all threads."""
        times = self._facts.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> int:
        """Bytes in memory by now."""
        return int(self._facts.memory_info().rss)

    def check(self) -> None:
        """Raises RuntimeError when it has ended by itself."""
        if (status := self._process.poll()) is not None:
            tail = self.log.read_text(errors="replace").strip().splitlines()[-8:]
            raise RuntimeError(f"{self.log.stem} ended with status {status}: " + " | ".join(tail))

    def await_line(self, prefix: str, seconds: float = 60) -> str:
        """The first line of its output that begins with `prefix`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in self.log.read_text(errors="replace").splitlines():
                if line.startswith(prefix):
                    return line
            self.check()
            time.sleep(0.02)
        raise TimeoutError(f"{self.log.stem} printed no line {prefix!r}")

    def await_text(self, text: str, seconds: float) -> None:
        """Until its output holds a text."""
        deadline = time.monotonic() + seconds
        while text not in self.log.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.log.stem} did not print {text!r}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order; safe to call twice."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._output.close()

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class Sandbox(MeasuredProcess):
    """An Oracle-compatible server on a free port, with the tables of a seed script; '' for none.

    :param arguments: more for its command line.
    :param environment: of its process, besides ours.
    """

    def __init__(
        self, directory: Path, seed: str, arguments: Sequence[str] = (), environment: dict[str, str] | None = None
    ) -> None:
        script = directory / "bench.sql"
        script.write_text(seed)
        seeds = ("--seed", str(script)) if seed else ()
        super().__init__(("minercdc_sandbox", "--port", "0", *seeds, *arguments), directory / "sandbox.log", environment)
        self.host, _, port = self.await_line("ready ").split()[1].rpartition(":")
        self.port = int(port)

    def connect(self, user: str = "bench", password: str = "bench", service: str = "ORCLPDB1") -> oracledb.Connection:
        """A new connection."""
        return oracledb.connect(user=user, password=password, dsn=f"{self.host}:{self.port}/{service}")


class Connector(MeasuredProcess):
    """`minercdc run` on the sandbox's schema BENCH.

    :param name: connector name and topic prefix.
    :param table: pattern for table.include.list.
    :param more: further properties, a line each.
    :param environment: of its process, besides ours.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        table: str,
        sandbox: Sandbox,
        broker: str,
        more: Sequence[str] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        config = directory / f"{name}.yaml"
        config.write_text(
            f"name: {name}\n"
            f"topic.prefix: {name}\n"
            f"database.hostname: {sandbox.host}\n"
            f"database.port: {sandbox.port}\n"
            "database.user: C##MINERCDC\n"
            "database.dbname: ORCLCDB\n"
            "database.pdb.name: ORCLPDB1\n"
            f"table.include.list: {table}\n"
            f"minercdc.kafka.bootstrap.servers: {broker}\n"
            f"minercdc.state.dir: {directory / name}\n" + "".join(f"{line}\n" for line in more)
        )
        super().__init__(("minercdc", "run", str(config)), directory / f"{name}.log", SECRET | (environment or {}))
