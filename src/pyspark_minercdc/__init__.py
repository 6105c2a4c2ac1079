"""Spark imports packages named `pyspark_*` to find data sources: so `format("minercdc")` is known wherever minercdc is installed."""

from contextlib import suppress

with suppress(ImportError):  # without PySpark or PyArrow there is no data source, and no other one is disturbed
    from minercdc.lake.source.segments import MinercdcSource as DefaultSource

__all__ = ["DefaultSource"]
