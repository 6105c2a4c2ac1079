"""Redo rows to committed transactions: one test per pitfall (D-n) and fixture (En) of the facts sheet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.capture.logminer.redo import (
    ANY_PASS,
    ITEM,
    ITEM_ID,
    Life,
    Redo,
    changes,
    partial,
    positions,
    schema_changes,
    xid,
)

from minercdc.capture.logminer.passes import Pass
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, log_start
from minercdc.capture.logminer.row import ZERO_XID, LogMinerRow, OpCode
from minercdc.errors import DecodeError, RedoSyntaxError, SchemaMismatchError, UnsupportedRowError
from minercdc.events import UNAVAILABLE, ChangeEvent, Event, Op, Progress, UndecodableRow
from minercdc.schema.table import Column, TableId, TableSchema

A, B, C = xid(1), xid(2), xid(3)


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def test_transaction_comes_whole_at_its_commit_followed_by_progress(life: Life) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1, 5)
    redo.update(A, 1, 5, 6)
    redo.delete(A, 1, 6)
    assert life.read(redo.rows) == []
    redo.commit(A)
    events = life.read(redo.rows)
    assert [type(event) for event in events] == [ChangeEvent, ChangeEvent, ChangeEvent, Progress]
    create, update, delete, progress = events
    assert isinstance(create, ChangeEvent)
    assert isinstance(update, ChangeEvent)
    assert isinstance(delete, ChangeEvent)
    assert (create.before, create.after) == (None, ("1", "5"))
    assert (update.op, update.before, update.after) == (Op.UPDATE, ("1", "5"), ("1", "6"))
    assert (delete.before, delete.after) == (("1", "6"), None)
    assert [create.seq, update.seq, delete.seq] == [1, 2, 3]
    assert (create.row_id, create.rs_id, create.scn) == ("r1", "0x000001.00000002.0010", 102)
    tx = create.tx
    assert tx is not None
    assert (tx.id, tx.start_scn, tx.commit_scn, tx.user, tx.redo_thread) == (A.hex(), 101, 105, "APP", 1)
    assert isinstance(progress, Progress)
    assert progress.committed is tx is update.tx


def test_transactions_come_in_order_of_commit_not_of_start(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(A, 3)
    redo.commit(B)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "2"), ("c", "1"), ("c", "3")]


def test_tables_outside_the_filter_are_not_captured(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1, owner="OTHER")
    redo.commit(A)
    assert life.read(redo.rows) == []


def test_next_pass_takes_no_row_twice_even_within_one_record(life: Life) -> None:
    """START and the first change may share record and SSN."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1, rs_id=redo.rows[0].rs_id)
    life.read(redo.rows[:1])
    assert life.read(redo.rows) == []
    redo.insert(A, 2, rs_id=redo.rows[0].rs_id)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "1"), ("c", "2")]
    assert life.read(redo.rows) == []


