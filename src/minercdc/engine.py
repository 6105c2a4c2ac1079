"""The loop: read events, encode them, hand them to the sink, and now and then make the position durable.

    run            restarts around run_once, by the type of the error
    run_once       one life of the stream: sink, offset, events, until stopped
    read_events    the initial snapshot if it is due, then the capture's stream
                   through signals: what was asked for while it runs
    skip_sent      leaves out the part of a split transaction that was delivered before
    publish        events -> records, committed with the offset at `Progress`

Records, schema history and offset of one commit lie in one Kafka transaction. A commit comes after whole source transactions;
one that exceeds the bounds, or takes longer than Kafka lets a transaction live, is split at (transaction, seq), which the
offset names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential
from tenacity.stop import stop_base

from minercdc.contracts import (
    Capture,
    Heartbeat,
    Record,
    RecordEncoder,
    RecordSink,
    SchemaHistory,
    SignalActions,
    Snapshot,
    StopFlag,
)
from minercdc.errors import DecodeError, DeliveryError, MinerCdcError, MiningSessionError, TransientSourceError
from minercdc.events import ChangeEvent, Event, Notification, Progress, SchemaChange, UndecodableRow
from minercdc.metrics import Counters, TableScan
from minercdc.offset import JsonValue, Offset, PartialTransaction, SignalState, SnapshotState

log = logging.getLogger(__name__)

_RESTARTABLE = (TransientSourceError, MiningSessionError, DeliveryError)
_LONGEST_TRANSACTION_S = 20.0  # well below the producer's transaction.timeout.ms
_IDLE_OFFSET_S = 5.0  # an idle connector's offset is stored this often


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a Kafka transaction is committed."""

    records: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Life:
    """What one life of the stream works with; made anew after every restart.

    :param snapshot: None when no initial snapshot is wanted.
    :param signals: None when nobody can send any.
    :param streams: asked after the snapshot; False to end there.
    :param heartbeat: None when none is wanted.
    :param notified: told of each notification once it is durable.
    """

    adapter: str
    sink: RecordSink
    encoder: RecordEncoder
    history: SchemaHistory
    snapshot: Callable[[Offset | None], Snapshot | None]
    capture: Callable[[Offset | None], Capture]
    bounds: Bounds
    skip_undecodable: Callable[[DecodeError], bool]
    signals: Callable[[Capture], SignalActions] | None = None
    streams: Callable[[], bool] = lambda: True
    heartbeat: Heartbeat | None = None
    notified: Callable[[Notification], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Parts:
    """What the engine is given.

    :param live: opens everything that one life needs; a context-free constructor, `Life.sink` is closed by us.
    :param monotonic: seconds of a clock that never goes back.
    """

    live: Callable[[], Life]
    max_restarts: int
    longest_wait: float
    monotonic: Callable[[], float]
    counters: Counters = field(default_factory=Counters)


def run(parts: Parts, stop: StopFlag) -> None:
    """Run until stopped, restarting after what passes by itself.

    :raises MinerCdcError: what does not pass by itself, or did not within the allowed restarts.
    """
    counters = parts.counters

    def restarting(state: RetryCallState) -> None:
        counters.restarts += 1
        counters.phase = "reconnecting"
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        if isinstance(error, MinerCdcError):
            counters.trouble = error.message
            hint = f"  hint: {error.hint}" if error.hint else ""
            log.warning("%s: %s; going on from the last offset in %.1f s%s", error.code, error.message, wait, hint)

    def attempt() -> None:
        delivered = counters.commits
        try:
            run_once(parts, stop)
        except _RESTARTABLE:
            if stop.is_set():
                return
            if counters.commits > delivered:  # it had got somewhere: this is a new failure
                retrying.statistics["attempt_number"] = 1
                attempts.used = 0
            raise

    attempts = _Attempts(parts.max_restarts)
    retrying = Retrying(
        retry=retry_if_exception_type(_RESTARTABLE),
        stop=attempts,
        wait=wait_exponential(multiplier=parts.longest_wait / 10, max=parts.longest_wait),
        before_sleep=restarting,
        sleep=lambda seconds: _sleep(stop, seconds),
        reraise=True,
    )
    retrying(attempt)


class _Attempts(stop_base):
    """Stops after `limit` failures in a row; -1: never."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def __call__(self, retry_state: RetryCallState) -> bool:
        self.used += 1
        return 0 <= self.limit < self.used


def _sleep(stop: StopFlag, seconds: float) -> None:
    stop.wait(seconds)


def run_once(parts: Parts, stop: StopFlag) -> None:
    """One life of the stream."""
    if stop.is_set():
        return
    life = parts.live()
    try:
        offset = life.sink.load_offset()
        capture = life.capture(offset)
        signals = life.signals(capture) if life.signals else None
        try:
            events = read_events(life, capture, offset, parts.counters, stop, signals)
            if offset and offset.partial:
                events = skip_sent(events, offset.partial)
            publish(events, life, capture, offset, parts, signals)
        finally:
            if signals:
                signals.close()
            capture.close()
    finally:
        life.sink.close()
    parts.counters.phase = "stopped"


def read_events(
    life: Life,
    capture: Capture,
    offset: Offset | None,
    counters: Counters,
    stop: StopFlag,
    signals: SignalActions | None = None,
) -> Iterator[Event]:
    """The initial snapshot if it is due, then the capture's stream."""
    position = capture.load_position(offset.position) if offset and offset.position is not None else None
    state = offset.signals if offset else SignalState()
    snapshot = life.snapshot(offset)
    if snapshot is not None:
        counters.phase = "snapshot"
        interrupted = offset.snapshot if offset and offset.position is None else None
        for event in snapshot.take(interrupted, stop):
            if isinstance(event, Progress):
                position = event.position
                state = state if event.signals is None else event.signals
            yield event
    if stop.is_set():
        return
    if not life.streams():
        log.info("the snapshot is complete, and snapshot.mode asks for no more")
        return
    if position is None:
        return
    counters.phase = "streaming"
    counters.trouble = ""
    streamed = capture.stream(position, stop)
    partial_scn = offset.partial.commit_scn if offset and offset.partial else 0
    yield from signals.through(streamed, position, state, stop, partial_scn) if signals else streamed


def skip_sent(events: Iterator[Event], partial: PartialTransaction) -> Iterator[Event]:
    """Leave out the events of a split transaction that an earlier life delivered."""
    for event in events:
        if isinstance(event, ChangeEvent | UndecodableRow) and _delivered(event, partial):
            continue
        yield event


def _delivered(event: ChangeEvent | UndecodableRow, partial: PartialTransaction) -> bool:
    tx = event.tx
    if tx is None or tx.id != partial.tx_id or tx.commit_scn != partial.commit_scn:
        return False
    # A split is behind a change, and what could not be decoded has the number of the change before it.
    return event.seq < partial.seq or (event.seq == partial.seq and isinstance(event, ChangeEvent))


class _Batch:
    """The Kafka transaction being filled."""

    def __init__(self, bounds: Bounds, monotonic: Callable[[], float]) -> None:
        self._bounds = bounds
        self._monotonic = monotonic
        self.records = 0
        self.bytes = 0
        self.begun = monotonic()

    def full(self) -> bool:
        return self.records >= self._bounds.records or self.bytes >= self._bounds.bytes

    def age(self) -> float:
        return self._monotonic() - self.begun

    def clear(self) -> None:
        self.records = self.bytes = 0
        self.begun = self._monotonic()


def publish(
    events: Iterator[Event],
    life: Life,
    capture: Capture,
    offset: Offset | None,
    parts: Parts,
    signals: SignalActions | None = None,
) -> None:
    """Encode and write events; commit records and offset together."""
    _Publisher(life, capture, offset, parts, signals).publish(events)


class _Publisher:
    """Fills Kafka transactions and commits them with the offset.

    `_latest` is the last Progress: what the next save stores. `_partial` names what an earlier life, or we, delivered of a split
    transaction; it stays until that transaction's own Progress, since idle ticks may come before its commit is mined again.
    """

    def __init__(
        self, life: Life, capture: Capture, offset: Offset | None, parts: Parts, signals: SignalActions | None = None
    ) -> None:
        self._life = life
        self._signals = signals
        self._capture = capture
        self._counters = parts.counters
        self._monotonic = parts.monotonic
        self._beaten = parts.monotonic()
        self._stored = offset or Offset(adapter=life.adapter)
        self._partial = self._stored.partial
        self._state = self._stored.signals
        self._batch = _Batch(life.bounds, parts.monotonic)
        self._latest: Progress | None = None
        self._whole = True  # nothing was written since the last Progress
        self._schema: object = None  # of the last change
        self._table = ""
        self._told: list[Notification] = []  # not durable yet

    def publish(self, events: Iterator[Event]) -> None:
        for event in events:
            if isinstance(event, ChangeEvent):
                self._change(event)
            elif isinstance(event, Progress):
                self._progress(event)
            elif isinstance(event, UndecodableRow):
                self._left_out(event)
            elif isinstance(event, Notification):
                self._notification(event)
            else:
                self._schema_change(event)
        if (self._batch.records or self._told) and self._whole:
            self._save()

    def _change(self, event: ChangeEvent) -> None:
        self._whole = False
        try:
            records = self._life.encoder.encode(event)
        except DecodeError as error:
            if not self._life.skip_undecodable(error):
                raise
            self._left_out(_undecodable(event, error))
            return
        write, batch = self._life.sink.write, self._batch
        for record in records:
            write(record)
            batch.bytes += 100 + len(record.value or b"")
        batch.records += len(records)
        counters = self._counters
        counters.records += len(records)
        counters.events[event.op] += 1
        if event.schema is not self._schema:
            self._schema, self._table = event.schema, str(event.schema.id)
        counters.tables[self._table] += 1
        counters.source_us = event.time_us
        if event.tx is not None and (batch.full() or (batch.records % 256 == 0 and batch.age() > _LONGEST_TRANSACTION_S)):
            self._partial = PartialTransaction(event.tx.id, event.tx.commit_scn, event.seq)
            self._save()

    def _left_out(self, row: UndecodableRow) -> None:
        """Count a row without event; its dead letter, if that is wanted, is committed with its neighbours."""
        self._whole = False
        self._counters.skipped += 1
        for record in self._life.encoder.encode(row):
            self._write(record)
            self._batch.bytes += 100 + len(record.value or b"")

    def _schema_change(self, change: SchemaChange) -> None:
        self._whole = False
        if not change.truncate:
            entry = self._life.history.entry(change, self._position() or {})
            if entry is not None:
                self._write(entry)
            else:
                self._batch.records += 1  # the offset has to count what is remembered elsewhere
        for record in self._life.encoder.encode(change):
            self._write(record)
        self._counters.schema_changes += 1

    def _notification(self, notification: Notification) -> None:
        self._whole = False
        self._told.append(notification)
        for record in self._life.encoder.encode(notification):
            self._write(record)

    def _write(self, record: Record) -> None:
        self._life.sink.write(record)
        self._batch.records += 1
        self._counters.records += 1

    def _progress(self, progress: Progress) -> None:
        self._latest = progress
        self._whole = True
        if progress.signals is not None:
            self._state = progress.signals
        counters, batch = self._counters, self._batch
        counters.complete_scn = progress.complete_scn
        counters.progress_us = progress.time_us
        if progress.committed is not None:
            counters.transactions += 1
            self._partial = None
        self._beat(progress)
        if progress.snapshot is not None:
            _show_scans(counters, progress.snapshot)
            self._save()
        elif batch.records or self._told:
            if (
                (progress.committed is None and not progress.more)
                or batch.full()
                or batch.age() >= self._life.bounds.seconds
            ):
                self._save()
        elif batch.age() >= _IDLE_OFFSET_S:
            if self._offset() != self._stored:
                self._save()
            batch.clear()

    def _beat(self, progress: Progress) -> None:
        """Write a heartbeat when it is time; none while there is no position to store with it, as Debezium."""
        heartbeat, now = self._life.heartbeat, self._monotonic()
        if heartbeat is None or progress.position is None or now - self._beaten < heartbeat.seconds:
            return
        self._beaten = now
        self._write(heartbeat.beat())

    def _offset(self) -> Offset:
        """What a save stores now."""
        latest, history = self._latest, self._life.history.mark()
        if latest is None:
            return replace(self._stored, partial=self._partial, history=history, signals=self._state)
        return Offset(self._life.adapter, self._position(), self._partial, latest.snapshot, history, self._state)

    def _position(self) -> Mapping[str, JsonValue] | None:
        if self._latest is None:
            return self._stored.position
        return self._latest.position.to_json() if self._latest.position is not None else None

    def _save(self) -> None:
        offset = self._offset()
        self._life.sink.commit(offset)
        self._stored = offset
        self._counters.commits += 1
        self._batch.clear()
        for notification in self._told:
            self._life.notified(notification)
        self._told.clear()
        if self._signals:
            self._signals.stored(self._state)
        if self._latest is not None and self._latest.position is not None:
            self._capture.confirm(self._latest.position)


def _undecodable(event: ChangeEvent, error: DecodeError) -> UndecodableRow:
    """A change that was decoded, but has a value that its record cannot hold."""
    return UndecodableRow(
        event.schema.id,
        event.op.name,
        f"{error.code}: {error.message}",
        event.redo_sql,
        event.scn,
        event.time_us,
        event.tx,
        max(event.seq - 1, 0),
        event.row_id,
        event.rs_id,
        event.ssn,
    )


def _show_scans(counters: Counters, state: SnapshotState) -> None:
    counters.scans = [TableScan(t.table, t.rows, t.expected_rows, t.completed) for t in state.tables]
