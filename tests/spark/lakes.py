"""Lakes that read a connector's topics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.reading import FORMAT

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake import start
from minercdc.local.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lake_properties(broker: KafkaBroker, prefix: str, directory: Path) -> dict[str, str]:
    """What every lake is given here."""
    return {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": "x",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.lake.path": str(directory / "lake"),
        "minercdc.lake.trigger.interval.ms": "0",
        "minercdc.lake.format": FORMAT,
        "minercdc.lake.catalog.name": f"lake_{prefix}".replace("-", "_"),
    }


def lake_config(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties({**properties, "minercdc.keyless.table.key": "rowid", "skipped.operations": "none"})


def jobs_of(spark: SparkSession) -> int:
    """How many jobs Spark has begun since its start: of little data each takes seconds, and this process a tenth of one."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def synced(spark: SparkSession, config: ConnectorConfig) -> None:
    """Run the stream until it has read everything, then stop it: each call is a restart from the checkpoint."""
    lake = start(spark, config)
    try:
        lake.process_all_available()
    finally:
        lake.stop()
