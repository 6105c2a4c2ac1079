"""The demo's processes: each a `minercdc` command of its own, stopped by its process id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from minercdc.errors import LocalServiceError


class Command:
    """Runs a `minercdc` command, from its construction to `stop`, in a session of its own.

    :param environment: added to that of this process.
    :param log: file to which standard error is appended; `await_ready` reads standard output.
    :raises OSError: the log cannot be opened, or the process not started.
    """

    def __init__(self, arguments: list[str], log: Path, *, environment: dict[str, str] | None = None) -> None:
        self.name = arguments[0]
        self.log = log
        self._error: IO[bytes] = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "minercdc", *arguments],
            stdout=subprocess.PIPE,
            stderr=self._error,
            text=True,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id, also after its end."""
        return self._process.pid

    def await_ready(self) -> str:
        """Wait for the command's `ready HOST:PORT` line, for however long it takes, and return HOST:PORT. Raises
        LocalServiceError when it ends before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ready "):
                return line.split()[1]
        raise self._ended()

    def check(self) -> None:
        """Raise LocalServiceError if the command has ended, with any status."""
        if self._process.poll() is not None:
            raise self._ended()

    def _ended(self) -> LocalServiceError:
        self._process.wait()
        tail = self.log.read_text(errors="replace").strip().splitlines()[-5:]
        return LocalServiceError(
            f"minercdc {self.name} ended with status {self._process.returncode}: " + " | ".join(tail), hint=f"see {self.log}"
        )

    def kill(self) -> None:
        """Kill it, as a crash would; waits for its end."""
        self._process.kill()
        self._process.wait()
        self._close()

    def stop(self, timeout: float = 30) -> None:
        """End it by SIGTERM, by SIGKILL after `timeout` seconds; safe to call twice."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._close()

    def _close(self) -> None:
        self._error.close()
        if self._process.stdout:
            self._process.stdout.close()

    def last_match(self, pattern: str) -> str | None:
        """The last match of a pattern's only group in the last 4 KiB of the log; None without a match. Raises OSError when
        there is no log."""
        with self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - 4096))
            found = re.findall(pattern, stream.read().decode(errors="replace"))
        return found[-1] if found else None


def check_deadline(deadline: float, what: str) -> None:
    """Raise LocalServiceError, saying that `what` did not happen, if the deadline (monotonic seconds) has passed; never waits."""
    if time.monotonic() > deadline:
        raise LocalServiceError(f"{what} did not happen in time")
