"""How Delta reads a table's log, in every Spark session that the lake works in."""

from __future__ import annotations

from typing import Final

SNAPSHOT_PARTITIONS: Final = "spark.databricks.delta.snapshotPartitions"
"""The setting of in how many tasks it is read, before and after each commit."""
FEW_PARTITIONS: Final = "2"
"""Delta makes 50, most of them empty for a small table: they take longer than everything else of a small merge."""
