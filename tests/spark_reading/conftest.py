"""The fixtures of the lake's tests, for sessions that read topics and have no lake."""

from tests.spark.conftest import config, connector, properties

__all__ = ["config", "connector", "properties"]
