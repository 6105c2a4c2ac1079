"""The HTTP port of the owner: when its process dies, the system closes it at once, and connections are refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from minercdc.pipeline.standby.turn import Port
from minercdc.sinks.kafka.ownership import Claim
from minercdc.web.client import ask

_TRY_SECONDS = 2.0  # between two looks at a port that has not answered yet
_LOOK_SECONDS = 0.4  # at one that has
_CALL_SECONDS = 1.0


class OwnerPort:
    """Looks at the port of the claim.

    A refused connection says that the owner is dead only after the very instance has answered there: the address may mean another
    machine here, or not be reachable.

    :param monotonic: seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._instance = ""
        self._met = False
        self._refused = 0  # times one after the other: a network that is being set up may refuse once
        self._next = 0.0
        self._state = Port.UNKNOWN

    def look(self, claim: Claim | None) -> Port:
        """What the port of the claim's owner shows, or showed within the last 0.4 s (2 s while it has not answered yet); once
        CLOSED, it stays so until the owner is another one; UNKNOWN without a claim or a port. Each step of a look, to connect
        and to read, blocks for 1 s at most."""
        if claim is None or not claim.port:
            return Port.UNKNOWN
        now = self._monotonic()
        if claim.instance != self._instance:
            self._instance, self._met, self._refused, self._state, self._next = claim.instance, False, 0, Port.UNKNOWN, now
        if self._state is Port.CLOSED or now < self._next:
            return self._state
        self._state = self._ask(claim)
        self._next = self._monotonic() + (_LOOK_SECONDS if self._met else _TRY_SECONDS)
        return self._state

    def _ask(self, claim: Claim) -> Port:
        try:
            _, content = ask(claim.host, claim.port, "/health", _CALL_SECONDS)
            answering = str(json.loads(content).get("instance", ""))
        except ConnectionRefusedError:
            self._refused += 1
            closed = Port.CLOSED if self._refused > 1 else Port.OPEN
            return closed if self._met else Port.UNKNOWN
        except (OSError, ValueError, AttributeError):
            return Port.OPEN if self._met else Port.UNKNOWN
        self._refused = 0
        if answering == claim.instance:
            self._met = True
            return Port.OPEN
        return Port.CLOSED if self._met else Port.UNKNOWN
