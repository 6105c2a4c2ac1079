"""The stream of `fors_olr`: connect, have the server send from a position on, then request operation after operation.

A request by LastCommitedSCN also acknowledges what is stored. A connection that breaks ends the run with an error.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from typing import TypeVar

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.database_identity import here
from minercdc.capture.fors_olr.acknowledgement import Acknowledgement
from minercdc.capture.fors_olr.clock import Clock
from minercdc.capture.fors_olr.delivery import Delivery
from minercdc.capture.fors_olr.operations import Operation, read_operation
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.fors_olr.protocol import Answer, Command, CommandCode, Data
from minercdc.capture.fors_olr.session import Opening, Session, connected
from minercdc.capture.fors_olr.shapes import Shapes
from minercdc.capture.fors_olr.table_list import TableList
from minercdc.capture.open_transactions import OldestUndelivered
from minercdc.capture.position_json import loaded
from minercdc.errors import TransientSourceError, UnknownSourceError
from minercdc.oracle.scn import host_clock
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Progress, Scn
from minercdc.stream.offset import JsonValue, Position

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class ForsCapture:
    """The `contracts.Capture` of `fors_olr`, used by one thread. `stream` connects to the server and to the database, and closes
    these connections when it ends."""

    def __init__(self, context: CaptureContext) -> None:
        self._context = context
        self._config = context.config.fors
        self._tick = context.config.capture.poll_interval_ms / 1000
        self._session: Session | None = None
        self._oldest: OldestUndelivered | None = None
        self._shapes: Shapes | None = None
        self._acknowledgement: Acknowledgement | None = None

    def load_position(self, saved: Mapping[str, JsonValue]) -> ForsPosition:
        """The position that `ForsPosition.to_json` made `saved` of. Raises ConfigError for anything else, such as one of another
        adapter."""
        return loaded(ForsPosition.from_json, saved, "fors_olr")

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events after `start`, until `stop` is set. See `contracts.Capture`. Where the server had begun again, SchemaChanges
        of captured tables that were altered before that precede the first change.

        :raises TypeError: `start` is of another adapter.
        :raises LogGapError: `start` is of another database or incarnation.
        :raises TransientSourceError, UnknownSourceError: the server or the database went away, operations are missing or
            cannot be read, or the server answered by Error or not at all.
        :raises SourceError: the server cannot be used as it is, no table is captured, or the database cannot be read.
        :raises DecodeError: a row cannot be decoded, and `event.processing.failure.handling.mode` is `fail`.
        :raises PrerequisiteError: the database, which shows open transactions and shapes, refuses for want of a grant.
        :raises ConfigError: as `oracle.connect.connect`, or a pattern took too long.
        """
        if not isinstance(start, ForsPosition):
            raise TypeError(f"{type(start).__name__} is not a position of fors_olr")
        start = here(self._context.connect_pdb, start)
        try:
            yield from self._stream(start, stop)
        finally:
            self.close()

    def confirm(self, position: Position) -> None:
        """Note that everything up to `position` is stored: the next request acknowledges it to the server. Nothing is sent
        here."""
        if self._acknowledgement is not None and isinstance(position, ForsPosition):
            self._acknowledgement.stored(position)

    def close(self) -> None:
        """Close the connections to the server and the database, and those of `reselect`; safe to call twice."""
        for opened in (self._session, self._oldest, self._shapes, self._context.reselect):
            if opened is not None:
                opened.close()
        self._session = None

    def _stream(self, start: ForsPosition, stop: StopFlag) -> Iterator[Event]:
        tables = TableList(self._context)
        idle = Progress(start, Scn(start.scn - 1), 0)
        opened = yield from _idling(connected(self._config, self._tick, stop), idle)
        if opened is None:
            return
        session, status = opened
        self._session = session
        opening = Opening(session, start, tables, log_off=self._config.minercdc_fors_log_off)
        if not (yield from _idling(opening.run(status), idle)):
            return
        shapes = self._shapes = Shapes(self._context)
        if opening.restarted:
            start = replace(start, listed=opening.listed)
            yield from shapes.started(tables.schemas, start.delivered_scn)
            yield Progress(start, Scn(start.scn - 1), 0)
        yield from self._operations(session, start, shapes, opening.answer, stop)

    def _operations(
        self, session: Session, start: ForsPosition, shapes: Shapes, answer: Answer | None, stop: StopFlag
    ) -> Iterator[Event]:
        context, config = self._context, self._config
        oldest = self._oldest = OldestUndelivered(context.connect_pdb, start.begun)
        acknowledgement = self._acknowledgement = Acknowledgement()
        delivery = Delivery(
            start,
            shapes,
            acknowledgement,
            Clock(config, self._offset),
            lob_max=config.minercdc_fors_lob_max_bytes,
            on_failure=context.config.run.event_processing_failure_handling_mode,
            unread=context.unread,
            reselect=context.reselect if context.config.capture.lob_enabled else None,
        )
        due, moved = monotonic() + self._tick, monotonic()
        while not stop.is_set():
            if answer is None:
                waiting = session.ask(Command(CommandCode.LAST_COMMITED_SCN, scn=acknowledgement.scn))
                answer = yield from self._waited(waiting, delivery, oldest)
                if answer is None:
                    return
            if isinstance(answer, Data):
                moved = monotonic()
                yield from delivery.take(self._operation(answer, session, delivery), oldest.begun)
                answer = None
                if monotonic() < due:
                    continue
            else:
                answer = None
                if delivery.within and monotonic() - moved > session.timeout:
                    raise TransientSourceError(f"{session.name} has no more {delivery.place}")
                stop.wait(config.minercdc_fors_interval_ms / 1000)
            due = monotonic() + self._tick
            oldest.look(delivery.complete_scn)
            if not delivery.within:
                yield _progress(delivery, oldest)

    def _waited(
        self, waiting: Generator[None, None, Answer | None], delivery: Delivery, oldest: OldestUndelivered
    ) -> Generator[Event, None, Answer | None]:
        """Yield idle Progress each time that `waiting` yields, unless a transaction is under way; returns the answer,
        None when the stop came first."""
        while True:
            try:
                next(waiting)
            except StopIteration as ended:
                return ended.value if ended.value is not None else None
            if not delivery.within:
                yield _progress(delivery, oldest)

    def _operation(self, answer: Data, session: Session, delivery: Delivery) -> Operation:
        try:
            return read_operation(answer.payload, session.order)
        except ValueError as error:
            raise UnknownSourceError(
                f"{session.name} sent an operation of {len(answer.payload)} bytes {delivery.place} that cannot be read ({error}):"
                f" {bytes(answer.payload[:80])!r}",
                hint="The operation is not confirmed; the connector requests it again.",
            ) from error

    def _offset(self) -> timedelta:
        with closing(self._context.connect_root()) as connection:
            return host_clock(connection)[1]


def _progress(delivery: Delivery, oldest: OldestUndelivered) -> Progress:
    return Progress(delivery.position(oldest.begun), Scn(delivery.complete_scn), delivery.time_us)


def _idling(waiting: Generator[None, None, _Result], idle: Progress) -> Generator[Event, None, _Result]:
    """Yield `idle` each time that `waiting` yields, and return what `waiting` returns. Its errors pass through."""
    while True:
        try:
            next(waiting)
        except StopIteration as ended:
            result: _Result = ended.value
            return result
        yield idle
