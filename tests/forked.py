"""Commands of `minercdc`, and sandboxes, without the second that their imports take: forked by a process that has done them.

The processes are like those of `python -m minercdc` and `python -m minercdc_sandbox` in all else: each has its own session,
environment, directory and output, takes signals, and can be killed.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

COMMANDS = frozenset(
    [
        *("bundle", "check", "config", "init", "offsets", "plan", "qualify", "record", "relay"),
        *("replay", "run", "signal", "status", "tail", "txlog", "verify"),
    ]
)
_SERVER = Path(__file__).with_name("fork_server.py")
# Variables that matter to nothing that is imported.
_HARMLESS = {"PATH", "PYTEST_CURRENT_TEST", "JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP", "SPARK_HOME", "DOCKER_HOST"}


def _read_by_imports(name: str) -> bool:
    return name == "MINERCDC_NATIVE" or not (name in _HARMLESS or name.startswith("MINERCDC_"))


class ForkServer:
    """The process that forks; started with the first command.

    :param program: `minercdc` or `minercdc_sandbox`.
    """

    def __init__(self, program: str = "minercdc") -> None:
        self._program = program
        self._lock = threading.Lock()
        self._environment: dict[str, str] = {}
        self._link: socket.socket | None = None
        self._ended: dict[int, int] = {}

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes], errors: IO[bytes]
    ) -> ForkedProcess | None:
        """A command of COMMANDS; None when it needs an interpreter of its own, for a variable that imports read."""
        with self._lock:
            if self._link is None:
                self._link = self._started()
            names = {*self._environment, *environment}
            if any(_read_by_imports(one) and self._environment.get(one) != environment.get(one) for one in names):
                return None
            request = {"arguments": [*arguments], "environment": {**environment}, "directory": str(Path.cwd())}
            socket.send_fds(self._link, [json.dumps(request).encode()], [output.fileno(), errors.fileno()])
            while "status" in (answer := self._receive(self._link)):
                pass
            return ForkedProcess(self, answer["pid"])

    def status(self, pid: int, timeout: float) -> int | None:
        """The exit status of a process, once it is known; None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            with self._lock:
                if pid in self._ended:
                    return self._ended.pop(pid)
                assert self._link is not None
                left = deadline - time.monotonic()
                # Others wait, too, so the lock is not kept for long.
                if select.select([self._link], [], [], max(0.0, min(left, 0.05)))[0]:
                    self._receive(self._link)
                elif left <= 0:
                    return None

    def _receive(self, link: socket.socket) -> dict[str, int]:
        data = link.recv(1 << 16)
        if not data:
            raise RuntimeError("the process that forks commands has ended")
        message: dict[str, int] = json.loads(data)
        if "status" in message:
            self._ended[message["pid"]] = message["status"]
        return message

    def _started(self) -> socket.socket:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._environment = dict(os.environ)
        with its:
            command = [sys.executable, "-P", str(_SERVER), str(its.fileno()), self._program]
            process = subprocess.Popen(command, pass_fds=[its.fileno()], start_new_session=True)

        def end() -> None:
            ours.close()
            process.wait()

        atexit.register(end)
        return ours


class ForkedProcess:
    """As much of `subprocess.Popen` as the tests use.

    :ivar returncode: None until `poll` or `wait` has seen its end.
    """

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.status(self.pid, 0)
        return self.returncode

    def wait(self, timeout: float = 1e9) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self.returncode = self._server.status(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("minercdc", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
