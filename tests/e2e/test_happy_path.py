"""The scenario that tests/containers runs on a real Oracle, on the sandbox."""

from __future__ import annotations

from tests.e2e.happy_path import happy_path
from tests.e2e.lab import Lab


def test_snapshot_changes_restart(lab: Lab) -> None:
    happy_path(lab, 30)
