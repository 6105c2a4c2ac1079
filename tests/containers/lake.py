"""The lake of a stack against its source, value by value, read in a container of the lake image."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.containers.images import LAKE
from tests.containers.stack import Stack

_EQUAL_SECONDS = 1800.0  # ends what hangs only: beside all other tests the lake may need minutes for its first batch
_MERGE_SECONDS = 60.0  # after these it is compared whatever the lake says: it says nothing where no table has changed
_REACHED = re.compile(r"all tables are at SCN (\d+)")


class LakeReader:
    """A container with the lake's volume read-only, which reads the source by its published port; it outlives the services."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        program = Path(__file__).with_name("compare_in_container.py").read_text(encoding="utf-8")
        given = [
            "--volume",
            f"{stack.project}_lake:/var/lib/lake:ro",
            "--env",
            f"DSN=localhost:{stack.oracle_port}/ORCLPDB1",
        ]
        limits = ["--network", "host", "--read-only", "--tmpfs", "/tmp:exec"]
        run = ["docker", "run", "--rm", "--interactive", *limits, *given, "--entrypoint", "python", LAKE]
        self._command = [*run, "-c", program]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.communicate()  # its standard input ends, and so does it

    def compare(self) -> dict[str, Any]:
        """One comparison of all of SHOP's tables."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("SHOP\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("answer "):
                found: dict[str, Any] = json.loads(line.removeprefix("answer "))
                return found
        raise AssertionError("the reader's container has ended")

    def await_equal(self) -> int:
        """Wait until no value differs; the number of rows.

        :raises AssertionError: some do at the end.
        """
        deadline = time.monotonic() + _EQUAL_SECONDS
        reached = self._await_merge(self._stack.last_commit())
        while (found := self.compare())["differences"]:
            assert time.monotonic() < deadline, found
            reached = self._await_merge(reached + 1)
        return int(found["rows"])

    def _await_merge(self, scn: int) -> int:
        """Wait until the lake says that it is at an SCN, since a comparison takes processor time from it; returns where it is."""
        deadline = time.monotonic() + _MERGE_SECONDS
        while (reached := self._reached()) < scn and time.monotonic() < deadline:
            time.sleep(1)  # a look starts a process
        return reached

    def _reached(self) -> int:
        return max(map(int, _REACHED.findall(self._stack.log("lake-sandbox"))), default=0)
