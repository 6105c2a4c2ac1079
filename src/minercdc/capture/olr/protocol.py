"""Requests to OpenLogReplicator and its answers: RedoRequest and RedoResponse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from minercdc.capture.olr.message import Place
from minercdc.capture.olr.protobuf import BYTES, VARINT, field, fields

LAST_INDEX: Final = 2**63 - 1
"""A `c_idx` above any other."""


class RequestCode(IntEnum):
    """`RedoRequest.code`."""

    INFO = 0
    START = 1
    CONTINUE = 2
    CONFIRM = 3


class ResponseCode(IntEnum):
    """`RedoResponse.code`."""

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
    """A RedoRequest.

    :param scn: of START; None for other requests.
    :param place: of CONFIRM, and of CONTINUE after a place; None for others: the server continues after what is confirmed.
    """

    code: RequestCode
    source: str
    scn: int | None = None
    place: Place | None = None

    def encoded(self) -> bytes:
        """The bytes of the message."""
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

    :param scn: None when the server does not say it.
    :param confirmed: what the server takes for confirmed, None when it does not say.
    """

    code: ResponseCode
    scn: int | None
    confirmed: Place | None


def read_response(data: bytes) -> Response:
    """An answer.

    :raises ValueError: these bytes are none.
    """
    numbers: dict[int, int] = {}
    for number, kind, value in fields(data):
        if number in (1, 2, 10, 11):
            if kind != VARINT or not isinstance(value, int):
                raise ValueError(f"field {number} of a response is no number")
            numbers[number] = value
        elif number in (3, 5, 6, 8, 9, 12) and kind != BYTES:
            raise ValueError(f"field {number} of a response has wire type {kind}")
    confirmed = Place(numbers[10], numbers.get(11, 0)) if numbers.get(10) else None
    return Response(ResponseCode(numbers.get(1, 0)), numbers.get(2), confirmed)
