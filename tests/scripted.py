"""A scripted capture, and a sink in memory: what a run of the engine is made of in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.runs import encode_run_of, in_runs

from minercdc.errors import DecodeError, FencedError, TransientSourceError
from minercdc.pipeline.ddl_notices import of_ddl
from minercdc.pipeline.pipeline import Begun, Bounds, Initial, Pipeline, PipelineFactory
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Capture, Heartbeat, Record, Snapshot, StopFlag
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    Notification,
    Op,
    Progress,
    SchemaChange,
    Scn,
    SuspensionChange,
    TransactionInfo,
    UndecodableRow,
    VanishedRow,
)
from minercdc.stream.offset import JsonValue, Offset, Position, SnapshotState

TABLE = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER"),), (0,))


@dataclass(frozen=True, slots=True)
class At:
    """A position that counts transactions."""

    done: int

    def to_json(self) -> dict[str, JsonValue]:
        return {"done": self.done}

    @property
    def delivered_scn(self) -> int:
        return 0

    def precedes(self, other: At) -> bool:
        return self.done < other.done


@dataclass
class MemorySink:
    """A sink whose committed records and offset outlive it in `store`."""

    store: Store
    open: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        self.store.before_write(record)
        self.open.append(record)

    def commit(self, offset: Offset) -> None:
        self.store.before_commit(offset)
        self.store.batches.append([r.value or b"" for r in self.open])
        self.store.offset = offset
        self.open = []

    def check_owner(self) -> None:
        if self.store.taken_over:
            raise FencedError("another instance")

    def load_offset(self) -> Offset | None:
        return self.store.offset

    def close(self) -> None:
        self.open = []


@dataclass
class Store:
    """What Kafka would hold, and the failures to happen next."""

    batches: list[list[bytes]] = field(default_factory=list)
    offset: Offset | None = None
    fail_at_commit: list[Exception] = field(default_factory=list)
    fail_at_write: dict[bytes, Exception] = field(default_factory=dict)
    taken_over: bool = False

    def before_write(self, record: Record) -> None:
        if error := self.fail_at_write.pop(record.value or b"", None):
            raise error

    def before_commit(self, offset: Offset) -> None:
        if self.fail_at_commit:
            raise self.fail_at_commit.pop(0)

    @property
    def values(self) -> list[bytes]:
        return [value for batch in self.batches for value in batch]


class ScriptedCapture:
    """Replays transactions (lists of row numbers) from a position, then ends; `tick` puts an idle tick before each."""

    runs = 0

    def __init__(
        self, transactions: Sequence[Sequence[int]], *, tick: bool = False, failure: Exception | None = None
    ) -> None:
        self.transactions = transactions
        self.tick = tick
        self.failure = failure
        self.confirmed: list[At] = []

    def load_position(self, saved: Mapping[str, JsonValue]) -> At:
        return At(int(str(saved["done"])))

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        events = self._events(start)
        return in_runs(events, self.runs) if self.runs else events

    def _events(self, start: Position) -> Iterator[Event]:
        assert isinstance(start, At)
        for number in range(start.done, len(self.transactions)):
            if self.tick:
                yield Progress(At(number), Scn(number), 0)
            info = TransactionInfo(f"x{number}", Scn(1), Scn(number + 100), 0, 0, 1, None)
            for seq, row in enumerate(self.transactions[number], 1):
                yield ChangeEvent(Op.CREATE, TABLE, None, (str(row),), Scn(1), 0, info, seq)
            yield Progress(At(number + 1), Scn(number + 100), 0, committed=info)
        if self.failure:
            raise self.failure

    def confirm(self, position: Position) -> None:
        assert isinstance(position, At)
        self.confirmed.append(position)

    def close(self) -> None:
        pass


class ScriptedSnapshot:
    """Two rows, a progress after each; may die before the second."""

    def __init__(self) -> None:
        self.states: list[SnapshotState | None] = []
        self.die = True

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        self.states.append(state)
        yield SchemaChange(TABLE.id, None, TABLE, "create", Scn(5), 0, snapshot=True)
        begun = SnapshotState(5, {"done": 0})
        yield Progress(None, Scn(0), 0, snapshot=begun)
        if self.die:
            self.die = False
            raise TransientSourceError("died")
        yield ChangeEvent(Op.READ, TABLE, None, ("0",), Scn(5), 0, None, 0)
        yield Progress(At(0), Scn(5), 0, snapshot=replace(begun, completed=True))


class RowEncoder:
    def encode(self, event: Event) -> Sequence[Record]:
        if isinstance(event, ChangeEvent):
            assert event.after is not None
            value = str(event.after[0])
            if value == "13":
                raise DecodeError("thirteen")
            return (Record("t", None, value.encode()),)
        if isinstance(event, UndecodableRow):
            return (Record("letters", None, b"-13"),)
        if isinstance(event, Notification):
            return (Record("reports", None, event.id.encode()),)
        if isinstance(event, VanishedRow):
            if event.key == b"13":
                raise DecodeError("no key of the table")
            return (Record("t", event.key, event.key),)
        if isinstance(event, SuspensionChange) and event.covered_scn:
            return (Record("resumed", None, b"resumed"),)
        return (Record("ddl", None, b"ddl"),) if isinstance(event, SchemaChange) else ()


class NoHistory:
    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record:
        return Record("history", None, b"history")

    def mark(self) -> int | None:
        return None

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        return iter(())

    def forget(self) -> None: ...


class Clock:
    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


EVERY_TRANSACTION = Bounds(records=1000, bytes=10**9, seconds=0)


LAZY = Bounds(records=1000, bytes=10**9, seconds=1e9)


def parts_of(
    store: Store,
    capture: Capture,
    *,
    bounds: Bounds = EVERY_TRANSACTION,
    snapshot: Snapshot | None = None,
    skip: bool = False,
    max_restarts: int = 3,
    notified: Callable[[Notification], None] = lambda _: None,
    heartbeat: Heartbeat | None = None,
    clock: Clock | None = None,
    waiting: Callable[[], Sequence[Notification]] = tuple,
) -> PipelineFactory:
    def begin(offset: Offset | None) -> Begun:
        is_due = offset is None or offset.position is None
        return Begun(offset, capture, lambda: Initial(snapshot if is_due else None))

    def open_pipeline() -> Pipeline:
        return Pipeline(
            adapter="test",
            sink=MemorySink(store),
            encoder=RowEncoder(),
            encode_run=encode_run_of(RowEncoder()),
            history=NoHistory(),
            begin=begin,
            bounds=bounds,
            skip_undecodable=lambda error: skip,
            notified=notified,
            heartbeat=heartbeat,
            waiting=waiting,
            schema_notices=of_ddl,
        )

    return PipelineFactory(open_pipeline, max_restarts, 0.001, clock or Clock())


def at(done: int, complete_scn: int = 0) -> Offset:
    return Offset("test", position={"done": done}, complete_scn=complete_scn)


def numbers(store: Store) -> list[int]:
    return [int(value) for value in store.values]
