"""The loop, on a scripted capture and a sink in memory: what a committed reader sees, and what is stored with it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.runs import encode_run_of, in_runs

from minercdc.contracts import Capture, Heartbeat, Record, Snapshot, StopFlag
from minercdc.engine import run, run_once, skip_sent
from minercdc.errors import DecodeError, DeliveryError, FencedError, LogGapError, TransientSourceError, UnknownSourceError
from minercdc.events import (
    ChangeEvent,
    ChangeRun,
    Event,
    Notification,
    Op,
    Progress,
    SchemaChange,
    Scn,
    TransactionInfo,
    UndecodableRow,
    VanishedRow,
)
from minercdc.kafka.offset_json import offset_from_bytes, offset_to_bytes
from minercdc.metrics import Counters
from minercdc.offset import AdHocSnapshot, JsonValue, Offset, PartialTransaction, Position, SignalState, SnapshotState
from minercdc.pipeline import Bounds, Pipeline, PipelineFactory
from minercdc.schema.table import Column, TableId, TableSchema

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


@pytest.fixture(autouse=True, params=[0, 1, 3], ids=["events", "runs", "runs of several"])
def _as_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test with changes one by one, in runs, and in runs of several transactions."""
    monkeypatch.setattr(ScriptedCapture, "runs", request.param)


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
    def live() -> Pipeline:
        return Pipeline(
            adapter="test",
            sink=MemorySink(store),
            encoder=RowEncoder(),
            encode_run=encode_run_of(RowEncoder()),
            history=NoHistory(),
            snapshot=lambda offset: snapshot if offset is None or offset.position is None else None,
            capture=lambda offset: capture,
            bounds=bounds,
            skip_undecodable=lambda error: skip,
            notified=notified,
            heartbeat=heartbeat,
            waiting=waiting,
            notes_ddl=True,
        )

    return PipelineFactory(live, max_restarts, 0.001, clock or Clock())


def at(done: int, complete_scn: int = 0) -> Offset:
    return Offset("test", position={"done": done}, complete_scn=complete_scn)


def numbers(store: Store) -> list[int]:
    return [int(value) for value in store.values]


def test_each_transaction_is_committed_whole_with_the_offset_after_it() -> None:
    store, capture = Store(offset=at(0)), ScriptedCapture([[1, 2], [3]])
    run_once(parts_of(store, capture), threading.Event())
    assert store.batches == [[b"1", b"2"], [b"3"]]
    assert store.offset == at(2, 101)
    assert capture.confirmed == [At(1), At(2)]


class VanishingCapture(ScriptedCapture):
    """Begins with the deletes of keys that vanished."""

    def _events(self, start: Position) -> Iterator[Event]:
        for key in (b"12", b"13", b"14"):
            yield VanishedRow(TABLE, key, Scn(1), 0)
        yield from super()._events(start)


def test_a_key_that_cannot_be_read_stops_no_other_delete() -> None:
    store = Store(offset=at(0))
    parts = parts_of(store, VanishingCapture([[1]]), skip=True)
    run_once(parts, threading.Event())
    assert store.values == [b"12", b"14", b"1"]
    assert (parts.counters.skipped, parts.counters.events["d"]) == (1, 2)
    with pytest.raises(DecodeError, match="no key of the table"):
        run_once(parts_of(Store(offset=at(0)), VanishingCapture([[1]])), threading.Event())


