"""Kafka transactions, on a scripted capture and a sink in memory: what is committed together, and the offset stored with it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from tests.scripted import LAZY, TABLE, At, Clock, ScriptedCapture, ScriptedSnapshot, Store, at, numbers, parts_of

from minercdc.errors import DecodeError, DeliveryError, LogGapError
from minercdc.pipeline.engine import run, run_once
from minercdc.pipeline.pipeline import Bounds
from minercdc.pipeline.suspension import Suspensions
from minercdc.stream.contracts import Heartbeat, Record, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import Event, Notification, Progress, SchemaChange, Scn, SuspensionChange, VanishedRow
from minercdc.stream.offset import (
    Offset,
    PartialTransaction,
    Position,
    Resumption,
    SignalState,
    SuspendedTable,
)

pytestmark = pytest.mark.usefixtures("as_runs")


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


class ResumingCapture(ScriptedCapture):
    """Ends a suspension before the first transaction."""

    def _events(self, start: Position) -> Iterator[Event]:
        yield SuspensionChange("S.T", None, 7)
        yield from super()._events(start)


def test_a_sink_may_write_that_a_suspended_table_is_read_again() -> None:
    """As a relay, whose clients have to learn of it, does."""
    store = Store(offset=at(0))
    run_once(parts_of(store, ResumingCapture([[1]])), threading.Event())
    assert store.values == [b"resumed", b"1"]


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


class WithoutTheSplit(ScriptedCapture):
    """Idle ticks up to an SCN after the split transaction of `x0`, which does not come again: its tables cannot be read any more."""

    def __init__(self, seen: Callable[[], str]) -> None:
        super().__init__([])
        self.seen: list[str] = []
        self._seen = seen

    def _events(self, start: Position) -> Iterator[Event]:
        for complete in (0, 99, 100, 101):
            yield Progress(At(0), Scn(complete), 0)
            self.seen.append(self._seen())


def test_a_split_transaction_that_does_not_come_again_is_over_once_its_place_is_passed() -> None:
    """Else nothing that waits for its end would ever go on, such as reading its tables again."""
    store = Store(offset=Offset("test", position={"done": 0}, partial=PartialTransaction("x0", 100, 2)))
    suspensions = Suspensions()
    capture = WithoutTheSplit(lambda: suspensions.split)
    parts = parts_of(store, capture, clock=Clock(step=10))
    opened = parts.open_pipeline
    parts = replace(parts, open_pipeline=lambda: replace(opened(), suspensions=suspensions))
    run_once(parts, threading.Event())
    assert capture.seen == ["x0", "x0", "x0", ""]
    assert store.offset is not None
    assert store.offset.partial is None


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


def test_a_row_that_cannot_be_decoded_stops_or_is_counted_as_configured() -> None:
    store = Store(offset=at(0))
    with pytest.raises(DecodeError):
        run_once(parts_of(store, ScriptedCapture([[1, 13]])), threading.Event())
    assert store.values == []
    parts = parts_of(store, ScriptedCapture([[1, 13, 2]]), skip=True)
    run_once(parts, threading.Event())
    assert store.batches == [[b"1", b"-13", b"2"]]  # its dead letter is among its neighbours
    assert parts.counters.skipped == 1


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
        store,
        ScriptedCapture([[1], [2]]),
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


class Truncated(ScriptedCapture):
    """T and another table are truncated at SCN 7 and 9, after the first transaction."""

    def __init__(self) -> None:
        super().__init__([[1]])
        other = replace(TABLE, id=TABLE.id._replace(table="OTHER"))
        self.ddl = [
            SchemaChange(table.id, table, table, "TRUNCATE TABLE X", Scn(scn), 5, truncate=True)
            for table in (TABLE, other)
            for scn in (7, 9)
        ]

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        for event in super().stream(start, stop):
            yield event
            if isinstance(event, Progress):
                yield from self.ddl
                yield replace(event, committed=None)


@pytest.mark.parametrize(
    ("suspended", "resuming", "left_out"),
    [
        ([SuspendedTable(str(TABLE.id), 1, "", "")], [], [True, True, False, False]),
        ([SuspendedTable(str(TABLE.id), 1, "", "", delivered=True)], [], [False] * 4),
        ([], [Resumption(str(TABLE.id), "s", 8, 8)], [True, False, False, False]),
        ([], [], [False] * 4),
    ],
)
def test_a_truncate_of_a_suspended_table_is_no_message(
    suspended: list[SuspendedTable], resuming: list[Resumption], left_out: list[bool]
) -> None:
    capture = Truncated()
    store = Store(offset=replace(at(0), suspended=tuple(suspended), signals=SignalState(resuming=tuple(resuming))))
    run_once(parts_of(store, capture), threading.Event())
    assert [change.left_out for change in capture.ddl] == left_out


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


@pytest.mark.parametrize("runs", [0, 1, 3])
def test_a_large_transaction_is_held_up_to_a_size(runs: int, caplog: pytest.LogCaptureFixture) -> None:
    for hold_bytes, parts, warnings in ((10**9, 1, 0), (34_000, 2, 1), (0, 200, 0)):  # 600 records of about 100 bytes
        store, capture = Store(offset=at(0)), ScriptedCapture([[1, 2, 3], range(20, 620), [4]])
        capture.runs = runs
        bounds = Bounds(records=3, bytes=10**9, seconds=1e9, hold_bytes=hold_bytes)
        run_once(parts_of(store, capture, bounds=bounds), threading.Event())
        first, *held, last = map(len, store.batches)
        assert (first, sum(held), len(held), last) == (3, 600, parts, 1)
        said = [line.getMessage() for line in caplog.records if "is split although" in line.getMessage()]
        assert len(said) == warnings
        assert all("exceeds minercdc.kafka.large.transaction.hold.max.bytes" in line for line in said)
        caplog.clear()


def test_a_transaction_that_is_held_is_split_when_it_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    store, clock = Store(offset=at(0)), Clock(0.5)
    bounds = Bounds(records=3, bytes=10**9, seconds=1e9, hold_bytes=10**9, longest=10)
    run_once(parts_of(store, ScriptedCapture([range(20, 2020)]), bounds=bounds, clock=clock), threading.Event())
    assert len(store.batches) > 1
    assert sum(map(len, store.batches)) == 2000
    (line,) = [line.getMessage() for line in caplog.records if "is split although" in line.getMessage()]
    assert "takes longer than 10 s" in line, "once for all its parts"


@pytest.mark.parametrize("records", [1, 2, 3, 4, 7, 255, 256, 257])
def test_a_transaction_is_split_at_the_same_rows_whatever_its_changes_come_as(records: int) -> None:
    batches = []
    for runs in (0, 1, 3):
        store, capture = Store(offset=at(0)), ScriptedCapture([range(20, 620), [1, 2], [13], range(700, 1000)])
        capture.runs = runs
        run_once(parts_of(store, capture, bounds=replace(LAZY, records=records), skip=True), threading.Event())
        batches.append(store.batches)
    assert batches[0] == batches[1]
