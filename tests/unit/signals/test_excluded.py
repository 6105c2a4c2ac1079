"""A table that a signal requested is excluded by the configuration of a later start, or by SIGHUP: no row of it is published any more."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest
from tests.unit.signals.model import At, Commit, ModelReader, ModelTables, T, World, play, stage_of
from tests.unit.signals.test_resuming import BROKEN, Memory, Rig, answers

from minercdc.schema.table import TableNames
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.stream.events import ChangeEvent, Notification, ReadRun, SuspensionChange
from minercdc.stream.offset import AdHocSnapshot, Resumption, SignalState, TableRead

WHY = "the configuration does not capture it any more"


@pytest.mark.parametrize("captured", [True, False], ids=["captured", "excluded"])
@pytest.mark.parametrize("blocking", [False, True], ids=["incremental", "blocking"])
@pytest.mark.parametrize(
    "table",
    [TableRead("S.T"), TableRead("S.T", order=("ID",), last=("1",), maximum=("4",), rows=1, chunks=1)],
    ids=["requested", "read in part"],
)
def test_a_snapshot_passes_over_a_table_that_is_excluded(table: TableRead, blocking: bool, captured: bool) -> None:
    world = World([Commit(10, dict.fromkeys(range(5), True)), Commit(20, {1: True})], random.Random(1), threads=False)
    stage = stage_of(world, 2)
    known = KnownTables(world.tables.find, lambda _: None, TableNames("PDB"), lambda one: one == T and captured)
    stage._incremental = IncrementalSnapshots(ModelReader(world, 2), known)
    stage._blocking = BlockingSnapshots(ModelTables(world), known, lambda: 0)
    if blocking and table.last:
        table = replace(table, order=(), last=("R001",), maximum=())
    state = SignalState(snapshots=(AdHocSnapshot("s", blocking, ("PDB.S.T",), (table,)),))
    last = play(stage, world, At(1, 10), state, threading.Event())[-1]
    read = [e for e in last.events if isinstance(e, ReadRun) or (isinstance(e, ChangeEvent) and e.op == "r")]
    scanned = [e.additional_data for e in last.events if isinstance(e, Notification) and e.type == "TABLE_SCAN_COMPLETED"]
    assert (last.state.snapshots, bool(read)) == ((), captured)
    assert [one["status"] for one in scanned] == ["SUCCEEDED" if captured else "UNKNOWN_SCHEMA"]


def excluded() -> Rig:
    rig = Rig(memory=Memory())
    rig.resumptions._captured = lambda _: False
    return rig


def test_a_suspended_table_that_is_excluded_is_not_read_again() -> None:
    rig = excluded()
    rig.suspensions.put(replace(BROKEN, automatic=True))
    events, state = rig.step(SignalState(resumes=(("r", "S.T"),)))
    assert (answers(events), state) == ([("REFUSED", WHY)], SignalState())
    assert rig.suspensions.find("S.T") is not None


def test_a_table_that_was_read_again_is_suspended_again_when_it_is_excluded() -> None:
    """If it is captured again, what it missed is read."""
    rig = excluded()
    events, state = rig.step(SignalState(resuming=(Resumption("S.T", "r", 9, 9, phase="deleting"),)))
    assert (answers(events), state.resuming) == ([("ABORTED", WHY)], ())
    (change,) = [event for event in events if isinstance(event, SuspensionChange)]
    assert change.suspended is not None
