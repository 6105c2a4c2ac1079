"""Positions: from each of them a restart misses and repeats nothing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.capture.logminer.redo import (
    ANY_PASS,
    A,
    B,
    C,
    Miner,
    Redo,
    changes,
    positions,
    schema_changes,
    xid,
)

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, log_start
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.stream.events import Event, Progress


def test_next_pass_takes_no_row_twice_even_within_one_record(miner: Miner) -> None:
    """START and the first change may share record and SSN."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1, rs_id=redo.rows[0].rs_id)
    miner.read(redo.rows[:1])
    assert miner.read(redo.rows) == []
    redo.insert(A, 2, rs_id=redo.rows[0].rs_id)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("c", "2")]
    assert miner.read(redo.rows) == []


def test_commits_of_one_record_are_distinguished_after_a_restart(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(A)
    redo.commit(B, rs_id=redo.rows[-1].rs_id)
    first, second = positions(Miner(tmp_path).read(redo.rows))
    assert changes(Miner(tmp_path, first).read(redo.rows)) == [("c", "2")]
    assert changes(Miner(tmp_path, second).read(redo.rows)) == []


def test_d2_two_commits_at_one_scn_are_both_delivered_once(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(A, scn=900)
    redo.commit(B, scn=900)
    first = positions(Miner(tmp_path).read(redo.rows))[0]
    assert changes(Miner(tmp_path, first).read(redo.rows)) == [("c", "2")]


def test_d2_threads_have_marks_of_their_own(tmp_path: Path) -> None:
    one, two = Redo(thread=1, scn=100), Redo(thread=2, scn=50, sequence=0x77)
    one.insert(A, 1)
    two.insert(B, 2)
    one.commit(A, scn=900)
    first = positions(Miner(tmp_path).read(one.rows + two.rows))[0]
    two.commit(B, scn=899)
    assert changes(Miner(tmp_path, first).read(one.rows + two.rows)) == [("c", "2")]


def test_ddl_that_waits_for_another_thread_is_read_again(tmp_path: Path) -> None:
    """Nothing of its transaction is buffered, so nothing else holds the position before it."""
    one, two = Redo(thread=1, scn=100), Redo(thread=2, scn=50, sequence=0x77)
    one.insert(A, 1)
    one.commit(A)
    one.ddl(B, 'alter table "LAB"."ITEM" add (NOTE varchar2(10))', scn=300)
    one.row(OpCode.COMMIT, B, "commit;", scn=301)
    one.insert(C, 2, scn=302)
    two.insert(xid(9), 3)
    miner = Miner(tmp_path)
    events = miner.read(one.rows + two.rows, Pass((), {}, bound=200))
    assert schema_changes(events) == []
    (position,) = positions([miner.assembly.idle(0)])
    again = Miner(tmp_path, LogMinerPosition.from_json(position.to_json()))
    assert len(schema_changes(again.read(one.rows + two.rows))) == 1


def test_d3_position_keeps_long_transactions(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(B)
    (position,) = positions(Miner(tmp_path).read(redo.rows))
    assert position.threads[1].resume == RedoAddress("0x000001.00000001.0010")
    redo.commit(A)
    assert changes(Miner(tmp_path, position).read(redo.rows)) == [("c", "1")]


def test_position_moves_on_when_the_oldest_transaction_ends(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(C, 3)
    redo.rollback(B)
    redo.commit(A)
    redo.commit(C)
    first, second = positions(miner.read(redo.rows))
    assert first.threads[1].resume.rs_id == redo.rows[2].rs_id.strip()
    assert second.threads[1].resume.rs_id == redo.rows[5].rs_id.strip()
    assert first.precedes(second)
    assert not second.precedes(first)


def test_d11_first_and_last_row_of_a_pass_are_taken_once(miner: Miner) -> None:
    redo = Redo()
    for key in range(6):
        redo.insert(A, key)
    redo.commit(A)
    taken: list[Event] = []
    for end in range(len(redo.rows) + 1):
        taken += miner.read(redo.rows[:end])
    assert changes(taken) == [("c", str(key)) for key in range(6)]


def test_d14_pass_that_broke_off_goes_on_after_its_last_row(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(A, 2)
    redo.commit(A)
    redo.insert(B, 3)
    redo.commit(B)

    def breaking() -> Iterator[LogMinerRow]:
        yield from redo.rows[:4]
        raise ConnectionError

    taken: list[Event] = []
    miner.assembly.begin_pass(ANY_PASS)
    with pytest.raises(ConnectionError):
        taken.extend(miner.take(breaking()))
    assert changes(taken) == [("c", "1"), ("c", "2")]
    assert changes(miner.read(redo.rows)) == [("c", "3")]
    assert miner.read(redo.rows) == []


def test_d21_commits_of_the_snapshot_are_dropped_and_open_ones_come_whole(tmp_path: Path) -> None:
    miner = Miner(tmp_path, LogMinerPosition(start_scn=90, snapshot_scn=105))
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(B, 3)
    redo.commit(A, scn=105)
    redo.commit(B, scn=106)
    assert changes(miner.read(redo.rows)) == [("c", "2"), ("c", "3")]


def test_restart_from_every_position_misses_and_repeats_nothing(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.start(B)
    redo.insert(B, 2)
    redo.commit(B)
    redo.insert(C, 3)
    redo.insert(A, 4)
    redo.rollback(C)
    redo.insert(xid(4), 5)
    redo.commit(xid(4))
    redo.commit(A)
    whole = Miner(tmp_path).read(redo.rows)
    for i, event in enumerate(whole):
        if isinstance(event, Progress):
            assert isinstance(event.position, LogMinerPosition)
            saved = LogMinerPosition.from_json(event.position.to_json())
            again = Miner(tmp_path, saved).read(redo.rows)
            assert changes(again) == changes(whole[i + 1 :])


@settings(max_examples=examples(60))
@given(script=st.lists(st.tuples(st.integers(1, 4), st.sampled_from("iiiuucr")), max_size=40), cut=st.integers(0, 60))
def test_any_interleaving_survives_a_restart(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[int, str]], cut: int
) -> None:
    """Model: a transaction's rows that were not undone, at its commit."""
    redo, expected = Redo(), []
    pending: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    keys = itertools.count()
    for slot, step in script:
        transaction = xid(slot + 10 * used.get(slot, 0))
        rows = pending.setdefault(slot, [])
        if step == "i":
            rows.append(next(keys))
            redo.insert(transaction, rows[-1])
        elif step == "u" and rows:
            redo.undo_insert(transaction, rows.pop())
        elif step in "cr":
            if step == "c":
                expected += [("c", str(key)) for key in rows]
                redo.commit(transaction)
            else:
                redo.rollback(transaction)
            pending[slot] = []
            used[slot] = used.get(slot, 0) + 1
    directory = tmp_path_factory.mktemp("spill")
    miner = Miner(directory, memory_max=2_000)
    first = miner.read(redo.rows[:cut])
    progress = positions(first)
    delivered = changes(first)
    again = Miner(directory, progress[-1] if progress else None, memory_max=2_000)
    try:
        assert delivered + changes(again.read(redo.rows)) == expected
        assert delivered + changes(miner.read(redo.rows)) == expected
    finally:
        miner.assembly.close()
        again.assembly.close()


def two_threads(chance: random.Random) -> list[list[LogMinerRow]]:
    """Transactions of one row each, and DDL, whose SCNs go up and down along the redo of each thread."""
    threads = Redo(thread=1), Redo(thread=2, sequence=0x77)
    for number in range(1, chance.randint(5, 14)):
        redo, transaction, scn = chance.choice(threads), xid(number), 110 + 2 * number + chance.randint(-8, 8)
        if chance.random() < 0.25:
            redo.ddl(transaction, f'alter table "LAB"."ITEM" add (C{number} number)', scn=scn)
        else:
            redo.insert(transaction, number)
            redo.commit(transaction, scn=scn)
    return [redo.rows for redo in threads]


def read_in_passes(miner: Miner, threads: Sequence[Sequence[LogMinerRow]], chance: random.Random) -> list[Event]:
    """The events of some passes, each with what is written by then of each thread, in any order of the two; the last one reads all."""
    found: list[Event] = []
    ends = [0, 0]
    for is_last in (False, False, True):
        ends = [len(rows) if is_last else chance.randint(end, len(rows)) for end, rows in zip(ends, threads, strict=True)]
        left, rows = [list(rows[:end]) for end, rows in zip(ends, threads, strict=True)], []
        while some := [one for one in left if one]:
            rows.append(chance.choice(some).pop(0))
        unwritten = [
            row.scn for end, rows in zip(ends, threads, strict=True) for row in rows[end:] if row.code != OpCode.INSERT
        ]
        found += miner.read(rows, Pass((), {}, bound=1000 if is_last else min([chance.randint(100, 150), *unwritten])))
        found.append(miner.assembly.idle(0))
    return found


def delivered(events: Iterable[Event]) -> list[str]:
    return [*(key for _, key in changes(events)), *(change.ddl for change in schema_changes(events))]


@pytest.mark.parametrize("seed", [0, 3, 5, 7, 11])
def test_what_waits_for_another_thread_comes_once_over_two_restarts(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    threads = two_threads(chance)
    first = read_in_passes(Miner(tmp_path), threads, chance)
    expected = sorted(delivered(first))
    assert expected == sorted(
        str(int.from_bytes(row.xid[:2], "little")) if row.code == OpCode.COMMIT else str(row.sql)
        for rows in threads
        for row in rows
        if row.code != OpCode.INSERT
    )
    for at, event in enumerate(first):
        if isinstance(event, Progress):
            second = read_in_passes(Miner(tmp_path, saved(event)), threads, chance)
            cut = chance.choice([place for place, one in enumerate(second) if isinstance(one, Progress)])
            third = read_in_passes(Miner(tmp_path, saved(second[cut])), threads, chance)
            assert sorted(delivered(first[: at + 1]) + delivered(second)) == expected
            assert sorted(delivered([*first[: at + 1], *second[: cut + 1], *third])) == expected


def saved(event: Event) -> LogMinerPosition:
    (position,) = positions([event])
    return LogMinerPosition.from_json(position.to_json())


def test_finished_logs_need_not_be_read_again(miner: Miner) -> None:
    redo = Redo(sequence=5)
    redo.insert(A, 1)
    redo.commit(A)
    miner.read(redo.rows)
    list(miner.assembly.end_pass(Pass((), {1: 6}, complete_scn=500)))
    assert miner.assembly.marks()[1] == log_start(7)
    tick = miner.assembly.idle(0)
    assert tick.complete_scn == 500
    assert isinstance(tick.position, LogMinerPosition)
    assert tick.position.threads[1].resume == log_start(7)


def test_open_transaction_holds_its_log_back_though_later_logs_are_finished(miner: Miner) -> None:
    redo = Redo(sequence=5)
    redo.insert(A, 1)
    miner.read(redo.rows)
    list(miner.assembly.end_pass(Pass((), {1: 6})))
    assert miner.assembly.position().threads[1].resume.sequence == 5


def test_position_survives_json() -> None:
    mark = ThreadMark(RedoAddress("0x00000c.0000031a.0010"), 2**60, RedoAddress("0x00000c.00000344.0010", 1), 2901)
    position = LogMinerPosition({1: mark, 2: ThreadMark(log_start(3))}, 7, 8, 9)
    assert LogMinerPosition.from_json(position.to_json()) == position


@pytest.mark.parametrize(
    "earlier",
    [
        LogMinerPosition(),
        LogMinerPosition({1: ThreadMark(log_start(2), last_commit=RedoAddress("0x000003.0", 1))}),
        LogMinerPosition({1: ThreadMark(log_start(3), last_commit=RedoAddress("0x000002.0", 1))}),
        LogMinerPosition({1: ThreadMark(log_start(3), last_commit=None)}),
    ],
)
def test_position_that_goes_back_in_any_respect_precedes(earlier: LogMinerPosition) -> None:
    now = LogMinerPosition({1: ThreadMark(log_start(3), last_commit=RedoAddress("0x000003.0", 1))})
    assert earlier.precedes(now)
    assert not now.precedes(earlier)
    assert not now.precedes(now)