class HoldingCapture(ScriptedCapture):
    """Holds the SCN of the last commit open, since another commit may have it."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        for event in super().stream(start, stop):
            if isinstance(event, Progress):
                event.complete_scn = Scn(event.complete_scn - 1)
            yield event


def test_the_last_commit_is_complete_when_all_before_it_are() -> None:
    store = Store(offset=at(0))
    run_once(parts_of(store, HoldingCapture([[1], [2]])), threading.Event())
    assert store.offset == at(2, 101)


def test_several_transactions_share_a_kafka_transaction_until_it_is_due() -> None:
    store = Store(offset=at(0))
    run_once(parts_of(store, ScriptedCapture([[1], [2], [3]]), bounds=LAZY), threading.Event())
    assert store.batches == [[b"1", b"2", b"3"]]
    assert store.offset == at(3, 102)


def test_a_transaction_over_the_bound_is_split_at_a_point_the_offset_names() -> None:
    store = Store(offset=at(0), fail_at_write={b"5": LogGapError("killed")})
    parts = parts_of(store, ScriptedCapture([[1, 2, 3, 4, 5]]), bounds=replace(LAZY, records=2))
    with pytest.raises(LogGapError):
        run_once(parts, threading.Event())
    assert store.batches == [[b"1", b"2"], [b"3", b"4"]]
    assert store.offset == Offset("test", position={"done": 0}, partial=PartialTransaction("x0", 100, 4))
    run_once(parts, threading.Event())
    assert numbers(store) == [1, 2, 3, 4, 5]
    assert store.offset == at(1, 100)


def test_an_idle_tick_does_not_forget_what_was_delivered_of_a_split_transaction() -> None:
    split = Offset("test", position={"done": 0}, partial=PartialTransaction("x0", 100, 2))
    store = Store(offset=split, fail_at_write={b"3": LogGapError("killed")})
    parts = parts_of(store, ScriptedCapture([[1, 2, 3]], tick=True), clock=Clock(step=10))
    with pytest.raises(LogGapError):
        run_once(parts, threading.Event())
    assert store.offset == split
    run_once(parts, threading.Event())
    assert numbers(store) == [3]


def test_an_idle_connector_moves_its_offset_without_records() -> None:
    store = Store(offset=at(0))
    run_once(parts_of(store, ScriptedCapture([[], []], tick=True), clock=Clock(step=10)), threading.Event())
    assert store.offset == at(2, 101)
    assert store.values == []


class Beat:
    """Heartbeats a minute apart."""

    seconds = 60.0

    def beat(self) -> Record:
        return Record("beats", None, b"beat")


class Idling(ScriptedCapture):
    """Hours in which nothing happens but that redo is read, a tick every 3 seconds."""

    def __init__(self, clock: Clock, hours: int) -> None:
        super().__init__([])
        self.clock, self.ticks = clock, hours * 1200

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        for tick in range(1, self.ticks + 1):
            self.clock.now += 3
            yield Progress(At(tick), Scn(tick), 0)


@pytest.mark.parametrize(("heartbeat", "beats"), [(None, 0), (Beat(), 5 * 60)])
def test_hours_of_idling_keep_the_offset_fresh(heartbeat: Heartbeat | None, beats: int) -> None:
    store, clock = Store(offset=at(0)), Clock()
    capture = Idling(clock, hours=5)
    run_once(parts_of(store, capture, clock=clock, heartbeat=heartbeat), threading.Event())
    stored = [0, *(position.done for position in capture.confirmed)]
    assert max(later - earlier for earlier, later in itertools.pairwise(stored)) * 3 <= 6
    assert capture.ticks - stored[-1] <= 2
    assert store.values == [b"beat"] * beats


def test_heartbeats_come_between_transactions_and_not_before_there_is_a_position() -> None:
    store, snapshot = Store(), ScriptedSnapshot()
    snapshot.die = False
    parts = parts_of(store, ScriptedCapture([[1, 2], [3]]), snapshot=snapshot, clock=Clock(step=60), heartbeat=Beat())
    run_once(parts, threading.Event())
    assert store.batches[:2] == [[b"history", b"ddl"], [b"0", b"beat"]]
    assert store.batches[2:] == [[b"1", b"2", b"beat"], [b"3", b"beat"]]


def test_a_transient_failure_restarts_from_the_offset_without_loss_or_repeat() -> None:
    store = Store(offset=at(0), fail_at_commit=[DeliveryError("broker gone")])
    capture = ScriptedCapture([[1], [2]])
    parts = parts_of(store, capture)
    run(parts, threading.Event())
    assert numbers(store) == [1, 2]
    assert parts.counters.restarts == 1


def test_restarts_end_at_the_limit_and_progress_starts_the_count_again() -> None:
    store = Store(offset=at(0))
    failing = ScriptedCapture([], failure=TransientSourceError("gone"))
    parts = parts_of(store, failing, max_restarts=2)
    with pytest.raises(TransientSourceError):
        run(parts, threading.Event())
    assert parts.counters.restarts == 2
    store = Store(offset=at(0), fail_at_write={str(i).encode(): TransientSourceError("gone") for i in range(1, 6)})
    run(parts_of(store, ScriptedCapture([[i] for i in range(6)]), max_restarts=1), threading.Event())
    assert numbers(store) == [0, 1, 2, 3, 4, 5]


class _Waits(threading.Event):
    """A stop flag that notes how long each wait would be, and waits no time."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0.0)
        return False


