"""How pure tests are run."""

from __future__ import annotations

import pytest
from tests.scripted import ScriptedCapture


@pytest.fixture(params=[0, 1, 3], ids=["events", "runs", "runs of several"])
def as_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test with changes one by one, in runs, and in runs of several transactions."""
    monkeypatch.setattr(ScriptedCapture, "runs", request.param)
