"""The connector as its users run it: a `minercdc` process with a configuration file, watched through its log and exit status."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import oracledb
from tests.forked import COMMANDS, ForkedProcess, ForkServer

_PROGRESS = re.compile(r"INFO +(starting|snapshot|streaming|reconnecting|stopped): ")
_FORKS = ForkServer()
STOP_SECONDS = 20.0  # what SIGTERM and SIGINT may take in every phase on a busy machine: less than the network's own 30 s
PATIENCE_SECONDS = 120.0  # how long tests wait for what comes within a second or two on a machine with nothing else to do


class Database(Protocol):
    """A database under test: the sandbox, or Oracle in a container.

    :ivar service: of the pluggable database; `root_service` of the root.
    """

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def service(self) -> str: ...

    @property
    def root_service(self) -> str: ...

    def connect(self, user: str = ..., password: str = ..., service: str | None = None) -> oracledb.Connection:
        """The administrator's connection, by default."""

    def create_user(self, name: str) -> None:
        """With quota, and its name as password."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    :ivar seconds: from the signal, or from its start, to its end.
    """

    status: int
    output: str
    errors: str
    seconds: float

    def message(self) -> str:
        """Its last words, after the log lines: what the user reads."""
        lines = self.errors.splitlines()
        last = max((number for number, line in enumerate(lines) if re.match(r"\d{4}-\d\d-\d\dT", line)), default=-1)
        return "\n".join(lines[last + 1 :])


class MinerCdc:
    """A running `minercdc` command.

    :param limit: called in the child before it starts.
    :cvar forks: whether it may begin with its imports done.
    """

    forks = True

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        limit: Callable[[], None] | None = None,
    ) -> None:
        self.log = log
        self._begun = time.monotonic()
        self._output = log.with_suffix(".out")
        environment = {**os.environ, **(environment or {})}
        with log.open("wb") as errors, self._output.open("wb") as output:
            forked: ForkedProcess | None = None
            if self.forks and limit is None and arguments[:1] and arguments[0] in COMMANDS:
                forked = _FORKS.start(arguments, environment, output, errors)
            self.process = forked or subprocess.Popen(
                [sys.executable, "-m", "minercdc", *arguments],
                stdout=output,
                stderr=errors,
                env=environment,
                preexec_fn=limit,
                start_new_session=True,
            )

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def story(self) -> str:
        """The log without its progress lines, for a failed assertion."""
        lines = self.text().splitlines()
        return "\n".join(line for line in lines if not _PROGRESS.search(line))[-4000:] + "\n" + "\n".join(lines[-1:])

    def await_log(self, pattern: str, timeout: float = PATIENCE_SECONDS) -> re.Match[str]:
        """Until its log matches; fails when the command ends before."""
        return self._await(pattern, self.text, timeout)

    def await_output(self, pattern: str, timeout: float = PATIENCE_SECONDS) -> re.Match[str]:
        return self._await(pattern, lambda: self._output.read_text(errors="replace"), timeout)

    def _await(self, pattern: str, read: Callable[[], str], timeout: float) -> re.Match[str]:
        deadline = time.monotonic() + timeout
        while True:
            status = self.process.poll()
            if found := re.search(pattern, read()):
                return found
            assert status is None, f"ended with {status} before {pattern!r}:\n{self.story()}"
            assert time.monotonic() < deadline, f"no {pattern!r} within {timeout} s:\n{self.story()}"
            time.sleep(0.02)

    def await_end(self, timeout: float = PATIENCE_SECONDS) -> Ended:
        """Until it ends by itself."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s:\n{self.story()}") from None
        seconds = time.monotonic() - self._begun
        return Ended(status, self._output.read_text(errors="replace"), self.text(), seconds)

    def stop(self, number: signal.Signals = signal.SIGTERM, timeout: float = PATIENCE_SECONDS) -> Ended:
        """Signal it, and wait for its end."""
        assert self.process.poll() is None, f"ended with {self.process.returncode} by itself:\n{self.story()}"
        self._begun = time.monotonic()
        self.process.send_signal(number)
        return self.await_end(timeout)

    def stop_in_order(self) -> Ended:
        """As `stop`, and it must be a clean end in time."""
        ended = self.stop()
        assert (ended.status, ended.message()) in ((0, ""), (0, "stopped")), ended.errors  # the latter during its imports
        assert ended.seconds < STOP_SECONDS, ended.errors
        assert "Traceback" not in ended.errors
        return ended

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.kill()


def properties(server: Database, brokers: str, name: str, directory: Path, **changes: object) -> dict[str, object]:
    """A configuration that works, quick to react.

    :param changes: properties with `_` for `.`; None leaves one out.
    """
    settings: dict[str, object] = {
        "name": name,
        "topic.prefix": name,
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "C##MINERCDC",
        "database.password": "minercdc",
        "database.dbname": server.root_service,
        "database.pdb.name": server.service,
        "minercdc.kafka.bootstrap.servers": brokers,
        "minercdc.kafka.transaction.interval.ms": 20,
        "minercdc.state.dir": str(directory / "state"),
        "poll.interval.ms": 100,
        "minercdc.log.mining.pass.interval.ms": 100,
        "retriable.restart.connector.wait.ms": 1000,
    }
    settings |= {key.replace("_", "."): value for key, value in changes.items()}
    return {key: value for key, value in settings.items() if value is not None}


def write(settings: Mapping[str, object], path: Path) -> Path:
    path.write_text("".join(f'{name}: "{value}"\n' for name, value in settings.items()))
    return path


def run(config: Path, log: Path, *, log_interval: float = 0.1, **options: object) -> MinerCdc:
    """The connector, with ten progress lines a second."""
    return MinerCdc(["run", "--log-interval", str(log_interval), str(config)], log, **options)  # type: ignore[arg-type]


def run_to_end(arguments: Sequence[str], log: Path, *, timeout: float = PATIENCE_SECONDS, **options: object) -> Ended:
    """A command that ends by itself, within `timeout` seconds."""
    with MinerCdc(arguments, log, **options) as command:  # type: ignore[arg-type]
        return command.await_end(timeout)
