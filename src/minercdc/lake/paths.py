"""Where the lake's tables and its own records are."""

from __future__ import annotations

from pathlib import Path

from minercdc.config.load import ConnectorConfig
from minercdc.schema.table import TableId


class LakePaths:
    """Paths of one lake: absolute ones, or URLs as they are configured.

    :ivar root: the directory of the tables.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        path = config.lake.minercdc_lake_path
        self.root = path if "://" in path else str(Path(path).absolute())
        self.checkpoint = config.lake.minercdc_lake_checkpoint or f"{self.root}/_checkpoint"
        self.changes = f"{self.root}/_changes"
        self.state = f"{self.root}/_state"

    def table(self, table: TableId) -> str:
        return f"{self.root}/{table.schema}/{table.table}"
