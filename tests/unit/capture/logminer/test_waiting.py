"""The wait between two passes ends with redo, as long as that is not in vain."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.capture.logminer import waiting
from minercdc.capture.logminer.waiting import PassPause


class Time:
    """A clock that only waiting moves; redo comes at given times.

    :ivar looks: how often the database was looked at.
    """

    def __init__(self, *redo: float) -> None:
        self.now, self.redo, self.looks = 0.0, redo, 0

    def __call__(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return False

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout or 0
        return False

    def last_redo_scn(self, _: Any) -> int:
        self.looks += 1
        return sum(at <= self.now for at in self.redo)


def waited(pause: PassPause, time: Time, *, found: bool = False, lagging: bool = False, took: float = 0.03) -> float:
    pause.begin(None)  # type: ignore[arg-type]
    time.now += took
    began = time.now
    pause.wait(None, time, found=found, lagging=lagging, took=took)  # type: ignore[arg-type]
    return time.now - began


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(waiting, "last_redo_scn", lambda connection: clock.last_redo_scn(connection))
    return clock


def test_redo_ends_the_wait(clock: Time) -> None:
    clock.redo = (0.2,)
    assert waited(PassPause(5, clock), clock) == pytest.approx(0.2, abs=0.11)


def test_what_was_written_during_the_pass_counts(clock: Time) -> None:
    clock.redo = (0.02,)
    assert waited(PassPause(5, clock), clock) <= 0.1


def test_without_redo_it_lasts_for_the_poll_interval(clock: Time) -> None:
    assert waited(PassPause(5, clock), clock) == pytest.approx(5)
    assert clock.looks > 40


@pytest.mark.parametrize("state", [{"found": True}, {"lagging": True}])
def test_rows_and_logs_that_wait_are_not_waited_for(clock: Time, state: dict[str, bool]) -> None:
    assert waited(PassPause(5, clock), clock, **state) <= 0.03
    assert clock.looks == 1


def test_redo_of_others_does_not_make_passes_endless(clock: Time) -> None:
    clock.redo = tuple(n / 50 for n in range(100_000))
    pause, passes = PassPause(0.5, clock), 0
    while clock.now < 600:
        waited(pause, clock)
        passes += 1
    assert 600 / 0.5 <= passes < 600 / 0.5 * 1.3 + 15


def test_long_passes_that_find_nothing_do_not_follow_each_other(clock: Time) -> None:
    """Other databases of the instance write all the time, and a pass over the log takes five seconds."""
    clock.redo = tuple(n / 10 for n in range(100_000))
    pause, passes = PassPause(30, clock), 0
    while clock.now < 3600:
        waited(pause, clock, took=5)
        passes += 1
    assert passes * 5 < 3600 / 3


def test_an_idle_database_is_answered_at_once_all_the_time(clock: Time) -> None:
    """It writes some redo every three seconds."""
    clock.redo = tuple(3.0 * n for n in range(1, 400))
    pause = PassPause(60, clock)
    for n in range(1, 300):
        waited(pause, clock)
        assert 0 <= clock.now - 3 * n < 0.2


def test_passes_that_find_rows_cost_nothing(clock: Time) -> None:
    clock.redo = tuple(0.2 * n for n in range(1, 1000))
    pause = PassPause(60, clock)
    for _ in range(100):
        assert waited(pause, clock) < 0.3  # redo was written,
        waited(pause, clock, found=True)  # and the pass found what it waited for
