"""Whatever the stream does meanwhile, and wherever it is killed: nothing old follows anything new, and nothing is missing."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.examples import examples
from tests.fetched import fetched
from tests.unit.signals import model
from tests.unit.signals.model import (
    TABLE,
    At,
    Commit,
    ModelReader,
    Stored,
    T,
    World,
    check_order,
    check_read_once,
    play,
    row_of,
    stage_of,
)

from minercdc.schema.table import Column, TableId, TableNames
from minercdc.signals.channels import Received
from minercdc.signals.stage import SignalStage
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.window import Changes, Chunk
from minercdc.stream.contracts import OpenTransaction
from minercdc.stream.events import ChangeEvent, Event, Notification, Op, Progress
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead
from minercdc.stream.signal import Signal, SignalRefused

KEYS = 12
SEEDS = examples(50)
EXECUTE = json.dumps({"data-collections": ["PDB.S.T"]})
BLOCKING = json.dumps({"data-collections": ["S.T"], "type": "blocking"})


def history(chance: random.Random, *signals: tuple[str, str, str]) -> list[Commit]:
    """Rows from the beginning, then changes, the signals among them, and DDL."""
    commits = [Commit(10, {key: True for key in range(KEYS) if chance.random() < 0.8})]
    scn, ddl_at = 20, chance.randrange(12)
    for step in range(30):
        scn += chance.randrange(1, 5)
        rows = {chance.randrange(KEYS): chance.random() < 0.75 for _ in range(chance.randrange(1, 4))}
        present = {key for commit in commits for key in commit.rows}
        commits.append(Commit(scn, {key: there for key, there in rows.items() if there or key in present}))
        if step % 10 == 2 and signals:
            scn += 1
            commits.append(Commit(scn, {}, signals[0]))
            signals = signals[1:]
        if step == ddl_at:
            scn += 4
            commits.append(Commit(scn, ddl=True))
    return [_possible(commits, commit) for commit in commits]


def truncated(commits: list[Commit], chance: random.Random) -> list[Commit]:
    """With a TRUNCATE somewhere between two commits."""
    free = [one.scn + 1 for one, other in pairwise(commits) if one.scn + 1 < other.scn]
    found = sorted([*commits, Commit(chance.choice(free[2:]), truncate=True)], key=lambda commit: commit.scn)
    return [_possible(found, commit) for commit in found]


def _possible(commits: list[Commit], commit: Commit) -> Commit:
    """Without deletes of rows that are not there."""
    there: dict[int, bool] = {}
    for earlier in commits:
        if earlier.scn >= commit.scn:
            break
        if earlier.truncate:
            there.clear()
        there.update(earlier.rows)
    return replace(commit, rows={key: wanted for key, wanted in commit.rows.items() if wanted or there.get(key)})


def answers_to(events: list[Event], identity: str) -> list[str]:
    return [e.type for e in events if isinstance(e, Notification) and e.id == identity]


def run(
    seed: int,
    signal: tuple[str, str, str],
    *,
    threads: bool,
    too_old: int = 0,
    keyless: bool = False,
    truncates: bool = False,
) -> None:
    """By the signal table, or in every second history by a channel, which is not in step with the stream."""
    chance = random.Random(seed)
    in_table = seed % 2 == 0
    commits = history(chance, *([signal] if in_table else []))
    if truncates:
        commits = truncated(commits, chance)
    world = World(commits, chance, threads=threads, keyless=keyless)
    stop = threading.Event()
    late = [] if in_table else [Late(chance.randrange(20), Signal(*signal, "late"))]
    whole = play(stage_of(world, 3, late, too_old=too_old), world, At(0), SignalState(), stop)
    _judge(world, whole[-1].events, signal[0])
    for stored in chance.sample(whole, min(8, len(whole))):
        again = World(commits, random.Random(seed + 1), threads=False, keyless=keyless)
        again.emitted_order = world.emitted_order
        again.now = stored.position.delivered_scn
        after = play(stage_of(again, 4, late), again, stored.position, stored.state, stop)
        _judge(again, stored.events + after[-1].events, signal[0])


def _judge(world: World, events: list[Event], identity: str) -> None:
    rows = check_order(events)
    check_read_once(events)
    assert rows == world.rows_at(world.last_scn())
    types = answers_to(events, identity)
    assert types.count("ACCEPTED") == 1
    assert types.count("STARTED") == 1
    assert types[-2:] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
def test_an_incremental_snapshot_never_goes_back_and_survives_a_kill_anywhere(threads: bool) -> None:
    for seed in range(SEEDS):
        run(seed, ("i-1", "execute-snapshot", EXECUTE), threads=threads)


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
def test_a_blocking_snapshot_never_goes_back_and_survives_a_kill_anywhere(threads: bool) -> None:
    for seed in range(SEEDS):
        run(seed, ("b-1", "execute-snapshot", BLOCKING), threads=threads, too_old=seed % 3)


@pytest.mark.parametrize("seed", [19, 73, 165])
@pytest.mark.parametrize("request_", [EXECUTE, BLOCKING], ids=["incremental", "blocking"])
def test_no_row_is_read_below_the_highest_scn_of_a_run_of_transactions(seed: int, request_: str) -> None:
    """The last one of the run is of a redo thread that lags."""
    run(seed, ("s-1", "execute-snapshot", request_), threads=True, too_old=seed % 3 if request_ is BLOCKING else 0)


@pytest.mark.parametrize("request_", [EXECUTE, BLOCKING], ids=["incremental", "blocking"])
def test_a_change_without_key_and_rowid_makes_no_old_row_follow_it(request_: str) -> None:
    """As of a table without key, where redo has the ROWID of most rows only."""
    for seed in range(SEEDS):
        run(seed, ("s-1", "execute-snapshot", request_), threads=seed % 3 == 0, keyless=True)


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
@pytest.mark.parametrize("request_", [EXECUTE, BLOCKING], ids=["incremental", "blocking"])
def test_no_row_of_before_a_truncate_follows_it(request_: str, threads: bool) -> None:
    """Wherever it lies, also where it is the only change of the table that the stream has emitted past the SCN."""
    for seed in range(SEEDS):
        run(seed, ("s-1", "execute-snapshot", request_), threads=threads, truncates=True)


def test_both_kinds_of_snapshots_beside_each_other_never_go_back() -> None:
    for seed in range(SEEDS):
        chance = random.Random(seed)
        commits = history(chance, ("i-1", "execute-snapshot", EXECUTE))
        world = World(commits, chance, threads=True)
        late = [Late(chance.randrange(8), Signal("b-1", "execute-snapshot", BLOCKING, "late"))]
        whole = play(stage_of(world, 2, late), world, At(0), SignalState(), threading.Event())
        for stored in chance.sample(whole, min(8, len(whole))):
            again = World(commits, random.Random(seed + 1), threads=False)
            again.emitted_order = world.emitted_order
            again.now = stored.position.delivered_scn
            after = play(stage_of(again, 3, late), again, stored.position, stored.state, threading.Event())
            events = stored.events + after[-1].events
            assert check_order(events) == world.rows_at(world.last_scn())
            assert [answers_to(events, identity)[-1] for identity in ("i-1", "b-1")] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("request_", [EXECUTE, BLOCKING], ids=["incremental", "blocking"])
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
def test_a_row_whose_only_changes_have_no_record_is_read(threads: bool, request_: str) -> None:
    """With `skipped.operations=u`, or where updates change nothing that is published: the row that is read is all that the topic gets."""

    def without_record(event: ChangeEvent) -> bool:
        return event.op is Op.UPDATE

    for seed in range(SEEDS):
        chance = random.Random(seed)
        world = World(history(chance, ("s-1", "execute-snapshot", request_)), chance, threads=threads)
        stage = stage_of(world, 3, without_record=without_record)
        events = play(stage, world, At(0), SignalState(), threading.Event())[-1].events
        begun = next(i for i, event in enumerate(events) if isinstance(event, Notification) and event.type == "STARTED")
        published = [e for e in events[begun:] if not (isinstance(e, ChangeEvent) and without_record(e))]
        assert check_order(published).keys() == world.rows_at(world.last_scn()).keys()


def _rows_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Changes, "current", lambda self, rows, floor: rows)


def _changes_are_forgotten_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ModelReader, "floor", lambda self: 10**9)


def _chunks_are_older_than_what_was_emitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ModelReader, "emitted", lambda self: 0)


def _a_chunk_does_not_wait_for_the_stream(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IncrementalSnapshots, "_is_deliverable", lambda *_: True)


def _runs_begin(patch: pytest.MonkeyPatch, forget: Callable[[At, SignalState], tuple[At, SignalState]]) -> None:
    """Each without something that was stored."""
    through = SignalStage.through

    def forgetful(self: SignalStage, events: Iterator[Event], start: At, state: SignalState, stop: Any) -> Iterator[Event]:
        return through(self, events, *forget(start, state), stop)

    patch.setattr(SignalStage, "through", forgetful)


def _a_run_does_not_know_what_was_delivered(patch: pytest.MonkeyPatch) -> None:
    _runs_begin(patch, lambda start, state: (replace(start, delivered_scn=0), state))


def _progress_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    def forget(start: At, state: SignalState) -> tuple[At, SignalState]:
        left = [replace(one, tables=tuple(replace(table, last=()) for table in one.tables)) for one in state.snapshots]
        return start, replace(state, snapshots=tuple(left))

    _runs_begin(patch, forget)


def _a_chunk_of_another_shape_is_delivered(patch: pytest.MonkeyPatch) -> None:
    deliver_outcome = IncrementalSnapshots._deliver_outcome

    def blind(self: IncrementalSnapshots, state: Any, snapshot: Any, table: Any, outcome: Any, time_us: int) -> Any:
        if isinstance(outcome, Chunk) and (shape := self._shape(outcome.rows.schema.id)):
            outcome.rows = replace(outcome.rows, schema=shape)
        return deliver_outcome(self, state, snapshot, table, outcome, time_us)

    patch.setattr(IncrementalSnapshots, "_deliver_outcome", blind)


MUTATIONS = [
    _rows_are_not_compared,
    _changes_are_forgotten_early,
    _chunks_are_older_than_what_was_emitted,
    _a_run_does_not_know_what_was_delivered,
    _a_chunk_does_not_wait_for_the_stream,
    _progress_is_not_stored,
    _a_chunk_of_another_shape_is_delivered,
]


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda rule: rule.__name__.strip("_"))
def test_the_check_finds_a_rule_that_is_missing(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, IndexError)):  # a row of another shape has no such column
        _all_seeds()


def _all_seeds() -> None:
    for seed in range(50):
        run(seed, ("i-1", "execute-snapshot", EXECUTE), threads=True)


class Late:
    """A channel whose one signal comes at some look."""

    name = "late"

    def __init__(self, looks: int, signal: Signal) -> None:
        self._looks = looks
        self._signal = signal

    def poll(self, taken: str) -> tuple[list[Received], str]:
        self._looks -= 1
        return ([self._signal], "done") if self._looks < 0 and not taken else ([], taken)

    def stored(self, taken: str) -> None:
        pass

    def close(self) -> None:
        pass


class Until:
    """A channel without signals, after some looks at which the process is stopped."""

    name = "given"

    def __init__(self, stop: threading.Event, looks: int) -> None:
        self._stop = stop
        self._looks = looks

    def poll(self, taken: str) -> tuple[list[Received], str]:
        self._looks -= 1
        if not self._looks:
            self._stop.set()
        return [], taken

    def stored(self, taken: str) -> None:
        pass

    def close(self) -> None:
        pass


class Together:
    """Signals that come at the same look."""

    def __init__(self, *received: Received) -> None:
        self.received = received


class Given:
    """A channel that has its signals from the beginning, one for each look; its mark counts them."""

    name = "given"

    def __init__(self, *received: Received | Together) -> None:
        self.received = [item.received if isinstance(item, Together) else (item,) for item in received]
        self.durable = ""

    def poll(self, taken: str) -> tuple[list[Received], str]:
        at = int(taken or "0")
        return list(*self.received[at : at + 1]), str(min(at + 1, len(self.received)))

    def stored(self, taken: str) -> None:
        self.durable = taken

    def close(self) -> None:
        pass


def signal(identity: str, kind: str, **data: object) -> Signal:
    return Signal(identity, kind, json.dumps(data), "given")


def given(*signals: Received | Together, size: int = 3, transactions: list[OpenTransaction] | None = None) -> list[Stored]:
    chance = random.Random(7)
    world = World(history(chance), chance, threads=False)
    stage = stage_of(world, size, [Given(*signals)], open_transactions=transactions or ())
    return play(stage, world, At(0), SignalState(), threading.Event())


def test_a_paused_snapshot_delivers_nothing_until_it_is_resumed() -> None:
    start = signal("s", "execute-snapshot", **{"data-collections": ["S.T"]})
    nothing = signal("n", "log", message="x")
    paused = given(start, signal("p", "pause-snapshot"), *[nothing] * 100, size=1)
    events = paused[-1].events
    at = next(i for i, e in enumerate(events) if isinstance(e, Notification) and e.type == "PAUSED")
    assert not [e for e in events[at:] if isinstance(e, ChangeEvent) and e.tx is None]
    assert paused[-1].state.paused
    resumed = given(start, signal("p", "pause-snapshot"), *[nothing] * 5, signal("r", "resume-snapshot"), size=1)
    assert answers_to(resumed[-1].events, "s")[-1] == "COMPLETED"
    assert resumed[-1].state.snapshots == ()


def test_a_paused_stream_emits_no_change_until_it_is_resumed_and_none_is_missing() -> None:
    nothing = signal("n", "log", message="x")
    signals = (
        signal("p", "pause-streaming"),
        *[nothing] * 20,
        signal("p2", "pause-streaming"),
        signal("r", "resume-streaming"),
    )
    played = given(*signals)
    events = played[-1].events
    places = [next(i for i, e in enumerate(events) if isinstance(e, Notification) and e.id == one) for one in ("p", "r")]
    assert not [e for e in events[slice(*places)] if isinstance(e, ChangeEvent)]
    assert [answers_to(events, one) for one in ("p", "p2", "r")] == [["COMPLETED"], ["REFUSED"], ["COMPLETED"]]
    undisturbed = [e for e in given()[-1].events if isinstance(e, ChangeEvent)]
    assert [e for e in events if isinstance(e, ChangeEvent)] == undisturbed
    assert not played[-1].state.streaming_paused
    for stored in played:  # killed at any commit, it goes on as it was
        chance = random.Random(7)
        world = World(history(chance), chance, threads=False)
        after = play(stage_of(world, 3, [Given(*signals)]), world, stored.position, stored.state, threading.Event())
        changes = [e for e in (*stored.events, *after[-1].events) if isinstance(e, ChangeEvent)]
        assert changes == undisturbed
        if stored.state.streaming_paused:
            ended = threading.Event()
            idle = play(stage_of(world, 3, [Until(ended, 30)]), world, stored.position, stored.state, ended)
            assert not [e for e in idle[-1].events if isinstance(e, ChangeEvent)]


def test_a_stopped_snapshot_ends_where_it_is() -> None:
    stored = given(
        signal("s", "execute-snapshot", **{"data-collections": ["S.T"]}),
        signal("x", "stop-snapshot", **{"data-collections": ["PDB.S.T"]}),
        size=1,
    )
    assert answers_to(stored[-1].events, "s")[-2:] == ["ABORTED", "ABORTED"], "of the snapshot, and of the signal"
    assert answers_to(stored[-1].events, "x") == ["COMPLETED"]
    assert stored[-1].state.snapshots == ()


@pytest.mark.parametrize("looks", range(2, 16))
def test_a_blocking_snapshot_is_stopped_where_it_is_while_it_reads(looks: int) -> None:
    start = signal("s", "execute-snapshot", **{"data-collections": ["S.T"], "type": "blocking"})
    nothing = signal("n", "log", message="x")
    stored = given(start, *[nothing] * looks, signal("x", "stop-snapshot"))
    events = stored[-1].events
    if answers_to(events, "x") == ["REFUSED"]:  # it was complete by then
        assert answers_to(events, "s")[-1] == "COMPLETED"
        return
    assert answers_to(events, "x") == ["COMPLETED"]
    assert answers_to(events, "s")[-2:] == ["ABORTED", "ABORTED"]
    aborted = next(i for i, e in enumerate(events) if isinstance(e, Notification) and e.type == "ABORTED")
    assert not any(map(_is_read, events[aborted:]))
    assert stored[-1].state.snapshots == ()
    assert stored[-1].position.done == len(history(random.Random(7))), "the stream went on"


def test_a_blocking_snapshot_can_be_stopped_in_the_middle_of_its_rows() -> None:
    """Of the cases above, some stop it between two rows."""

    def reads(looks: int) -> int:
        start = signal("s", "execute-snapshot", **{"data-collections": ["S.T"], "type": "blocking"})
        stored = given(start, *[signal("n", "log", message="x")] * looks, signal("x", "stop-snapshot"))
        return sum(map(_is_read, stored[-1].events))

    assert len({reads(looks) for looks in range(2, 16)}) > 2


def test_another_signal_does_not_disturb_a_blocking_read_and_is_acted_on_after_it() -> None:
    start = signal("s", "execute-snapshot", **{"data-collections": ["S.T"], "type": "blocking"})
    stored = given(start, *[signal(f"n{i}", "log", message="x") for i in range(12)])
    events = stored[-1].events
    check_read_once(events)
    for i in range(12):
        assert answers_to(events, f"n{i}") == ["COMPLETED"]


def test_a_snapshot_that_is_stopped_and_requested_again_with_its_id_starts_over() -> None:
    start = signal("s", "execute-snapshot", **{"data-collections": ["S.T"]})
    nothing = signal("n", "log", message="x")
    stored = given(start, *[nothing] * 4, Together(signal("x", "stop-snapshot"), start), size=1)
    reads = [str(e.after[0]) for e in stored[-1].events if isinstance(e, ChangeEvent) and e.op == "r" and e.after]
    first = reads.index(min(reads, key=int), 1)
    assert reads[first:] == sorted(reads[first:], key=int)
    assert answers_to(stored[-1].events, "s")[-1] == "COMPLETED"
    assert check_order(stored[-1].events) == check_order([e for e in stored[-1].events if not _is_read(e)])


def _is_read(event: Event) -> bool:
    return isinstance(event, ChangeEvent) and event.op == "r"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (signal("a", "explode"), "there is no signal of type 'explode'"),
        (Signal("a", "log", "{", "given"), "data is not JSON"),
        (signal("a", "log"), "message is missing"),
        (signal("a", "execute-snapshot"), "data-collections is missing"),
        (signal("a", "execute-snapshot", **{"data-collections": ["PDB.S.OTHER"]}), "no captured table matches PDB.S.OTHER"),
        (signal("a", "execute-snapshot", **{"data-collections": [" "]}), "a pattern is empty"),
        (signal("a", "execute-snapshot", **{"data-collections": ["("]}), "not a regular expression"),
        (signal("a", "execute-snapshot", **{"data-collections": ["S.T"], "type": "full"}), "type 'full'"),
        (
            signal(
                "a",
                "execute-snapshot",
                **{"data-collections": ["S.T"], "additional-conditions": [{"data-collection": "S.U", "filter": "A = 1"}]},
            ),
            "additional-conditions: S.U names none of these tables",
        ),
        (signal("a", "stop-snapshot"), "no snapshot of such a table"),
        (signal("a", "stop-snapshot", type="full"), "a snapshot of type 'full' is not there"),
        (signal("a", "execute-snapshot", **{"data-collections": ["(?!S).*"]}), "cannot be matched in linear time"),
        (signal("a", "pause-snapshot"), "no incremental snapshot is under way"),
        (signal("a", "drop-transaction", **{"transaction-id": "xyz"}), "16 hexadecimal digits"),
        (signal("a", "drop-transaction", **{"transaction-id": "0" * 16}), "no transaction 0000000000000000 is open"),
        (signal("a", "schema-changes", changes=[{}]), "not a tableChanges document"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_done_is_refused_with_the_reason_and_the_stream_goes_on(sent: Signal, reason: str) -> None:
    stored = given(sent)
    answers = [e for e in stored[-1].events if isinstance(e, Notification)]
    assert [(answer.id, answer.type) for answer in answers] == [("a", "REFUSED")]
    assert reason in answers[0].additional_data["reason"]
    assert stored[-1].position.done == len(history(random.Random(7)))


def test_a_signal_on_which_minercdc_fails_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minercdc.signals.actions.action_of", lambda signal: {}[signal.id])
    stored = given(signal("a", "log", message="m"), signal("b", "log", message="m"))
    answers = [e for e in stored[-1].events if isinstance(e, Notification)]
    assert [(answer.id, answer.type) for answer in answers] == [("a", "REFUSED"), ("b", "REFUSED")]
    assert answers[0].additional_data["reason"] == "minercdc failed with KeyError: 'a'"


def test_what_cannot_be_read_is_refused_by_the_name_of_its_channel() -> None:
    stored = given(SignalRefused("not JSON", channel="kafka"))
    (refused,) = [e for e in stored[-1].events if isinstance(e, Notification)]
    assert refused.id
    assert refused.additional_data == {"signal_type": "", "channel": "kafka", "reason": "not JSON"}


def test_transactions_are_listed_and_dropped_and_the_drop_is_done_one_position_later() -> None:
    xid = "0a001f00b3020000"
    one = OpenTransaction(xid, 1, "APP", 5, "2026-01-01 00:00:00", 7)
    stored = given(
        signal("l", "list-transactions"),
        signal("d", "drop-transaction", **{"transaction-id": xid.upper()}),
        transactions=[one],
    )
    events = stored[-1].events
    listed = next(e for e in events if isinstance(e, Notification) and e.id == "l")
    assert json.loads(listed.additional_data["transactions"])[0]["transaction-id"] == xid
    assert answers_to(events, "d") == ["ACCEPTED", "COMPLETED"]
    under_way = [s for s in stored if s.state.drops]
    assert under_way[0].state.drops == (("d", xid),)
    assert answers_to(under_way[0].events, "d") == ["ACCEPTED"]


def test_all_but_the_last_progress_of_a_step_say_that_more_follows() -> None:
    chance = random.Random(3)
    world = World(history(chance, ("i-1", "execute-snapshot", EXECUTE)), chance, threads=False)
    stage = stage_of(world, 1)
    world.in_runs = False
    events = list(stage.through(world.stream(At(0)), At(0), SignalState(), threading.Event()))
    assert isinstance(events[-1], Progress)
    assert not events[-1].more
    for before, following in pairwise(events):
        if isinstance(before, Progress) and before.more:
            assert not isinstance(following, Progress) or following.position == before.position
            assert not (isinstance(following, ChangeEvent) and following.tx is not None)


class OneChunk:
    """A reader that has read one chunk, between marks of which the last is written at SCN 50."""

    def __init__(self) -> None:
        self.chunk: Chunk | None = Chunk(fetched(TABLE, [("R1", row_of(TABLE, 1, 1))]), ("1",), 40, 0, 0, True, "w")
        self.chunk.closed_scn = 50

    def start(self, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None: ...

    def first(self) -> Chunk | None:
        return self.chunk

    def take(self) -> None:
        self.chunk = None

    def floor(self) -> int:
        return 40

    def stop(self) -> None: ...


@pytest.mark.parametrize("comes", [True, False])
def test_a_chunk_is_given_up_when_the_stream_passes_its_mark_without_it(comes: bool) -> None:
    table = TableRead(str(T), order=("ID",), maximum=("1",))
    state = SignalState((AdHocSnapshot("s", False, (str(T),), (table,)),))
    running = IncrementalSnapshots(OneChunk(), KnownTables(lambda _: TABLE, lambda _: None, TableNames("PDB")))
    assert list(running.step(state, 49, 49, 0)) == [], "the mark may come yet"
    if comes:
        running.mark("w", False, 50)
    steps = list(running.step(state, 50, 50, 0))
    events = [event for step, _ in steps for event in step]
    assert any(map(_is_read, events)) == comes
    statuses = [one.additional_data.get("status") for one in events if isinstance(one, Notification)]
    assert ("SQL_EXCEPTION" in statuses) == (not comes)
    assert steps[-1][1].snapshots == (), "it has ended"


def test_marks_of_another_connector_are_not_kept() -> None:
    """Both use the signal table."""
    table = TableRead(str(T), order=("ID",), maximum=("1",))
    state = SignalState((AdHocSnapshot("s", False, (str(T),), (table, table)),))
    reader = OneChunk()
    running = IncrementalSnapshots(reader, KnownTables(lambda _: TABLE, lambda _: None, TableNames("PDB")))
    running.mark("other", False, 30)
    assert running._closed == {}, "nothing is read"
    assert list(running.step(state, 30, 30, 0)) == []
    assert reader.chunk is not None
    reader.chunk.final = False
    for window, scn in [("other", 45), ("w", 50), ("later", 60)]:
        running.mark(window, False, scn)
    next(running.step(state, 50, 50, 0))
    assert running._closed == {"later": 60}


def test_a_signal_of_a_table_whose_columns_stand_elsewhere_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = model.SIGNAL_TABLE
    monkeypatch.setattr(model, "SIGNAL_TABLE", replace(table, columns=(Column("NOTE", "VARCHAR2"), *table.columns)))
    signal: Any = ("a note", "i-1", "execute-snapshot", EXECUTE)
    world = World([Commit(10, {1: True}), Commit(20, {}, signal), Commit(30, {2: True})], random.Random(1), threads=False)
    whole = play(stage_of(world, 3, []), world, At(0), SignalState(), threading.Event())
    refused = [e for e in whole[-1].events if isinstance(e, Notification) and e.type == "REFUSED"]
    (reason,) = [one.additional_data["reason"] for one in refused]
    assert "NOTE is taken for ID, ID is taken for TYPE" in reason
    assert "minercdc check CONFIG" in reason
