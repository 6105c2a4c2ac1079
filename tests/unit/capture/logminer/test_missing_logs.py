"""A start before the logs that are there: refused unless the first of each thread is the first that the thread has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.capture.logminer.test_logs import OPEN, current, log, selected, sequences

from minercdc.capture.logminer.logs.redo_logs import RedoThread, select_logs
from minercdc.capture.logminer.logs.window import LogWindow
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, log_start
from minercdc.capture.logminer.start import missing_redo
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.errors import LogGapError
from minercdc.oracle import present_scn


def test_missing_logs_in_a_row_are_named_together() -> None:
    with pytest.raises(LogGapError, match=r"thread 1: log sequences 5 to 7 \(SCN 500 to 800\) are neither online") as gap:
        selected(log(4), log(8), log(10), current(11), marks={1: log_start(4)})
    assert "Restore the archived logs," in gap.value.hint
    with pytest.raises(LogGapError, match=r"log sequences 4 to 9 \(SCN 0 to 1000\) have not reached .* and are needed"):
        select_logs([log(10)], (OPEN,), {1: log_start(4)}, 0, 99, archived_only=True, received=True)


@pytest.mark.parametrize("enabled", [0, 100, 899, 900, 999, 1000])
def test_d16_scn_before_all_redo_needs_the_first_log_of_the_incarnation(enabled: int) -> None:
    """ENABLE_CHANGE# of the first thread is the SCN of RESETLOGS, above the start."""
    thread = RedoThread(1, True, 10**6, enabled)
    for first in (2, 8):
        there = [*(log(number) for number in range(first, 10)), current(10)]
        for start in (5, 99):
            if 100 * first <= enabled < 100 * first + 100:
                assert sequences(selected(*there, threads=(thread,), start=start))[0] == (1, first)
                continue
            with pytest.raises(LogGapError, match=f"log sequence {first - 1} .SCN {start} to {first}00"):
                selected(*there, threads=(thread,), start=start)
    whole = [*(log(number) for number in range(1, 10)), current(10)]
    assert sequences(selected(*whole, threads=(thread,), start=5))[0] == (1, 1)
    assert sequences(selected(current(1), threads=(thread,), start=5)) == [(1, 1)]


def test_first_logs_of_a_thread_that_was_enabled_later_may_be_gone() -> None:
    two = RedoThread(2, True, 10**6, 850)
    with pytest.raises(LogGapError, match="thread 2: redo up to log sequence 8 .SCN 420 to 900"):
        selected(current(4), log(9, 2), current(10, 2), threads=(OPEN, two), start=420)


def test_a_thread_that_was_enabled_again_goes_on_after_the_last_log_from_before() -> None:
    """It was enabled and disabled more than once after the start: V$THREAD has the last time only."""
    two = RedoThread(2, True, 10**6, 850)
    with pytest.raises(LogGapError, match="thread 2: log sequences 6 to 7 .SCN 420 to 800"):
        selected(current(4), log(8, 2), current(9, 2), threads=(OPEN, two), start=420, ended={2: 5})
    selection = selected(
        current(4),
        *(log(n, 2, first_scn=100 * n) for n in (6, 7, 8)),
        current(9, 2),
        threads=(OPEN, two),
        start=420,
        ended={2: 5},
    )
    assert sequences(selection) == [(1, 4), (2, 6), (2, 7), (2, 8), (2, 9)]


def test_a_thread_that_was_enabled_later_begins_with_number_1_or_the_log_that_holds_the_scn_of_enabling() -> None:
    two = RedoThread(2, True, 10**6, 850)
    assert sequences(selected(current(4), current(8, 2), threads=(OPEN, two), start=420)) == [(1, 4), (2, 8)]
    own = log(1, 2, first_scn=851, next_scn=900), log(2, 2, first_scn=900, next_scn=950), current(3, 2, first_scn=950)
    selection = selected(current(4), *own, threads=(OPEN, two), start=420)
    assert sequences(selection) == [(1, 4), (2, 1), (2, 2), (2, 3)], "where number 1 begins a little later, too"


