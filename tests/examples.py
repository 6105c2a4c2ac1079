"""How many cases of a kind a test plays: some by day, all of them by night (``MINERCDC_EXAMPLES=all``, as `tests/whole.py` has it)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def _all() -> bool:
    return os.environ.get("MINERCDC_EXAMPLES") == "all"


def examples(whole: int) -> int:
    """Of `whole` random cases, how many this run plays: a quarter by day, at least one."""
    return whole if _all() else max(1, whole // 4)


def every_other(cases: Sequence[T]) -> Sequence[T]:
    """Of cases that cost seconds each, those that this run plays: every other one by day, from the first."""
    return cases if _all() else cases[::2]
