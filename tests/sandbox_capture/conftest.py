"""Fixtures of several files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import Pdbs


@pytest.fixture
def pdbs(fresh_sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Pdbs]:
    made = Pdbs(fresh_sandbox, tmp_path)
    yield made
    for session in made.sessions.values():
        with suppress(oracledb.Error):  # its database may be closed
            session.close()
