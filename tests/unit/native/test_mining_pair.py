"""Random redo through both paths' buffers: the same events, and the same positions between them."""

from __future__ import annotations

import itertools
import random
from functools import partial as partial_of
from pathlib import Path
from typing import Any

import pytest
from tests.examples import examples
from tests.native_pair import IS_NATIVE
from tests.unit.capture.logminer.redo import Miner, Redo, partial, xid

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark
from minercdc.capture.logminer.session.row import ZERO_XID, LogMinerRow
from minercdc.stream.events import ChangeEvent, Event, Progress

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")


class History:
    """Sessions that insert, update, undo, roll back and commit by turns, on one or two threads."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = [Redo(thread=number, scn=1000 * number) for number in range(1, self.random.choice((1, 1, 1, 2)) + 1)]
        self.rows: list[LogMinerRow] = []
        self.done: dict[bytes, list[int]] = {}
        self.key = 0
        self.next_xid = 1

    def make(self, steps: int) -> list[LogMinerRow]:
        for _ in range(steps):
            redo = self.random.choice(self.threads)
            before = len(redo.rows)
            self.step(redo)
            self.rows += redo.rows[before:]
        return self.rows

    def step(self, redo: Redo) -> None:
        pick = self.random.random()
        if pick < 0.2 or not self.done:
            one = xid(self.next_xid)
            self.next_xid += 1
            self.done[one] = []
            if pick < 0.18:
                redo.start(one if self.random.random() < 0.95 else ZERO_XID, **self.place(redo))
            return
        one = self.random.choice(list(self.done))
        keys = self.done[one]
        if pick < 0.62:
            self.key += 1
            keys.append(self.key)
            redo.insert(one, self.key, **self.place(redo))
        elif pick < 0.67:
            redo.update(one, self.key, 1, 2, row_id=f"r{self.key}", owner="LAB" if self.random.random() < 0.7 else "OUT")
        elif pick < 0.75 and keys:
            redo.undo_insert(one, keys.pop())
        elif pick < 0.77:
            redo.dml(1, one, "insert into nonsense", row_id="r0")
        elif pick < 0.79:
            redo.dml(1, one, """insert into "LAB"."ITEM"("ID","QTY") values ('7','\u0416')""", row_id="A" * 18)
        elif pick < 0.8:
            redo.insert(one, self.key, rs_id=" 0x000000.00000000.0000 ")
        elif pick < 0.84:
            redo.rollback(one if self.random.random() < 0.8 else partial(one))
            del self.done[one]
        else:
            redo.commit(one if self.random.random() < 0.95 else partial(one), **self.place(redo))
            del self.done[one]

    def place(self, redo: Redo) -> dict[str, Any]:
        """Now and then the record before is shared, and the SCN is an older one."""
        other: dict[str, Any] = {}
        if redo.rows and self.random.random() < 0.2:
            other["rs_id"] = redo.rows[-1].rs_id
        if self.random.random() < 0.1:
            other["scn"] = redo.scn - 1
        return other


def seen(seed: int, directory: Path, rows: list[LogMinerRow], start: LogMinerPosition, *, runs: bool) -> list[Event]:
    choose = random.Random(seed + 1)
    memory_max, lobs = choose.choice((3_000, 1 << 30)), choose.random() < 0.3
    assembly = partial_of(BufferedAssembly, lobs=lobs)
    miner = Miner(directory, start, runs=runs, on_failure="skip", memory_max=memory_max, lobs=lobs, assembly=assembly)
    events: list[Event] = []
    for end in [*sorted(choose.sample(range(len(rows)), 3)), len(rows)]:
        bound = rows[end - 1].scn if choose.random() < 0.3 else 1 << 63
        events += miner.read(rows[:end], Pass((), {}, bound=bound))
        events.append(miner.assembly.idle(0))
        for transaction in sorted(miner.assembly.open(), key=lambda one: one.key):
            events.append(str((transaction.key, transaction.changes, transaction.start)))  # type: ignore[arg-type]
        if choose.random() < 0.2 and miner.assembly.open():
            miner.assembly.give_up(max(miner.assembly.open(), key=lambda one: one.key))
    miner.assembly.close()
    return events


@pytest.mark.parametrize("first", range(0, examples(80), 20))
def test_both_paths_assemble_alike(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        rows = History(seed).make(150)
        begin = LogMinerPosition(snapshot_scn=random.Random(seed).choice((0, 1010)))
        python, native = (seen(seed, tmp_path, rows, begin, runs=runs) for runs in (False, True))
        assert native == python, seed
        positions = [event.position for event in python if isinstance(event, Progress)]
        again = random.Random(seed).choice(positions)
        assert isinstance(again, LogMinerPosition)
        python, native = (seen(seed, tmp_path, rows, again, runs=runs) for runs in (False, True))
        assert native == python, seed


def test_the_histories_have_what_is_looked_for(tmp_path: Path) -> None:
    """Most transactions go natively, and some events are of every kind."""
    rows = History(3).make(400)
    events = seen(3, tmp_path, rows, LogMinerPosition(), runs=True)
    assert sum(isinstance(event, ChangeEvent) for event in events) > 50
    assert sum(isinstance(event, Progress) and event.committed is not None for event in events) > 20


def test_a_restart_after_each_transaction_of_a_run_misses_and_repeats_nothing(tmp_path: Path) -> None:
    redo, keys = Redo(), range(1, 30)
    redo.start(xid(99))
    redo.insert(xid(99), 1000)
    for key in keys:
        redo.start(xid(key))
        redo.insert(xid(key), key)
        redo.commit(xid(key))
    redo.commit(xid(99))
    events = Miner(tmp_path).read(redo.rows)
    for n, event in enumerate(events):
        if isinstance(event, Progress):
            assert isinstance(event.position, LogMinerPosition)
            rest = Miner(tmp_path, event.position).read(redo.rows)
            assert rest == events[n + 1 :]
    mark = ThreadMark(RedoAddress("0x000001.00000001.0010"), 101, RedoAddress("0x000001.00000005.0010", 1), 105)
    assert events[1] == Progress(LogMinerPosition({1: mark}, whole=False), 104, events[1].time_us, events[0].tx)  # type: ignore[arg-type, union-attr]


@pytest.mark.parametrize("runs", [False, True], ids=["python", "native"])
def test_no_position_goes_back_when_a_transaction_first_changes_a_captured_table(tmp_path: Path, runs: bool) -> None:
    """Its START lies before what earlier positions had as their begin, and its rows lie after that."""
    redo = Redo()
    redo.start(xid(99))
    for key in range(1, 4):
        redo.start(xid(key))
        redo.insert(xid(key), key)
        redo.commit(xid(key))
        redo.insert(xid(99), 100 + key)
    redo.commit(xid(99))
    events = Miner(tmp_path, LogMinerPosition(), runs=runs).read(redo.rows)
    positions = [event.position for event in events if isinstance(event, Progress)]
    assert len(positions) == 4
    for before, after in itertools.pairwise(positions):
        assert isinstance(before, LogMinerPosition)
        assert isinstance(after, LogMinerPosition)
        assert not after.precedes(before)
    for n, event in enumerate(events):
        if isinstance(event, Progress):
            assert isinstance(event.position, LogMinerPosition)
            rest = Miner(tmp_path, event.position, runs=runs).read(redo.rows)
            assert list(map(_what, rest)) == list(map(_what, events[n + 1 :]))


def _what(event: Event) -> object:
    return (event.op, event.before, event.after, event.rs_id) if isinstance(event, ChangeEvent) else type(event)