def test_commits_of_one_record_are_told_apart_after_a_restart(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(A)
    redo.commit(B, rs_id=redo.rows[-1].rs_id)
    first, second = positions(Life(tmp_path).read(redo.rows))
    assert changes(Life(tmp_path, first).read(redo.rows)) == [("c", "2")]
    assert changes(Life(tmp_path, second).read(redo.rows)) == []


def test_d2_two_commits_at_one_scn_are_both_delivered_once(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(A, scn=900)
    redo.commit(B, scn=900)
    first = positions(Life(tmp_path).read(redo.rows))[0]
    assert changes(Life(tmp_path, first).read(redo.rows)) == [("c", "2")]


def test_d2_threads_have_marks_of_their_own(tmp_path: Path) -> None:
    one, two = Redo(thread=1, scn=100), Redo(thread=2, scn=50, sequence=0x77)
    one.insert(A, 1)
    two.insert(B, 2)
    one.commit(A, scn=900)
    first = positions(Life(tmp_path).read(one.rows + two.rows))[0]
    two.commit(B, scn=899)
    assert changes(Life(tmp_path, first).read(one.rows + two.rows)) == [("c", "2")]


def test_d3_position_keeps_long_transactions(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.commit(B)
    (position,) = positions(Life(tmp_path).read(redo.rows))
    assert position.threads[1].resume == RedoAddress("0x000001.00000001.0010")
    redo.commit(A)
    assert changes(Life(tmp_path, position).read(redo.rows)) == [("c", "1")]


def test_d4_starts_that_never_end_hold_nothing_back(life: Life) -> None:
    redo = Redo()
    redo.start(ZERO_XID)
    redo.start(C)
    redo.insert(B, 9, owner="OTHER")
    redo.insert(A, 1)
    redo.commit(A)
    (position,) = positions(life.read(redo.rows))
    assert position.threads[1].resume.rs_id == redo.rows[-1].rs_id.strip()


def test_position_moves_on_when_the_oldest_transaction_ends(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(C, 3)
    redo.rollback(B)
    redo.commit(A)
    redo.commit(C)
    first, second = positions(life.read(redo.rows))
    assert first.threads[1].resume.rs_id == redo.rows[2].rs_id.strip()
    assert second.threads[1].resume.rs_id == redo.rows[5].rs_id.strip()
    assert first.precedes(second)
    assert not second.precedes(first)


def test_d7_late_row_with_a_lower_scn_is_taken(life: Life) -> None:
    """E77: a private strand is written behind rows with higher SCNs."""
    redo = Redo()
    redo.insert(B, 2, scn=200)
    life.read(redo.rows)
    redo.insert(A, 1, scn=150)
    redo.commit(A, scn=230)
    assert changes(life.read(redo.rows)) == [("c", "1")]


def test_d11_first_and_last_row_of_a_pass_are_taken_once(life: Life) -> None:
    redo = Redo()
    for key in range(6):
        redo.insert(A, key)
    redo.commit(A)
    taken: list[Event] = []
    for end in range(len(redo.rows) + 1):
        taken += life.read(redo.rows[:end])
    assert changes(taken) == [("c", str(key)) for key in range(6)]


def test_d14_pass_that_broke_off_goes_on_after_its_last_row(life: Life) -> None:
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
    life.assembly.begin_pass(ANY_PASS)
    with pytest.raises(ConnectionError):
        taken.extend(life.assembly.take(breaking()))
    assert changes(taken) == [("c", "1"), ("c", "2")]
    assert changes(life.read(redo.rows)) == [("c", "3")]
    assert life.read(redo.rows) == []


def test_e65_savepoint_cancels_the_latest_change_of_the_row(life: Life) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2)
    redo.commit(A)
    (event, _) = life.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert (event.before, event.after) == (("1", "1"), ("1", "2"))


def test_e66_failed_statement_is_cancelled_and_the_transaction_goes_on(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 66)
    redo.insert(A, 67)
    redo.undo_insert(A, 67)
    redo.insert(A, 68)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "66"), ("c", "68")]


def test_undo_of_an_array_insert_in_forward_order(life: Life) -> None:
    redo = Redo()
    for key in range(5):
        redo.insert(A, key)
    for key in range(2, 5):
        redo.undo_insert(A, key)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "0"), ("c", "1")]


def test_undo_takes_rows_of_its_own_table_only(tmp_path: Path) -> None:
    other = replace(ITEM, id=TableId("DB", "LAB", "OTHER"), object_id=78)
    life = Life(tmp_path, tables=[ITEM, other])
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(A, 1, table="OTHER", object_id=78)
    redo.undo_insert(A, 1)
    redo.commit(A)
    (event, _) = life.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.schema.id.table == "OTHER"


def test_row_inserted_under_the_placeholder_is_undone_under_its_real_rowid(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1, row_id="A" * 18)
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "2")]


def test_undo_without_a_target_is_ignored(life: Life) -> None:
    redo = Redo()
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.undo_insert(A, 7)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "2")]


def test_d22_undo_row_without_address_cancels_once_however_often_it_is_read(life: Life) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2, rs_id=" 0x000000.00000000.0000 ")
    for _ in range(3):
        life.read(redo.rows)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("u", "1")]


