"""The happy path of tests/e2e on a real Oracle and an official Kafka image, where a Docker engine answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import oracledb
import pytest
from tests.containers.images import obtainable
from tests.e2e.happy_path import happy_path
from tests.e2e.lab import WITH_ROWS, made_lab

ROOT = Path(__file__).parents[2]
_START_SECONDS = 600
_ORACLE, _KAFKA = "gvenzl/oracle-free:23-slim-faststart", "confluentinc/cp-kafka:7.6.0"

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(1800)]


@dataclass(frozen=True, slots=True)
class OracleContainer:
    """A running Oracle Free with compose/oracle applied."""

    host: str
    port: int
    service: str = "FREEPDB1"
    root_service: str = "FREE"

    def connect(self, user: str = "system", password: str = "oracle", service: str | None = None) -> oracledb.Connection:
        return oracledb.connect(
            user=user, password=password, host=self.host, port=self.port, service_name=service or self.service
        )

    def create_user(self, name: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {name} IDENTIFIED BY {name} QUOTA UNLIMITED ON users")
            cursor.execute(f"GRANT CREATE SESSION, CREATE TABLE TO {name}")

    def await_ready(self) -> None:
        """Until the last init script has run: the shop's user can log on."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.connect("shop", "shop").close()
                self.connect("C##MINERCDC", "minercdc", self.root_service).close()
                return
            except oracledb.Error:
                if time.monotonic() > deadline:
                    raise
                time.sleep(2)  # a database that comes up takes minutes


def obtained(image: str) -> str:
    """The image's name; skips the test where no registry gives it."""
    if not obtainable(image):
        pytest.skip(f"no registry gives {image}")
    return image


@pytest.fixture(scope="module")
def oracle(engine: None) -> Iterator[OracleContainer]:
    from testcontainers.core.container import DockerContainer

    container = (
        DockerContainer(obtained(_ORACLE))
        .with_env("ORACLE_PASSWORD", "oracle")
        .with_volume_mapping(str(ROOT / "compose" / "oracle"), "/container-entrypoint-initdb.d", "ro")
        .with_exposed_ports(1521)
    )
    with container:
        running = OracleContainer(container.get_container_host_ip(), int(container.get_exposed_port(1521)))
        running.await_ready()
        yield running


@pytest.fixture(scope="module")
def kafka(engine: None) -> Iterator[str]:
    from testcontainers.kafka import KafkaContainer

    with (
        KafkaContainer(obtained(_KAFKA))
        .with_kraft()
        .with_env("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1") as container
    ):
        yield container.get_bootstrap_server()


def test_the_happy_path(oracle: OracleContainer, kafka: str, tmp_path: Path) -> None:
    happy_path(made_lab(oracle, kafka, tmp_path, WITH_ROWS), 180)
