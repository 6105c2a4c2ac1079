"""How many cases of a kind a test plays: some by day, all of them by night (``MINERCDC_EXAMPLES=all``, as `tests/whole.py` has it)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P")


def every_case() -> bool:
    """Whether this run plays all cases, as by night."""
    return os.environ.get("MINERCDC_EXAMPLES") == "all"


def examples(whole: int) -> int:
    """Of `whole` random cases, how many this run plays: a quarter by day, at least one."""
    return whole if every_case() else max(1, whole // 4)


def every_nth(cases: Sequence[T], n: int) -> Sequence[T]:
    """Of cases that cost seconds each, those that this run plays: every `n`-th by day, from the first."""
    return cases if every_case() else cases[::n]


def every_other(cases: Sequence[T]) -> Sequence[T]:
    """As `every_nth` of 2."""
    return every_nth(cases, 2)


def one_of_each(cases: Sequence[T], places: Sequence[P], by_day: int = 1) -> Sequence[tuple[T, P]]:
    """Each case at each of some places, of those that this run plays: by day each case at `by_day` of them, which move on with the cases."""
    shifts = range(len(places) if every_case() else by_day)
    return [(case, places[(at + shift) % len(places)]) for shift in shifts for at, case in enumerate(cases)]
