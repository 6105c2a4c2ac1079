"""What several checkers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture(scope="module")
def two_threads() -> Iterator[SandboxProcess]:
    """A sandbox with two redo threads."""
    server = SandboxProcess()
    with server.connect() as admin:
        admin.cursor().execute("alter database add supplemental log data")
        admin.cursor().execute("alter database enable public thread 2")
    yield server
    assert server.stop() == (0, "")
