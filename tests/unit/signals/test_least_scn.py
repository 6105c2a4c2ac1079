"""No snapshot reads below what was delivered, by the stream or by a snapshot of the other kind.

Rows that are read may show a commit at their SCN before the stream does; an image from before it must not come after them.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator

from tests.fetched import fetched
from tests.unit.signals.model import TABLE, At, Commit, ModelTables, T, World, row_of, stage_of

from minercdc.schema.table import TableId, TableNames
from minercdc.signals.channels import Received
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Outcome
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.events import ChangeEvent, Event, Notification, Op, Progress, SchemaChange, Scn
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead
from minercdc.stream.signal import Signal

EMITTED = 40
INCREMENTAL = AdHocSnapshot("i", False, ("PDB.S.T",), (TableRead("S.T", order=("ID",), maximum=("9",)),))


KNOWN = KnownTables(lambda _: TABLE, lambda _: None, TableNames("PDB"))


def _world() -> World:
    world = World([Commit(10, {1: True})], random.Random(1), threads=False)
    world.now = 60
    return world


class Reader:
    """Keeps as of which SCN at the earliest it was to read.

    :param chunk: that it has at the first start.
    """

    def __init__(self, chunk: Chunk | None = None) -> None:
        self.chunk = chunk
        self.least: list[int] = []

    def start(self, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        self.least.append(emitted_scn)

    def first(self) -> Outcome | None:
        return self.chunk

    def take(self) -> None:
        self.chunk = None

    def floor(self) -> int:
        return 0

    def stop(self) -> None: ...


class Second:
    """A channel with a blocking snapshot at its second look."""

    name = "second"

    def __init__(self) -> None:
        self.looks = 0

    def poll(self, taken: str) -> tuple[list[Received], str]:
        self.looks += 1
        asked = Signal("b", "execute-snapshot", json.dumps({"data-collections": ["S.T"], "type": "blocking"}), "second")
        return ([asked], "done") if self.looks == 2 else ([], taken)

    def stored(self, taken: str) -> None: ...

    def close(self) -> None: ...


def through(reader: Reader, now: int, *complete: int) -> tuple[list[int], list[Event]]:
    """SCNs that the blocking snapshot was to be read at, in their order, and all events.

    :param now: what the database has come to when the blocking snapshot begins.
    :param complete: of each Progress.
    """
    world = World([Commit(10, {1: True})], random.Random(1), threads=False)
    world.now = now
    stage = stage_of(world, 2, [Second()])
    stage._incremental = IncrementalSnapshots(reader, KnownTables(world.tables.find, lambda _: None, TableNames("PDB")))
    stage._incremental.changes.follow(T)

    def stream() -> Iterator[Event]:
        for scn in complete:
            yield Progress(At(1, EMITTED), Scn(scn), 0)

    events = list(stage.through(stream(), At(1, EMITTED), SignalState((INCREMENTAL,)), threading.Event()))
    states = [event.signals for event in events if isinstance(event, Progress) and event.signals is not None]
    scns = [one.scn for state in states for one in state.snapshots if one.blocking and one.scn]
    return list(dict.fromkeys(scns)), events


def test_an_incremental_snapshot_reads_on_above_what_a_blocking_one_delivered() -> None:
    reader = Reader()
    (scn,), events = through(reader, 60, 45, 46, 70, 70)
    assert [event.type for event in events if isinstance(event, Notification) and event.id == "b"][-1] == "COMPLETED"
    assert EMITTED < scn < 60
    assert reader.least == [EMITTED, scn], "what was read ahead is dropped"


def test_a_blocking_snapshot_reads_above_what_an_incremental_one_delivered() -> None:
    read = Chunk(fetched(TABLE, [("R1", row_of(TABLE, 1, 10))]), ("1",), 50, 49, 0, final=False)
    scns, events = through(Reader(read), 30, 49, 49, 49)
    assert scns == [50], "the logs are written up to 29 at most, as where a redo thread was opened"
    assert [event.type for event in events if isinstance(event, Notification) and event.id == "b"][-1] == "COMPLETED"


def test_an_incremental_snapshot_begins_above_what_a_blocking_one_delivers_at_the_start() -> None:
    """An earlier run had come to its SCN, and it goes on before any event of the stream."""
    reader = Reader()
    world = World([Commit(10, {1: True})], random.Random(1), threads=False)
    stage = stage_of(world, 2)
    stage._incremental = IncrementalSnapshots(reader, KnownTables(world.tables.find, lambda _: None, TableNames("PDB")))
    interrupted = AdHocSnapshot("b", True, ("PDB.S.T",), (TableRead("S.T"),), scn=60, reached=True)
    events = iter([Progress(At(1, EMITTED), Scn(45), 0)])
    list(stage.through(events, At(1, EMITTED), SignalState((interrupted, INCREMENTAL)), threading.Event()))
    assert reader.least == [60]


def test_an_incremental_snapshot_begins_above_a_transaction_that_was_delivered_in_part() -> None:
    reader = Reader()
    stage = stage_of(World([], random.Random(1), threads=False), 2)
    stage._incremental = IncrementalSnapshots(reader, KNOWN)
    events = iter([Progress(At(1, EMITTED), Scn(45), 0)])
    list(stage.through(events, At(1, EMITTED), SignalState((INCREMENTAL,)), threading.Event(), partial_scn=55))
    assert reader.least == [55]


def test_an_incremental_snapshot_begins_above_rows_that_came_without_their_transaction() -> None:
    """As those of a table that flashback reads incrementally."""
    reader = Reader()
    stage = stage_of(World([], random.Random(1), threads=False), 2)
    stage._incremental = IncrementalSnapshots(reader, KNOWN)
    row = ChangeEvent(Op.READ, TABLE, None, row_of(TABLE, 1, 10), Scn(57), 0, None, 0)
    events: Iterator[Event] = iter([row, Progress(At(1, EMITTED), Scn(57), 0)])
    list(stage.through(events, At(1, EMITTED), SignalState((INCREMENTAL,)), threading.Event()))
    assert reader.least == [57]


def test_a_blocking_snapshot_that_had_newer_changes_does_not_go_on_at_its_scn() -> None:
    """Which rows they make out of date is not known after a kill."""
    for newer in (False, True):
        blocking = BlockingSnapshots(ModelTables(_world()), KNOWN, lambda: 0)
        state = SignalState((AdHocSnapshot("b", True, ("PDB.S.T",), (TableRead("S.T"),)),))
        ((_, state),) = blocking.step(state, 10, 10, 0, threading.Event())
        if newer:
            emptied = SchemaChange(T, TABLE, TABLE, "truncate table T", Scn(99), 0, truncate=True)
            blocking.changes.note_schema(emptied)
        first = next(blocking.step(state, 99, 99, 0, threading.Event()))
        assert first[1].snapshots[0].reached == (not newer)
