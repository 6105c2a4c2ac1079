"""A TCP connection to OpenLogReplicator: sends requests, receives answers and messages."""

from __future__ import annotations

from typing import Final

from minercdc.capture.framed_connection import FramedConnection
from minercdc.errors import SourceError, UnknownSourceError

_LONG: Final = 0xFFFFFFFF  # announces a length of 64 bits, which servers write wrongly
_LONGEST_REQUEST: Final = 1024  # the server reads requests into so many bytes


class OlrConnection(FramedConnection):
    """The `FramedConnection` to OpenLogReplicator, with little-endian lengths; the constructor connects. Errors are the same, but
    `send` raises SourceError for a long request, and `receive` UnknownSourceError for a length of 0xFFFFFFFF.

    :param timeout: seconds, as of `FramedConnection`.
    :param longest: `minercdc.olr.message.max.bytes`.
    """

    def __init__(self, host: str, port: int, timeout: float, longest: int) -> None:
        name = f"OpenLogReplicator at {host}:{port}"
        super().__init__(name, (host, port), timeout, longest, "minercdc.olr.message.max.bytes")

    def send(self, message: bytes) -> None:
        """Send `message` as one frame.

        :raises SourceError: it has more than 1024 bytes, which is all that the server takes.
        :raises TransientSourceError: the connection broke.
        """
        if len(message) > _LONGEST_REQUEST:
            raise SourceError(f"{self.name} takes requests of {_LONGEST_REQUEST} bytes, this one has {len(message)}")
        super().send(message)

    def _check_length(self, length: int) -> None:
        if length == _LONG:
            raise UnknownSourceError(f"{self.name} sent a message with the invalid length {length:#x}")
        super()._check_length(length)
