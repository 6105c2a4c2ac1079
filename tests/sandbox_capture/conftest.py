"""Fixtures of several files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import Pdbs, two_pdbs


@pytest.fixture
def pdbs(fresh_sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Pdbs]:
    with two_pdbs(fresh_sandbox, tmp_path) as made:
        yield made
