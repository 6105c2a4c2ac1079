"""The seams the engine sees: what can be plugged in where. Implementations are chosen in `wiring`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from minercdc.events import Event, SchemaChange
from minercdc.offset import JsonValue, Offset, Position, SignalState, SnapshotState


class StopFlag(Protocol):
    """Checked between steps; a `threading.Event` fits."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


@dataclass(slots=True)
class Record:
    """One Kafka record, ready to be sent.

    :param partition: None lets the key decide (murmur2, as Kafka's own default partitioner).
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None


class Capture(Protocol):
    """An adapter that reads committed changes.

    The contract, for every adapter: changes of one transaction are contiguous, in order, with the same `seq` at every
    replay, and followed by its `Progress`; transactions come in the order of their COMMIT in redo; `Progress` comes at
    least every `poll.interval.ms`, also when idle; restarting from any yielded position misses and repeats nothing;
    a `SchemaChange` precedes the first row of the new shape; only errors of `minercdc.errors` escape.
    """

    def load_position(self, saved: Mapping[str, JsonValue]) -> Position:
        """Back from `Position.to_json`."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Yield events from `start` on, for ever, until `stop` is set."""

    def confirm(self, position: Position) -> None:
        """Take note that everything up to `position` is durable downstream."""

    def close(self) -> None:
        """Release connections; safe to call twice."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A source transaction whose end has not been read.

    :param xid: 16 lower-case hex digits.
    :param changes: of captured tables, so far.
    """

    xid: str
    thread: int
    user: str
    start_scn: int
    start_time: str
    changes: int


class OpenTransactions(Protocol):
    """Transactions that a capture buffers until their end."""

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Those that wait for their end, as far as redo is read."""

    def drop_transaction(self, xid: str) -> bool:
        """Do not wait for the end of an open transaction: its changes are lost. Positions yielded later remember it.

        :returns: False when no such transaction is open.
        """


class Snapshot(Protocol):
    """Reads the tables as of one SCN before streaming begins."""

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """Yield a SchemaChange per table, then READ events, with Progress in between carrying the state to store.

        :param state: None for a fresh snapshot; the stored state to go on with an interrupted one.
        The last Progress carries `snapshot.completed=True` and the position that streaming starts from.
        """


class SignalActions(Protocol):
    """Acts on signals among the events of a capture."""

    def through(
        self, events: Iterator[Event], start: Position, state: SignalState, stop: StopFlag, partial_scn: int = 0
    ) -> Iterator[Event]:
        """The same events, with what signals requested in between; every Progress says what there is still to do.

        Must be given the events as the capture yields them: what an earlier run delivered of a split transaction may hold
        a signal, which was not acted on then.

        :param start: where the capture starts.
        :param state: as stored.
        :param partial_scn: commit SCN of a split transaction that was delivered in part, 0 when there is none.
        """

    def stored(self, state: SignalState) -> None:
        """This state is durable."""

    def close(self) -> None:
        """Release connections; safe to call twice."""


class RecordEncoder(Protocol):
    """Turns events into records."""

    def encode(self, event: Event) -> Sequence[Record]: ...


class Heartbeat(Protocol):
    """Says at regular times that the connector is running."""

    @property
    def seconds(self) -> float:
        """Time between two of its records."""

    def beat(self) -> Record:
        """The record of this moment."""


class SchemaHistory(Protocol):
    """Remembers every schema change, so that rows are decoded with the shape of their time."""

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        """The record that remembers `change`; the sink commits it together with the offset that passes it.

        None when it is remembered elsewhere: then the offset's `mark` says how much of that belongs to it.
        """

    def mark(self) -> int | None:
        """How much has been remembered so far, durably; None when the records are committed with the offset."""

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        """Everything remembered, oldest first.

        :param mark: of the offset that is gone on from, 0 when there is no offset. What was remembered after it is forgotten.
        """

    def forget(self) -> None:
        """Start with an empty history, because what is there cannot be used."""


class RecordSink(Protocol):
    """Where records go. Records become visible to `read_committed` readers at `commit` only, all together."""

    def write(self, record: Record) -> None: ...

    def commit(self, offset: Offset) -> None:
        """Make everything written since the last commit, and `offset`, durable and visible in one step."""

    def check_owner(self) -> None:
        """Make sure that this process still owns the connector's name; called now and then while there is nothing to commit.

        :raises FencedError: another instance has taken over.
        """

    def load_offset(self) -> Offset | None:
        """The last committed offset; None for a connector that never committed one."""

    def close(self) -> None:
        """Abort what is not committed and release the client; safe to call twice."""
