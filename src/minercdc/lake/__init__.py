"""The Spark side: the connector's records as streams, and the Delta tables that are kept from them.

from minercdc.lake import read_changes, session, start, tables
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minercdc.lake.read.message_types import MessageSchema, message_schema
    from minercdc.lake.read.reader import LakeTables, tables
    from minercdc.lake.source.segments import register
    from minercdc.lake.source.snapshot import snapshot
    from minercdc.lake.spark.session import session
    from minercdc.lake.stream.app import Lake, start
    from minercdc.lake.stream.topics import read_changes

__all__ = [
    "Lake",
    "LakeTables",
    "MessageSchema",
    "message_schema",
    "read_changes",
    "register",
    "session",
    "snapshot",
    "start",
    "tables",
]

# Imported when they are used: every Python process of Spark that reads a direct stream imports this package.
_HOMES = {
    "Lake": "stream.app",
    "LakeTables": "read.reader",
    "MessageSchema": "read.message_types",
    "message_schema": "read.message_types",
    "read_changes": "stream.topics",
    "register": "source.segments",
    "session": "spark.session",
    "snapshot": "source.snapshot",
    "start": "stream.app",
    "tables": "read.reader",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
