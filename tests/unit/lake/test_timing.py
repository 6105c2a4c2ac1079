"""When the running lake asks for marks, and when it merges a table again."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from minercdc.lake.merge.scheduler import has_rested
from minercdc.lake.stream.marks import until_mark


@pytest.mark.parametrize("interval", [0.6, 2.0, 7.0])
def test_a_mark_is_asked_for_once_shortly_before_each_trigger(interval: float) -> None:
    now = asked = 1_796_000_000.3
    moments: list[float] = []
    while len(moments) < 5:
        left = until_mark(asked, now, interval)
        assert left <= interval
        if left <= 0:
            asked = now
            moments.append(now)
        now += max(left, 0.01)
    triggers = [moment // interval * interval + interval for moment in moments]
    assert [round(after - before, 3) for before, after in pairwise(triggers)] == [interval] * 4
    assert all(0 < trigger - moment <= 0.16 for trigger, moment in zip(triggers, moments, strict=True))


def test_of_rare_triggers_a_mark_is_asked_for_in_between_too() -> None:
    assert until_mark(asked=60.5, now=61.0, interval=60.0) == pytest.approx(9.5)
    assert until_mark(asked=115.0, now=116.0, interval=60.0) == pytest.approx(3.85)


def test_after_a_micro_batch_the_next_mark_is_that_before_the_next_trigger() -> None:
    assert until_mark(asked=100.4, now=100.4, interval=2.0) == pytest.approx(1.45)
    assert until_mark(asked=101.9, now=101.95, interval=2.0) == pytest.approx(1.9)


def test_with_no_interval_a_mark_is_asked_for_twice_a_second() -> None:
    assert until_mark(asked=100.0, now=100.1, interval=0.0) == pytest.approx(0.4)


def test_a_clock_that_is_set_back_delays_no_mark() -> None:
    for interval in (0.0, 2.0, 60.0):
        assert until_mark(asked=100_000.0, now=random.Random(1).uniform(0, 90_000), interval=interval) <= 0


def test_a_table_rests_between_two_merges_and_not_before_the_first() -> None:
    assert has_rested(None, interval=3600.0, took=100.0)
    assert not has_rested(1.0, interval=2.0, took=0.1)
    assert has_rested(1.9, interval=2.0, took=0.1)  # a micro-batch came a little early
    assert not has_rested(1.9, interval=2.0, took=2.0)
    assert has_rested(4.0, interval=2.0, took=2.0)
    assert has_rested(0.0, interval=0.0, took=0.0)
