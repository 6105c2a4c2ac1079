"""Instances of a stack's connector in containers of its network, from which each can be cut off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from tests.containers.engine import EngineError, command
from tests.containers.images import CONNECTOR, ROOT
from tests.containers.stack import Stack, await_said

_SECONDS = 900.0  # ends what hangs only


class Instance:
    """`minercdc run --standby` in a container, with a state directory of its own."""

    def __init__(self, stack: Stack, number: int) -> None:
        self._name = f"{stack.project}-instance{number}"
        self._network = stack.network
        self._seen = 0
        config = ["--volume", f"{ROOT}/compose/connector.yaml:/etc/minercdc/connector.yaml:ro"]
        started = ["docker", "run", "--detach", "--name", self._name, "--network", self._network, "--tmpfs", "/tmp:exec"]
        arguments = ("run", "--standby", "--log-interval", "1", "/etc/minercdc/connector.yaml")
        command(*started, *stack.connector_environment(), *config, CONNECTOR, *arguments)

    def await_new(self, text: str) -> None:
        """Wait for `text` after what was waited for before. Raises AssertionError as `await_said`."""
        self._seen = await_said(self._name, text, _SECONDS, self._seen)

    def cut(self) -> None:
        """No packet reaches it, or comes from it, any more: no connection is closed."""
        command("docker", "network", "disconnect", "--force", self._network, self._name)

    def join(self) -> None:
        """Its network is back."""
        command("docker", "network", "connect", self._network, self._name)

    def remove(self) -> None:
        """Kill and delete it."""
        with suppress(EngineError):
            command("docker", "rm", "--force", "--volumes", self._name)


@contextmanager
def two_instances(stack: Stack) -> Iterator[tuple[Instance, Instance]]:
    """Two of them while the context lasts: the first one captures, the second one waits."""
    with ExitStack() as started:

        def start(number: int, text: str) -> Instance:
            instance = Instance(stack, number)
            started.callback(instance.remove)
            instance.await_new(text)
            return instance

        yield start(1, "streaming: "), start(2, "owns connector")
