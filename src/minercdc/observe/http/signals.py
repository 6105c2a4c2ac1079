"""Receives signals that come by HTTP: `POST /signals` of the connector's port (`server`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from email.message import Message
from http import HTTPStatus
from typing import Protocol
from uuid import uuid4

from minercdc.errors import StateDirectoryError
from minercdc.stream.offset import JsonValue
from minercdc.stream.signal import Signal, SignalRefused, action_of, signal_of_json


class Journal(Protocol):
    """Where signals are kept until they are acted on; `signals.channels.SignalJournal` fits."""

    def put(self, signal: Signal) -> None:
        """Keep a signal durably. Raises StateDirectoryError."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: its HTTP status, and the content of its body, which is sent as JSON."""

    status: HTTPStatus
    content: JsonValue


class SignalReceiver:
    """Puts signals of requests into a journal; any thread may use it.

    :param journal: None when channel `http` is not enabled.
    :param is_standby: whether this process is a standby, which takes no signals.
    """

    def __init__(self, journal: Journal | None, is_standby: Callable[[], bool]) -> None:
        self._journal = journal
        self._is_standby = is_standby

    def refusal(self, headers: Message) -> Answer | None:
        """The answer that refuses a request by its headers, before its body is read: SERVICE_UNAVAILABLE from a standby,
        FORBIDDEN without the channel, UNSUPPORTED_MEDIA_TYPE for no JSON. None when the body is to be read."""
        if self._is_standby():
            return _error(
                HTTPStatus.SERVICE_UNAVAILABLE, "this is a standby: send the signal to the owner (/health names it)"
            )
        if self._journal is None:
            return _error(HTTPStatus.FORBIDDEN, "signal.enabled.channels does not have http")
        if headers.get_content_type() != "application/json":
            return _error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type: application/json is expected")
        return None

    def receive(self, body: bytes) -> Answer:
        """Put a signal into the journal; `refusal` returned None before. The answer's status is ACCEPTED when the signal is
        durable (its content has the signal's id, a UUID if it came without), BAD_REQUEST when it is refused,
        INSUFFICIENT_STORAGE when it could not be written."""
        assert self._journal is not None
        try:
            signal = signal_of_json(body, "http")
            action_of(signal)
        except SignalRefused as refused:
            return _error(HTTPStatus.BAD_REQUEST, refused.reason)
        signal = signal if signal.id else replace(signal, id=str(uuid4()))
        try:
            self._journal.put(signal)
        except StateDirectoryError as error:
            return _error(HTTPStatus.INSUFFICIENT_STORAGE, error.message)
        return Answer(HTTPStatus.ACCEPTED, {"id": signal.id})


def _error(status: HTTPStatus, reason: str) -> Answer:
    return Answer(status, {"error": reason})
