"""Log coverage, the query and how many logs a pass takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.capture.logminer.logs.arrived import before_holes, is_unbroken, with_redo_to_come
from minercdc.capture.logminer.logs.redo_logs import (
    NO_BOUND,
    Ended,
    LogFile,
    LogSelection,
    RedoThread,
    begin_scn,
    select_logs,
    switched_scn,
    unique_logs,
    with_former,
)
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, log_start
from minercdc.capture.logminer.session.pacing import next_window
from minercdc.capture.logminer.session.query import build_query
from minercdc.errors import LogGapError

OPEN = RedoThread(1, True, 10**6, 0)


def log(sequence: int, thread: int = 1, **other: Any) -> LogFile:
    """Sequence n holds SCNs 100n to 100n+99."""
    values = {"first_scn": sequence * 100, "next_scn": sequence * 100 + 100, **other}
    return LogFile(f"t{thread}_{sequence}.arc", thread, sequence, **values)


def current(sequence: int, thread: int = 1, **other: Any) -> LogFile:
    return log(sequence, thread, next_scn=0, current=True, archived=False, **other)


def selected(
    *logs: LogFile, threads: Any = (OPEN,), marks: Any = None, start: int = 0, at_most: int = 99, ended: Any = None
) -> LogSelection:
    return select_logs(logs, threads, marks or {}, start, at_most, ended=ended)


def sequences(selection: LogSelection) -> list[tuple[int, int]]:
    return [(file.thread, file.sequence) for file in selection.files]


def test_reading_begins_with_the_log_of_the_mark_and_ends_in_the_current_one() -> None:
    selection = selected(log(3), log(4), log(5), current(6), marks={1: RedoAddress("0x000004.00000010.0010")})
    assert sequences(selection) == [(1, 4), (1, 5), (1, 6)]
    assert selection.start_scn == 400
    assert selection.complete == {1: 5}


def test_without_a_mark_reading_begins_with_the_log_of_the_scn() -> None:
    assert sequences(selected(log(3), log(4), current(5), start=499)) == [(1, 4), (1, 5)]
    assert sequences(selected(log(3), log(4), current(5), start=500)) == [(1, 5)]


def test_hole_of_scns_after_a_restart_is_no_gap() -> None:
    logs = [log(3, next_scn=350), current(4)]
    assert sequences(selected(*logs, start=370)) == [(1, 4)]
    assert sequences(selected(*logs, marks={1: log_start(3)})) == [(1, 3), (1, 4)]


def test_thread_that_was_down_at_the_start_begins_with_the_log_that_follows_its_last() -> None:
    """Its SCNs have a hole there, its sequence numbers do not."""
    two = RedoThread(2, True, 10**6, 0)
    again = (log(8, 2, first_scn=700, next_scn=750), current(9, 2, first_scn=750))
    for logs, ended in ((again, {2: 7}), ((log(7, 2, first_scn=300, next_scn=350, archived=False), *again), None)):
        selection = selected(log(3), log(4), current(5), *logs, threads=(OPEN, two), start=420, ended=ended)
        assert [place for place in sequences(selection) if place != (2, 7)] == [(1, 4), (1, 5), (2, 8), (2, 9)]
    for ended, named in (({}, "redo up to log sequence 7"), ({2: 6}, "log sequence 7"), ({2: 4}, "log sequences 5 to 7")):
        with pytest.raises(LogGapError, match=f"thread 2: {named} .SCN 420 to 700"):
            selected(log(3), log(4), current(5), *again, threads=(OPEN, two), start=420, ended=ended)
    with pytest.raises(LogGapError, match="thread 2: log sequence 7 "):
        selected(current(4), log(6, 2, next_scn=350, first_scn=300), *again, threads=(OPEN, two), start=420)


def test_a_thread_without_a_mark_is_read_from_the_start_scn_unless_it_has_no_redo_after_that() -> None:
    position = LogMinerPosition({1: ThreadMark(log_start(7), 700)}, start_scn=300)
    for second, scn in (
        (RedoThread(2, True, 250, 0), 300),
        (RedoThread(2, False, 350, 0), 300),
        (RedoThread(2, False, 250, 0), 700),
    ):
        assert begin_scn(position, [OPEN, second]) == scn
    assert begin_scn(replace(position, threads={}), [OPEN]) == 300
    down = RedoThread(2, False, 250, 0)
    for its in (log(9, 2), current(9, 2)):
        selection = selected(log(7), current(8), its, threads=(OPEN, down), marks={1: log_start(7)}, start=300)
        assert [place for place in sequences(selection) if place[0] == 1] == [(1, 7), (1, 8)]


def test_d16_missing_sequence_is_named() -> None:
    with pytest.raises(LogGapError, match=r"thread 1: log sequence 5 \(SCN 500 to 600\)"):
        selected(log(4), log(6), current(7), marks={1: log_start(4)})


def test_d16_purged_log_of_the_mark_is_named() -> None:
    with pytest.raises(LogGapError, match="log sequence 4 .* is neither online") as gap:
        selected(log(5), current(6), marks={1: log_start(4)})
    assert "Restore the archived log," in gap.value.hint


def test_d16_scn_before_the_oldest_log() -> None:
    with pytest.raises(LogGapError, match="redo up to log sequence 4 .SCN 333 to 500"):
        selected(log(5), current(6), start=333)


def test_current_log_that_is_not_listed_yet_is_a_gap() -> None:
    with pytest.raises(LogGapError, match="log sequence 6"):
        selected(log(4), log(5), marks={1: log_start(4)})


def test_gap_in_a_quiet_thread_counts_too() -> None:
    two = RedoThread(2, True, 10**6, 0)
    with pytest.raises(LogGapError, match="thread 2"):
        selected(current(4), log(7, 2), current(9, 2), threads=(OPEN, two), marks={1: log_start(4), 2: log_start(7)})


def test_thread_that_was_enabled_later_begins_with_its_first_log() -> None:
    two = RedoThread(2, True, 10**6, 850)
    selection = selected(current(4), log(8, 2), current(9, 2), threads=(OPEN, two), start=420)
    assert sequences(selection) == [(1, 4), (2, 8), (2, 9)]


def test_closed_thread_needs_no_current_log() -> None:
    closed = RedoThread(2, False, 700, 600)
    logs = [current(4), log(6, 2)]
    assert sequences(selected(*logs, threads=(OPEN, closed), start=420)) == [(1, 4), (2, 6)]
    done = selected(*logs, threads=(OPEN, closed), marks={1: log_start(4), 2: log_start(7)})
    assert sequences(done) == [(1, 4), (2, 6)], "read already, but LogMiner wants it"


def test_number_of_logs_is_capped() -> None:
    selection = selected(log(3), log(4), log(5), current(6), marks={1: log_start(3)}, at_most=2)
    assert sequences(selection) == [(1, 3), (1, 4)]
    assert selection.complete == {1: 4}
    assert selection.bound == NO_BOUND


def test_a_selection_has_its_size_and_whether_it_leaves_logs() -> None:
    logs = (log(3, bytes=7), log(4, bytes=5), current(5, bytes=3))
    some, all_ = (selected(*logs, marks={1: log_start(3)}, at_most=at_most) for at_most in (2, 3))
    assert [(some.is_capped, some.bytes), (all_.is_capped, all_.bytes)] == [(True, 12), (False, 15)]


def test_a_thread_whose_logs_are_capped_bounds_the_others() -> None:
    two = RedoThread(2, True, 10**6, 0)
    marks = {1: log_start(3), 2: log_start(9)}
    both = selected(log(3), log(4), current(5), current(9, 2), threads=(OPEN, two), marks=marks, at_most=2)
    assert sequences(both) == [(1, 3), (1, 4), (2, 9)]
    assert both.bound == 500


def test_every_thread_covers_the_beginning_of_the_range() -> None:
    """LogMiner refuses a range that one thread's logs do not cover, even where nothing of it is to be read."""
    two = RedoThread(2, True, 10**6, 0)
    closed = RedoThread(3, False, 10**6, 0)
    logs = [log(3), log(4), current(5), log(2, 2), log(4, 2), log(5, 2), current(6, 2), log(1, 3), log(2, 3)]
    logs[3:5] = [log(3, 2, first_scn=250, next_scn=350), log(4, 2, first_scn=350, next_scn=500)]
    marks = {1: log_start(3), 2: log_start(6), 3: log_start(3)}
    selection = selected(*logs, threads=(OPEN, two, closed), marks=marks)
    assert selection.start_scn == 300
    assert sequences(selection) == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (2, 6), (3, 2)]


