"""Commands of an operator to a running relay: /relayCommand/NAME, as in Databus.

Whoever reaches the port can send them, so they are off unless `minercdc.relay.commands` is set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from minercdc.errors import RelayDataError
from minercdc.relay.buffer.storage import State
from minercdc.relay.buffer.windows import EventBuffer, OvertakenError
from minercdc.relay.events.event import unpack
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.serving import events_between

NOT_THERE: Final = ("resetRelayBuffer", "getLastEventBinlogOffset", "runGC")
"""Commands of Databus that this relay does not have."""
_TRIES: Final = 5


class Commands:
    """Carries out the commands that operators send to a relay; may be used by any thread.

    :param save: writes a mapped buffer to disk; raises OSError.
    :param shut_down: ends the relay in order, soon.
    """

    def __init__(
        self, buffer: EventBuffer, connections: Connections, save: Callable[[], None], shut_down: Callable[[], None]
    ) -> None:
        self._buffer, self._connections = buffer, connections
        self._save, self._shut_down = save, shut_down
        self._known: Mapping[str, Callable[[], str]] = {
            "saveMetaInfo": self._saved,
            "shutdownRelay": self._ended,
            "validateRelayBuffer": self._validated,
            "printRelayInfo": self._shown,
            "disconnectClients": self._disconnected,
        }

    @property
    def names(self) -> list[str]:
        """Names of the commands that there are."""
        return list(self._known)

    def run(self, name: str) -> str:
        """Do what a command says; returns the reply text.

        :raises KeyError: there is no such command.
        :raises RelayDataError: the buffer is damaged.
        :raises OvertakenError: it is overwritten faster than it is examined.
        :raises OSError: the buffer cannot be written to disk.
        """
        return self._known[name]()

    def _saved(self) -> str:
        self._save()
        return "Command saveMetaInfo completed"

    def _ended(self) -> str:
        self._shut_down()
        return "Command shutdownRelay completed: the relay is shutting down"

    def _disconnected(self) -> str:
        return f"Command disconnectClients completed: {self._connections.close_others()} connections"

    def _shown(self) -> str:
        state = self._buffer.state
        shown = {
            "maxScn": state.max_scn,
            "prevScn": state.prev_scn,
            "bytes": state.tail - state.head,
            "size": self._buffer.size,
            "windows": self._buffer.windows,
            "connections": len(self._connections),
        }
        return json.dumps(shown, separators=(",", ":"))

    def _validated(self) -> str:
        """Checksums and order of all events. Begins again when the oldest ones are overwritten meanwhile, a few times,
        then it raises OvertakenError."""
        for left in reversed(range(_TRIES)):
            try:
                return self._examined(self._buffer.state)
            except OvertakenError:
                if not left:
                    raise
        raise AssertionError

    def _examined(self, state: State) -> str:
        events = windows = 0
        last = state.prev_scn
        for place, data in events_between(self._buffer, state.head, state.tail):
            event = unpack(data)
            events += 1
            if event.sequence <= last:
                raise RelayDataError(
                    f"the buffer is damaged at {place}: an event of SCN {event.sequence} after window {last}"
                )
            if event.is_end_of_window:
                windows, last = windows + 1, event.sequence
        if last != state.max_scn:
            raise RelayDataError(f"the buffer is damaged: its last window is {last}, and ought to be {state.max_scn}")
        return f"Command validateRelayBuffer completed: {windows} windows, {events} events, up to SCN {last}"
