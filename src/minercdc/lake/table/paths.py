"""The paths of the lake's tables and of its own records."""

from __future__ import annotations

import re
from pathlib import Path

from minercdc.config.load import ConnectorConfig
from minercdc.schema.table import TableId

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # `file:/x` and `s3a://bucket/x`


def _located(path: str) -> str:
    return path if _URI.match(path) else str(Path(path).absolute())


class LakePaths:
    """Paths of one lake: absolute ones, or URIs of any Hadoop file system as they are configured.

    :ivar root: the directory of the tables.
    :ivar checkpoint: of the stream into the change log.
    :ivar changes, state: Delta tables of the change log and of the lake's record.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        path = config.lake.minercdc_lake_path
        self.root = _located(path).rstrip("/")
        self.checkpoint = _located(config.lake.minercdc_lake_checkpoint or f"{self.root}/_checkpoint")
        self.changes = f"{self.root}/_changes"
        self.state = f"{self.root}/_state"
        self._has_several = config.database.has_several_pdbs

    def table(self, table: TableId) -> str:
        """The directory of a table: `SCHEMA/TABLE`, with several pluggable databases `PDB/SCHEMA/TABLE`."""
        within = f"{table.schema}/{table.table}"
        return f"{self.root}/{table.database}/{within}" if self._has_several else f"{self.root}/{within}"