FORMER = {1: Ended(6, 100, 700), 2: Ended(5, 100, 600)}


def test_a_thread_whose_log_groups_are_dropped_is_read_to_its_end() -> None:
    """V$THREAD does not list the thread of an instance that was deleted."""
    logs = [log(3), log(4), log(5), log(6), current(7), log(4, 2), log(5, 2)]
    for marks, start in (({1: log_start(6), 2: log_start(5)}, 0), ({1: log_start(6)}, 500)):
        threads = with_former([OPEN], FORMER, marks, start)
        assert [one.number for one in threads] == [1, 2]
        assert begin_scn(LogMinerPosition({1: ThreadMark(log_start(6), 600)}, start_scn=500), threads) == 500
        selection = selected(*logs, threads=threads, marks=marks, start=start)
        assert (2, 5) in sequences(selection)
        assert selection.complete[2] == 5


def test_a_thread_whose_log_groups_are_dropped_is_no_thread_any_more_once_it_is_read() -> None:
    assert with_former([OPEN], FORMER, {1: log_start(6), 2: log_start(6)}, 0) == [OPEN]
    assert with_former([OPEN], FORMER, {1: log_start(6)}, 600) == [OPEN]


@pytest.mark.parametrize(
    ("there", "marks", "start", "named"),
    [
        ([], {1: log_start(6), 2: log_start(4)}, 0, "thread 2: log sequences 4 to 5 "),
        ([], {1: log_start(6), 2: log_start(5)}, 0, "thread 2: log sequence 5 "),
        ([log(4, 2)], {1: log_start(6), 2: log_start(4)}, 0, "thread 2: log sequence 5 .SCN 500 to"),
        ([], {1: log_start(6)}, 500, "thread 2: log sequence 5 "),
        ([], {}, 550, "thread 2: log sequence 5 "),
    ],
)
@pytest.mark.parametrize("listed", [[OPEN], [OPEN, RedoThread(2, False, 599, 0, 600)]], ids=["dropped", "disabled"])
@pytest.mark.parametrize("archived_only", [False, True])
def test_last_logs_of_a_former_thread_that_are_gone_are_a_gap(
    there: Any, marks: Any, start: int, named: str, listed: Any, archived_only: bool
) -> None:
    threads = with_former(listed, FORMER, marks, start)
    ended = {} if len(marks) == 2 else {1: 4, 2: 4}
    logs = [log(5), log(6), current(7), *there]
    with pytest.raises(LogGapError, match=named):
        select_logs(logs, threads, marks, start, 99, archived_only=archived_only, ended=ended)


