"""How pure tests are run."""

from __future__ import annotations

import pytest
from tests.scripted import ScriptedCapture


@pytest.fixture(autouse=True)
def no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test's messages have the configuration's file of a command that another test ran in this process."""
    monkeypatch.setattr("minercdc.cli.pasting._given", [])


@pytest.fixture(params=[0, 1, 3], ids=["events", "runs", "runs of several"])
def as_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test with changes one by one, in runs, and in runs of several transactions."""
    monkeypatch.setattr(ScriptedCapture, "runs", request.param)
