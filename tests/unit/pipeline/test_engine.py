"""Runs and restarts, on a scripted capture and a sink in memory: what a committed reader sees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.runs import in_runs
from tests.scripted import TABLE, At, ScriptedCapture, ScriptedSnapshot, Store, at, numbers, parts_of

from minercdc.errors import DeliveryError, FencedError, TransientSourceError, UnknownSourceError
from minercdc.pipeline.engine import run, run_once, skip_sent
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import (
    ChangeEvent,
    ChangeRun,
    Event,
    Op,
    Progress,
    Scn,
    TransactionInfo,
    UndecodableRow,
)
from minercdc.stream.offset import (
    AdHocSnapshot,
    Offset,
    PartialTransaction,
    Position,
    SignalState,
    SnapshotState,
)
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

pytestmark = pytest.mark.usefixtures("as_runs")


def test_a_transient_failure_restarts_from_the_offset_without_loss_or_repeat() -> None:
    store = Store(offset=at(0), fail_at_commit=[DeliveryError("broker gone")])
    capture = ScriptedCapture([[1], [2]])
    parts = parts_of(store, capture)
    run(parts, threading.Event())
    assert numbers(store) == [1, 2]
    assert parts.counters.restarts == 1


@pytest.mark.parametrize("fails", ["at the commit", "within a transaction"])
def test_what_an_aborted_kafka_transaction_held_counts_once(fails: str) -> None:
    gone = DeliveryError("broker gone")
    store = (
        Store(offset=at(0), fail_at_commit=[gone])
        if fails == "at the commit"
        else Store(offset=at(0), fail_at_write={b"4": gone})
    )
    parts = parts_of(store, ScriptedCapture([[1, 2], [3, 4]]))
    run(parts, threading.Event())
    assert numbers(store) == [1, 2, 3, 4]
    counters = parts.counters
    assert (counters.records, counters.transactions, sum(counters.events.values())) == (4, 2, 4)
    assert sum(counters.tables.values()) == 4


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


class _Fetching(ScriptedCapture):
    """Says whether a stream of it still runs."""

    running = 0

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        self.running += 1
        try:
            yield from super().stream(start, stop)
        finally:
            self.running -= 1


def test_an_error_of_the_sink_ends_the_stream_though_the_error_is_kept() -> None:
    capture = _Fetching([[1], [2]])
    parts = parts_of(Store(offset=at(0), fail_at_commit=[FencedError("taken over")]), capture)
    with pytest.raises(FencedError) as kept:
        run_once(parts, threading.Event())
    assert kept.value.__traceback__
    assert capture.running == 0


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


def test_what_signals_requested_outlives_a_snapshot_that_is_taken_again() -> None:
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
