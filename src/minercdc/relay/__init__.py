"""The relay: an SCN-indexed buffer of changes that many clients read over HTTP, as of Databus 2.0 (docs/relay.md)."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minercdc.config.load import load_relay_config as load_config
    from minercdc.relay.client.bootstrap import SnapshotBootstrap
    from minercdc.relay.client.checkpoint import Checkpoint
    from minercdc.relay.client.consumer import Change, ClientOptions, FileCheckpoints, RelayClient

__all__ = ["Change", "Checkpoint", "ClientOptions", "FileCheckpoints", "RelayClient", "SnapshotBootstrap", "load_config"]

_HOMES = {
    "Change": ("relay.client.consumer", "Change"),
    "Checkpoint": ("relay.client.checkpoint", "Checkpoint"),
    "ClientOptions": ("relay.client.consumer", "ClientOptions"),
    "FileCheckpoints": ("relay.client.consumer", "FileCheckpoints"),
    "RelayClient": ("relay.client.consumer", "RelayClient"),
    "SnapshotBootstrap": ("relay.client.bootstrap", "SnapshotBootstrap"),
    "load_config": ("config.load", "load_relay_config"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"minercdc.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
