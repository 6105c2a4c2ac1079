"""A server that speaks OpenLogReplicator's protocol, from a feed. One client at a time, as the real one.

Faults that users report can be switched on; see `Faults`.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from tests.olr_server.feed import Checkpoint, Feed
from tests.olr_server.printing import Printer, Style
from tests.olr_server.wire import REQUEST, RESPONSE, decode, encode
from tests.one_client import OneClient

INFO, START, CONTINUE, CONFIRM = range(4)
READY, FAILED_START, STARTING, ALREADY_STARTED, REPLICATE, PAYLOAD, INVALID_DATABASE, INVALID_COMMAND = range(8)


@dataclass
class Faults:
    """What goes wrong.

    :param starting: so many INFO are answered STARTING.
    :param failed_start: START is answered FAILED_START.
    :param cut_after: the connection is cut after so many bytes of data, once.
    :param drop: number of a data message, from 0, that is not sent, once.
    :param drop_commit: the next commit is not sent, once (JSON).
    :param instead: number of a data message -> bytes sent in place of it, once.
    :param silent: nothing is answered.
    """

    starting: int = 0
    failed_start: bool = False
    cut_after: int | None = None
    drop: int | None = None
    drop_commit: bool = False
    instead: dict[int, bytes] = field(default_factory=dict)
    silent: bool = False


class OlrServer:
    """Listens once it is made.

    :param queue: messages that may be unconfirmed.
    :param checkpoint_seconds: least time between two checkpoints.
    :ivar requests: all that came.
    :ivar bytes: of data that were sent, `sent` messages.
    :ivar confirmed: place of the last message that was confirmed.
    """

    def __init__(
        self,
        feed: Feed,
        source: str = "ORCL",
        style: Style | None = None,
        *,
        queue: int = 65_536,
        checkpoint_seconds: float = 0.05,
        faults: Faults | None = None,
    ) -> None:
        self.source = source
        self.faults = faults or Faults()
        self.requests: list[dict[str, Any]] = []
        self.confirmed: tuple[int, int] = (0, 0)
        self.feed = feed
        self._style = style or Style()
        self._printer = Printer(self._style)
        self._queue = queue
        self._checkpoint_seconds = checkpoint_seconds
        self._checkpoint_at = 0.0
        self._messages: list[tuple[tuple[int, int], bytes]] = []
        self._printed = 0  # units
        self._head = 0  # first message that is not confirmed
        self._started = False
        self.sent = 0  # data messages, over all connections
        self.bytes = 0
        self._client = OneClient(self._converse, backlog=1)
        self.host, self.port = self._client.host, self._client.port
        self._client.start()

    def close(self) -> None:
        self._client.close()
        self.feed.close()

    def restart(self) -> None:
        """As the process restarts: connections end, it goes on from what is confirmed, and counts again, without checkpoints."""
        self._client.between_connections(self._restart)

    def forget(self) -> None:
        """As if its state was removed: it is READY again. A new feed begins with START."""
        self._client.between_connections(self._forget)

    def _restart(self) -> None:
        confirmed = self.confirmed
        self._printer = Printer(self._style)
        units = self.feed.units[:]  # it grows meanwhile
        printed: list[tuple[tuple[int, int], bytes]] = []
        for unit in units:
            if isinstance(unit, Checkpoint):
                self._printer.pass_over(unit)
            else:
                printed += self._printer.messages(unit)
        self._messages = [message for message in printed if message[0] > confirmed]
        self._printed, self._head = len(units), 0

    def _forget(self) -> None:
        self._started = False
        self.confirmed = (0, 0)
        self._messages, self._printed, self._head = [], 0, 0
        old = self.feed
        self.feed = Feed(old.sandbox, old.schemas, old.directory, old.shapes)
        self._printer = Printer(self._style)
        old.close()

    @property
    def unconfirmed(self) -> int:
        """Number of messages that the server keeps."""
        return len(self._messages) - self._head

    def _converse(self, connection: socket.socket) -> None:
        buffer, position, after = b"", None, (0, 0)
        while not self._client.ends:
            if self._client.readable(connection, 0.05 if position is not None else 0.2):
                data = connection.recv(65_536)
                if not data:
                    return
                buffer += data
            while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "little"):
                length = int.from_bytes(buffer[:4], "little")
                assert length <= 1024
                request, buffer = decode(REQUEST, buffer[4 : 4 + length]), buffer[4 + length :]
                self.requests.append(request)
                if self.faults.silent:
                    continue
                code = request.get("code", INFO)
                if code == CONFIRM:
                    self._confirm((request.get("c_scn", 0), request.get("c_idx", 0)))
                    continue
                streams, answer = self._answer(code, request)
                connection.sendall(_framed(encode(RESPONSE, answer)))
                position = self._head if streams else None
                after = (request.get("c_scn", 0), request.get("c_idx", 0)) if code == CONTINUE else (0, 0)
            self._print()
            while position is not None and position < len(self._messages) and position - self._head < self._queue:
                place, message = self._messages[position]
                position += 1
                if place > after:
                    self._send(connection, message)
                elif position == self._head + 1:
                    self._head, self.confirmed = position, place
            if position is not None:
                position = max(position, self._head)

    def _answer(self, code: int, request: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        if request.get("database_name") != self.source:
            return False, {"code": INVALID_DATABASE}
        running = {"code": REPLICATE, "scn": 1, "c_scn": self.confirmed[0], "c_idx": self.confirmed[1]}
        if code == INFO:
            if self.faults.starting:
                self.faults.starting -= 1
                return False, {"code": STARTING}
            return False, running if self._started else {"code": READY}
        if code == START:
            if self._started:
                return False, {"code": ALREADY_STARTED}
            if self.faults.failed_start:
                return False, {"code": FAILED_START}
            self._started = True
            self.feed.start(request["scn"], self._client.notify)
            return True, running
        return (True, running) if self._started else (False, {"code": INVALID_COMMAND})

    def _confirm(self, place: tuple[int, int]) -> None:
        while self._head < len(self._messages) and self._messages[self._head][0] <= place:
            self.confirmed = self._messages[self._head][0]
            self._head += 1

    def _print(self) -> None:
        while self._printed < len(self.feed.units):
            unit = self.feed.units[self._printed]
            self._printed += 1
            if isinstance(unit, Checkpoint):
                if monotonic() < self._checkpoint_at:
                    self._printer.pass_over(unit)
                    continue
                self._checkpoint_at = monotonic() + self._checkpoint_seconds
            self._messages += self._printer.messages(unit)

    def _send(self, connection: socket.socket, message: bytes) -> None:
        number, self.sent = self.sent, self.sent + 1
        if number == self.faults.drop:
            return
        if self.faults.drop_commit and b'"commit"' in message:
            self.faults.drop_commit = False
            return
        frame = _framed(self.faults.instead.pop(number, message))
        cut = self.faults.cut_after
        if cut is not None and self.bytes + len(frame) > cut:
            connection.sendall(frame[: cut - self.bytes])
            self.faults.cut_after = None
            raise OSError("cut")
        self.bytes += len(frame)
        connection.sendall(frame)


def _framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message
