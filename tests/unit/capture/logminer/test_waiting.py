"""A pass of LogMiner begins when redo was written, and not more often than one may on average."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.capture.logminer.session import waiting
from minercdc.capture.logminer.session.waiting import PassPause
from minercdc.stream.events import Scn


class Time:
    """A clock that only waiting moves; redo comes at given times.

    :ivar looks: how often the database was looked at.
    :ivar is_busy: redo comes all the time.
    """

    def __init__(self, *redo: float) -> None:
        self.now, self.redo, self.looks = 0.0, redo, 0
        self.ends, self.is_busy = float("inf"), False

    def __call__(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return self.now >= self.ends

    def wait(self, timeout: float | None = None) -> bool:
        self.now = min(self.ends, self.now + (timeout or 0))
        return self.is_set()

    def last_redo(self, _: Any) -> frozenset[tuple[int, Scn]]:
        self.looks += 1
        written = round(self.now * 1000) if self.is_busy else sum(at <= self.now for at in self.redo)
        return frozenset({(1, Scn(written))})


@pytest.fixture
def clock() -> Time:
    return Time()


def waited(pause: PassPause, time: Time, *, took: float = 0.003) -> float:
    """Seconds from the end of a pass to the beginning of the next one."""
    began = time.now
    ticks(pause, time, took)
    return time.now - began - took


def ticks(pause: PassPause, time: Time, took: float = 0.003) -> list[float]:
    """What each tick says: for how many seconds nothing was written."""
    pause.begin(None)  # type: ignore[arg-type]
    time.now += took
    return list(pause.wait(None, time))  # type: ignore[arg-type]


def passes(pause: PassPause, time: Time, seconds: float, took: float = 0.003) -> int:
    count, end = 0, time.now + seconds
    while time.now < end:
        waited(pause, time, took=took)
        count += 1
    return count


def written_all_the_time(clock: Time) -> None:
    clock.is_busy = True


def test_redo_ends_the_wait(clock: Time) -> None:
    clock.redo = (0.2,)
    assert waited(PassPause(5, 1, clock, clock.last_redo), clock) == pytest.approx(0.2, abs=0.11)


def test_what_was_written_during_the_pass_counts(clock: Time) -> None:
    clock.redo = (0.02,)
    assert waited(PassPause(5, 1, clock, clock.last_redo), clock, took=0.03) <= 0.05


def test_without_redo_a_pass_is_made_now_and_then(clock: Time) -> None:
    assert waited(PassPause(0.5, 1, clock, clock.last_redo), clock) == pytest.approx(5)
    assert waited(PassPause(30, 1, clock, clock.last_redo), clock) == pytest.approx(30)


def test_while_nothing_is_written_each_tick_says_so(clock: Time) -> None:
    clock.redo = (1.9,)
    pause = PassPause(0.5, 1, clock, clock.last_redo)
    unwritten = ticks(pause, clock)
    assert unwritten == pytest.approx([0.5, 1.0, 1.5], abs=0.01)


def test_ticks_go_on_while_a_pass_may_not_begin(clock: Time) -> None:
    written_all_the_time(clock)
    pause = PassPause(0.5, 5, clock, clock.last_redo)
    for _ in range(5):
        waited(pause, clock)
    unwritten = ticks(pause, clock)
    assert len(unwritten) >= 7
    assert set(unwritten) == {0.0}


def test_a_stop_ends_the_wait(clock: Time) -> None:
    clock.ends = 1.0
    assert waited(PassPause(5, 1, clock, clock.last_redo), clock) < 1.01


def test_an_idle_database_is_answered_at_once_all_the_time(clock: Time) -> None:
    """A change a second."""
    clock.redo = tuple(float(n) for n in range(1, 301))
    pause, late = PassPause(0.5, 1, clock, clock.last_redo), []
    for n in range(1, 300):
        waited(pause, clock)
        late.append(clock.now - n)
    assert max(late) < 0.12
    assert min(late) >= 0


def test_a_busy_database_is_read_once_an_interval(clock: Time) -> None:
    written_all_the_time(clock)
    pause = PassPause(0.5, 1, clock, clock.last_redo)
    assert passes(pause, clock, 600) <= 612
    assert passes(pause, clock, 600) >= 595


def test_after_a_quiet_time_five_follow_each_other(clock: Time) -> None:
    pause = PassPause(60, 1, clock, clock.last_redo)
    waited(pause, clock)
    written_all_the_time(clock)
    assert 4 <= passes(pause, clock, 0.6) <= 7


def test_without_interval_they_follow_each_other(clock: Time) -> None:
    written_all_the_time(clock)
    assert passes(PassPause(0.5, 0, clock, clock.last_redo), clock, 10) > 300


@pytest.mark.parametrize("interval", [0, 1])
def test_half_of_the_time_at_most_is_read(clock: Time, interval: float) -> None:
    """A pass over the log takes five seconds."""
    written_all_the_time(clock)
    assert 300 <= passes(PassPause(0.5, interval, clock, clock.last_redo), clock, 3600, took=5) <= 362


def test_a_wait_for_a_log_ticks_and_ends_when_it_is_stopped(clock: Time) -> None:
    assert [clock.now for _ in waiting.ticks(clock, 10, 4)] == [4, 8]
    assert clock.now == 10
    clock.ends = clock.now + 5
    assert len(list(waiting.ticks(clock, 10, 4))) == 1
    assert clock.is_set()