def test_the_last_log_of_a_disabled_thread_may_wait_for_its_archiving() -> None:
    gone = RedoThread(2, False, 599, 0, 600, last_sequence=5)
    logs = [log(4), log(5), log(6), current(7), log(4, 2), log(5, 2, archived=False)]
    marks = {1: log_start(6), 2: log_start(5)}
    assert (2, 5) not in sequences(select_logs(logs, [OPEN, gone], marks, 0, 99, archived_only=True))
    assert (2, 5) in sequences(select_logs(logs, [OPEN, gone], marks, 0, 99))


def test_a_disabled_thread_is_read_to_its_end() -> None:
    """It may have been disabled while the connector was down."""
    gone = RedoThread(2, False, 10**6, 0, disabled_scn=520)
    logs = [log(3), log(4), log(5), current(6), log(4, 2), log(5, 2)]
    unread = selected(*logs, threads=(OPEN, gone), marks={1: log_start(4), 2: log_start(5)})
    assert sequences(unread) == [(1, 4), (1, 5), (1, 6), (2, 4), (2, 5)], "log 4 only covers the range"
    done = selected(*logs, threads=(OPEN, gone), marks={1: log_start(6), 2: log_start(6)})
    assert sequences(done) == [(1, 6)]
    never = selected(*logs, threads=(OPEN, gone), start=550)
    assert sequences(never) == [(1, 5), (1, 6)]


