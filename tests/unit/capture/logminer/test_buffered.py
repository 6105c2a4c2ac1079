"""Redo rows to committed transactions: one test per pitfall (D-n) and fixture (En) of docs/reference/logminer-facts.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import (
    A,
    B,
    C,
    Miner,
    Redo,
    changes,
    partial,
    positions,
    schema_changes,
    xid,
)

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.row import ZERO_XID, LogMinerRow
from minercdc.stream.events import ChangeEvent, Op, Progress


def test_transaction_comes_whole_at_its_commit_followed_by_progress(miner: Miner) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1, 5)
    redo.update(A, 1, 5, 6)
    redo.delete(A, 1, 6)
    assert miner.read(redo.rows) == []
    redo.commit(A)
    events = miner.read(redo.rows)
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


def test_transactions_come_in_order_of_commit_not_of_start(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(A, 3)
    redo.commit(B)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2"), ("c", "1"), ("c", "3")]


def test_tables_outside_the_filter_are_not_captured(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1, owner="OTHER")
    redo.commit(A)
    assert miner.read(redo.rows) == []


def test_d4_starts_that_never_end_hold_nothing_back(miner: Miner) -> None:
    redo = Redo()
    redo.start(ZERO_XID)
    redo.start(C)
    redo.insert(B, 9, owner="OTHER")
    redo.insert(A, 1)
    redo.commit(A)
    (position,) = positions(miner.read(redo.rows))
    assert position.threads[1].resume.rs_id == redo.rows[-1].rs_id.strip()


def test_d7_late_row_with_a_lower_scn_is_taken(miner: Miner) -> None:
    """E77: a private strand is written after rows with higher SCNs."""
    redo = Redo()
    redo.insert(B, 2, scn=200)
    miner.read(redo.rows)
    redo.insert(A, 1, scn=150)
    redo.commit(A, scn=230)
    assert changes(miner.read(redo.rows)) == [("c", "1")]


def test_d23_partial_xid_is_the_open_transaction_of_that_slot(miner: Miner) -> None:
    """E67: full rollback in a range that did not hold the START."""
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.undo_insert(partial(A), 1)
    redo.rollback(partial(A))
    redo.commit(B)
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "2")]
    assert len(miner.buffer) == 0
    assert positions(events)[0].threads[1].resume.rs_id == redo.rows[-1].rs_id.strip()


NOWHERE = " 0x000000.00000000.0000 "


@pytest.mark.parametrize("memory_max", [10**6, 1], ids=["in memory", "on disk"])
def test_a_rollback_with_a_partial_xid_may_end_at_a_savepoint(tmp_path: Path, memory_max: int) -> None:
    """As an online log of 23.26.3 was shown (osodevops/kafka-connect-oracle-cdc, ADR-0022): the row has no address."""
    miner = Miner(tmp_path, memory_max=memory_max)
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(A, 2)
    redo.undo_insert(partial(A), 2)
    redo.rollback(partial(A), rs_id=NOWHERE)
    redo.insert(A, 3)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("c", "3")]
    assert len(miner.buffer) == 0


def test_a_rollback_with_a_partial_xid_comes_again_and_ends_no_later_transaction_of_its_slot(miner: Miner) -> None:
    later = A[:4] + xid(2)[4:]
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.undo_insert(partial(A), 1)
    redo.rollback(partial(A), rs_id=NOWHERE)
    again = redo.rows[-1]
    redo.start(later)
    redo.insert(later, 5)
    redo.insert(later, 6)
    redo.undo_insert(later, 6)
    assert miner.read(redo.rows) == []
    redo.rows[:] = [again]
    redo.insert(later, 7)
    redo.commit(later)
    assert changes(miner.read(redo.rows)) == [("c", "5"), ("c", "7")]


def test_a_partial_xid_is_not_the_transaction_of_that_slot_whose_commit_is_held(miner: Miner) -> None:
    later = A[:4] + xid(2)[4:]
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.commit(A)
    redo.start(later)
    redo.insert(later, 1, 9)
    redo.undo_insert(partial(later), 1)
    redo.rollback(partial(later))
    assert miner.read(redo.rows, Pass((), {1: 1}, bound=redo.scn - 5)) == []
    assert changes(miner.read([], Pass((), {1: 1}, bound=redo.scn + 1))) == [("c", "1")]


@pytest.mark.parametrize(
    "lacks", [{"xid": None}, {"thread": None}, {"xid": None, "thread": None}, {"xid": None, "thread": None, "rs_id": None}]
)
def test_a_commit_without_xid_or_thread_ends_no_other_transaction(miner: Miner, lacks: dict[str, None]) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.commit(B)
    redo.rows[-1] = redo.rows[-1]._replace(**lacks)  # type: ignore[arg-type]
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1")]


def test_a_commit_without_thread_is_not_repeated_while_an_older_transaction_is_open(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(B, 2)
    redo.insert(C, 3)
    redo.commit(C)
    redo.commit(B, thread=None, scn=redo.scn - 1)
    miner = Miner(tmp_path)
    whole = miner.read(redo.rows)
    assert changes(whole) == [("c", "3"), ("c", "2")]
    for done, position in enumerate(positions(whole), 1):
        for _ in range(2):
            again = Miner(tmp_path, LogMinerPosition.from_json(position.to_json()))
            assert changes(again.read(redo.rows)) == changes(whole)[done:]
            position = again.assembly.position()
            done = 2
    redo.commit(A)
    redo.insert(xid(9), 9)
    assert changes(miner.read(redo.rows)) == [("c", "1")]
    assert miner.assembly.position().given_up == frozenset(), "it is not read again"


def test_commit_with_partial_xid_and_nothing_buffered_is_nothing(miner: Miner) -> None:
    redo = Redo()
    redo.commit(partial(A))
    assert miner.read(redo.rows) == []


def test_e69_start_after_the_first_change(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1, scn=101)
    redo.start(A, scn=101)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1")]


def test_e70_equal_xids_of_two_containers_are_two_transactions(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1, con_id=3)
    redo.insert(A, 2, con_id=4)
    redo.rollback(A, con_id=4)
    redo.commit(A, con_id=3)
    assert changes(miner.read(redo.rows)) == [("c", "1")]


def test_transaction_known_by_its_tail_only_is_delivered(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.commit(A, start_scn=90)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.tx is not None
    assert event.tx.start_scn == 90


def test_large_transactions_go_to_disk_and_come_back_in_order(tmp_path: Path) -> None:
    miner = Miner(tmp_path, memory_max=10_000)
    redo = Redo()
    for key in range(200):
        redo.insert(A, key)
        redo.insert(B, 1000 + key)
    for key in range(199, 99, -1):
        redo.undo_insert(A, key)
    miner.read(redo.rows)
    assert all(transaction.spill for transaction in miner.buffer.open())
    redo.commit(A)
    redo.commit(B)
    expected = [("c", str(key)) for key in range(100)] + [("c", str(1000 + key)) for key in range(200)]
    assert changes(miner.read(redo.rows)) == expected
    assert not list(tmp_path.iterdir())


def test_starts_are_not_remembered_for_ever(miner: Miner) -> None:
    """All-zero XIDs never end; a START after the first change belongs to an open transaction."""
    redo = Redo()
    redo.start(ZERO_XID)
    redo.insert(A, 1)
    redo.start(A)
    redo.commit(A)
    redo.start(B)
    redo.rollback(partial(B))
    miner.read(redo.rows)
    assert all(miner.buffer.oldest_untouched(thread) is None for thread in (1, 2))


def test_rows_are_named_tuples_in_column_order() -> None:
    from minercdc.capture.logminer.session.row import COLUMNS

    assert len(COLUMNS) == len(LogMinerRow._fields)


def test_commits_wait_until_the_other_threads_are_read_that_far(tmp_path: Path) -> None:
    """Changes of one row in two threads: a log of thread 1 is missing still, thread 2 is read further."""
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.insert(A, 1, 5)
    one.commit(A)
    two.update(B, 1, 6, 7)
    two.commit(B)
    miner = Miner(tmp_path)
    assert changes(miner.read([*one.rows, *two.rows], Pass((), {}, bound=150))) == [("c", "1")]
    position = miner.assembly.position()
    one.update(C, 1, 5, 6)
    one.commit(C)
    two.scn = 300
    two.delete(A, 1, 7)
    two.commit(A)
    merged = sorted([*one.rows, *two.rows], key=lambda row: row.scn)
    for again in (miner, Miner(tmp_path, position)):
        events = again.read(merged)
        assert changes(events) == [("u", "1"), ("u", "1"), ("d", "1")]
        assert [e.after and e.after[1] for e in events if isinstance(e, ChangeEvent)] == ["6", "7", None]


@pytest.mark.parametrize("scns", [(180, 140), (180, 160)], ids=["the later one comes at once", "both wait"])
def test_a_held_commit_is_not_taken_for_delivered_after_a_later_one_of_a_lower_scn(
    tmp_path: Path, scns: tuple[int, int]
) -> None:
    """SCNs go up and down along the redo of a thread."""
    redo = Redo()
    for number, transaction in enumerate((A, B), 1):
        redo.insert(transaction, number)
        redo.commit(transaction)
    rows = list(redo.rows)
    rows[1], rows[3] = rows[1]._replace(scn=scns[0]), rows[3]._replace(scn=scns[1])
    miner = Miner(tmp_path)
    first = changes(miner.read(rows, Pass((), {}, bound=150)))
    position = LogMinerPosition.from_json(miner.assembly.position().to_json())
    second = miner.read(rows)
    assert first + changes(second) == [("c", "2"), ("c", "1")]
    again = Miner(tmp_path, position)
    assert changes(again.read(rows, Pass((), {}, bound=150))) == []
    assert again.assembly.position() == position, "what is delivered is so until what waited is"
    assert changes(again.read(rows)) == changes(second), "a restart has it, too, and repeats nothing"
    done = changes(second)
    for number, at in enumerate(
        positions([event for event in second if isinstance(event, Progress) and event.committed]), 1
    ):
        assert changes(Miner(tmp_path, LogMinerPosition.from_json(at.to_json())).read(rows)) == done[number:]
    assert again.assembly.position().threads[1].ahead == ()


def test_held_commits_that_are_released_are_delivered_for_the_position(tmp_path: Path) -> None:
    one = Redo(thread=1)
    for number, transaction in enumerate((A, B, C), 1):
        one.insert(transaction, number)
        one.commit(transaction)
    miner = Miner(tmp_path)
    bound = one.rows[1].scn
    assert miner.read(one.rows, Pass((), {}, bound=bound)) == []
    for event in miner.read(one.rows):
        if isinstance(event, Progress) and event.committed is not None:
            assert isinstance(event.position, LogMinerPosition)
            left = changes(Miner(tmp_path, event.position).read(one.rows))
            done = [A, B, C].index(bytes.fromhex(event.committed.id)) + 1
            assert left == [("c", str(number)) for number in range(done + 1, 4)]


@pytest.mark.parametrize("scns", [(180, 140), (180, 160)], ids=["the later one comes at once", "both wait"])
def test_held_ddl_is_not_taken_for_followed_after_a_later_one_of_a_lower_scn(tmp_path: Path, scns: tuple[int, int]) -> None:
    redo = Redo()
    for transaction, scn in zip((A, B), scns, strict=True):
        redo.ddl(transaction, f'alter table "LAB"."ITEM" add (C{scn} number)', scn=scn)
    miner = Miner(tmp_path)
    first = schema_changes(miner.read(redo.rows, Pass((), {}, bound=150)))
    position = LogMinerPosition.from_json(miner.assembly.position().to_json())
    second = schema_changes(miner.read(redo.rows))
    assert [change.scn for change in (*first, *second)] == sorted(scns)
    again = Miner(tmp_path, position)
    assert {change.scn for change in schema_changes(again.read(redo.rows))} == {change.scn for change in second}
    assert schema_changes(Miner(tmp_path, again.assembly.position()).read(redo.rows)) == []


def test_ddl_waits_like_commits(tmp_path: Path) -> None:
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.insert(A, 1)
    one.commit(A)
    two.ddl(B, 'alter table "LAB"."ITEM" add (extra number)')
    two.insert(C, 3)
    two.commit(C)
    miner = Miner(tmp_path)
    assert schema_changes(miner.read([*one.rows, *two.rows], Pass((), {}, bound=150))) == []
    one.insert(B, 2)
    one.commit(B)
    events = miner.read(sorted([*one.rows, *two.rows], key=lambda row: row.scn))
    assert [type(event).__name__ for event in events] == [
        *("ChangeEvent", "Progress", "SchemaChange", "Progress", "ChangeEvent", "Progress")
    ]


def test_a_transaction_whose_commit_waits_is_not_open(tmp_path: Path) -> None:
    """The database does not know it any more, rightly; taken for open it would be given up."""
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.insert(A, 1)
    two.insert(B, 2)
    two.commit(B)
    miner = Miner(tmp_path)
    miner.read([*one.rows, *two.rows], Pass((), {}, bound=150))
    assert [transaction.key[1] for transaction in miner.assembly.open()] == [A]
    two.start(C)
    two.commit(C)
    miner.read([*one.rows, *two.rows], Pass((), {}, bound=150))
    assert all(miner.buffer.oldest_untouched(thread) is None for thread in (1, 2))
