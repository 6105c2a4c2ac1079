"""Fixtures of several files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import Pdbs, two_pdbs

from minercdc.capture.logminer.session import host_clock


@pytest.fixture(params=[False, True], ids=["uncommitted", "committed"])
def committed(request: pytest.FixtureRequest) -> bool:
    """How LogMiner is read: what takes it holds for both ways, unless it says otherwise."""
    return bool(request.param)


@pytest.fixture
def pdbs(fresh_sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Pdbs]:
    with two_pdbs(fresh_sandbox, tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def no_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The day of the tests is like any other, also where it is the day on which clocks go back."""
    monkeypatch.setattr(host_clock, "available_timezones", lambda: {"UTC"})
    host_clock.clocks_go_back.cache_clear()
    yield
    host_clock.clocks_go_back.cache_clear()