def test_archived_logs_only() -> None:
    two = RedoThread(2, True, 10**6, 0)
    logs = (log(3), log(4), current(5), log(3, 2), current(4, 2))
    both = select_logs(logs, (OPEN, two), {}, 300, 99, archived_only=True)
    assert sequences(both) == [(1, 3), (1, 4), (2, 3)]
    assert both.bound == 400
    none = select_logs((log(3), log(4)), (OPEN, two), {}, 300, 99, archived_only=True)
    assert (none.files, none.complete) == ((), {}), "an open thread without any log could commit at each SCN"
    waiting = select_logs(logs, (OPEN,), {1: log_start(5)}, 300, 99, archived_only=True)
    assert waiting.files == ()
    with pytest.raises(LogGapError, match="log sequence 4"):
        select_logs((log(3), log(5)), (OPEN,), {}, 300, 99, archived_only=True)


def test_archived_logs_are_complete_up_to_the_end_of_the_last_one_that_is_taken() -> None:
    logs, closed = (log(3), log(4), log(5)), replace(OPEN, is_open=False, last_scn=350)
    for at_most, complete in ((1, 399), (2, 499), (3, 599)):
        assert select_logs(logs, (OPEN,), {}, 300, at_most, archived_only=True).complete_scn == complete
    assert select_logs(logs, (closed,), {}, 300, 99, archived_only=True).complete_scn == 0, "no thread says what is to come"
    assert select_logs((), (OPEN,), {}, 300, 99, archived_only=True).complete_scn == 0


def test_a_closed_thread_holds_the_others_back_until_the_standby_has_its_last_log() -> None:
    closed = RedoThread(2, False, 450, 0)
    for logs, is_open in (
        ([log(3), log(4)], True),
        ([log(3), log(4), log(3, 2)], True),
        ([log(3), log(4), log(3, 2), log(4, 2)], False),
    ):
        threads = with_redo_to_come([OPEN, closed], logs, 300)
        assert [thread.is_open for thread in threads] == [True, is_open]
        bound = select_logs(logs, threads, {}, 300, 99, archived_only=True).bound
        assert bound == (500 if not is_open else 400 if len(logs) == 3 else 0)
    assert with_redo_to_come([OPEN, closed], [log(5)], 500) == [OPEN, closed], "it has no redo from there on"


def test_what_has_arrived_before_a_hole_is_read_and_a_hole_where_a_thread_begins_is_a_gap() -> None:
    begins = {1: log_start(4)}

    def arrived(*logs: LogFile) -> list[tuple[int, int]]:
        return [(log.thread, log.sequence) for log in before_holes(logs, begins, 400)]

    assert arrived(log(3), log(4), log(5), log(7)) == [(1, 3), (1, 4), (1, 5)]
    assert arrived(log(2), log(4), log(6), log(4, 2), log(6, 2)) == [(1, 2), (1, 4), (2, 4)]
    assert arrived(log(3), log(5)) == [(1, 3), (1, 5)]
    assert arrived(log(2, 2), log(3)) == [(2, 2), (1, 3)], "nothing of either has arrived that is wanted"
    with pytest.raises(LogGapError, match=r"log sequence 4 .* has not reached the downstream database") as gap:
        select_logs([log(3), log(5)], (OPEN,), begins, 400, 99, archived_only=True, received=True)
    two = RedoThread(2, True, 10**6, 0)
    assert "may still be shipped" in (gap.value.hint or "")
    with pytest.raises(LogGapError, match=r"thread 2: log sequence 4 .* has not reached") as gap:
        select_logs([log(4), log(5, 2)], (OPEN, two), begins, 450, 99, archived_only=True, ended={2: 3}, received=True)


def test_a_chain_of_logs_is_unbroken_up_to_an_scn() -> None:
    assert is_unbroken([], {}, 500)
    assert is_unbroken([log(3), log(4), log(5), log(7)], {}, 550), "what follows the SCN is another matter"
    assert is_unbroken([log(3), log(4)], {}, 900)
    assert not is_unbroken([log(3), log(5)], {}, 550)
    assert not is_unbroken([log(3), log(5)], {}, 450), "log 4 may be the one that holds it"
    assert not is_unbroken([log(3), log(4), log(5), log(3, 2), log(5, 2)], {}, 550)
    assert is_unbroken([log(3), log(5)], {1: log_start(4)}, 450), "with that one the thread goes on: it may still arrive"
    assert not is_unbroken([log(3), log(5)], {1: log_start(5)}, 350)


