"""The formats of lake tables, by their names in `minercdc.lake.format`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minercdc.config.load import ConnectorConfig
from minercdc.lake.table.delta import Delta
from minercdc.lake.table.format import TableFormat
from minercdc.lake.table.iceberg.tables import Iceberg

_FORMATS: Mapping[str, Callable[[ConnectorConfig], TableFormat]] = {"delta": Delta, "iceberg": Iceberg}


def format_of(config: ConnectorConfig) -> TableFormat:
    """The format that a configuration names, for its lake."""
    return _FORMATS[config.lake.minercdc_lake_format](config)
