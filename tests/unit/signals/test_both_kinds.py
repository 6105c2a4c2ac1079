"""An incremental and a blocking snapshot of one table: neither reads below what the other has delivered.

Rows that are read may show a commit at their SCN before the stream does; an image from before it must not come after them.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator

from tests.fetched import fetched
from tests.unit.signals.model import TABLE, At, Commit, T, World, row_of, stage_of

from minercdc.schema.table import TableId, TableNames
from minercdc.signals.channels import Received
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Outcome
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.events import Event, Notification, Progress, Scn
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead
from minercdc.stream.signal import Signal

EMITTED = 40
INCREMENTAL = AdHocSnapshot("i", False, ("PDB.S.T",), (TableRead("S.T", order=("ID",), maximum=("9",)),))


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