def test_waits_double_and_begin_again_after_something_was_delivered() -> None:
    lost = TransientSourceError("gone")
    store = Store(offset=at(0), fail_at_commit=[lost] * 3, fail_at_write={b"3": lost})
    waits = _Waits()
    run(replace(parts_of(store, ScriptedCapture([[i] for i in range(6)]), max_restarts=-1), longest_wait=10.0), waits)
    assert waits.seconds == [1.0, 2.0, 4.0, 1.0]


def test_waits_grow_to_the_longest_and_never_overflow() -> None:
    store = Store(offset=at(0), fail_at_commit=[DeliveryError("gone")] * 2000)
    waits = _Waits()
    run(replace(parts_of(store, ScriptedCapture([[1]]), max_restarts=-1), longest_wait=10.0), waits)
    assert waits.seconds[-1] == 10.0


def test_a_code_without_a_class_is_retried_five_times_then_stops() -> None:
    parts = parts_of(Store(offset=at(0)), ScriptedCapture([], failure=UnknownSourceError("ORA-54321")), max_restarts=-1)
    with pytest.raises(UnknownSourceError):
        run(parts, threading.Event())
    assert parts.counters.restarts == 5


def test_a_fenced_instance_stops_at_once() -> None:
    store = Store(offset=at(0), fail_at_commit=[FencedError("taken over")])
    parts = parts_of(store, ScriptedCapture([[1]]))
    with pytest.raises(FencedError):
        run(parts, threading.Event())
    assert parts.counters.restarts == 0


def test_a_row_that_cannot_be_decoded_stops_or_is_counted_as_configured() -> None:
    store = Store(offset=at(0))
    with pytest.raises(DecodeError):
        run_once(parts_of(store, ScriptedCapture([[1, 13]])), threading.Event())
    assert store.values == []
    parts = parts_of(store, ScriptedCapture([[1, 13, 2]]), skip=True)
    run_once(parts, threading.Event())
    assert store.batches == [[b"1", b"-13", b"2"]]  # its dead letter is among its neighbours
    assert parts.counters.skipped == 1


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


def test_the_snapshot_comes_first_and_goes_on_from_its_stored_state() -> None:
    store, snapshot = Store(), ScriptedSnapshot()
    run(parts_of(store, ScriptedCapture([[1]]), snapshot=snapshot), threading.Event())
    assert snapshot.states == [None, SnapshotState(5, {"done": 0})]
    assert store.batches == [[b"history", b"ddl"], [b"history", b"ddl"], [b"0"], [b"1"]]
    assert store.offset == at(1, 100)


class Again(ScriptedSnapshot):
    """Leaves a table to be read later."""

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        yield Progress(At(0), Scn(5), 0, signals=SignalState((AdHocSnapshot("left", False, (), ()),)))


def test_what_signals_asked_for_outlives_a_snapshot_that_is_taken_again() -> None:
    asked = AdHocSnapshot("asked", True, (), (), scn=3, reached=True)
    store = Store(offset=Offset("test", signals=SignalState((asked,), taken={"kafka": "7"})))
    run_once(parts_of(store, ScriptedCapture([[1]]), snapshot=Again()), threading.Event())
    assert store.offset is not None
    assert store.offset.signals.taken == {"kafka": "7"}
    again, left = store.offset.signals.snapshots
    assert again == replace(asked, reached=False), "what the snapshot emitted is newer than its SCN"
    assert left.id == "left"


