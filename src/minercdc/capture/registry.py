"""Which adapter `database.connection.adapter` names."""

from __future__ import annotations

from collections.abc import Mapping

from minercdc.capture.adapter import AdapterFactory
from minercdc.capture.logminer.adapter import LogMinerFactory
from minercdc.errors import ConfigError
from minercdc.offset import Offset

ADAPTERS: Mapping[str, AdapterFactory] = {
    "logminer": LogMinerFactory(committed=False),
    "logminer_unbuffered": LogMinerFactory(committed=True),
}


def adapter_factory(name: str) -> AdapterFactory:
    """:raises ConfigError: there is no adapter of this name."""
    if name not in ADAPTERS:
        raise ConfigError([f"database.connection.adapter: '{name}' is unknown; known are {', '.join(ADAPTERS)}"])
    return ADAPTERS[name]


def is_foreign(offset: Offset, name: str) -> bool:
    """Whether an offset holds the position of another family than that of the adapter `name`."""
    if offset.position is None and offset.snapshot is None:
        return False
    return _family(offset.adapter) != _family(name)


def _family(name: str) -> str:
    return ADAPTERS[name].family if name in ADAPTERS else name
