"""A connector's writing half and a lake, for the tests of the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import FORMAT

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake import start
from minercdc.lake.stream.driver_scans import DriverScans
from minercdc.local.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, tmp_path: Path) -> dict[str, str]:
    """What every lake is given here."""
    return {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": "x",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.lake.path": str(tmp_path / "lake"),
        "minercdc.lake.trigger.interval.ms": "0",
        "minercdc.lake.format": FORMAT,
        "minercdc.lake.catalog.name": f"lake_{prefix}".replace("-", "_"),
    }


@pytest.fixture
def config(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties({**properties, "minercdc.keyless.table.key": "rowid", "skipped.operations": "none"})


@pytest.fixture
def connector(config: ConnectorConfig) -> Iterator[Connector]:
    connector = Connector(config)
    yield connector
    connector.sink.close()


@pytest.fixture
def read_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """No micro-batch is read by the driver's process, as where the records are not certain to be the connector's JSON."""
    monkeypatch.setattr(DriverScans, "read", lambda *_: None)


@pytest.fixture
def sync(spark: SparkSession, config: ConnectorConfig) -> Callable[[], None]:
    """Runs the stream until it has read everything, then stops it: each call is a restart from the checkpoint."""

    def run() -> None:
        lake = start(spark, config)
        try:
            lake.process_all_available()
        finally:
            lake.stop()

    return run
