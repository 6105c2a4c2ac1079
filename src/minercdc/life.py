"""What the engine works with: the parts of a connector, opened anew for every life of its stream."""

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
class Life:
    """What one life of the stream works with; made anew after every restart.

    :param snapshot: None when no initial snapshot is wanted.
    :param signals: None when nobody can send any.
    :param streams: asked after the snapshot; False to end there.
    :param heartbeat: None when none is wanted.
    :param notified: told of each notification once it is durable.
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
    signals: Callable[[Capture], SignalActions] | None = None
    streams: Callable[[], bool] = lambda: True
    heartbeat: Heartbeat | None = None
    notified: Callable[[Notification], None] = lambda _: None
    suspensions: Suspensions = field(default_factory=Suspensions)
    suspends: Callable[[TableId], bool] = lambda _: False


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
