"""Open transactions that are given up, by age, size, or because the database does not know them any more."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import NOON, A, B, Life, Redo, changes, partial

from minercdc.capture.logminer.abandonment import Limits, UnknownTransactions
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import LostTransactionError

HOUR = timedelta(hours=1)


def begun(life: Life) -> Redo:
    """A has two changes, B one, and both are open."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(A, 2)
    redo.start(B)
    redo.insert(B, 3)
    life.read(redo.rows)
    return redo


def test_without_limits_nothing_is_given_up(life: Life) -> None:
    redo = begun(life)
    Limits().enforce(life.assembly, NOON + 1000 * HOUR)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "1"), ("c", "2")]


def test_old_transactions_are_given_up_and_the_offset_moves_on(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    redo = begun(life)
    redo.start(B, timestamp=NOON + HOUR)
    held = life.assembly.position().threads[1].resume
    with caplog.at_level(logging.WARNING):
        Limits(age=HOUR).enforce(life.assembly, NOON + 2 * HOUR)
    assert A.hex() in caplog.text
    assert "2 changes" in caplog.text
    assert life.assembly.position().threads[1].resume > held


def test_what_still_comes_of_it_is_dropped_also_after_a_restart(life: Life, tmp_path: Path) -> None:
    redo = begun(life)
    Limits(changes=1).enforce(life.assembly, NOON)
    saved = LogMinerPosition.from_json(life.assembly.position().to_json())
    assert saved.given_up == {A.hex()}
    redo.insert(A, 4)
    redo.insert(B, 5)
    redo.commit(A)
    redo.commit(B)
    assert changes(life.read(redo.rows)) == [("c", "3"), ("c", "5")]
    assert life.assembly.position().to_json().get("given_up") is None
    again = Life(tmp_path, saved)
    assert changes(again.read(redo.rows)) == [("c", "3"), ("c", "5")]


def test_its_xid_can_be_used_again(life: Life) -> None:
    redo = begun(life)
    Limits(changes=1).enforce(life.assembly, NOON)
    redo.start(A)
    redo.insert(A, 9)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "9")]


def test_an_end_that_never_came_is_told_once(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    begun(life)
    unknown = UnknownTransactions("warn")
    for asked in range(1, 4):
        assert unknown.due(life.assembly, NOON + asked * HOUR)
        assert not unknown.due(life.assembly, NOON + asked * HOUR)
        unknown.judge(life.assembly, {B})
    assert caplog.text.count("is not known to the database") == 1
    assert len(life.assembly.open()) == 2


def test_an_end_that_came_meanwhile_is_no_reason_to_doubt(life: Life) -> None:
    redo = begun(life)
    unknown = UnknownTransactions("fail")
    assert unknown.due(life.assembly, NOON + HOUR)
    redo.commit(A)
    redo.rollback(partial(B))
    life.read(redo.rows)
    unknown.judge(life.assembly, set())


def test_it_stops_or_is_given_up_on_demand(life: Life) -> None:
    begun(life)
    failing = UnknownTransactions("fail")
    assert failing.due(life.assembly, NOON + HOUR)
    with pytest.raises(LostTransactionError, match=A.hex()):
        failing.judge(life.assembly, set())
    skipping = UnknownTransactions("skip")
    assert skipping.due(life.assembly, NOON + HOUR)
    skipping.judge(life.assembly, {B})
    assert [transaction.key[1] for transaction in life.assembly.open()] == [B]


def test_young_transactions_are_not_asked_for(life: Life) -> None:
    begun(life)
    assert not UnknownTransactions("fail").due(life.assembly, NOON + timedelta(minutes=5))
