"""Open transactions that are given up, by age, size, or because the database does not know them any more."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import NOON, A, B, Miner, Redo, changes, partial

from minercdc.capture.logminer.buffer.abandonment import Limits, UnknownTransactions
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import LostTransactionError

HOUR = timedelta(hours=1)


def begun(miner: Miner) -> Redo:
    """A has two changes, B one, and both are open."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(A, 2)
    redo.start(B)
    redo.insert(B, 3)
    miner.read(redo.rows)
    return redo


def test_without_limits_nothing_is_given_up(miner: Miner) -> None:
    redo = begun(miner)
    Limits().enforce(miner.assembly, NOON + 1000 * HOUR)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("c", "2")]


def test_old_transactions_are_given_up_and_the_offset_moves_on(miner: Miner, caplog: pytest.LogCaptureFixture) -> None:
    redo = begun(miner)
    redo.start(B, timestamp=NOON + HOUR)
    held = miner.assembly.position().threads[1].resume
    with caplog.at_level(logging.WARNING):
        Limits(age=HOUR).enforce(miner.assembly, NOON + 2 * HOUR)
    assert A.hex() in caplog.text
    assert "2 changes" in caplog.text
    assert miner.assembly.position().threads[1].resume > held


def test_what_still_comes_of_it_is_dropped_also_after_a_restart(miner: Miner, tmp_path: Path) -> None:
    redo = begun(miner)
    Limits(changes=1).enforce(miner.assembly, NOON)
    saved = LogMinerPosition.from_json(miner.assembly.position().to_json())
    assert saved.given_up == {A.hex()}
    redo.insert(A, 4)
    redo.insert(B, 5)
    redo.commit(A)
    redo.commit(B)
    assert changes(miner.read(redo.rows)) == [("c", "3"), ("c", "5")]
    assert miner.assembly.position().to_json().get("given_up") is None
    again = Miner(tmp_path, saved)
    assert changes(again.read(redo.rows)) == [("c", "3"), ("c", "5")]


def test_its_start_is_read_again_by_a_restart_and_does_not_bring_it_back(miner: Miner, tmp_path: Path) -> None:
    redo = Redo()
    redo.start(B)  # the offset begins here
    redo.insert(B, 3)
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(A, 2)
    miner.read(redo.rows)
    Limits(changes=1).enforce(miner.assembly, NOON)
    again = Miner(tmp_path, LogMinerPosition.from_json(miner.assembly.position().to_json()))
    redo.commit(B)
    redo.commit(A)
    assert changes(again.read(redo.rows)) == [("c", "3")]
    assert again.assembly.position().given_up == frozenset()


def test_rows_with_a_part_of_its_xid_are_dropped_too(miner: Miner) -> None:
    redo = begun(miner)
    Limits(changes=1).enforce(miner.assembly, NOON)
    redo.insert(partial(A), 4)
    redo.start(partial(A))
    redo.undo_insert(partial(A), 4)
    assert len(miner.assembly.open()) == 1
    redo.commit(partial(A))
    assert miner.read(redo.rows) == []
    assert miner.assembly.position().given_up == frozenset()
    redo.insert(partial(A), 5)  # another transaction of the same slot
    redo.commit(partial(A))
    assert changes(miner.read(redo.rows)) == [("c", "5")]


def test_an_end_that_never_came_is_reported_once(miner: Miner, caplog: pytest.LogCaptureFixture) -> None:
    begun(miner)
    unknown = UnknownTransactions("warn")
    for asked in range(1, 4):
        assert unknown.due(miner.assembly, NOON + asked * HOUR)
        assert not unknown.due(miner.assembly, NOON + asked * HOUR)
        unknown.judge(miner.assembly, {B})
    assert caplog.text.count("is no longer known to the database") == 1
    assert len(miner.assembly.open()) == 2


def test_an_end_that_came_meanwhile_is_no_reason_to_doubt(miner: Miner) -> None:
    redo = begun(miner)
    unknown = UnknownTransactions("fail")
    assert unknown.due(miner.assembly, NOON + HOUR)
    redo.commit(A)
    redo.rollback(partial(B))
    miner.read(redo.rows)
    unknown.judge(miner.assembly, set())


def test_a_rollback_that_may_have_been_its_end_is_believed_once_the_database_does_not_know_it(miner: Miner) -> None:
    redo = begun(miner)
    redo.rollback(partial(A))
    redo.rollback(partial(B))
    miner.read(redo.rows)
    unknown = UnknownTransactions("fail")
    assert unknown.due(miner.assembly, NOON + HOUR)
    unknown.judge(miner.assembly, {B})
    assert [transaction.key[1] for transaction in miner.assembly.open()] == [B]
    assert miner.assembly.position().given_up == frozenset()
    redo.commit(B)
    assert changes(miner.read(redo.rows)) == [("c", "3")]


def test_it_stops_or_is_given_up_on_demand(miner: Miner) -> None:
    begun(miner)
    failing = UnknownTransactions("fail")
    assert failing.due(miner.assembly, NOON + HOUR)
    with pytest.raises(LostTransactionError, match=A.hex()):
        failing.judge(miner.assembly, set())
    skipping = UnknownTransactions("skip")
    assert skipping.due(miner.assembly, NOON + HOUR)
    skipping.judge(miner.assembly, {B})
    assert [transaction.key[1] for transaction in miner.assembly.open()] == [B]


def test_young_transactions_are_not_looked_up(miner: Miner) -> None:
    begun(miner)
    assert not UnknownTransactions("fail").due(miner.assembly, NOON + timedelta(minutes=5))
