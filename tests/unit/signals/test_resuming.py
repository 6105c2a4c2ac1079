"""Single steps of reading a suspended table again; tests/unit/pipeline/test_suspension.py runs whole histories."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from tests.unit.signals.model import TABLE, At, ModelTables, T, World, stage_of

from minercdc.errors import PrerequisiteError, SharedTopicError, SnapshotTooOldError
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.schema.tables import Tables
from minercdc.signals.actions import Actions, Source
from minercdc.signals.stage import Polling, SignalStage, TableReads
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Outcome
from minercdc.snapshot.incremental.resuming import Resumptions
from minercdc.snapshot.incremental.resumption import renamed
from minercdc.stream.events import Event, Notification, Progress, SchemaChange, Scn, SuspensionChange, TransactionInfo
from minercdc.stream.offset import AdHocSnapshot, Offset, Resumption, SignalState, SuspendedTable, TableRead
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes
from minercdc.stream.signal import Signal

TX = TransactionInfo("x", Scn(0), Scn(80), 0, 0, 0, None)
BROKEN = SuspendedTable("S.T", 40, "MC-4302", "no key")


@dataclass
class Database:
    """:ivar missing: what is in the way; an error to raise."""

    missing: str | Exception = ""
    now: int = 100
    oldest: int = 40

    def obstacle(self, table: TableId, code: str) -> str:
        if isinstance(self.missing, Exception):
            raise self.missing
        return self.missing

    def moment(self, table: TableId) -> tuple[int, int]:
        return self.now, self.now - 10

    def oldest_open_scn(self, table: TableId) -> int:
        return self.oldest


@dataclass
class Memory:
    """Folds one topic at a time, and is ready at the second question."""

    folding: str = ""
    asked: int = 0
    begun: list[str] = field(default_factory=list)

    def ends(self, table: TableSchema) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def begin(self, table: TableSchema, marks: tuple[tuple[int, int], ...]) -> None:
        self.folding, self.asked = str(table.id), 0
        self.begun.append(self.folding)

    def ready(self) -> bool:
        self.asked += 1
        return self.asked > 1

    def gone(self, most: int) -> Sequence[bytes]:
        return ()

    def limits(self) -> str:
        return ""

    def close(self) -> None:
        self.folding = ""


@dataclass
class Rig:
    suspensions: Suspensions = field(default_factory=Suspensions)
    source: Database = field(default_factory=Database)
    shapes: list[TableSchema] = field(default_factory=lambda: [TABLE])
    ticks: float = 0.0
    memory: Memory | None = None
    shared: SharedTopicError | None = None
    selected: Sequence[str] = ()

    def __post_init__(self) -> None:
        tables = Tables(self.shapes)
        self.resumptions = Resumptions(
            self.suspensions,
            self.source,
            KnownTables(tables.find, lambda _: None, TableNames("PDB")),
            self.memory,
            why="no topic here",
            refusal=lambda _: self.shared,
            selects=lambda table: str(table) in self.selected,
            clock=self._clock,
        )

    def _clock(self) -> float:
        self.ticks += 100
        return self.ticks

    def step(self, state: SignalState, complete_scn: int = 50) -> tuple[list[Event], SignalState]:
        """What a step yields, as the publisher takes it."""
        events: list[Event] = []
        for step, after in self.resumptions.step(state, complete_scn, 60, 0):
            state = after
            events += step
            for event in step:
                if isinstance(event, SuspensionChange):
                    self.suspensions.remove(event.table)
                    if event.suspended:
                        self.suspensions.put(event.suspended)
            self.suspensions.follow(state.resuming)
        return events, state


def answers(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.type, event.additional_data.get("reason", "")) for event in events if isinstance(event, Notification)]


@pytest.mark.parametrize(
    ("missing", "reason"),
    [("log it: ALTER TABLE", "log it: ALTER TABLE"), (PrerequisiteError("ORA-00942"), "cannot be found out: ORA-00942")],
)
def test_a_table_that_is_broken_still_stays_suspended_and_the_signal_is_answered(
    missing: str | Exception, reason: str
) -> None:
    rig = Rig(source=Database(missing))
    rig.suspensions.put(BROKEN)
    events, state = rig.step(SignalState(resumes=(("r", "S.T"),)))
    ((type_, text),) = answers(events)
    assert type_ == "REFUSED"
    assert reason in text
    assert state == SignalState()
    assert rig.suspensions.find("S.T") == BROKEN


def test_a_table_whose_topic_is_another_ones_is_not_resumed_and_is_once_it_can_have_it() -> None:
    rig = Rig(shared=SharedTopicError("S.U and S.T would share the topic p.S.T", hint="Leave one out."))
    rig.suspensions.put(entry := SuspendedTable("S.T", 40, SharedTopicError.code, "shared"))
    events, state = rig.step(SignalState(resumes=(("r", "S.T"),)))
    assert answers(events) == [("REFUSED", "S.U and S.T would share the topic p.S.T. Leave one out.")]
    assert (state, rig.suspensions.find("S.T")) == (SignalState(), entry)
    rig.shared = None
    events, state = rig.step(SignalState(resumes=(("r2", "S.T"),)))
    assert answers(events)[0] == ("ACCEPTED", "")
    assert [one.table for one in state.resuming] == ["S.T"]


def test_a_table_that_is_read_again_and_loses_its_topic_by_a_restart_is_suspended_again() -> None:
    rig = Rig(memory=(memory := Memory()), shared=SharedTopicError("S.U and S.T would share the topic p.S.T"))
    events, state = rig.step(SignalState(resuming=(Resumption("S.T", "r", 40, 40, ((0, 0),), "deleting"),)))
    assert [type_ for type_, _ in answers(events)] == ["ABORTED"]
    assert (state, memory.begun) == (SignalState(), [])
    assert "would share the topic p.S.T" in rig.suspensions.tables()[0].reason


def test_a_resumption_begins_where_logs_and_stream_are_and_lasts_until_older_transactions_ended() -> None:
    rig = Rig()
    rig.suspensions.put(BROKEN)
    events, state = rig.step(SignalState(resumes=(("r", "S.T"),)))
    (resumption,) = state.resuming
    assert (resumption.fixed_scn, resumption.covered_scn) == (100, 90)
    assert SuspensionChange("S.T", None, 90) in events
    assert [(snapshot.id, snapshot.tables) for snapshot in state.snapshots] == [("r", (TableRead("S.T"),))]
    assert rig.suspensions.find("S.T") is None
    state = replace(state, resuming=(replace(resumption, phase="deleting"),), snapshots=())
    events, state = rig.step(state)
    assert [type_ for type_, _ in answers(events)] == ["RESUMED", "COMPLETED"]
    for oldest, now, complete, settled in ((100, 200, 300, 0), (101, 250, 240, 250), (101, 260, 249, 250)):
        rig.source.oldest, rig.source.now = oldest, now
        _, state = rig.step(state, complete)
        assert state.resuming[0].settled_scn == settled
    assert rig.step(state, 250)[1] == SignalState()


def test_topics_of_several_tables_are_folded_one_after_the_other() -> None:
    other = replace(TABLE, id=TableId(T.database, T.schema, "U"))
    rig = Rig(shapes=[TABLE, other], memory=(memory := Memory()))
    state = SignalState(
        resuming=tuple(Resumption(str(one.id), one.id.table, 40, 40, ((0, 0),), "deleting") for one in (TABLE, other))
    )
    emitted: list[Event] = []
    for _ in range(6):
        events, state = rig.step(state)
        emitted += events
    completed = [one.id for one in emitted if isinstance(one, Notification) and one.type == "COMPLETED"]
    assert completed == ["T", "U"]
    assert memory.begun == ["S.T", "S.U"]


@pytest.mark.parametrize("failure", ["", "SQL_EXCEPTION ORA-00942"], ids=["stopped", "failed"])
def test_a_table_that_is_not_read_to_its_end_is_suspended_again_and_nothing_is_deleted(failure: str) -> None:
    rig = Rig()
    state = SignalState(resuming=(Resumption("S.T", "r", 100, 90, failure=failure),))
    events, state = rig.step(state)
    assert state == SignalState()
    entry = rig.suspensions.find("S.T")
    assert entry is not None
    assert failure in entry.reason
    assert not entry.automatic
    assert [type_ for type_, _ in answers(events)] == ["ABORTED"]


@pytest.mark.parametrize("phase", ["reading", "deleting"])
@pytest.mark.parametrize("taken", [False, True])
def test_a_table_that_is_renamed_while_it_is_read_again_is_suspended_again(phase: str, taken: bool) -> None:
    """It has another topic from now on. What is looked for in the old one, by the old name, may be of another table by now."""
    later = replace(TABLE, id=T._replace(table="T2"))
    rig = Rig(memory=Memory(), shapes=[later, replace(TABLE, object_id=9)] if taken else [later])
    reading = Resumption("S.T", "r", 100, 90, ((0, 7),), phase=phase)
    read = AdHocSnapshot("r", False, ("PDB.S.T",), (TableRead("S.T"),))
    state = renamed(SignalState(resumes=(("q", "S.T"), ("p", "S.U")), resuming=(reading,), snapshots=(read,)), "S.T", "S.T2")
    assert state.resumes == (("q", "S.T2"), ("p", "S.U"))
    assert state.snapshots == ()
    rig.suspensions.follow(state.resuming)
    assert not rig.suspensions.leaves_out(T, replace(TX, commit_scn=Scn(80)))
    events, state = rig.step(replace(state, resumes=()))
    entry = rig.suspensions.find("S.T2")
    assert entry is not None
    assert "renamed" in entry.reason
    assert answers(events) == [("ABORTED", entry.reason)]
    assert (state, rig.memory and rig.memory.begun) == (SignalState(), [])


def test_a_renamed_table_that_was_read_again_leaves_out_what_is_older_under_its_new_name() -> None:
    done = Resumption("S.T", "r", 100, 90, phase="done", answered=True)
    state = renamed(SignalState(resuming=(done,)), "S.T", "S.T2")
    assert state.resuming == (replace(done, table="S.T2"),)


def test_the_stage_follows_the_rename_of_a_table_that_is_read_again() -> None:
    stage = stage_of(World([], Random(1), threads=False), 2)
    state = SignalState(resuming=(Resumption("S.T", "r", 100, 90, phase="deleting"),))
    change = SchemaChange(T, TABLE, replace(TABLE, id=T._replace(table="T2")), "RENAME T TO T2", Scn(70), 0)
    events = list(stage.through(iter([change, Progress(At(1, 60), Scn(60), 0)]), At(0, 50), state, threading.Event()))
    last = events[-1]
    assert isinstance(last, Progress)
    assert last.signals is not None
    assert [one.table for one in last.signals.resuming] == ["S.T2"]


def test_a_new_fault_ends_what_reads_the_table() -> None:
    rig = Rig()
    rig.suspensions.put(BROKEN)
    both = AdHocSnapshot("s", False, (), (TableRead("S.T"), TableRead("S.U")))
    state = SignalState((AdHocSnapshot("r", False, (), (TableRead("S.T"),)), both), resuming=(Resumption("S.T", "r", 9, 9),))
    events, state = rig.step(state)
    assert [(snapshot.id, snapshot.tables) for snapshot in state.snapshots] == [("s", (TableRead("S.U"),))]
    assert state.resuming == ()
    assert ("ABORTED", "no key") in answers(events)


def test_nothing_begins_while_a_blocking_snapshot_reads_the_table_or_a_transaction_is_split() -> None:
    """Rows as of an older SCN would say after the marks that keys are there."""
    rig = Rig()
    rig.suspensions.put(replace(BROKEN, automatic=True))
    asked = SignalState((AdHocSnapshot("b", True, (), (TableRead("S.T"),)),), resumes=(("r", "S.T"),))
    assert rig.step(asked) == ([], asked)
    rig.suspensions.split = "0a"
    asked = replace(asked, snapshots=())
    assert rig.step(asked) == ([], asked)
    rig.suspensions.split = ""
    assert rig.step(asked)[1].resuming


@pytest.mark.parametrize(("shown", "times"), [(False, 3), (True, 10)], ids=["cause never seen", "cause seen"])
def test_a_table_is_read_by_itself_when_the_cause_is_gone(shown: bool, times: int) -> None:
    """Where the dictionary never showed it, and it cannot be decoded all the same, that would go on for ever."""
    rig = Rig()
    begun = 0
    for scn in range(10):
        rig.suspensions.put(replace(BROKEN, automatic=True, since_scn=scn))
        rig.suspensions.follow(())
        if shown:
            rig.source.missing = "log it"
            assert rig.step(SignalState())[1] == SignalState()
            rig.source.missing = ""
        begun += bool(rig.step(SignalState())[1].resuming)
    assert begun == times


def test_a_table_with_a_select_of_the_users_is_read_again_on_request_only(caplog: pytest.LogCaptureFixture) -> None:
    """All its rows are read then, those that the SELECT leaves out, too."""
    rig = Rig(selected=("S.T",))
    rig.suspensions.put(replace(BROKEN, automatic=True))
    events = [event for _ in range(5) for event in rig.step(SignalState())[0]]
    (entry,) = rig.suspensions.tables()
    assert events == [SuspensionChange("S.T", entry)]
    assert "resume-table --collection S.T" in entry.fix
    (said,) = [record.getMessage() for record in caplog.records]
    assert entry.fix in said
    assert rig.step(SignalState(resumes=(("r", "S.T"),)))[1].resuming


class Waiting:
    """A reader that has nothing yet, and knows its SCN."""

    def __init__(self) -> None:
        self.starts: list[int] = []

    def start(self, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        self.starts.append(emitted_scn)

    def first(self) -> Outcome | None:
        return None

    def take(self) -> None: ...

    def floor(self) -> int:
        return 0

    def stop(self) -> None: ...


def test_a_reading_that_has_nothing_delivered_yet_begins_again_too() -> None:
    """Its chunks in flight may be older than the row that was left out."""
    rig, reader = Rig(), Waiting()
    known = KnownTables(Tables([TABLE]).find, lambda _: None, TableNames("PDB"))
    source = Source(lambda: [T], None, lambda _: (T, None))
    stage = SignalStage(
        None,
        Actions(source, Tables([TABLE]), lambda _: True, TableNames("PDB")),
        TableReads(
            IncrementalSnapshots(reader, known),
            BlockingSnapshots(ModelTables(World([], Random(0), threads=False)), known, lambda: 0),
            rig.resumptions,
        ),
        Polling((), interval=0),
        now_us=lambda: 0,
    )

    def ticks() -> Iterator[Event]:
        for scn in (70, 80):
            rig.source.now = scn + 100
            yield Progress(At(0), Scn(scn), 0)
            rig.suspensions.put(replace(BROKEN, again=True))
        yield Progress(At(0), Scn(90), 0)

    rig.suspensions.put(replace(BROKEN, again=True))
    for event in stage.through(ticks(), At(0), SignalState(), threading.Event()):
        if isinstance(event, SuspensionChange):
            rig.suspensions.remove(event.table)
    assert reader.starts == [160, 170, 170]


def test_a_table_that_joins_by_itself_is_not_resumed_by_hand_and_not_given_up() -> None:
    """A capture says when it can read the changes of a table again; before, to read the table would be too early."""
    rig = Rig(source=Database(""))
    demoted = replace(BROKEN, code=SnapshotTooOldError.code, automatic=False)
    rig.suspensions.put(demoted)
    events, state = rig.step(SignalState(resumes=(("r", "S.T"),)))
    ((type_, text),) = answers(events)
    assert type_ == "REFUSED"
    assert "by itself" in text
    assert not state.resuming
    for _ in range(5):  # more often than a table whose cause was never seen
        rig.suspensions.put(replace(demoted, automatic=True))
        _, state = rig.step(SignalState())
        assert [one.table for one in state.resuming] == ["S.T"]


def test_rows_of_a_table_that_is_read_without_its_transactions_are_delivered() -> None:
    suspensions = Suspensions()
    suspensions.put(replace(BROKEN, delivered=True))
    assert suspensions.any
    assert not suspensions.leaves_out(TableId("PDB", "S", "T"), None)
    stored = Offset("flashback", position={}, suspended=suspensions.tables())
    assert offset_from_bytes(offset_to_bytes(stored), "here") == stored


U = T._replace(table="U")


def acted(state: SignalState, signal: Signal) -> tuple[list[tuple[str, str]], SignalState]:
    """The answers to a signal, and the state after it; S.T and S.U are suspended."""
    tables = Tables([TABLE, replace(TABLE, id=U)])
    actions = Actions(
        Source(lambda: [T, U, T._replace(table="V")], None, lambda _: (T, None)),
        tables,
        lambda _: True,
        TableNames("PDB"),
        lambda: (BROKEN, replace(BROKEN, table="S.U")),
    )
    events, state = actions.act(signal, state, Progress(At(0), Scn(50), 0), 0)
    return answers(events), state


RESUME_U = Signal("r", "resume-table", {"data-collections": ["S.U"]}, "file")
READ_V = Signal("r", "execute-snapshot", {"data-collections": ["S.V"]}, "file")
READS_T = AdHocSnapshot("r", False, (), (TableRead("S.T"),))


@pytest.mark.parametrize("signal", [RESUME_U, READ_V], ids=lambda signal: signal.type)
@pytest.mark.parametrize(
    "state",
    [
        SignalState(resumes=(("r", "S.T"),)),
        SignalState((READS_T,)),
        SignalState((READS_T,), resuming=(Resumption("S.T", "r", 9, 9),)),
        SignalState(resuming=(Resumption("S.T", "r", 9, 9, phase="deleting"),)),
        SignalState(resuming=(Resumption("S.T", "r", 9, 9, phase="done", answered=True),)),
    ],
    ids=["to be resumed", "read", "read again", "deletes are looked for", "older transactions are open"],
)
def test_an_id_whose_work_is_not_over_is_not_given_again(state: SignalState, signal: Signal) -> None:
    """Snapshots are found by their ids: with one id for two tables the second table would count as read with the first, and all its
    rows as vanished; and what ends with the resumption of a table would take another snapshot with it."""
    assert acted(state, signal) == ([("REFUSED", "r is under way already: give another id")], state)


def test_a_table_that_is_suspended_again_while_it_is_read_is_resumed_with_the_same_id() -> None:
    state = SignalState(resuming=(Resumption("S.U", "r", 9, 9, phase="done", answered=True),))
    assert acted(state, RESUME_U) == ([], replace(state, resumes=(("r", "S.U"),)))
