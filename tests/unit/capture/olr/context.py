"""What `olr` works with, without a database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from minercdc.capture.olr.shapes import Shapes
from minercdc.config.source.olr import OlrConfig
from minercdc.schema.table import TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables

DEFAULTS: dict[str, Any] = {}


def shapes_of(*known: TableSchema, present: TableSchema | None = None, ids: Any = None, ahead: Any = None) -> Shapes:
    """Shapes of the pluggable database PDB, in which every schema is captured.

    :param present: the one table that the dictionary has.
    :param ids: the dictionary's object ids.
    :param ahead: by how much the host's time is ahead of UTC.
    """
    context: Any = SimpleNamespace(
        tables=Tables(known),
        mined=TableFilter(),
        database="PDB",
        read_table=lambda name: present if present is not None and present.id == name else None,
        unlogged=lambda _: "",
        object_ids=ids,
        config=SimpleNamespace(olr=OlrConfig(**DEFAULTS), capture=SimpleNamespace(lob_enabled=False)),
    )
    return Shapes(context, lambda: ahead)
