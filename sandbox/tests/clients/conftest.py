"""A sandbox of each profile with a schema APP, and a Java process with ojdbc, for one module's clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.clients.jdbc import Jvm
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.errors import LocalServiceError

PROFILES = ("19c", "23ai")


@pytest.fixture(scope="module", params=PROFILES)
def server(request: pytest.FixtureRequest) -> Iterator[SandboxProcess]:
    running = SandboxProcess([], "--profile", request.param)
    running.create_user("app")
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, ""), f"the sandbox ended with {code}: {errors}"


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    try:
        running = Jvm()
    except LocalServiceError as error:
        pytest.skip(f"ojdbc: {error}")
    yield running
    running.stop()