def test_rollback_discards_the_transaction(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.undo_insert(A, 1)
    redo.rollback(A)
    redo.insert(B, 2)
    redo.commit(B)
    events = life.read(redo.rows)
    assert changes(events) == [("c", "2")]
    assert len(life.buffer) == 0


def test_d23_partial_xid_is_the_open_transaction_of_that_slot(life: Life) -> None:
    """E67: full rollback in a range that did not hold the START."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.undo_insert(partial(A), 1)
    redo.rollback(partial(A))
    redo.commit(B)
    events = life.read(redo.rows)
    assert changes(events) == [("c", "2")]
    assert len(life.buffer) == 0
    assert positions(events)[0].threads[1].resume.rs_id == redo.rows[-1].rs_id.strip()


def test_commit_with_partial_xid_and_nothing_buffered_is_nothing(life: Life) -> None:
    redo = Redo()
    redo.commit(partial(A))
    assert life.read(redo.rows) == []


def test_e69_start_after_the_first_change(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1, scn=101)
    redo.start(A, scn=101)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "1")]


def test_e70_equal_xids_of_two_containers_are_two_transactions(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1, con_id=3)
    redo.insert(A, 2, con_id=4)
    redo.rollback(A, con_id=4)
    redo.commit(A, con_id=3)
    assert changes(life.read(redo.rows)) == [("c", "1")]


def test_transaction_known_by_its_tail_only_is_delivered(life: Life) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.commit(A, start_scn=90)
    (event, _) = life.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.tx is not None
    assert event.tx.start_scn == 90


def test_d21_commits_of_the_snapshot_are_dropped_and_open_ones_come_whole(tmp_path: Path) -> None:
    life = Life(tmp_path, LogMinerPosition(start_scn=90, snapshot_scn=105))
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(B, 3)
    redo.commit(A, scn=105)
    redo.commit(B, scn=106)
    assert changes(life.read(redo.rows)) == [("c", "2"), ("c", "3")]


def test_large_transactions_go_to_disk_and_come_back_in_order(tmp_path: Path) -> None:
    life = Life(tmp_path, memory_max=10_000)
    redo = Redo()
    for key in range(200):
        redo.insert(A, key)
        redo.insert(B, 1000 + key)
    for key in range(199, 99, -1):
        redo.undo_insert(A, key)
    life.read(redo.rows)
    assert all(transaction.spill for transaction in life.buffer._open.values())
    redo.commit(A)
    redo.commit(B)
    expected = [("c", str(key)) for key in range(100)] + [("c", str(1000 + key)) for key in range(200)]
    assert changes(life.read(redo.rows)) == expected
    assert not list(tmp_path.iterdir())


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
    whole = Life(tmp_path).read(redo.rows)
    for i, event in enumerate(whole):
        if isinstance(event, Progress):
            assert isinstance(event.position, LogMinerPosition)
            saved = LogMinerPosition.from_json(event.position.to_json())
            again = Life(tmp_path, saved).read(redo.rows)
            assert changes(again) == changes(whole[i + 1 :])


@settings(max_examples=60, deadline=None)
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
    life = Life(directory, memory_max=2_000)
    first = life.read(redo.rows[:cut])
    progress = positions(first)
    delivered = changes(first)
    again = Life(directory, progress[-1] if progress else None, memory_max=2_000)
    try:
        assert delivered + changes(again.read(redo.rows)) == expected
        assert delivered + changes(life.read(redo.rows)) == expected
    finally:
        life.assembly.close()
        again.assembly.close()


def test_finished_logs_need_not_be_read_again(life: Life) -> None:
    redo = Redo(sequence=5)
    redo.insert(A, 1)
    redo.commit(A)
    life.read(redo.rows)
    list(life.assembly.end_pass(Pass((), {1: 6}, complete_scn=500)))
    assert life.assembly.marks()[1] == log_start(7)
    tick = life.assembly.idle(0)
    assert tick.complete_scn == 500
    assert isinstance(tick.position, LogMinerPosition)
    assert tick.position.threads[1].resume == log_start(7)


def test_open_transaction_holds_its_log_back_though_later_logs_are_finished(life: Life) -> None:
    redo = Redo(sequence=5)
    redo.insert(A, 1)
    life.read(redo.rows)
    list(life.assembly.end_pass(Pass((), {1: 6})))
    assert life.assembly.position().threads[1].resume.sequence == 5


def test_e72_truncate(life: Life) -> None:
    redo = Redo()
    redo.ddl(A, "truncate table lab.item")
    (change, progress) = life.read(redo.rows)
    assert schema_changes([change])[0].truncate
    assert isinstance(progress, Progress)
    assert life.tables.find(ITEM_ID) == ITEM


def test_e73_drop_and_internal_ddl(life: Life) -> None:
    redo = Redo()
    redo.ddl(A, 'ALTER TABLE item RENAME TO "BIN$x==$0"', info="INTERNAL DDL (PlSql=0 RecDep=0)")
    redo.ddl(A, 'drop table item AS "BIN$Xk+3rP0yQ5fgYwIAEax8Ag==$0" ;')
    (change,) = schema_changes(life.read(redo.rows))
    assert (change.table, change.before, change.after) == (ITEM_ID, ITEM, None)
    assert life.tables.find(ITEM_ID) is None


def test_internal_ddl_is_ignored(life: Life) -> None:
    redo = Redo()
    redo.ddl(A, "drop table lab.item", info="INTERNAL DDL (PlSql=0 RecDep=0)")
    assert life.read(redo.rows) == []
    assert life.tables.find(ITEM_ID) == ITEM


def test_starts_are_not_remembered_for_ever(life: Life) -> None:
    """All-zero XIDs never end; a START behind the first change belongs to an open transaction."""
    redo = Redo()
    redo.start(ZERO_XID)
    redo.insert(A, 1)
    redo.start(A)
    redo.commit(A)
    redo.start(B)
    redo.rollback(partial(B))
    life.read(redo.rows)
    assert life.buffer._starts == {}


def test_rows_take_the_shape_of_their_place_in_redo(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    redo.ddl(B, "alter table item add (note varchar2(10))")
    redo.dml(OpCode.INSERT, C, """insert into "LAB"."ITEM"("ID","QTY","NOTE") values ('2','0','x');""", row_id="r2")
    redo.commit(C)
    events = life.read(redo.rows)
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["ChangeEvent", "Progress", "SchemaChange", "Progress", "ChangeEvent", "Progress"]
    first, last = events[0], events[4]
    assert isinstance(first, ChangeEvent)
    assert isinstance(last, ChangeEvent)
    assert (first.schema.version, first.after) == (1, ("1", "0"))
    assert (last.schema.version, last.after) == (2, ("2", "0", "x"))


def test_d19_ddl_is_applied_once_after_a_restart(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.ddl(B, "alter table other add (x number)", table="OTHER")
    redo.ddl(C, "create table other2 (x number primary key)", table="OTHER2")
    life = Life(tmp_path)
    (position,) = positions(life.read(redo.rows))
    assert position.threads[1].resume.rs_id == redo.rows[0].rs_id.strip()
    assert schema_changes(Life(tmp_path, position).read(redo.rows)) == []


def test_new_table_is_captured_from_its_create_table_on(life: Life) -> None:
    redo = Redo()
    redo.ddl(A, "create table fresh (id number(5) primary key, pic bfile)", table="FRESH", object_id=90)
    redo.dml(OpCode.INSERT, B, """insert into "LAB"."FRESH"("ID","PIC") values ('1',Unsupported Type);""", table="FRESH", object_id=90, row_id="r")  # fmt: skip
    redo.commit(B)
    events = life.read(redo.rows)
    (change,) = schema_changes(events)
    assert change.before is None
    assert change.after is not None
    assert [column.name for column in change.after.columns] == ["ID"]
    assert (change.after.key, change.after.object_id) == ((0,), 90)
    assert changes(events) == [("c", "1")]


def test_table_without_known_shape_is_read_from_the_dictionary(tmp_path: Path) -> None:
    late = TableSchema(TableId("DB", "LAB", "LATE"), (Column("ID", "NUMBER"),))
    life = Life(tmp_path, dictionary={late.id: late})
    redo = Redo()
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."LATE"("ID") values ('1');""", table="LATE", row_id="r")
    redo.commit(A)
    events = life.read(redo.rows)
    assert [type(event).__name__ for event in events] == ["SchemaChange", "ChangeEvent", "Progress"]


