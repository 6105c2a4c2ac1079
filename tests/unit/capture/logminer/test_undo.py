"""Savepoints, failed statements and rollbacks: what was undone is taken out, one test per pitfall (D-n) and fixture (En) of docs/reference/logminer-facts.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.unit.capture.logminer.redo import (
    ITEM,
    A,
    B,
    Miner,
    Redo,
    changes,
)

from minercdc.events import ChangeEvent
from minercdc.schema.table import TableId


def test_e65_savepoint_cancels_the_latest_change_of_the_row(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2)
    redo.commit(A)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert (event.before, event.after) == (("1", "1"), ("1", "2"))


def test_e66_failed_statement_is_cancelled_and_the_transaction_goes_on(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 66)
    redo.insert(A, 67)
    redo.undo_insert(A, 67)
    redo.insert(A, 68)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "66"), ("c", "68")]


def test_undo_of_an_array_insert_in_forward_order(miner: Miner) -> None:
    redo = Redo()
    for key in range(5):
        redo.insert(A, key)
    for key in range(2, 5):
        redo.undo_insert(A, key)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "0"), ("c", "1")]


def test_undo_takes_rows_of_its_own_table_only(tmp_path: Path) -> None:
    other = replace(ITEM, id=TableId("DB", "LAB", "OTHER"), object_id=78)
    miner = Miner(tmp_path, tables=[ITEM, other])
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(A, 1, table="OTHER", object_id=78)
    redo.undo_insert(A, 1)
    redo.commit(A)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.schema.id.table == "OTHER"


def test_row_inserted_under_the_placeholder_is_undone_under_its_real_rowid(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1, row_id="A" * 18)
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_undo_without_a_target_is_ignored(miner: Miner) -> None:
    redo = Redo()
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.undo_insert(A, 7)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_d22_undo_row_without_address_cancels_once_however_often_it_is_read(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2, rs_id=" 0x000000.00000000.0000 ")
    for _ in range(3):
        miner.read(redo.rows)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("u", "1")]


def test_rollback_discards_the_transaction(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.undo_insert(A, 1)
    redo.rollback(A)
    redo.insert(B, 2)
    redo.commit(B)
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "2")]
    assert len(miner.buffer) == 0