def test_dead_letters_of_a_split_transaction_are_sent_once() -> None:
    """A split is after a change: what could not be decoded after it was not sent."""
    info = TransactionInfo("x", Scn(1), Scn(9), 0, 0, 1, None)
    letters = [UndecodableRow(None, "UPDATE", "", None, Scn(1), 0, info, seq) for seq in (0, 1, 2)]
    partial = PartialTransaction("x", Scn(9), 1)
    assert list(skip_sent(iter(letters), partial)) == letters[1:]


def test_an_update_of_which_the_delete_was_sent_comes_as_an_insert() -> None:
    info = TransactionInfo("x", Scn(1), Scn(9), 0, 0, 1, None)
    update = ChangeEvent(Op.UPDATE, TABLE, ("1",), ("2",), Scn(1), 0, info, 1)
    after = ChangeEvent(Op.CREATE, TABLE, None, ("3",), Scn(1), 0, info, 2)
    partial = PartialTransaction("x", Scn(9), 1, inserts=True)
    insert = replace(update, op=Op.CREATE, before=None)
    assert list(skip_sent(iter([update, after]), partial)) == [insert, after]
    assert list(skip_sent(iter([update, after]), replace(partial, inserts=False))) == [after]
    assert offset_from_bytes(offset_to_bytes(Offset("a", partial=partial)), "t").partial == partial


class Hurrying(ScriptedCapture):
    """Follows each transaction by two ticks, the first of which says that more comes."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        self.runs = min(self.runs, 1)  # something stands between the transactions
        for event in super().stream(start, stop):
            yield event
            if isinstance(event, Progress):
                yield replace(event, committed=None, more=True, signals=SignalState(paused=True))
                yield from ([replace(event, committed=None)] if event.position == At(2) else [])


def test_a_tick_that_more_follows_is_not_committed_by_itself_and_its_state_is_kept() -> None:
    store = Store(offset=at(0))
    run_once(parts_of(store, Hurrying([[1], [2], [3]]), bounds=LAZY), threading.Event())
    assert store.batches == [[b"1", b"2"], [b"3"]]
    assert store.offset == replace(at(3, 102), signals=SignalState(paused=True))


class Announcing(ScriptedCapture):
    """Emits before each transaction's end that it ends."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        self.runs = min(self.runs, 1)  # something stands between the transactions
        for event in super().stream(start, stop):
            if isinstance(event, Progress) and event.committed:
                yield Notification(event.committed.id, "Transaction", "ENDS", 0)
            yield event


def test_a_notification_is_committed_among_its_rows_and_shown_when_it_is_durable() -> None:
    store, shown = Store(offset=at(0)), list[str]()
    store.fail_at_commit.append(DeliveryError("broker gone"))
    run(parts_of(store, Announcing([[1], [2]]), notified=lambda n: shown.append(n.id)), threading.Event())
    assert store.batches == [[b"1", b"x0"], [b"2", b"x1"]]
    assert shown == ["x0", "x1"]


def test_a_notification_that_waits_is_committed_at_the_next_progress_and_not_shown_again() -> None:
    store, shown = Store(offset=at(0)), list[str]()
    waits = [[Notification("lag", "Streaming", "LAG_HIGH", 0)]]
    factory = parts_of(
        *(store, ScriptedCapture([[1], [2]])),
        notified=lambda n: shown.append(n.id),
        waiting=lambda: waits.pop() if waits else (),
    )
    run(factory, threading.Event())
    assert store.batches == [[b"1", b"lag"], [b"2"]]
    assert shown == []


