"""Interfaces of the parts of a connector, and what passes between them. `pipeline.pipeline_builder` chooses the implementations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from minercdc.stream.events import ChangeRun, Event, ReadRun, SchemaChange
from minercdc.stream.offset import JsonValue, Offset, Position, SignalState, SnapshotState


class StopFlag(Protocol):
    """A request to stop, looked at between steps; a `threading.Event` fits."""

    def is_set(self) -> bool:
        """Whether the stop was requested."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for `timeout` seconds, None for ever; returns whether it is set."""


@dataclass(slots=True)
class Record:
    """One Kafka record. `key` None is a record without a key, `value` None a tombstone; a header may be null, too. `partition`, which
    only Kafka has, None lets the key decide (murmur2, as Kafka's own default partitioner). `timestamp_ms`, milliseconds since the epoch,
    only Kafka has, too; None is the time when it is sent.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Capture(Protocol):
    """An adapter that reads committed changes.

    The contract, for every adapter: changes of one transaction are contiguous, in order, with the same `seq` at every replay, and
    followed by its `Progress`; transactions come in the order of their COMMIT in redo; while there is nothing to read, `Progress`
    comes about every `poll.interval.ms`; restarting from any yielded position misses and repeats nothing; a `SchemaChange`
    precedes the first row of the new shape; only errors of `minercdc.errors` escape, and TypeError for another adapter's `start`.
    A ChangeRun stands for its changes, and the Progress between its transactions. `txlog`, and `flashback` with the last versions
    only, cannot keep all of it: a row comes under the last transaction that changed it, and what `txlog` delivered in part of one
    comes again. While `flashback` cannot read a table's versions, its changed rows come as READ, without transactions."""

    def load_position(self, saved: Mapping[str, JsonValue]) -> Position:
        """The position of which `Position.to_json` made `saved`.

        :raises ConfigError: it is no position of this adapter.
        """

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Yield the events after `start`; ends only when `stop` is set."""

    def confirm(self, position: Position) -> None:
        """Take note that everything up to `position` was committed by the sink. Called after each commit that has a position."""

    def close(self) -> None:
        """Release connections; safe to call twice."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A source transaction whose end has not been read.

    :param xid: as `TransactionInfo.id`.
    :param thread: number of its redo thread.
    :param user: who began it, '' when not known.
    :param start_scn, start_time: of its START, or of its first row that was read; the time as text, `YYYY-MM-DD HH:MM:SS`, by
        the clock of the database's host.
    :param changes: number of its changes of captured tables, so far.
    """

    xid: str
    thread: int
    user: str
    start_scn: int
    start_time: str
    changes: int


class OpenTransactions(Protocol):
    """The transactions that the adapter `logminer` buffers until their end, those with changes of captured tables."""

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Those that are open at the point that redo is read to, in no certain order; none before streaming begins."""

    def drop_transaction(self, xid: str) -> bool:
        """Give an open transaction up: its changes are lost, after a restart from a later position too.

        :returns: False when no such transaction is open.
        """


class Snapshot(Protocol):
    """Reads the tables, only their structures, or nothing, as of one SCN before streaming begins."""

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """Yield a SchemaChange per table, if the snapshot is new, then READ events or ReadRuns, and notifications; each Progress
        in between has the state to store.

        The last Progress has the position that streaming starts from. When there is no Progress at all, the stored position
        holds.

        :param state: None for a new snapshot; the stored state to go on with an interrupted one.
        :param stop: once it is set, the reading of rows ends early; the last stored state says where to go on.
        :raises MinerCdcError: the database cannot be read, or the configuration or stored state does not fit it.
        """


class SignalActions(Protocol):
    """Acts on signals among the events of a capture."""

    def through(
        self, events: Iterator[Event], start: Position, state: SignalState, stop: StopFlag, partial_scn: int = 0
    ) -> Iterator[Event]:
        """The same events, ChangeRuns perhaps taken apart, and what signals requested; each Progress has the state to store.

        Rows of a signal table that is not captured are left out.

        `events` must hold what an earlier run delivered of a split transaction, too: a signal in it was not acted on then.

        :param start: position that the capture starts from.
        :param state: stored state of signals.
        :param partial_scn: commit SCN of a split transaction that was delivered in part, 0 when there is none.
        :raises MinerCdcError: a channel, the database or a topic cannot be read.
        """

    def stored(self, state: SignalState) -> None:
        """Take note that `state` is durable in the sink: channels need not keep the signals that it has taken."""

    def close(self) -> None:
        """Release connections; safe to call twice."""


class RecordEncoder(Protocol):
    """Turns the events of one stream into records, in their order: the records of one may depend on those before it."""

    def encode(self, event: Event) -> Sequence[Record]:
        """The records of an event, perhaps none.

        :raises DecodeError: a record cannot hold a value, or redo does not hold the row's key.
        :raises RecordSchemaError: the table cannot be published: its `message.key.columns` names a column that it does not have, another
            table has its topic, or a format or registry does not take its schema. It is a DecodeError.
        :raises SinkError: no table can be published, or the schema registry fails or does not answer (DeliveryError).
        :raises ConfigError: an update of an outbox table, where that is fatal; a pattern takes too long; or the user's converter
            or naming function gives nothing usable.
        :raises RelayError: a relay has no id or name for a new table.
        """