class Database:
    """A connection to a database with one thread, enabled at SCN 2000001, and logs 8 (archived) and 9 (current).

    :param ended: what V$LOG_HISTORY has: number, SCN of the end.
    :param former: archived logs of thread 2, whose log groups are dropped: number, first and next SCN, whether the file is there.
    """

    def __init__(self, *ended: tuple[int, int], former: tuple[tuple[int, int, int, bool], ...] = ()) -> None:
        self._ended = ended
        self._former = former
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> Database:
        return self

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def execute(self, sql: str, binds: Any = None) -> None:
        if "MIN(H.FIRST_CHANGE#)" in sql:
            numbers, firsts, nexts = ([log[i] for log in self._former] for i in range(3))
            self._rows = [(2, max(numbers), min(firsts), max(nexts))] if self._former else []
        elif "V$LOG_HISTORY" in sql:
            before = [sequence for sequence, end in self._ended if end <= binds["scn"]]
            self._rows = [(1, max(before))] if before else []
        elif "V$ARCHIVED_LOG" in sql:
            found = (1, 8, 2_002_343, 2_003_000, "8.arc", "LOG_ARCHIVE_DEST_1", 1, 0)
            logs = [found]
            for number, first, next_, is_there in self._former:
                logs += [(2, number, first, next_, f"2_{number}.arc", "LOG_ARCHIVE_DEST_1", 1, 0)] if is_there else []
            self._rows = [log for log in logs if log[3] > binds["scn"]]
        elif "V$LOG " in sql:
            self._rows = [(1, 9, 2_003_000, 0, "CURRENT", "redo.log", 1)]
        elif "V$THREAD" in sql:
            self._rows = [(1, "OPEN", "PUBLIC", 2_003_500, 2_000_001, 0)]
        else:
            assert "FROM V$DATABASE" in sql
            self._rows = [(2_003_500,)] if "CURRENT_SCN" in sql else [(DBID, 2_000_001)]

    def fetchone(self) -> tuple[Any, ...]:
        return self._rows[0]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


FORMER = (4, 2_002_500, 2_002_600), (5, 2_002_600, 2_002_700)
DBID = 4_711
HISTORY = [(number, 2_000_001 + 334 * number) for number in range(1, 7)] + [(7, 2_002_343), (8, 2_003_000)]


def gap_from(position: LogMinerPosition, *ended: tuple[int, int]) -> str | None:
    database: Any = Database(*ended)
    gap = missing_redo(lambda: database, position, LogMiningConfig.model_validate({}))
    return gap.message if gap else None


@pytest.mark.parametrize("scn", [1, 5, 1_999_999, 2_000_001, 2_000_300])
def test_a_start_before_the_deleted_logs_cannot_go_on(scn: int) -> None:
    for history in ([], HISTORY, HISTORY[3:]):
        gap = gap_from(LogMinerPosition(start_scn=scn), *history)
        assert gap is not None
        assert gap.startswith(f"redo thread 1: redo up to log sequence 7 (SCN {scn} to 2002343) is neither online")


def test_what_of_the_deleted_logs_is_needed_is_named() -> None:
    gap = gap_from(LogMinerPosition(start_scn=2_001_100), *HISTORY)
    assert gap is not None
    assert gap.startswith("redo thread 1: log sequences 4 to 7 (SCN 2001100 to 2002343) are neither online")
    gap = gap_from(LogMinerPosition({1: ThreadMark(log_start(6), 2_001_700)}, start_scn=2_000_500), *HISTORY)
    assert gap is not None
    assert gap.startswith("redo thread 1: log sequences 6 to 7 (SCN ")


@pytest.mark.parametrize("scn", [2_002_343, 2_002_999, 2_003_000, 2_003_499])
def test_a_start_in_the_logs_that_are_there_goes_on(scn: int) -> None:
    assert gap_from(LogMinerPosition(start_scn=scn), *HISTORY) is None
    assert gap_from(LogMinerPosition(start_scn=scn)) is None


