"""Starts the stream on a new connection: INFO, then START or CONTINUE.

INFO      READY       no position is known to the server: START at an SCN
          REPLICATE   it runs: CONTINUE
          STARTING    another START is under way: INFO again a second later
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from time import monotonic
from typing import Final

from minercdc.capture.olr.connection import OlrConnection
from minercdc.capture.olr.message import Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.olr.protocol import LAST_INDEX, Request, RequestCode, Response, ResponseCode, read_response
from minercdc.errors import ConfigError, LogGapError, SourceError, TransientSourceError, UnknownSourceError
from minercdc.stream.contracts import StopFlag

_log = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0


class Handshake:
    """Requests the stream from a position on; for one new connection, which it neither opens nor closes.

    :param source: `source.name` of the server.
    :param timeout: seconds for each answer, and for the server to get started.
    :param tick: seconds after which `run` yields while it waits for an answer.
    :param stop: once it is set, `run` ends.
    """

    def __init__(self, connection: OlrConnection, source: str, timeout: float, tick: float, stop: StopFlag) -> None:
        self._connection = connection
        self._source = source
        self._timeout = timeout
        self._tick = tick
        self._stop = stop

    def run(self, position: OlrPosition) -> Generator[None, None, bool]:
        """Request the stream. Yields every `tick` seconds while it waits for an answer, and once a second while the server gets
        started.

        :returns: True once the server sends changes, False when the stop came first.
        :raises ConfigError: the server has another source.
        :raises LogGapError: the server cannot start at `position.begun`.
        :raises SourceError: another client has confirmed what this connector has not received; or a frame or request is too long.
        :raises TransientSourceError: the connection broke, an answer did not come in time, or the server is not ready in time.
        :raises UnknownSourceError: an answer is no RedoResponse.
        """
        deadline = monotonic() + self._timeout
        while True:
            answer = yield from self._exchanged(Request(RequestCode.INFO, self._source))
            if answer is None:
                return False
            if answer.code is ResponseCode.READY:
                _log.info("%s: START at SCN %d", self._connection.name, position.begun)
                answer = yield from self._exchanged(Request(RequestCode.START, self._source, scn=position.begun))
            elif answer.code is ResponseCode.REPLICATE:
                self._check_confirmed(answer.confirmed, position)
                place = _before(position)
                _log.info("%s: CONTINUE after %s", self._connection.name, place or "what is confirmed")
                answer = yield from self._exchanged(Request(RequestCode.CONTINUE, self._source, place=place))
            if answer is None:
                return False
            if answer.code is ResponseCode.REPLICATE:
                return True
            self._check(answer.code, position)
            if monotonic() >= deadline:
                raise TransientSourceError(f"{self._connection.name} is {answer.code.name} for {self._timeout:g} s")
            self._stop.wait(_AGAIN_SECONDS)
            yield None

    def _exchanged(self, request: Request) -> Generator[None, None, Response | None]:
        """Send a request and return the answer, None when the stop came first; yields every `tick` seconds meanwhile."""
        self._connection.send(request.encoded())
        deadline = monotonic() + self._timeout
        while not self._stop.is_set():
            frame = self._connection.receive(self._tick)
            if frame is not None:
                try:
                    return read_response(frame)
                except ValueError as error:
                    raise UnknownSourceError(
                        f"{self._connection.name} answered {request.code.name} with bytes that are not a RedoResponse ({error}):"
                        f" {frame[:60]!r}"
                    ) from error
            if monotonic() >= deadline:
                raise TransientSourceError(
                    f"{self._connection.name} did not answer {request.code.name} in {self._timeout:g} s"
                )
            yield None
        return None

    def _check(self, code: ResponseCode, position: OlrPosition) -> None:
        """Raise ConfigError or LogGapError, as `run`, for an answer after which trying again does not help; else nothing."""
        if code is ResponseCode.INVALID_DATABASE:
            raise ConfigError(
                [f"openlogreplicator.source: {self._connection.name} has no source {self._source}"],
                hint="Set it to source.name of OpenLogReplicator's configuration.",
            )
        if code is ResponseCode.FAILED_START:
            raise LogGapError(
                f"{self._connection.name} cannot start at SCN {position.begun}",
                hint="Its log has the reason. If redo of that SCN no longer exists, remove the offset and take a new snapshot.",
            )

    def _check_confirmed(self, confirmed: Place | None, position: OlrPosition) -> None:
        """Raise SourceError when another client has confirmed more than this connector has received: one server serves one
        connector, and does not send again what is confirmed."""
        ours = position.scn if position.seen is None else max(position.scn, position.seen.scn)
        if confirmed is not None and confirmed.scn > ours:
            raise SourceError(
                f"{self._connection.name}: c_scn {confirmed.scn} is confirmed, but this connector has received only up"
                f" to {ours}: another client has confirmed changes, which are no longer sent",
                hint="Run a separate OpenLogReplicator for each connector, remove this connector's offset, and take a new snapshot.",
            )


def _before(position: OlrPosition) -> Place | None:
    """A place that no undelivered message lies at or below, with both meanings of `c_scn`: by the begin none is below `begun`, by
    the commit none below the last one that was received. None when none was: then a block that the snapshot's SCN lies in may
    have begun before it.
    """
    if position.seen is None:
        return None
    return Place(max(min(position.begun, position.seen.scn) - 1, 0), LAST_INDEX)
