"""Instances of a stack's connector in containers of its network, from which each can be cut off."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.containers.engine import EngineError, command
from tests.containers.images import CONNECTOR, ROOT
from tests.containers.stack import Stack, await_true

SECONDS = 120.0


class Instance:
    """`minercdc run --standby` in a container, with a state directory of its own."""

    def __init__(self, stack: Stack, number: int) -> None:
        self.name = f"{stack.project}-instance{number}"
        self._network = f"{stack.project}_default"
        self._seen = 0
        database = ("DATABASE_HOST=sandbox", f"DATABASE_PORT={stack.oracle_port}", "DATABASE_NAME=ORCLCDB")
        names = (*database, "DATABASE_PDB=ORCLPDB1", "DATABASE_PASSWORD=minercdc", "STATUS_PORT=8089")
        environment = [word for name in names for word in ("--env", name)]
        config = ["--volume", f"{ROOT}/compose/connector.yaml:/etc/minercdc/connector.yaml:ro"]
        started = ["docker", "run", "--detach", "--name", self.name, "--network", self._network, "--tmpfs", "/tmp:exec"]
        arguments = ("run", "--standby", "--log-interval", "1", "/etc/minercdc/connector.yaml")
        command(*started, *environment, *config, CONNECTOR, *arguments)

    def text(self) -> str:
        """What it has written, both streams."""
        log = subprocess.run(["docker", "logs", self.name], capture_output=True, check=False)
        return (log.stdout + log.stderr).decode(errors="replace")

    def await_new(self, text: str) -> None:
        """Wait for `text` after what was waited for before.

        :raises AssertionError: it does not come in time; with the log.
        """

        def said() -> bool:
            return text in self.text()[self._seen :]

        try:
            await_true(f"{self.name}: {text}", said, SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()[-3000:]}") from None
        self._seen = self.text().index(text, self._seen) + len(text)

    def cut(self) -> None:
        """No packet reaches it, or comes from it, any more: no connection is closed."""
        command("docker", "network", "disconnect", "--force", self._network, self.name)

    def join(self) -> None:
        """Its network is back."""
        command("docker", "network", "connect", self._network, self.name)

    def remove(self) -> None:
        """Kill and delete it."""
        with suppress(EngineError):
            command("docker", "rm", "--force", "--volumes", self.name)


class Instances:
    """Two of them, from `with` to its end: the first one captures, the second one waits."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._started: list[Instance] = []

    def __enter__(self) -> Self:
        try:
            for number, text in ((1, "streaming: "), (2, "owns connector")):
                self._started.append(Instance(self._stack, number))
                self._started[-1].await_new(text)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._remove()

    def _remove(self) -> None:
        for instance in self._started:
            instance.remove()

    @property
    def pair(self) -> tuple[Instance, Instance]:
        """The one that captured first, and the other one."""
        first, second = self._started
        return first, second