@pytest.mark.parametrize(
    ("position", "says"),
    [
        (LogMinerPosition(snapshot_scn=2_003_500, start_scn=2_003_000, dbid=DBID, resetlogs=2_000_001), None),
        (
            LogMinerPosition(snapshot_scn=2_003_501, start_scn=2_003_000),
            "has SCN 2003501, but the database is only at SCN 2003500",
        ),
        (LogMinerPosition({1: ThreadMark(log_start(9), 2_009_000)}), "has SCN 2009000, but"),
        (
            LogMinerPosition({1: ThreadMark(log_start(9), 2_003_000, RedoAddress("0x000009.1", 1), 2_004_000)}),
            "has SCN 2004000, but",
        ),
        (LogMinerPosition(start_scn=2_003_000, dbid=DBID + 1), "to the database with DBID 4712, but this one has DBID 4711"),
        (LogMinerPosition(start_scn=2_003_000, resetlogs=1), "opened with RESETLOGS at SCN 2000001"),
    ],
)
def test_a_position_of_another_database_is_no_position_of_this_one(
    position: LogMinerPosition, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(present_scn, "PATIENCE", 0.0)
    gap = gap_from(position, *HISTORY)
    assert gap is None if says is None else gap is not None and says in gap


@pytest.mark.parametrize(
    ("there", "mark", "gap"),
    [
        ((True, True), 4, None),
        ((False, True), 5, None),
        ((False, False), 6, None),
        ((True, False), 4, "redo thread 2: log sequence 5 (SCN 2002600 to 2002700) is neither online"),
        ((False, False), 4, "redo thread 2: log sequences 4 to 5 (SCN 2002400 to 2002700) are neither online"),
        ((False, False), None, "redo thread 2: log sequences 1 to 5 "),
    ],
)
def test_redo_of_a_thread_without_log_groups_is_needed(there: Any, mark: int | None, gap: str | None) -> None:
    """V$THREAD does not list the thread of an instance that was deleted while the connector was down."""
    former = tuple((*log, is_there) for log, is_there in zip(FORMER, there, strict=True))
    database: Any = Database(*HISTORY, former=former)
    threads = {1: ThreadMark(log_start(8), 2_002_400)} | (
        {} if mark is None else {2: ThreadMark(log_start(mark), 2_002_500)}
    )
    position = LogMinerPosition(threads, start_scn=2_002_400)
    found = missing_redo(lambda: database, position, LogMiningConfig.model_validate({}))
    assert (found and found.message[: len(gap or "")]) == gap


def test_a_pass_reads_the_logs_of_a_thread_without_log_groups() -> None:
    database: Any = Database(*HISTORY, former=tuple((*log, True) for log in FORMER))
    start = LogMinerPosition({1: ThreadMark(log_start(8), 2_002_400), 2: ThreadMark(log_start(4), 2_002_500)})
    assembly: Any = Assembly(start)
    window = LogWindow(LogMiningConfig.model_validate({}), lobs=False, dictionary=None)
    for _ in range(2):
        logs = window.choose(database, assembly, 2_002_400)
        assert sequences(logs.selection) == [(1, 8), (1, 9), (2, 4), (2, 5)]
    assembly.start = LogMinerPosition({1: ThreadMark(log_start(9), 2_003_000), 2: ThreadMark(log_start(6), 2_002_700)})
    assert sequences(window.choose(database, assembly, 2_002_400).selection) == [(1, 9)]


class Assembly:
    """Where the next pass begins."""

    committed = False

    def __init__(self, start: LogMinerPosition) -> None:
        self.start = start

    def position(self) -> LogMinerPosition:
        return self.start

    def begins(self) -> dict[int, RedoAddress]:
        return {thread: mark.resume for thread, mark in self.start.threads.items()}
