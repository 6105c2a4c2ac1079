"""A sandbox in the tests' own process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minercdc_sandbox.server import SandboxServer


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    with SandboxServer() as running:
        yield running
