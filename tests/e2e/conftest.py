"""One database and one broker for all tests here; every test has its own schema, connector name and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import WITH_ROWS, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def database() -> Iterator[SandboxProcess]:
    running = SandboxProcess()
    try:
        with running.connect(service=running.root_service) as connection:
            connection.cursor().execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
        yield running
    finally:
        running.stop()


@pytest.fixture
def own_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are started as users start them, imports included."""
    monkeypatch.setattr(MinerCdc, "forks", False)


@pytest.fixture
def make_lab(database: SandboxProcess, tmp_path: Path) -> Callable[..., Lab]:
    """Labs in the shared database.

    The returned function takes the brokers' address and, optionally, the statements that make the schema and another database.
    """

    def make(brokers: str, statements: Sequence[str] | None = None, server: SandboxProcess | None = None) -> Lab:
        return made_lab(server or database, brokers, tmp_path, statements or WITH_ROWS)

    return make


@pytest.fixture
def lab(make_lab: Callable[..., Lab], broker: KafkaBroker) -> Lab:
    return make_lab(broker.bootstrap_servers)
