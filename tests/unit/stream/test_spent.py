"""The parts of the lag: the latest seconds by what they were spent on."""

from __future__ import annotations

import pytest

from minercdc.stream.counters.lag_causes import Cause, TimeSpent


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def spent_by(*steps: tuple[Cause, float]) -> tuple[TimeSpent, Clock]:
    clock = Clock()
    spent = TimeSpent(clock)
    for cause, seconds in steps:
        spent.enter(cause)
        clock.now += seconds
    return spent, clock


def positive(found: dict[Cause, float]) -> dict[str, float]:
    return {cause.value: round(seconds, 6) for cause, seconds in found.items() if seconds}


def test_the_latest_seconds_are_shared_by_what_was_done_in_them() -> None:
    spent, _ = spent_by((Cause.LOGMINER, 3), (Cause.FETCH, 4), (Cause.KAFKA, 2), (Cause.REDO, 1))
    assert positive(spent.latest(10)) == {"logminer": 3, "fetch": 4, "kafka": 2, "redo": 1}
    assert positive(spent.latest(2)) == {"kafka": 1, "redo": 1}
    assert positive(spent.latest(0)) == {}


def test_what_is_done_at_present_counts_and_the_parts_add_up() -> None:
    spent, clock = spent_by((Cause.LOGMINER, 3), (Cause.SOURCE, 0))
    for _ in range(50):
        clock.now += 7.3
        for seconds in (1, 5, 100, 3.7):
            assert sum(spent.latest(seconds).values()) == pytest.approx(seconds)
    assert positive(spent.latest(60)) == {"source": 60}


def test_time_before_the_process_began_is_named() -> None:
    spent, _ = spent_by((Cause.LOGMINER, 3))
    assert positive(spent.latest(10)) == {"not_running": 7, "logminer": 3}


def test_a_batch_shares_its_time_and_its_wait_by_rows() -> None:
    spent, clock = spent_by((Cause.FETCH, 4))
    before = spent.begin_batch()
    clock.now += 10
    former = spent.enter(Cause.KAFKA)
    clock.now += 5
    spent.enter(former)
    assert positive(spent.latest(19)) == {"fetch": 4, "decode": 10, "kafka": 5}, "not shared before its end"
    spent.end_batch(before, 4.0, uncaptured=50, buffered=30, decoded=20, fetching=Cause.FETCH)
    assert positive(spent.latest(19)) == {"fetch": 2, "uncaptured": 7, "buffered": 3, "decode": 2, "kafka": 5}
    clock.now += 1
    assert positive(spent.latest(1)) == {"fetch": 1}


def test_old_times_are_kept_more_coarsely_and_still_add_up() -> None:
    spent, clock = spent_by()
    for number in range(20_000):
        spent.enter((Cause.LOGMINER, Cause.FETCH)[number % 2])
        clock.now += 1.0
    found = spent.latest(15_000)
    assert sum(found.values()) == pytest.approx(15_000)
    assert found[Cause.FETCH] == pytest.approx(7_500, abs=20)
    assert len(spent._marks) < 5_000
