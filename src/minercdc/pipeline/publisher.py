"""From events to Kafka transactions: encode, write, and now and then commit records, schema history and offset together.

What is said of a Kafka transaction holds for what another sink commits at once. A commit comes after whole source transactions; one
that exceeds the bounds, or takes too long for one Kafka transaction, is split at (transaction, seq), which the offset names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.transaction_marks import TransactionMarks
from minercdc.pipeline.batch import Batch, Uncommitted
from minercdc.pipeline.offset_tracker import NextOffset
from minercdc.pipeline.pipeline import Pipeline, PipelineFactory
from minercdc.pipeline.undecodable import LeftOut, raw, unconverted, undecodable
from minercdc.schema.table import TableId
from minercdc.stream.contracts import Capture, EncodedRun, Record, SignalActions, write_all
from minercdc.stream.counters.connector import TableScan
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.events import (
    ChangeEvent,
    ChangeRun,
    Event,
    Notification,
    Op,
    Progress,
    ReadRun,
    SchemaChange,
    SuspensionChange,
    TransactionInfo,
    UndecodableRow,
    VanishedRow,
)
from minercdc.stream.offset import Offset

_log = logging.getLogger(__name__)

RECORD_COST: Final = 100
"""Bytes of a record beside its value, for the bounds of a Kafka transaction; `native/_rows.pyx` counts the same."""
_RECORDS_BETWEEN_LOOKS = 256  # at the clock, within a source transaction
_ROWS_BY_EVENTS = 32
_IDLE_OFFSET_S = 5.0  # an idle connector's offset is stored this often


def publish(
    events: Iterator[Event],
    pipeline: Pipeline,
    capture: Capture,
    offset: Offset | None,
    factory: PipelineFactory,
    signals: SignalActions | None = None,
) -> None:
    """Encode and write all events. Commit records with the offset at a Progress, or within a transaction that is too large or
    takes too long.

    What is written after the last commit is not delivered. Each commit is reported to `signals`, and to `capture` if the last
    Progress has a position. The counters of `factory` and the suspensions of `pipeline` are kept up to date.

    :param offset: the stored one, None for none.
    :raises DecodeError: a value does not fit its record, and `pipeline` neither suspends the table nor skips the row; or the
        key of a vanished row cannot be read, and `pipeline` does not skip it.
    :raises ConfigError, RelayError: as `RecordEncoder.encode`.
    :raises SchemaHistoryError: a schema change cannot be stored.
    :raises SinkError: the sink or the schema registry fails or does not answer, or another instance has taken over (FencedError).
    :raises MinerCdcError: what `events` raises.
    """
    _Publisher(pipeline, capture, offset, factory, signals).publish(events)


class _Publisher:
    """Fills Kafka transactions and commits them with the offset, for one run of the stream. Raises as `publish`."""

    def __init__(
        self,
        pipeline: Pipeline,
        capture: Capture,
        offset: Offset | None,
        factory: PipelineFactory,
        signals: SignalActions | None,
    ) -> None:
        self._pipeline = pipeline
        self._signals = signals
        self._capture = capture
        self._counters = factory.counters
        self._uncommitted = Uncommitted()
        self._monotonic = factory.monotonic
        self._beaten = factory.monotonic()
        self._next = following = NextOffset(pipeline.adapter, offset)
        self._batch = Batch(pipeline.bounds, factory.monotonic)
        self._written = (0, 0)  # complete SCN and source time of the last Progress
        self._whole = True  # nothing was written since the last Progress
        self._schema: object = None  # of the last change
        self._table = ""
        self._unreported: list[Notification] = []  # not durable yet
        self._suspensions = pipeline.suspensions
        split = following.partial.tx_id if following.partial is not None else ""
        self._suspensions.load(following.stored.suspended, following.state.resuming, split=split)
        self._counts = pipeline.counts
        if self._counts is not None:
            self._counts.load(following.partial)
        self._marks = None if self._counts is None else TransactionMarks(self._counts, self._encode)
        self._left_out = LeftOut(pipeline, factory.counters, self._uncommitted)

    def publish(self, events: Iterator[Event]) -> None:
        for event in events:
            self._take(event)
        if (self._batch.records or self._unreported) and self._whole:
            self._save()
        if self._whole and not self._batch.records:
            self._uncommitted.move_to(self._counters)

    def _take(self, event: Event) -> None:
        if isinstance(event, ChangeEvent):
            self._change(event)
        elif isinstance(event, ChangeRun):
            self._run(event)
        elif isinstance(event, ReadRun):
            self._reads(event)
        elif isinstance(event, Progress):
            self._progress(event)
        elif isinstance(event, UndecodableRow):
            self._undecodable(event)
        elif isinstance(event, VanishedRow):
            self._vanished(event)
        elif isinstance(event, SuspensionChange):
            self._suspension_change(event)
        elif isinstance(event, Notification):
            self._notification(event)
        elif isinstance(event, SchemaChange):
            self._schema_change(event)

    def _change(self, event: ChangeEvent) -> None:
        self._whole = False
        if self._suspensions.any and self._suspensions.leaves_out(event.schema.id, event.tx):
            self._leave_out(raw(event, "the table is suspended"))
            self._split(event.tx, event.seq)
            return
        try:
            records = self._pipeline.encoder.encode(event)
        except DecodeError as error:
            if self._counts is not None:
                self._counts.take_back()
            self._refuse(event.schema.id, undecodable(event, error), error)
            return
        if self._marks is not None and event.tx is not None:
            self._marks.counted(event.tx, event.time_us)
        write, batch = self._pipeline.sink.write, self._batch
        for record in records:
            write(record)
            batch.bytes += RECORD_COST + len(record.value or b"")
        batch.records += len(records)
        figures = self._uncommitted
        figures.records += len(records)
        figures.events[event.op] += 1
        if event.schema is not self._schema:
            self._schema, self._table = event.schema, self._suspensions.name_of(event.schema.id)
        figures.tables[self._table] += 1
        self._counters.source_us = event.time_us
        if event.tx is not None and (batch.full() or batch.records % _RECORDS_BETWEEN_LOOKS == 0):
            self._split(event.tx, event.seq)

    def _run(self, run: ChangeRun) -> None:
        """Write a run's changes, as many as can be at once; commit between its transactions where that is due."""
        encode, bounds, batch, rows, at = self._pipeline.encode_run, self._pipeline.bounds, self._batch, run.rows, 0
        last = rows.ended(len(rows))
        while at < len(rows):
            ended = rows.ended(at)
            # A change may make its table suspended; what comes after it in the run is then left out.
            encoded = None
            if encode is not None and not self._suspensions.concerns(rows.tables):
                due = ended < last and batch.age() >= bounds.seconds
                # One by one to the end of the transaction, where the Kafka transaction is committed.
                most_records, most_bytes = batch.room()
                encoded = encode(run, at, 1 if due else most_records, most_bytes)
            if encoded is not None and encoded.rows:
                at += encoded.rows
                self._encoded(encoded, encoded.tables)
                self._passed(run, ended, at)
                continue
            self._change(rows.event(at))
            at += 1
            if at < len(rows) and rows.ended(at) > ended:
                self._progress(rows.progress(ended))

    def _reads(self, run: ReadRun) -> None:
        """Write the rows of a snapshot's run; as many as can be are encoded together."""
        encode, bounds, at = self._pipeline.encode_run, self._pipeline.bounds, 0
        while at < len(run):
            # A row may make its table suspended; what comes after it in the run is then left out.
            if encode is not None and not self._suspensions.concerns([run.fetched.schema.id]):
                encoded = encode(run, at, bounds.records, bounds.bytes)
                if encoded.rows:
                    at += encoded.rows
                    self._encoded(encoded, {self._suspensions.name_of(run.fetched.schema.id): encoded.rows})
                    continue
            # Where one row is not printed natively, its neighbours are often not, either.
            end = len(run) if encode is None else min(at + _ROWS_BY_EVENTS, len(run))
            self._read_events(run, at, end)
            at = end

    def _read_events(self, run: ReadRun, begin: int, end: int) -> None:
        """Write rows `begin` to before `end` one by one; for one that cannot be converted see `_refuse`."""
        try:
            events = run.events(begin, end)
        except DecodeError as error:
            if end - begin == 1:
                self._whole = False
                self._refuse(run.fetched.schema.id, unconverted(run, begin, error), error)
                return
            for at in range(begin, end):
                self._read_events(run, at, at + 1)
            return
        for event in events:
            self._change(event)

    def _passed(self, run: ChangeRun, ended: int, at: int) -> None:
        """The first `at` changes of a run are written: note the transactions that ended among them, from number `ended` on, and
        commit when the Kafka transaction is full or old."""
        rows, batch = run.rows, self._batch
        after = rows.ended(at)
        if after > ended:
            self._uncommitted.transactions += after - ended - 1
            progress = rows.progress(after - 1)
            if rows.end(after - 1) == at < len(rows):
                self._progress(progress)
                return
            self._note(progress)
            self._whole = False
        if batch.full() or batch.records - batch.looked >= _RECORDS_BETWEEN_LOOKS:
            batch.looked = batch.records
            tx, seq = rows.place(at - 1)
            self._split(tx, seq)

    def _encoded(self, encoded: EncodedRun, tables: Mapping[str, int]) -> None:
        """Write the records of some rows of a run, and count them; `tables`: how many are of each table."""
        self._whole = False
        batch, counters, figures = self._batch, self._counters, self._uncommitted
        former = counters.spent.enter(Cause.KAFKA)
        write_all(self._pipeline.sink, encoded.records)
        counters.spent.enter(former)
        batch.bytes += encoded.bytes
        batch.records += len(encoded.records)
        figures.records += len(encoded.records)
        for op, count in zip((Op.CREATE, Op.DELETE, Op.UPDATE, Op.READ), encoded.operations, strict=True):
            if count:
                figures.events[op] += count
        for table, count in tables.items():
            figures.tables[table] += count
        counters.source_us = encoded.time_us

    def _split(self, tx: TransactionInfo | None, seq: int) -> None:
        """Commit in the middle of a source transaction, after its row number `seq`, if the Kafka transaction is too large or too
        old (`Batch.splits`). Nothing without a source transaction."""
        if tx is not None and self._batch.splits():
            self._batch.note_split(tx.id)
            self._next.split(tx, seq, self._counts.of(tx) if self._counts is not None else {})
            self._suspensions.split = tx.id
            self._save()

    def _undecodable(self, row: UndecodableRow) -> None:
        """Leave out a row that the capture did not, or could not, decode; commit after it where `_split` is due."""
        self._whole = False
        self._leave_out(row, self._left_out.undecodable(row))
        if row.counted:
            self._split(row.tx, row.seq)

    def _refuse(self, table: TableId, row: UndecodableRow, error: DecodeError) -> None:
        """Leave out a row that has no record."""
        self._leave_out(row, self._left_out.refuse(table, row, error))

    def _leave_out(self, row: UndecodableRow, suspension: Notification | None = None) -> None:
        """Write what there is for a row that is left out: the notification that its table is suspended for it, its dead letter."""
        if suspension is not None:
            self._notification(suspension)
        self._write_rows(self._left_out.row(row))

    def _suspension_change(self, change: SuspensionChange) -> None:
        self._whole = False
        self._batch.records += 1  # the offset has to hold it
        self._left_out.change(change)
        self._encode(change)

    def _vanished(self, row: VanishedRow) -> None:
        """Write the delete record of a key that the topic has and the table does not have any more. A key of another
        definition is left as it is."""
        self._whole = False
        table = self._suspensions.name_of(row.schema.id)
        try:
            records = self._pipeline.encoder.encode(row)
        except DecodeError as error:
            if not self._pipeline.skip_undecodable(error):
                raise
            _log.warning("a key in the topic of %s is left as it is, since it cannot be read: %s", table, error.message)
            self._uncommitted.skipped += 1
            self._uncommitted.left_out[table] += 1
            return
        if not records:
            return
        self._uncommitted.events["d"] += 1
        self._uncommitted.tables[table] += 1
        self._write_rows(records)

    def _schema_change(self, change: SchemaChange) -> None:
        self._whole = False
        entry = self._pipeline.history.entry(change, self._next.position() or {})
        if entry is not None:
            self._write(entry)
        else:
            self._batch.records += 1  # the offset has to count what is remembered elsewhere
        if change.ids_only:
            return
        change.left_out = change.truncate and self._suspensions.leaves_out_truncate(change.table, change.scn)
        try:
            self._encode(change)
        except RecordSchemaError as error:
            if (row := self._left_out.truncate(change, error)) is not None:
                self._refuse(change.table, row, error)
        self._uncommitted.schema_changes += 1
        self._left_out.follow(change)
        for notification in self._pipeline.schema_notices(change):
            self._notification(notification)

    def _notification(self, notification: Notification) -> None:
        self._whole = False
        self._unreported.append(notification)
        self._encode(notification)

    def _encode(self, event: Event) -> None:
        for record in self._pipeline.encoder.encode(event):
            self._write(record)

    def _write(self, record: Record) -> None:
        self._pipeline.sink.write(record)
        self._batch.records += 1
        self._uncommitted.records += 1

    def _write_rows(self, records: Sequence[Record]) -> None:
        for record in records:
            self._write(record)
            self._batch.bytes += RECORD_COST + len(record.value or b"")

    def _note(self, progress: Progress) -> None:
        """Take note that everything up to the position of `progress` is written."""
        self._next.note(progress)
        self._whole = True
        if progress.signals is not None:
            self._suspensions.follow(progress.signals.resuming)
        self._written = progress.complete_scn, max(self._written[1], progress.time_us)
        if progress.committed is not None:
            if self._marks is not None:
                self._marks.ended(progress.committed)
            self._uncommitted.transactions += 1
        if self._next.partial is None:
            self._suspensions.split = ""

    def _show_delivered(self) -> None:
        counters = self._counters
        self._uncommitted.move_to(counters)
        counters.complete_scn = self._written[0]
        counters.progress_us = max(counters.progress_us, self._written[1])

    def _progress(self, progress: Progress) -> None:
        self._note(progress)
        counters, batch = self._counters, self._batch
        for notification in self._pipeline.waiting():
            self._encode(notification)
        if not batch.records:
            self._show_delivered()
        self._beat(progress)
        if progress.snapshot is not None:
            counters.snapshot_scn = progress.snapshot.scn
            counters.scans = [TableScan(t.table, t.rows, t.expected_rows, t.completed) for t in progress.snapshot.tables]
            self._save()
        elif batch.records or self._unreported:
            ended = progress.committed is None and not progress.more
            if ended or batch.full() or batch.age() >= self._pipeline.bounds.seconds:
                self._save()
        elif batch.age() >= _IDLE_OFFSET_S:
            if self._offset() != self._next.stored:
                self._save()
            else:
                self._pipeline.sink.check_owner()
            batch.clear()

    def _beat(self, progress: Progress) -> None:
        """Write a heartbeat when it is time; none while there is no position to store with it, as Debezium."""
        heartbeat, now = self._pipeline.heartbeat, self._monotonic()
        if heartbeat is None or progress.position is None or now - self._beaten < heartbeat.seconds:
            return
        self._beaten = now
        if (record := heartbeat.beat()) is not None:
            self._write(record)

    def _offset(self) -> Offset:
        """What a save stores now. Makes a schema history outside Kafka durable, and raises as `SchemaHistory.mark`."""
        return self._next.offset(self._pipeline.history.mark(), self._suspensions.tables())

    def _save(self) -> None:
        offset = self._offset()
        counters, began = self._counters, self._monotonic()
        former = counters.spent.enter(Cause.KAFKA)
        self._pipeline.sink.commit(offset)
        counters.spent.enter(former)
        self._next.stored = offset
        counters.commits += 1
        counters.commit_times.add(self._monotonic() - began)
        self._show_delivered()
        self._batch.clear()
        for notification in self._unreported:
            self._pipeline.notified(notification)
        self._unreported.clear()
        if self._signals:
            self._signals.stored(self._next.state)
        if self._next.latest is not None and self._next.latest.position is not None:
            self._capture.confirm(self._next.latest.position)
