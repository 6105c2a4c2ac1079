"""The SCN that chunks are read at, and above which changes of the stream count as newer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.fetched import fetched
from tests.unit.signals.model import TABLE, T

from minercdc.errors import SnapshotTooOldError, TransientSourceError
from minercdc.schema.table import TableNames
from minercdc.schema.tables import Tables
from minercdc.snapshot.incremental import reader
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Outcome
from minercdc.snapshot.incremental.reader import Pace, ReaderContext
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.offset import AdHocSnapshot, Resumption, SignalState, TableRead


@pytest.mark.parametrize(
    ("written", "present", "emitted", "too_old", "read", "floors"),
    [
        pytest.param([100], [150], 0, False, [100], [100], id="what is written"),
        pytest.param([100], [150], 120, False, [120], [120], id="not below what was emitted"),
        pytest.param([100], [150], 0, True, [150], [100], id="after ORA-01466 the present one, which an instance can lose"),
        pytest.param([100, 60], [150, 160], 0, False, [100, 100], [100, 100], id="a thread was opened: never lower"),
    ],
)
def test_no_chunk_counts_changes_in_that_may_come_again(
    monkeypatch: pytest.MonkeyPatch,
    written: list[int],
    present: list[int],
    emitted: int,
    too_old: bool,
    read: list[int],
    floors: list[int],
) -> None:
    reached, now = iter(written), iter(present)
    monkeypatch.setattr(reader, "reached_scn", lambda _: next(reached))
    monkeypatch.setattr(reader, "present_scn", lambda _: next(now))
    context = ReaderContext(lambda _: None, lambda _: TABLE, Pace(10), None, lambda: 0.0)  # type: ignore[arg-type, return-value]
    reading = reader._Reading(context, T, TableRead("S.T"), "", emitted)
    reading._too_old = too_old
    found: list[tuple[int, int]] = [(reading._choose_scn(None), reading.floor()) for _ in written]  # type: ignore[arg-type]
    assert found == list(zip(read, floors, strict=True))


class OneChunk:
    """A reader that has one chunk, of another shape, and notes as of which SCN at least it is to read."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk, self.least = chunk, list[int]()

    def start(self, table: Any, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        self.least.append(emitted_scn)

    def first(self) -> Outcome | None:
        return self.chunk

    def take(self) -> None: ...

    def floor(self) -> int:
        return self.chunk.floor

    def stop(self) -> None: ...


def test_chunk_that_is_read_again_is_not_older_than_the_changes_that_are_not_noted_any_more() -> None:
    stale = fetched(replace(TABLE, version=7), [])
    only = OneChunk(Chunk(stale, (), 100, 99, 0, final=True))
    incremental = IncrementalSnapshots(only, KnownTables(Tables([TABLE]).find, lambda _: None, TableNames("PDB")))
    state = SignalState(snapshots=(AdHocSnapshot("x", False, ("PDB.S.T",), (TableRead("S.T", maximum=("9",)),)),))

    next(incremental.step(state, 50, 20, 0), None)  # not yet: changes up to 100 are not noted from here on
    next(incremental.step(state, 100, 20, 0), None)  # it has another shape
    assert only.least == [20, 100]


@pytest.mark.parametrize("phase", ["reading", "deleting", "done"])
def test_no_snapshot_reads_a_resumed_table_below_the_changes_that_the_stream_leaves_out(phase: Any) -> None:
    """A row that went before would come back, and its delete never comes. Whatever snapshot reads it, in whatever run."""
    only = OneChunk(Chunk(fetched(TABLE, []), (), 100, 99, 0, final=True))
    incremental = IncrementalSnapshots(only, KnownTables(Tables([TABLE]).find, lambda _: None, TableNames("PDB")))
    resumed = Resumption("S.T", "r", 80, 90, phase=phase, answered=True)
    state = SignalState((AdHocSnapshot("x", False, ("PDB.S.T",), (TableRead("S.T"),)),), resuming=(resumed,))
    next(incremental.step(state, 50, 20, 0), None)
    assert only.least == [90]


class NotedMarks:
    """Marks, as a list of what is done to them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def open(self, *_: Any) -> None:
        self.done.append("open")

    def close(self, connection: Any, *_: Any, **__: Any) -> None:
        if connection == "broken":
            raise TransientSourceError("ORA-03113")
        self.done.append("close")


@pytest.mark.parametrize("connection", ["whole", "broken"])
def test_a_window_in_which_nothing_could_be_read_is_closed(monkeypatch: pytest.MonkeyPatch, connection: Any) -> None:
    """Else its row would stay in the signal table: with a DDL that the stream has yet to come to, one for each try."""

    def too_old(*_: Any) -> list[Any]:
        raise SnapshotTooOldError("ORA-01555")

    monkeypatch.setattr(reader._Reading, "_fetched", too_old)
    for scn in ("reached_scn", "present_scn"):
        monkeypatch.setattr(reader, scn, lambda _: 100)
    marks = NotedMarks()
    context = ReaderContext(lambda _: None, lambda _: TABLE, Pace(10), marks, lambda: 0.0)  # type: ignore[arg-type, return-value]
    state = TableRead("S.T", order=("ID",), maximum=("9",))
    reading = reader._Reading(context, T, state, "", 0)
    for _ in range(2):
        with pytest.raises(SnapshotTooOldError):
            reading._read(connection)
        connection = "whole"
    assert marks.done == ["open", "close", "open", "close"]