class Altered(ScriptedCapture):
    """DDL comes between transactions."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        for event in super().stream(start, stop):
            yield event
            if isinstance(event, Progress):
                yield SchemaChange(TABLE.id, TABLE, TABLE, "ALTER TABLE T ADD C NUMBER", Scn(7), 5, user="U")
                yield replace(event, committed=None)


def test_ddl_makes_a_notification_that_is_shown_once_it_is_durable() -> None:
    store, shown = Store(offset=at(0)), list[Notification]()
    run(parts_of(store, Altered([[1]]), notified=shown.append), threading.Event())
    (notice,) = shown
    assert (notice.aggregate_type, notice.type, notice.time_us) == ("Schema", "CHANGED", 5)
    assert notice.additional_data["ddl"] == "ALTER TABLE T ADD C NUMBER"
    assert notice.id.encode() in store.values


class Refusing(Store):
    """Looks at the counters while a commit is under way."""

    counters: Counters
    seen: list[tuple[int, int]]

    def before_commit(self, offset: Offset) -> None:
        self.seen.append((self.counters.progress_us, self.counters.complete_scn))


class Timed(ScriptedCapture):
    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        for event in super().stream(start, stop):
            yield replace(event, time_us=int(event.complete_scn) * 10) if isinstance(event, Progress) else event


def test_the_lag_counts_what_is_durable_not_what_is_written() -> None:
    store = Refusing(offset=at(0))
    factory = parts_of(store, Timed([[1], [2]]))
    store.counters, store.seen = factory.counters, []
    run_once(factory, threading.Event())
    assert store.seen[0] == (0, 0)
    assert store.seen[-1][0] in (0, 1000), "2 is not durable yet"
    assert (factory.counters.progress_us, factory.counters.complete_scn) == (1010, 101)
    times = factory.counters.commit_times
    assert sum(times.counts) == factory.counters.commits == len(store.seen)


@pytest.mark.parametrize("delivered", range(8))
def test_of_a_run_that_was_delivered_in_part_the_rest_comes(delivered: int) -> None:
    info = TransactionInfo("x", Scn(1), Scn(9), 0, 0, 1, None)
    events = [ChangeEvent(Op.CREATE, TABLE, None, (str(seq),), Scn(1), 0, info, seq) for seq in range(1, 7)]
    runs = [*in_runs(events[:3]), *in_runs(events[3:])]
    for partial, left in (
        (PartialTransaction("x", Scn(9), delivered), events[delivered:]),
        (PartialTransaction("y", Scn(9), delivered), events),
        (PartialTransaction("x", Scn(8), delivered), events),
    ):
        seen = [e for one in skip_sent(iter(runs), partial) for e in (one.events() if isinstance(one, ChangeRun) else [one])]
        assert seen == left


@pytest.mark.parametrize("runs", [0, 1, 3])
def test_a_large_transaction_is_held_up_to_a_size(runs: int) -> None:
    for hold_bytes, parts in ((10**9, 1), (34_000, 2)):  # 600 records of about 100 bytes
        store, capture = Store(offset=at(0)), ScriptedCapture([[1, 2, 3], range(20, 620), [4]])
        capture.runs = runs
        bounds = Bounds(records=3, bytes=10**9, seconds=1e9, hold_bytes=hold_bytes)
        run_once(parts_of(store, capture, bounds=bounds), threading.Event())
        first, *held, last = map(len, store.batches)
        assert (first, sum(held), len(held), last) == (3, 600, parts, 1)


def test_a_transaction_that_is_held_is_split_when_it_takes_too_long() -> None:
    store, clock = Store(offset=at(0)), Clock(0.5)
    bounds = Bounds(records=3, bytes=10**9, seconds=1e9, hold_bytes=10**9, longest=10)
    run_once(parts_of(store, ScriptedCapture([range(20, 2020)]), bounds=bounds, clock=clock), threading.Event())
    assert len(store.batches) > 1
    assert sum(map(len, store.batches)) == 2000


@pytest.mark.parametrize("records", [1, 2, 3, 4, 7, 255, 256, 257])
def test_a_transaction_is_split_at_the_same_rows_whatever_its_changes_come_as(records: int) -> None:
    batches = []
    for runs in (0, 1, 3):
        store, capture = Store(offset=at(0)), ScriptedCapture([range(20, 620), [1, 2], [13], range(700, 1000)])
        capture.runs = runs
        run_once(parts_of(store, capture, bounds=replace(LAZY, records=records), skip=True), threading.Event())
        batches.append(store.batches)
    assert batches[0] == batches[1]
