"""A TCP connection with frames: a 32-bit length, then that number of bytes."""

from __future__ import annotations

import select
import socket
from time import monotonic
from typing import Final, Literal

from minercdc.errors import SourceError, TransientSourceError

_HEAD: Final = 4
_CHUNK: Final = 1 << 18


class FramedConnection:
    """A client's end of the connection, for one thread; the constructor connects, and the owner calls `close`. After an error
    the connection is of no more use.

    :param name: of the server, for messages.
    :param timeout: seconds that connecting may take, that sending may take, and that a frame which has begun may stay without
        another byte.
    :param address: host and port.
    :param longest: most bytes of a received frame, without its length; `limit` is the name of the property that sets it.
    :param order: of the bytes of a length.
    :raises TransientSourceError: the server is not reachable.
    """

    def __init__(
        self,
        name: str,
        address: tuple[str, int],
        timeout: float,
        longest: int,
        limit: str,
        order: Literal["little", "big"] = "little",
    ) -> None:
        self.name = name
        self._timeout = timeout
        self._longest = longest
        self._limit = limit
        self._order = order
        self._buffer = bytearray()
        self._since = 0.0  # when a byte of the frame that is not complete came last
        try:
            self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise TransientSourceError(
                f"{self.name} is not reachable ({error})", hint="It accepts one client at a time, once it is running."
            ) from error
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, message: bytes) -> None:
        """Send `message` as one frame.

        :raises TransientSourceError: the connection broke.
        """
        try:
            self._socket.sendall(len(message).to_bytes(_HEAD, self._order) + message)
        except OSError as error:
            raise TransientSourceError(f"{self.name}: the connection broke ({error})") from error

    def receive(self, seconds: float) -> bytes | None:
        """The next frame without its length, None when it has not come within so many seconds; what has come of it is kept for
        the next call.

        :raises TransientSourceError: the connection broke, or the server closed it; or the seconds are over, and no byte of a
            frame that has begun came for `timeout` seconds.
        :raises SourceError: the length of the frame is above `longest`.
        """
        deadline = monotonic() + seconds
        while True:
            frame = self._taken()
            if frame is not None:
                return frame
            if not self._filled(max(deadline - monotonic(), 0.0)):
                if self._buffer and monotonic() - self._since > self._timeout:
                    raise TransientSourceError(
                        f"{self.name} sent {len(self._buffer)} bytes of a message, and then nothing for {self._timeout:g} s"
                    )
                return None

    def close(self) -> None:
        """Close the socket; safe to call twice."""
        self._socket.close()

    def _taken(self) -> bytes | None:
        """Take out the frame that the buffer begins with; None while it is not whole."""
        if len(self._buffer) < _HEAD:
            return None
        length = int.from_bytes(self._buffer[:_HEAD], self._order)
        self._check_length(length)
        if len(self._buffer) < _HEAD + length:
            return None
        frame = bytes(self._buffer[_HEAD : _HEAD + length])
        del self._buffer[: _HEAD + length]
        return frame

    def _filled(self, seconds: float) -> bool:
        """Wait for bytes, at most so many seconds, and add them to the buffer; False when none came."""
        try:
            if not self._poll.poll(seconds * 1000):
                return False
            data = self._socket.recv(_CHUNK)
        except (OSError, ValueError) as error:
            raise TransientSourceError(f"{self.name}: the connection broke ({error})") from error
        if not data:
            cut = f" after {len(self._buffer)} bytes of a message" if self._buffer else ""
            raise TransientSourceError(f"{self.name} closed the connection{cut}")
        self._buffer += data
        self._since = monotonic()
        return True

    def _check_length(self, length: int) -> None:
        """Raise SourceError, as `receive`, when a frame has more than `longest` bytes."""
        if length > self._longest:
            raise SourceError(
                f"{self.name} announces a message of {length} bytes; {self._limit} is {self._longest}",
                hint="Raise it if rows are that long; otherwise a different program is listening on that port.",
            )
