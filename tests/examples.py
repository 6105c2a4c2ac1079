"""How many random cases a pure test plays: a quarter by day, all of them by night (``MINERCDC_EXAMPLES=all``, as `tests/whole.py` has it)."""

from __future__ import annotations

import os


def examples(whole: int) -> int:
    """Of `whole` cases, those that this run plays: at least one."""
    return whole if os.environ.get("MINERCDC_EXAMPLES") == "all" else max(1, whole // 4)
