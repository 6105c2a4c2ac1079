"""The fixtures of the lake's tests, for those of Iceberg alone."""

from tests.spark.conftest import config, connector, properties, sync

__all__ = ["config", "connector", "properties", "sync"]
