"""On which days the clock of the database's host may have gone back."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from minercdc.capture.logminer.session import host_clock
from minercdc.capture.logminer.session.host_clock import clocks_go_back, margin_at
from minercdc.schema.ddl.changed_constraints import CLOCKS

ORDINARY = date(2025, 12, 10)


@pytest.mark.parametrize(
    ("day", "back"),
    [
        (date(2025, 10, 26), True),  # Europe, at one o'clock UTC
        (date(2025, 11, 2), True),  # North America
        (date(2025, 4, 6), True),  # Australia and New Zealand
        (date(2025, 3, 30), False),  # Europe's go forward
        (ORDINARY, False),
    ],
)
def test_zones_of_the_world_say_on_which_days_clocks_go_back(day: date, back: bool) -> None:
    assert clocks_go_back(day) is back
    margin = margin_at(datetime(day.year, day.month, day.day, 2, 30))
    assert margin > timedelta(hours=2) if back else margin == CLOCKS


def test_without_zones_any_clock_may_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks_go_back.cache_clear()
    monkeypatch.setattr(host_clock, "available_timezones", set)
    try:
        assert clocks_go_back(ORDINARY)
    finally:
        clocks_go_back.cache_clear()
