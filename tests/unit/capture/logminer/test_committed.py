"""Whole transactions as COMMITTED_DATA_ONLY shows them, pass after pass from the oldest that may still come."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.native_pair import taken_apart
from tests.unit.capture.logminer.redo import A, B, C, Miner, Redo, changes, partial, positions, schema_changes

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.committed import CommittedAssembly, beginning
from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, log_start
from minercdc.capture.logminer.session.row import ContinuationJoiner, LogMinerRow, OpCode
from minercdc.errors import MiningSessionError
from minercdc.stream.events import Event

LOGS = (
    LogFile("a1", 1, 1, 50, 150),
    LogFile("a2", 1, 2, 150, 250),
    LogFile("r3", 1, 3, 250, 0, current=True, archived=False),
)


def miner_of(directory: Path, start: LogMinerPosition | None = None) -> Miner:
    return Miner(directory, start or LogMinerPosition(start_scn=100), assembly=CommittedAssembly)


def read(miner: Miner, rows: Iterable[LogMinerRow], oldest_scn: int = 100) -> list[Event]:
    """One pass, all of which LogMiner shows, as it does when it begins where `marks` says."""
    begun = Pass(LOGS, {1: 2}, oldest_scn=oldest_scn)
    miner.assembly.begin_pass(begun)
    return [*miner.take(rows), *miner.assembly.end_pass(begun)]


def test_what_is_shown_again_comes_once(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.commit(A)
    miner = miner_of(tmp_path)
    assert changes(read(miner, redo.rows)) == [("c", "1")]
    redo.start(B)
    redo.insert(B, 2)
    redo.commit(B)
    assert changes(read(miner, redo.rows)) == [("c", "2")]
    assert changes(read(miner, redo.rows)) == []


def test_rows_without_their_commit_are_not_passed_over(tmp_path: Path) -> None:
    """As LogMiner might show the branches of a transaction, by ids of their own (PXID: parallel DML)."""
    redo = Redo()
    redo.start(A)
    redo.insert(B, 1)
    redo.commit(A)
    with pytest.raises(MiningSessionError, match=f"1 changes of transaction {B.hex()}"):
        read(miner_of(tmp_path), redo.rows)


def test_a_restart_at_any_progress_misses_and_repeats_nothing(tmp_path: Path) -> None:
    redo = Redo()
    for number, transaction in enumerate((A, B, C), 1):
        redo.start(transaction)
        redo.insert(transaction, number)
        redo.commit(transaction)
    whole = read(miner_of(tmp_path), redo.rows)
    for done, position in enumerate(positions(whole), 1):
        again = LogMinerPosition.from_json(position.to_json())
        assert changes(read(miner_of(tmp_path, again), redo.rows)) == changes(whole)[done:]


def test_an_older_commit_that_is_shown_after_a_newer_one_is_not_taken_for_delivered(tmp_path: Path) -> None:
    redo = Redo()
    for transaction in (A, B):
        redo.start(transaction)
        redo.insert(transaction, 1 if transaction == A else 2)
        redo.commit(transaction)
    miner = miner_of(tmp_path)
    assert changes(read(miner, [*redo.rows[3:], *redo.rows[:3]])) == [("c", "2"), ("c", "1")]
    assert changes(read(miner, redo.rows)) == []


def test_older_ddl_that_is_shown_after_newer_ddl_is_followed(tmp_path: Path) -> None:
    redo = Redo()
    for name in ("ONE", "TWO"):
        redo.ddl(A, f'alter table "LAB"."ITEM" add ({name} number)')
    miner = miner_of(tmp_path)
    assert [change.scn for change in schema_changes(read(miner, redo.rows[::-1]))] == [102, 101]
    assert schema_changes(read(miner, redo.rows)) == []


def test_what_the_other_mode_delivered_beyond_a_commit_that_waits_is_not_repeated(tmp_path: Path) -> None:
    redo = Redo()
    for number, transaction in enumerate((A, B), 1):
        redo.start(transaction)
        redo.insert(transaction, number)
        redo.commit(transaction)
    rows = [row._replace(scn=400) if row.code == OpCode.COMMIT and row.xid == A else row for row in redo.rows]
    buffered = Miner(tmp_path)
    assert changes(buffered.read(rows, Pass((), {}, bound=300))) == [("c", "2")]
    miner = miner_of(tmp_path, LogMinerPosition.from_json(buffered.assembly.position().to_json()))
    assert changes(read(miner, ())) == []
    assert miner.assembly.position().threads[1].ahead == buffered.assembly.position().threads[1].ahead
    assert changes(read(miner, rows)) == [("c", "1")]
    assert miner.assembly.position().threads[1].ahead == ()


@pytest.mark.parametrize("lacks", [{"thread": None}, {"rs_id": None}])
def test_a_commit_without_address_is_delivered_once(tmp_path: Path, lacks: dict[str, None]) -> None:
    redo = Redo()
    for number, transaction in enumerate((A, B, C), 1):
        redo.start(transaction)
        redo.insert(transaction, number)
        redo.commit(transaction, **(lacks if transaction != B else {}))

    def read_again(miner: Miner, count: int) -> list[Event]:
        begun = Pass(LOGS, {1: 2}, oldest_scn=100)
        miner.assembly.begin_pass(begun)
        batch = [tuple(row) for row in redo.rows[:count]]
        taken = miner.assembly.take_fetched(batch, ContinuationJoiner())
        return [*taken_apart(taken), *miner.assembly.end_pass(begun)]

    miner = miner_of(tmp_path)
    first = read_again(miner, 6)
    assert changes(first) == [("c", "1"), ("c", "2")]
    assert changes(read_again(miner, 6)) == []
    for done, position in enumerate(positions(first), 1):
        again = miner_of(tmp_path, LogMinerPosition.from_json(position.to_json()))
        assert changes(read_again(again, 6)) == changes(first)[done:]
        assert changes(read_again(again, 9)) == [("c", "3")]
        assert changes(read_again(again, 9)) == []
    assert changes(read(miner, ())) == []
    assert miner.assembly.position().given_up == frozenset(), "what is not shown any more is forgotten"


def test_a_transaction_that_a_broken_session_cut_comes_whole(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.insert(A, 2)
    redo.commit(A)
    miner = miner_of(tmp_path)
    miner.assembly.begin_pass(Pass(LOGS, {}))
    assert list(miner.take(redo.rows[:2])) == []
    assert changes(read(miner, redo.rows)) == [("c", "1"), ("c", "2")]


def test_the_beginning_moves_one_pass_after_what_the_database_said(tmp_path: Path) -> None:
    miner = miner_of(tmp_path)
    read(miner, (), oldest_scn=240)
    assert miner.assembly.marks() == {1: log_start(1)}
    read(miner, (), oldest_scn=260)
    assert miner.assembly.marks() == {1: log_start(2)}
    assert miner.assembly.position().threads[1].resume_scn == 240
    read(miner, (), oldest_scn=100)
    assert miner.assembly.marks() == {1: log_start(3)}
    read(miner, ())
    assert miner.assembly.marks() == {1: log_start(3)}, "it never goes back"


def test_a_mark_of_the_other_mode_is_kept_until_the_next_log(tmp_path: Path) -> None:
    redo = Redo(sequence=2)
    redo.start(A)
    redo.insert(A, 1)
    buffered = Miner(tmp_path)
    buffered.read(redo.rows)
    start = buffered.assembly.position()
    miner = miner_of(tmp_path, start)
    redo.commit(A)
    assert changes(read(miner, redo.rows, oldest_scn=160)) == [("c", "1")]
    read(miner, redo.rows, oldest_scn=160)
    assert not miner.assembly.position().precedes(start)
    assert miner.assembly.marks() == {1: RedoAddress(start.threads[1].resume.rs_id)}


def test_the_other_mode_goes_on_where_this_one_ended(tmp_path: Path) -> None:
    redo = Redo()
    for number, transaction in enumerate((A, B), 1):
        redo.start(transaction)
        redo.insert(transaction, number)
        redo.commit(transaction)
    miner = miner_of(tmp_path)
    read(miner, redo.rows[:3])
    buffered = Miner(tmp_path, miner.assembly.position())
    assert changes(buffered.read(redo.rows)) == [("c", "2")]


def test_undone_changes_stop_the_reading(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.undo_insert(A, 1)
    with pytest.raises(MiningSessionError, match="as committed"):
        read(miner_of(tmp_path), redo.rows)
    redo = Redo()
    redo.insert(A, 1)
    redo.rollback(A)
    with pytest.raises(MiningSessionError, match="as committed"):
        read(miner_of(tmp_path), redo.rows)


def test_a_rollback_with_a_partial_xid_may_end_at_a_savepoint(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.rollback(partial(A), rs_id=" 0x000000.00000000.0000 ")
    redo.insert(A, 2)
    redo.commit(A)
    assert changes(read(miner_of(tmp_path), redo.rows)) == [("c", "1"), ("c", "2")]


@pytest.mark.parametrize(("oldest", "sequence"), [(10, 1), (60, 1), (149, 1), (150, 2), (249, 2), (250, 3), (10_000, 3)])
def test_the_beginning_is_the_log_that_holds_the_oldest_start(oldest: int, sequence: int) -> None:
    assert beginning(LOGS, oldest) == {1: log_start(sequence)}


def test_a_closed_thread_that_is_read_needs_no_log(tmp_path: Path) -> None:
    closed = LogFile("b7", 2, 7, 50, 150)
    assert beginning((*LOGS, closed), 200)[2] == log_start(8)
    assert beginning((*LOGS, closed), 140)[2] == log_start(7)


def two_threads() -> tuple[Redo, Redo]:
    """A changes a row in thread 1 at 103, B the same row in thread 2 at 203."""
    one, two = Redo(thread=1), Redo(thread=2, scn=200)
    one.start(A)
    one.insert(A, 1, 5)
    one.commit(A)
    two.start(B)
    two.update(B, 1, 5, 6)
    two.commit(B)
    return one, two


def bounded(miner: Miner, rows: Iterable[LogMinerRow], bound: int, complete_scn: int = 0) -> list[Event]:
    logs = (*LOGS, LogFile("b1", 2, 1, 50, 0, current=True, archived=False))
    begun = Pass(logs, {1: 2}, bound=bound, complete_scn=complete_scn, oldest_scn=100)
    miner.assembly.begin_pass(begun)
    return [*miner.take(rows), *miner.assembly.end_pass(begun)]


def test_what_was_committed_after_a_pass_began_waits_for_the_next_one(tmp_path: Path) -> None:
    """LogMiner came to the end of thread 1 before A was committed there, and meets B in thread 2."""
    one, two = two_threads()
    miner = miner_of(tmp_path)
    assert changes(bounded(miner, two.rows, bound=100)) == []
    assert changes(bounded(miner, [*one.rows, *two.rows], bound=300)) == [("c", "1"), ("u", "1")]
    assert changes(bounded(miner, [*one.rows, *two.rows], bound=300)) == []


def test_what_waits_is_not_reported_as_complete(tmp_path: Path) -> None:
    one, two = two_threads()
    miner = miner_of(tmp_path)
    assert changes(bounded(miner, [*one.rows, *two.rows], bound=150, complete_scn=250)) == [("c", "1")]
    assert miner.assembly.idle(0).complete_scn < two.rows[-1].scn


def test_after_a_commit_that_waits_all_wait(tmp_path: Path) -> None:
    """A mark that went past it would have it taken for delivered."""
    one, two = two_threads()
    one.start(C, scn=140)
    one.insert(C, 3)
    one.commit(C)
    miner = miner_of(tmp_path)
    assert changes(bounded(miner, [*two.rows, *one.rows], bound=150)) == []
    assert changes(bounded(miner, [*one.rows, *two.rows], bound=300)) == [("c", "1"), ("c", "3"), ("u", "1")]


def test_a_commit_that_the_mark_has_passed_already_does_not_wait(tmp_path: Path) -> None:
    redo = Redo()
    for number, transaction in enumerate((A, B), 1):
        redo.start(transaction)
        redo.insert(transaction, number)
        redo.commit(transaction)
    miner = miner_of(tmp_path)
    late, early = redo.rows[:3], redo.rows[3:]  # by address; shown the other way round
    late[2] = late[2]._replace(scn=180)
    assert changes(bounded(miner, [*early, *late], bound=150)) == [("c", "2"), ("c", "1")]


def test_ddl_waits_like_commits(tmp_path: Path) -> None:
    redo = Redo(thread=2, scn=200)
    redo.ddl(C, 'alter table "LAB"."ITEM" add (extra number)')
    miner = miner_of(tmp_path)
    assert bounded(miner, redo.rows, bound=150) == []
    assert [type(event).__name__ for event in bounded(miner, redo.rows, bound=300)] == ["SchemaChange", "Progress"]


def test_of_what_the_other_mode_gave_up_no_part_comes(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)  # its START lies before the marks
    redo.commit(A)
    redo.start(B)
    redo.insert(B, 2)
    redo.commit(B)
    miner = miner_of(tmp_path, LogMinerPosition(start_scn=100, given_up=frozenset({A.hex()})))
    waiting = Pass(LOGS, {1: 2}, oldest_scn=100, bound=redo.rows[1].scn)
    miner.assembly.begin_pass(waiting)
    assert changes([*miner.take(redo.rows), *miner.assembly.end_pass(waiting)]) == []
    assert LogMinerPosition.from_json(miner.assembly.position().to_json()).given_up == {A.hex()}
    assert changes(read(miner, redo.rows)) == [("c", "2")]
    assert changes(read(miner, redo.rows)) == []
    assert miner.assembly.position().given_up == frozenset()
