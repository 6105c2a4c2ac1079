"""A connector's writing half and a lake, for the tests of the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.lakes import lake_config, lake_properties, synced

from minercdc.config.load import ConnectorConfig
from minercdc.lake.merge import scheduler
from minercdc.lake.stream.driver_scans import DriverScans
from minercdc.local.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, tmp_path: Path) -> dict[str, str]:
    return lake_properties(broker, prefix, tmp_path)


@pytest.fixture
def config(properties: dict[str, str]) -> ConnectorConfig:
    return lake_config(properties)


@pytest.fixture
def connector(config: ConnectorConfig) -> Iterator[Connector]:
    connector = Connector(config)
    yield connector
    connector.sink.close()


@pytest.fixture
def read_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """No micro-batch is read by the driver's process, as where the records are not certain to be the connector's JSON; and none is read
    from the change log by it, as where they are many."""
    monkeypatch.setattr(DriverScans, "read", lambda *_: None)
    monkeypatch.setattr(scheduler, "keep_pending", lambda *_: None)


@pytest.fixture
def sync(spark: SparkSession, config: ConnectorConfig) -> Callable[[], None]:
    """As `synced`."""
    return lambda: synced(spark, config)
