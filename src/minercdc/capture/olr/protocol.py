"""Requests to OpenLogReplicator and its answers: RedoRequest and RedoResponse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from minercdc.capture.olr.message import Place
from minercdc.capture.olr.protobuf import BYTES, VARINT, field, fields

LAST_INDEX: Final = 2**63 - 1
"""The highest `c_idx` that the protocol can hold; a place with it comes after every message of its `c_scn`."""


class RequestCode(IntEnum):
    """`RedoRequest.code`: what the client wants of the server."""

    INFO = 0
    START = 1
    CONTINUE = 2
    CONFIRM = 3


class ResponseCode(IntEnum):
    """`RedoResponse.code`: the server's state, or why it refuses a request; PAYLOAD marks a message of the stream."""

    READY = 0
    FAILED_START = 1
    STARTING = 2
    ALREADY_STARTED = 3
    REPLICATE = 4
    PAYLOAD = 5
    INVALID_DATABASE = 6
    INVALID_COMMAND = 7


@dataclass(frozen=True, slots=True)
class Request:
    """A RedoRequest, to be sent by `OlrConnection.send`.

    :param source: `source.name` of the server.
    :param scn: of START; None for other requests.
    :param place: of CONFIRM, and of CONTINUE; None for others, and for a CONTINUE after what is confirmed.
    """

    code: RequestCode
    source: str
    scn: int | None = None
    place: Place | None = None

    def encoded(self) -> bytes:
        """The message in protobuf, without the frame's length."""
        found = field(1, self.code) if self.code else b""
        found += field(2, self.source.encode())
        if self.scn is not None:
            found += field(3, self.scn)
        if self.place is not None:
            found += field(8, self.place.scn) + field(9, self.place.idx)
        return found


@dataclass(frozen=True, slots=True)
class Response:
    """A RedoResponse to a request.

    :param scn: field 2 of the answer, None when the server does not send it; nothing depends on it.
    :param confirmed: up to where the server takes its messages for confirmed; None when it does not say, or says SCN 0.
    """

    code: ResponseCode
    scn: int | None
    confirmed: Place | None


def read_response(data: bytes) -> Response:
    """The server's answer to a request, from the content of a frame.

    :raises ValueError: these bytes are no RedoResponse, or its code is not known.
    """
    numbers: dict[int, int] = {}
    for number, kind, value in fields(data):
        if number in (1, 2, 10, 11):
            if kind != VARINT or not isinstance(value, int):
                raise ValueError(f"field {number} of a response is not a number")
            numbers[number] = value
        elif number in (3, 5, 6, 8, 9, 12) and kind != BYTES:
            raise ValueError(f"field {number} of a response has wire type {kind}")
    confirmed = Place(numbers[10], numbers.get(11, 0)) if numbers.get(10) else None
    return Response(ResponseCode(numbers.get(1, 0)), numbers.get(2), confirmed)
