"""From events to Kafka transactions: encode, write, and now and then commit records, schema history and offset together.

A commit comes after whole source transactions; one that exceeds the bounds, or takes longer than Kafka lets a transaction live,
is split at (transaction, seq), which the offset names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from minercdc.contracts import Capture, Record, SignalActions
from minercdc.errors import DecodeError
from minercdc.events import ChangeEvent, Event, Notification, Progress, SchemaChange, UndecodableRow
from minercdc.life import Bounds, Life, Parts
from minercdc.metrics import Counters, TableScan
from minercdc.offset import JsonValue, Offset, PartialTransaction, SnapshotState

_LONGEST_TRANSACTION_S = 20.0  # well below the producer's transaction.timeout.ms
_IDLE_OFFSET_S = 5.0  # an idle connector's offset is stored this often


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