def test_ddl_beyond_the_grammar_is_looked_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = replace(ITEM, columns=(*ITEM.columns, Column("NEW", "DATE")))
    life = Life(tmp_path, dictionary={ITEM_ID: now})
    redo = Redo()
    redo.ddl(A, "alter table item frobnicate all")
    (change,) = schema_changes(life.read(redo.rows))
    assert change.after == replace(now, version=2)
    assert "frobnicate" in caplog.text


def test_rename_to_an_uncaptured_name_ends_the_capture(life: Life) -> None:
    redo = Redo()
    redo.ddl(A, "rename item to item2")
    redo.ddl(B, 'alter table item2 rename to "BIN$zz"', table="ITEM2")
    renamed, gone = schema_changes(life.read(redo.rows))
    assert renamed.after is not None
    assert renamed.after.id.table == "ITEM2"
    assert (gone.before, gone.after) == (renamed.after, None)


def test_e53_row_of_a_dropped_table_is_found_by_its_object_id(life: Life) -> None:
    redo = Redo()
    redo.insert(A, 53, table="BIN$Xk+3rP0yQ5fgYwIAEax8Ag==$0", object_id=77)
    redo.insert(A, 54, table="BIN$other", object_id=999)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("c", "53")]


def test_e74_rows_of_temporary_tables_are_left_out(life: Life) -> None:
    redo = Redo()
    redo.dml(OpCode.INSERT, A, "/* No SQL_REDO for temporary tables */", status=2)
    redo.commit(A)
    assert life.read(redo.rows) == []


