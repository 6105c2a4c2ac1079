"""What a translation depends on besides the text, and the SQL text of constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from minercdc.sandbox.catalog import Catalog
from minercdc.sandbox.interfaces import View
from minercdc.sandbox.sql.nls import Nls


@dataclass(frozen=True, slots=True)
class Environment:
    """What a translation depends on, besides the text."""

    catalog: Catalog
    views: Mapping[str, View]
    container: int
    schema: str
    user: str
    nls: Nls


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def blob(cell: bytes) -> str:
    return f"x'{cell.hex()}'"
