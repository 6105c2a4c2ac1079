"""What the engine works with: the parts of a connector, opened again after every restart of its stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc.contracts import Capture, Heartbeat, RecordEncoder, RecordSink, SchemaHistory, SignalActions, Snapshot
from minercdc.errors import DecodeError
from minercdc.events import Notification
from minercdc.metrics import Counters
from minercdc.offset import Offset
from minercdc.schema.table import TableId
from minercdc.suspension import Suspensions


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a Kafka transaction is committed."""

    records: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of one run of the stream, from its offset to its end or failure.

    :param adapter: `database.connection.adapter`.
    :param adopt: checks that the stored offset can be used, before anything else; returns what of it is used.
    :param snapshot: returns None when no initial snapshot is wanted; called after `capture`.
    :param signals: None when no signal can arrive.
    :param streams: called after the snapshot; False to end there.
    :param heartbeat: None when none is wanted.
    :param notified: called with each notification once it is durable.
    :param suspensions: which tables are suspended.
    :param suspends: whether a table of which a row cannot be decoded is suspended; if not, `skip_undecodable` decides.
    """

    adapter: str
    sink: RecordSink
    encoder: RecordEncoder
    history: SchemaHistory
    snapshot: Callable[[Offset | None], Snapshot | None]
    capture: Callable[[Offset | None], Capture]
    bounds: Bounds
    skip_undecodable: Callable[[DecodeError], bool]
    adopt: Callable[[Offset | None], Offset | None] = lambda offset: offset
    signals: Callable[[], SignalActions] | None = None
    streams: Callable[[], bool] = lambda: True
    heartbeat: Heartbeat | None = None
    notified: Callable[[Notification], None] = lambda _: None
    suspensions: Suspensions = field(default_factory=Suspensions)
    suspends: Callable[[TableId], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class PipelineFactory:
    """What the engine is given.

    :param open_pipeline: opens what one run needs; the engine closes `Pipeline.sink`.
    :param monotonic: seconds of a clock that never goes back.
    """

    open_pipeline: Callable[[], Pipeline]
    max_restarts: int
    longest_wait: float
    monotonic: Callable[[], float]
    counters: Counters = field(default_factory=Counters)