def unsupported_rows() -> Redo:
    redo = Redo()
    for _ in range(3):
        redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", status=2)
    redo.commit(A)
    return redo


def test_e75_unsupported_rows_stop_the_stream(life: Life) -> None:
    with pytest.raises(UnsupportedRowError, match=r"LAB\.ITEM.*SCN 101"):
        life.read(unsupported_rows().rows)


def test_e75_unsupported_rows_are_left_out_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life = Life(tmp_path, on_failure="warn")
    *letters, progress = life.read(unsupported_rows().rows)
    assert [(letter.op, letter.redo_sql) for letter in letters if isinstance(letter, UndecodableRow)] == [
        ("UNSUPPORTED", "Unsupported")
    ] * 3
    assert isinstance(progress, Progress)
    assert life.decoder.unsupported_rows == life.decoder.undecodable_rows == 3
    assert caplog.text.count("does not support") == 1


def test_e76_status_2_alone_is_no_fault(life: Life) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2, status=2)
    redo.commit(A)
    assert changes(life.read(redo.rows)) == [("u", "1")]


def test_e50_row_of_another_version_is_read_by_the_shape_of_its_time(tmp_path: Path) -> None:
    """The dictionary is newer than the row; the known shape is the row's."""
    columns = (Column("ID", "NUMBER"), Column("DOC", "CLOB"), Column("NAME", "VARCHAR2", 9), Column("D", "DATE"))
    table = replace(ITEM, columns=(columns[0], *columns[2:]), stored=("ID", "DOC", "NAME", "D"))
    redo = Redo()
    mismatch = {"status": 2, "info": "Dictionary Mismatch", "row_id": "r1"}
    images = "HEXTORAW('c108'),EMPTY_CLOB(),HEXTORAW('5a6fc3ab'),HEXTORAW('787e021c0e2e3c')"
    insert = f"""insert into "LAB"."ITEM"("COL 1","COL 2","COL 3","COL 4") values ({images});"""
    redo.dml(OpCode.INSERT, A, insert, **mismatch)
    update = """update "LAB"."ITEM" set "COL 3" = NULL where "COL 1" = HEXTORAW('c108') and "COL 4" IS NULL"""
    redo.dml(OpCode.UPDATE, A, update, **mismatch)
    redo.commit(A)
    create, change, _ = Life(tmp_path, tables=[table]).read(redo.rows)
    assert isinstance(create, ChangeEvent)
    assert isinstance(change, ChangeEvent)
    assert create.after == ("7", "Zoë", "2026-02-28 13:45:59")
    assert (change.before, change.after) == (("7", UNAVAILABLE, None), ("7", None, None))
    for unfit in (replace(table, stored=()), replace(table, stored=("ID", "NAME", "D"))):
        with pytest.raises(SchemaMismatchError):
            Life(tmp_path, tables=[unfit]).read(redo.rows)


