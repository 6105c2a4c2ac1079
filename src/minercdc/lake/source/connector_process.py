"""The connector as a process of a Spark query: started where none runs, and gone with the process that started it.

The connector's standard input is a pipe, whose other end only the starting process has. When that one ends, killed or not, the
connector reads the end of its input and stops. Until it has stopped it holds the lock of its segments, so that no other one
writes.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from minercdc.errors import FencedError, LakeError
from minercdc.sinks.durable_files import is_locked
from minercdc.sinks.segments.reader import LOCK
from minercdc.stream.state_directory import private_opener

_log = logging.getLogger(__name__)

LOG = "connector.log"
_LARGEST_LOG = 16 << 20  # begun again at a start when it is larger
_BETWEEN_LOOKS_S = 1.0
_STOP_SECONDS = 10.0  # an orderly end takes four at most


class ConnectorProcess:
    """Keeps `minercdc run CONFIG` running, unless another process has the segments.

    :param config: the configuration file.
    :param directory: of the segments; `connector.log` in it is the connector's log.
    :param streams: false: it ends by itself once its snapshot is complete; after that end it is not started again.
    """

    def __init__(self, config: Path, directory: Path, *, streams: bool = True) -> None:
        self._streams = streams
        self._complete = False
        self._config = config.absolute()
        self._directory = directory.absolute()
        self._process: subprocess.Popen[bytes] | None = None
        self._looked = 0.0

    def ensure(self) -> None:
        """Start the connector if none runs; looks at most once a second. One that was killed, that another instance took over
        from, or that ended without an error though it `streams`, is started again.

        :raises LakeError: it ended by itself by another error, with the last lines of its log; or it cannot be started.
        """
        now = time.monotonic()
        if self._complete or (self._process is not None and self._process.poll() is None):
            return
        if now - self._looked < _BETWEEN_LOOKS_S:
            return
        self._looked = now
        ended, self._process = self._process, None
        try:
            if is_locked(self._directory / LOCK):
                return
            if ended is not None and ended.returncode == 0 and not self._streams:
                self._complete = True
                return
            if ended is not None and ended.returncode > 0 and FencedError.code not in self._last_words():
                raise LakeError(
                    f"the connector ended with status {ended.returncode}: {self._last_words()}",
                    hint=f"Its log is {self._directory / LOG}. Start the query again once the cause is gone.",
                )
            self._start()
        except OSError as error:
            raise LakeError(f"the connector cannot be started: {error}") from error

    def _start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._directory / LOG
        mode = "wb" if path.exists() and path.stat().st_size > _LARGEST_LOG else "ab"
        with open(path, mode, opener=private_opener) as log:
            command = [sys.executable, "-m", "minercdc", "run", "--until-eof", "--log-interval", "60", str(self._config)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )
        _log.info("started the connector, pid %d; its log is %s", self._process.pid, path)

    def _last_words(self) -> str:
        try:
            lines = (self._directory / LOG).read_text(errors="replace").strip().splitlines()
        except OSError:
            return "it left no log"
        return " | ".join(lines[-4:])

    def stop(self) -> None:
        """End the connector that was started here, and wait for it; after ten seconds it is killed. Safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
