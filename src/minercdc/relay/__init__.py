"""The relay: an SCN-indexed buffer of changes that many clients read over HTTP, as of Databus 2.0 (docs/relay.md)."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minercdc.relay.client.checkpoint import Checkpoint
    from minercdc.relay.client.consumer import Change, FileCheckpoints, RelayClient

__all__ = ["Change", "Checkpoint", "FileCheckpoints", "RelayClient"]

_HOMES = {"Change": "consumer", "Checkpoint": "checkpoint", "FileCheckpoints": "consumer", "RelayClient": "consumer"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.client.{_HOMES[name]}"), name)
