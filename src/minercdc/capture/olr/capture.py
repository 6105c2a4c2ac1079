"""The stream of `olr`: connect, request the stream from a position on, then read message after message.

A connection that breaks ends the run with an error. Only what the sink has stored is confirmed to the server, so the server
still has all the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from time import monotonic

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.database_identity import here
from minercdc.capture.olr.confirmation import Confirmations
from minercdc.capture.olr.connection import OlrConnection
from minercdc.capture.olr.delivery import Delivery
from minercdc.capture.olr.handshake import Handshake
from minercdc.capture.olr.json_format import read_json
from minercdc.capture.olr.message import Message
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.olr.protobuf_format import read_protobuf
from minercdc.capture.olr.protocol import Request, RequestCode
from minercdc.capture.olr.shapes import Shapes
from minercdc.capture.open_transactions import OldestUndelivered
from minercdc.capture.position_json import loaded
from minercdc.errors import MinerCdcError, TransientSourceError, UnknownSourceError
from minercdc.oracle.scn import host_clock
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Progress, Scn
from minercdc.stream.offset import JsonValue, Position

_log = logging.getLogger(__name__)


class OlrCapture:
    """The `contracts.Capture` of `olr`, used by one thread. `stream` opens one connection to the server, and one to the
    database for V$TRANSACTION, and closes both when it ends."""

    def __init__(self, context: CaptureContext) -> None:
        self._context = context
        self._config = context.config.olr
        self._tick = context.config.capture.poll_interval_ms / 1000
        self._timeout = self._config.minercdc_olr_timeout_ms / 1000
        self._connection: OlrConnection | None = None
        self._oldest: OldestUndelivered | None = None
        self._confirmations: Confirmations | None = None

    def load_position(self, saved: Mapping[str, JsonValue]) -> OlrPosition:
        """The position that `OlrPosition.to_json` made `saved` of. Raises ConfigError for anything else, such as one of another
        adapter."""
        return loaded(OlrPosition.from_json, saved, "olr")

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events after `start`, until `stop` is set. See `contracts.Capture`. While the server gets started, Progress with
        `start` comes as an idle tick.

        :raises TypeError: `start` is of another adapter.
        :raises LogGapError: `start` is of another database or incarnation, or the server cannot start at its SCN.
        :raises TransientSourceError, UnknownSourceError: the server or the database went away or does not answer, messages
            are missing, or what came is no message.
        :raises SourceError, ConfigError: the server or database cannot be used as it is, or a pattern took too long.
        :raises DecodeError: a row cannot be decoded, and `event.processing.failure.handling.mode` is `fail`.
        :raises PrerequisiteError: the database, which shows open transactions and shapes, refuses for want of a grant.
        """
        if not isinstance(start, OlrPosition):
            raise TypeError(f"{type(start).__name__} is not a position of olr")
        start = here(self._context.connect_pdb, start)
        try:
            yield from self._stream(start, stop)
        finally:
            self.close()

    def confirm(self, position: Position) -> None:
        """Send the server a confirmation of what it may forget, now that everything up to `position` is stored. No effect for a
        position that this connection has not emitted, or without a connection. A broken connection raises nothing here."""
        if self._confirmations is not None and isinstance(position, OlrPosition):
            self._confirmations.stored(position)
            with suppress(TransientSourceError):  # the next read finds the connection broken, too
                self._send_confirmation()

    def close(self) -> None:
        """Close the connections to the server and the database, and those of `reselect`; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._oldest is not None:
            self._oldest.close()
        if self._context.reselect is not None:
            self._context.reselect.close()

    def _stream(self, start: OlrPosition, stop: StopFlag) -> Iterator[Event]:
        config, context = self._config, self._context
        host, port, source = config.openlogreplicator_host, config.openlogreplicator_port, config.openlogreplicator_source
        assert host is not None
        assert port is not None
        assert source is not None
        connection = self._connection = OlrConnection(
            host,
            port,
            self._timeout,
            config.minercdc_olr_message_max_bytes,
        )
        oldest = self._oldest = OldestUndelivered(context.connect_pdb, start.begun)
        confirmations = self._confirmations = Confirmations(config.minercdc_olr_c_scn, start.seen)
        delivery = Delivery(
            start,
            Shapes(context, self._offset),
            confirmations,
            on_failure=context.config.run.event_processing_failure_handling_mode,
            unread=context.unread,
            reselect=context.reselect if context.config.capture.lob_enabled else None,
        )
        waiting = Handshake(connection, source, self._timeout, self._tick, stop).run(start)
        while True:
            try:
                next(waiting)
            except StopIteration as ended:
                if not ended.value:
                    return
                break
            yield Progress(start, Scn(delivery.complete_scn), 0)
        yield from self._messages(connection, delivery, oldest, confirmations, stop)

    def _messages(
        self,
        connection: OlrConnection,
        delivery: Delivery,
        oldest: OldestUndelivered,
        confirmations: Confirmations,
        stop: StopFlag,
    ) -> Iterator[Event]:
        due = moved = monotonic()
        while not stop.is_set():
            frame = connection.receive(max(due - monotonic(), 0.0))
            if frame is not None:
                message = self._message(frame, connection)
                if not message.is_checkpoint:  # they come even when the rest of a transaction is lost
                    moved = monotonic()
                for event in delivery.take(message, oldest.begun):
                    yield event
                    due = monotonic() + self._tick
            elif delivery.within and monotonic() - moved > self._timeout:
                raise TransientSourceError(
                    f"{connection.name} stopped within {delivery.open_messages}",
                    hint="Its queue may be full: if the transaction has more messages than the queue holds, raise queue-size in its configuration.",
                )
            if monotonic() < due:
                continue
            due = monotonic() + self._tick
            oldest.look(delivery.complete_scn)
            if delivery.within:
                self._send_confirmation()  # the server sends no more while its queue is full
                continue
            position = delivery.position(oldest.begun)
            confirmations.issue(position)
            yield Progress(position, Scn(delivery.complete_scn), delivery.time_us)
            self._send_confirmation()

    def _message(self, frame: bytes, connection: OlrConnection) -> Message:
        try:
            return read_json(frame) if frame[:1] == b"{" else read_protobuf(frame)
        except MinerCdcError as error:
            raise UnknownSourceError(f"{connection.name} sent a message that cannot be read ({error.message})") from error
        except ValueError as error:
            confirmations = self._confirmations
            after = confirmations.seen if confirmations is not None else None
            place = f" after c_scn {after.scn}, c_idx {after.idx}" if after is not None else ""
            raise UnknownSourceError(
                f"{connection.name} sent a message of {len(frame)} bytes{place} that cannot be read ({error}): {frame[:80]!r}",
                hint="The message is not confirmed; the connector requests it again. See docs/capture/olr.md for the supported formats.",
            ) from error

    def _send_confirmation(self) -> None:
        if self._connection is None or self._confirmations is None or self._oldest is None:
            return
        place = self._confirmations.due(self._oldest.begun)
        if place is not None:
            source = self._config.openlogreplicator_source or ""
            self._connection.send(Request(RequestCode.CONFIRM, source, place=place).encoded())

    def _offset(self) -> timedelta:
        with closing(self._context.connect_pdb()) as connection:
            return host_clock(connection)[1]
