"""minercdc: change data capture from Oracle into Kafka and lake tables.

    load_config(Path("orders.yaml")) -> configuration    every problem at once, as `errors.ConfigError`
    Connector(config)                                    runs in this process; signals it, shows what it does
    hand_over(config)                                    the connector goes on from a snapshot that Spark takes
    lake, relay                                          Delta tables and streams for Spark; clients of a relay
    Conversion, TableId, SnapshotStart, SnapshotSteps    for functions that a configuration names
    errors                                               what is raised; the type says what to do

Names that are not listed here, in `minercdc.errors`, `minercdc.extension`, `minercdc.lake` or `minercdc.relay` may change with any release
(CONTRIBUTING.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from minercdc import errors, lake, relay
    from minercdc.config.load import load_config
    from minercdc.operate.offsets.handover import hand_over
    from minercdc.pipeline.connector import Connector
    from minercdc.schema.table import TableId
    from minercdc.snapshot.initial.mode import Start as SnapshotStart
    from minercdc.snapshot.initial.mode import Steps as SnapshotSteps
    from minercdc.values.conversion import Conversion

__all__ = [
    "Connector",
    "Conversion",
    "SnapshotStart",
    "SnapshotSteps",
    "TableId",
    "__version__",
    "errors",
    "hand_over",
    "lake",
    "load_config",
    "relay",
]

# Imported when they are used: each command, and each Python process of Spark, imports this package and needs little of it.
_HOMES = {
    "Connector": ("pipeline.connector", "Connector"),
    "Conversion": ("values.conversion", "Conversion"),
    "SnapshotStart": ("snapshot.initial.mode", "Start"),
    "SnapshotSteps": ("snapshot.initial.mode", "Steps"),
    "TableId": ("schema.table", "TableId"),
    "hand_over": ("operate.offsets.handover", "hand_over"),
    "load_config": ("config.load", "load_config"),
}


def __getattr__(name: str) -> object:
    if name in ("errors", "lake", "relay"):
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