def broken(redo: Redo) -> None:
    redo.insert(A, 1)
    redo.dml(OpCode.INSERT, A, "insert into nonsense", row_id="r9")
    redo.insert(A, 2)
    redo.commit(A)


def test_row_that_cannot_be_decoded_stops_and_says_where(life: Life) -> None:
    redo = Redo()
    broken(redo)
    with pytest.raises(RedoSyntaxError, match=r"SCN 102, thread 1, RS_ID 0x000001.00000002.0010, .*LAB.ITEM"):
        life.read(redo.rows)


def test_row_that_cannot_be_decoded_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    redo = Redo()
    broken(redo)
    assert changes(Life(tmp_path, on_failure="warn").read(redo.rows)) == [("c", "1"), ("c", "2")]
    assert "MC-4101" in caplog.text


def test_d27_operation_that_contradicts_its_text_is_refused(life: Life) -> None:
    redo = Redo()
    redo.dml(OpCode.UPDATE, A, """delete from "LAB"."ITEM";""")
    redo.commit(A)
    with pytest.raises(SchemaMismatchError):
        life.read(redo.rows)


def test_dml_without_text_is_refused(life: Life) -> None:
    redo = Redo()
    redo.row(OpCode.INSERT, A, None, owner="LAB", table="ITEM")
    redo.commit(A)
    with pytest.raises(DecodeError):
        life.read(redo.rows)


def test_d26_user_filter_drops_whole_transactions(tmp_path: Path) -> None:
    life = Life(tmp_path, wants=lambda user, _: user != "APP")
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.commit(A)
    redo.insert(B, 2, user="OTHER")
    redo.commit(B)
    assert changes(life.read(redo.rows)) == [("c", "2")]


def test_d42_columns_that_redo_does_not_tell_are_unavailable_not_null(life: Life) -> None:
    redo = Redo()
    redo.dml(OpCode.UPDATE, A, """update "LAB"."ITEM" set "QTY" = '3' where "QTY" = '2';""", row_id="r")
    redo.commit(A)
    (event, _) = life.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.after == (UNAVAILABLE, "3")


def test_redo_sql_is_copied_on_demand(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    (event, _) = Life(tmp_path, include_redo_sql=True).read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.redo_sql == redo.rows[0].sql


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


def test_rows_are_named_tuples_in_column_order() -> None:
    from minercdc.capture.logminer.row import COLUMNS

    assert len(COLUMNS) == len(LogMinerRow._fields)


def test_commits_wait_until_the_other_threads_are_read_that_far(tmp_path: Path) -> None:
    """Changes of one row in two threads: a log of thread 1 is missing still, thread 2 is read further."""
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.insert(A, 1, 5)
    one.commit(A)
    two.update(B, 1, 6, 7)
    two.commit(B)
    life = Life(tmp_path)
    assert changes(life.read([*one.rows, *two.rows], Pass((), {}, bound=150))) == [("c", "1")]
    position = life.assembly.position()
    one.update(C, 1, 5, 6)
    one.commit(C)
    two.scn = 300
    two.delete(A, 1, 7)
    two.commit(A)
    merged = sorted([*one.rows, *two.rows], key=lambda row: row.scn)
    for again in (life, Life(tmp_path, position)):
        events = again.read(merged)
        assert changes(events) == [("u", "1"), ("u", "1"), ("d", "1")]
        assert [e.after and e.after[1] for e in events if isinstance(e, ChangeEvent)] == ["6", "7", None]


def test_ddl_waits_like_commits(tmp_path: Path) -> None:
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.insert(A, 1)
    one.commit(A)
    two.ddl(B, 'alter table "LAB"."ITEM" add (extra number)')
    two.insert(C, 3)
    two.commit(C)
    life = Life(tmp_path)
    assert schema_changes(life.read([*one.rows, *two.rows], Pass((), {}, bound=150))) == []
    one.insert(B, 2)
    one.commit(B)
    events = life.read(sorted([*one.rows, *two.rows], key=lambda row: row.scn))
    assert [type(event).__name__ for event in events] == [
        *("ChangeEvent", "Progress", "SchemaChange", "Progress", "ChangeEvent", "Progress")
    ]
