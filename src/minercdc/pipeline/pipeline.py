"""What the engine works with: the parts of a connector, opened again after every restart of its stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from minercdc.errors import DecodeError
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.table import TableId
from minercdc.stream.contracts import (
    Capture,
    Heartbeat,
    RecordEncoder,
    RecordSink,
    RunEncoder,
    SchemaHistory,
    SignalActions,
    Snapshot,
)
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, Notification, SchemaChange
from minercdc.stream.offset import Offset


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a Kafka transaction, or of what another sink commits at once. When `records` or `bytes` is reached, the commit
    comes at once, within the source transaction under way unless that is held; when `seconds` is, after it. It comes earlier when
    no event waits.

    :param records, bytes: as `Batch` counts them.
    :param hold_bytes: a source transaction is not split before the Kafka transaction has so many bytes; 0: it is not held.
    :param seconds: age at which the Kafka transaction is committed at the next Progress.
    :param longest: seconds after which a source transaction is split in any case, well below what Kafka lets a transaction live.
    """

    records: int
    bytes: int
    seconds: float
    hold_bytes: int = 0
    longest: float = 20.0


@dataclass(frozen=True, slots=True)
class Initial:
    """What a run does before its stream.

    :param snapshot: None when no initial snapshot is wanted.
    :param streams: False to end after the snapshot.
    """

    snapshot: Snapshot | None = None
    streams: bool = True


@dataclass(frozen=True, slots=True)
class Begun:
    """The parts of a run that depend on its offset.

    :param offset: the part of the stored one that is used; None for none.
    :param capture: from that offset; the engine closes it.
    :param initial: looks at the database, and says what comes before the stream; called once.
    :param signals: makes what acts on signals, which the engine closes; None when no signal can arrive.
    """

    offset: Offset | None
    capture: Capture
    initial: Callable[[], Initial] = Initial
    signals: Callable[[], SignalActions | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of one run of the stream, from its offset to its end or failure.

    :param adapter: `database.connection.adapter`.
    :param begin: makes the parts that depend on the offset, from the stored one; called once. Raises ConfigError when that cannot be
        used, SchemaHistoryError when the structures cannot be recovered.
    :param heartbeat: None when none is wanted.
    :param notified: called with each notification once it is durable.
    :param waiting: notifications that are not part of the stream, for their topic; called at each Progress.
    :param schema_notices: the notifications that a schema change makes.
    :param suspensions: which tables are suspended.
    :param suspends: whether a table is suspended at a row that cannot be decoded; if not, `skip_undecodable` says whether the row
        is left out (True) or the connector stops.
    :param encode_run: None when the changes of a run are encoded one by one.
    :param counts: of the transactions' events, shared with the encoder; None without transaction metadata. It goes without
        `encode_run`.
    :param pass_over: called with each change of a split transaction that an earlier run has delivered.
    """

    adapter: str
    sink: RecordSink
    encoder: RecordEncoder
    history: SchemaHistory
    begin: Callable[[Offset | None], Begun]
    bounds: Bounds
    skip_undecodable: Callable[[DecodeError], bool]
    heartbeat: Heartbeat | None = None
    notified: Callable[[Notification], None] = lambda _: None
    waiting: Callable[[], Sequence[Notification]] = tuple
    schema_notices: Callable[[SchemaChange], Iterable[Notification]] = lambda _: ()
    suspensions: Suspensions = field(default_factory=Suspensions)
    suspends: Callable[[TableId], bool] = lambda _: False
    encode_run: RunEncoder | None = None
    counts: TransactionCounts | None = None
    pass_over: Callable[[ChangeEvent], None] = lambda _: None


class Target(Protocol):
    """Where events go instead of the configured sink."""

    def open(self) -> OpenTarget:
        """The target of one pipeline. Of a relay, raises RelayError when its offset's file cannot be read."""


class OpenTarget(Protocol):
    """The target of one pipeline."""

    @property
    def sink(self) -> RecordSink:
        """The sink, which the pipeline's engine closes."""

    def adapted(self, pipeline: Pipeline) -> Pipeline:
        """A copy of the pipeline with what has to be another for that sink: encoder, heartbeat, bounds, or without snapshot and
        signals."""


@dataclass(frozen=True, slots=True)
class PipelineFactory:
    """Opens the pipelines of a connector, and says how its runs are restarted.

    :param open_pipeline: opens what one run needs; the engine closes `Pipeline.sink`.
    :param max_restarts: restarts that are allowed without progress in between; -1 for any number. At most five after an
        UnknownSourceError.
    :param longest_wait: most seconds to wait before a restart; the first wait lasts a tenth of it, and each further one twice
        as long as the one before.
    :param monotonic: seconds of a clock that never goes back.
    """

    open_pipeline: Callable[[], Pipeline]
    max_restarts: int
    longest_wait: float
    monotonic: Callable[[], float]
    counters: Counters = field(default_factory=Counters)