class EncodedRun(NamedTuple):
    """The records of some rows of a run.

    :param rows: how many rows these are.
    :param bytes: length of the records' values, and 100 more for each record.
    :param operations: how many of the rows are creates, deletes, updates and reads.
    :param tables: how many are of each table, by `TableNames.of`; empty for a ReadRun, whose rows are of one.
    :param time_us: when the last of the rows was changed or read, microseconds since the epoch in UTC; 0, or
        that of the run, without rows.
    """

    records: Sequence[Record]
    rows: int
    bytes: int
    operations: tuple[int, int, int, int]
    tables: Mapping[str, int]
    time_us: int


class RunEncoder(Protocol):
    """Turns rows of a run into records, without an event for each."""

    def __call__(self, run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int, /) -> EncodedRun:
        """The records of the rows from number `begin` on.

        They end before a row that has to be encoded as a ChangeEvent, perhaps with none at all; else with the run, or once there
        are `most_records` of them or `most_bytes`.

        :raises ConfigError, SinkError: as `RecordEncoder.encode`.
        """


class Heartbeat(Protocol):
    """Makes records that belong to no event: Kafka's show that the connector runs, the relay's have the publisher commit."""

    @property
    def seconds(self) -> float:
        """The least seconds between two calls of `beat`; 0 for a call at each Progress that has a position."""

    def beat(self) -> Record | None:
        """The record to write now, None for none. Kafka's has the present time, and `heartbeat.action.query` is run before it.
        Raises as `RecordEncoder.encode`."""


class SchemaHistory(Protocol):
    """Stores every schema change, so that a row is decoded with the shape its table had when it was written."""

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        """The record that stores `change`; the sink commits it together with an offset after it.

        None when this call stored the change outside Kafka: `Offset.history` says how much of that is valid.

        :param position: of the last Progress, as JSON; {} when there is none.
        :raises SchemaHistoryError: it cannot be stored outside Kafka.
        """

    def mark(self) -> int | None:
        """For `Offset.history`: how much is stored durably by now; None when the entries are in the Kafka transaction of the
        offset.

        :raises SchemaHistoryError: what was stored cannot be made durable.
        """

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        """The stored changes up to `mark`, oldest first; later ones do not count. To be iterated to its end, once, before the
        first `entry`.

        :param mark: `Offset.history` of the stored offset, None included; 0 when there is no offset.
        :raises SchemaHistoryError: the history cannot be used.
        :raises SinkError: it is in Kafka, which cannot be read.
        """

    def forget(self) -> None:
        """Start an empty history in place of one that cannot be used: the next `entry` is its first. Call it instead of
        `recover`, or after it."""


class RecordSink(Protocol):
    """Where records go. Records become visible to readers (in Kafka `read_committed`) at `commit` only, all together. Three
    sinks differ: Kafka without transactions shows each record at once, and repeats some after a kill, as standard output
    does. The relay holds back what is not complete, and its offset with it, until a later `commit`; a TRUNCATE empties it
    at `write`.

    `write` and `commit` raise SinkError (DeliveryError, FencedError); the sink cannot be used after that.
    """

    def write(self, record: Record) -> None:
        """Take a record; it may be sent at once."""

    def commit(self, offset: Offset) -> None:
        """Make everything written since the last commit, and `offset`, durable and visible, in one step (but see the class)."""

    def check_owner(self) -> None:
        """Make sure that this process still owns the connector's name.

        :raises FencedError: another instance has taken over.
        :raises SinkError: the sink cannot be read.
        """

    def load_offset(self) -> Offset | None:
        """The last committed offset; None for a connector that never committed one.

        :raises SchemaHistoryError: it is stored in a form that this version does not read.
        :raises SinkError, RelayError: the sink, or the file of a relay, cannot be read.
        """

    def close(self) -> None:
        """Abort what is not committed; safe to call twice."""


class OffsetSink(RecordSink, Protocol):
    """A sink whose offset can be removed."""

    def remove_offset(self) -> None:
        """Remove the stored offset, durably: the connector's next start is its first. Raises as `commit` does."""


@runtime_checkable
class RunSink(Protocol):
    """A sink that takes the records of a run at once."""

    def write_run(self, records: Sequence[Record]) -> None:
        """What `write` does, for each record in turn; the same errors."""


def write_all(sink: RecordSink, records: Sequence[Record]) -> None:
    """Write records one after the other; at once where the sink is a RunSink. Raises SinkError as `RecordSink.write`."""
    if isinstance(sink, RunSink):
        sink.write_run(records)
        return
    for record in records:
        sink.write(record)


class KeyedTopic(Protocol):
    """A store of the connector's own, outside of this machine, in which a key has one value."""

    def put(self, key: str, value: bytes | None) -> None:
        """Write the value of a key, or with None remove it; durable after the next `flush`.

        :raises DeliveryError, SinkError: the store cannot be reached, or refuses it.
        """

    def flush(self) -> None:
        """Make durable what was put. Raises DeliveryError or SinkError when some of it may not have arrived."""

    def records(self) -> Iterator[tuple[str, bytes | None]]:
        """All that was put and is there still, in that order: of a key the last value counts, None for a removed one.

        :raises DeliveryError, SinkError: the store cannot be read.
        """