def test_no_log_at_all_is_a_gap() -> None:
    with pytest.raises(LogGapError):
        selected(threads=())


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 5))
def test_a_selection_has_no_hole(first: int, count: int, at_most: int) -> None:
    logs = [log(n) for n in range(first, first + count)] + [current(first + count)]
    for missing in (None, *range(len(logs))):
        left = [file for i, file in enumerate(logs) if i != missing]
        try:
            found = [s for _, s in sequences(selected(*left, marks={1: log_start(first)}, at_most=at_most))]
        except LogGapError:
            assert missing is not None
            continue
        assert missing is None
        assert found == list(range(first, first + min(at_most, count + 1)))


def test_d15_doubled_files_are_taken_once_the_archived_copy_first() -> None:
    online = LogFile("redo1.log", 1, 4, 400, 500, False, False)
    first, second = log(4), LogFile("copy", 1, 4, 400, 500)
    assert unique_logs([online, first, second]) == [first]
    assert unique_logs([current(5)]) == [current(5)]


def test_query_asks_by_redo_address_and_never_by_an_upper_scn() -> None:
    sql, binds = build_query({1: RedoAddress("0x000004.00000010.0010", 3)}, "PDB1", frozenset({"SYS"}))
    assert "THREAD# = 1 AND RS_ID >= :mark1" in sql
    assert binds == {"container": "PDB1", "mark1": " 0x000004.00000010.0010", "nowhere": " 0x000000.00000000.0000 "}
    conditions = sql.partition(" WHERE ")[2]
    assert " SCN" not in conditions.replace("(SCN", " SCN")
    assert "SEG_OWNER IS NULL OR" in conditions
    assert "ORDER BY" not in sql


def test_query_without_marks_reads_everything() -> None:
    sql, binds = build_query({}, 3, frozenset())
    assert "(SRC_CON_ID = :container OR SRC_CON_ID IS NULL)" in sql, "without a dictionary, which may not know the name"
    assert binds == {"container": 3}
    sql, binds = build_query({}, None, frozenset())
    assert binds == {}
    assert "RS_ID >=" not in sql


_GIB = 1 << 30


@pytest.mark.parametrize(
    ("took", "size", "expected"),
    [
        (1.0, _GIB, 32),
        (9.9, 8 * _GIB, 32),
        (9.9, 9 * _GIB, 16),
        (30.0, _GIB, 16),
        (61.0, _GIB, 8),
        (1.0, 17 * _GIB, 8),
        (500.0, 17 * _GIB, 8),
    ],
)
def test_a_pass_takes_more_logs_after_a_quick_one_and_fewer_after_a_slow_or_large_one(
    took: float, size: int, expected: int
) -> None:
    assert next_window(16, 6, took, size) == expected
    assert next_window(6, 6, took, size) == max(6, 6 * expected // 16)


class OnlineLogs:
    """A connection to a database with these online logs: thread, sequence, first SCN."""

    def __init__(self, *logs: tuple[int, int, int]) -> None:
        self._logs = logs

    def cursor(self) -> OnlineLogs:
        return self

    def __enter__(self) -> OnlineLogs:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        assert "V$LOG" in sql

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return iter(self._logs)


def test_a_thread_that_has_switched_since_bounds_what_the_others_deliver() -> None:
    """Thread 1 has written log 7 since the logs were listed: what it commits there is read a pass later."""
    listed = [log(5), current(6), current(3, thread=2)]
    found: Any = OnlineLogs((1, 5, 500), (1, 6, 600), (1, 7, 700), (2, 2, 200), (2, 3, 300))
    assert switched_scn(found, listed) == 700


def test_without_a_switch_there_is_no_such_bound() -> None:
    """Thread 3 is closed and read to its end."""
    found: Any = OnlineLogs((1, 5, 500), (1, 6, 600), (2, 3, 300), (3, 9, 10))
    assert switched_scn(found, [current(6), current(3, thread=2)]) == NO_BOUND
