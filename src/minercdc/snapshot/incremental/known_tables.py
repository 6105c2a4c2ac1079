"""What ad hoc snapshots and resumptions know of the tables that the stream has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.stream.events import SchemaChange

NOT_CAPTURED = "the configuration does not capture it any more"


@dataclass(frozen=True, slots=True)
class KnownTables:
    """Shapes and names of tables, as the stream has them.

    :param shape: version of a table at the point the stream has come to.
    :param learn: reads the shape of a table that the stream has not had yet, and makes it known; None when there is no such
        table.
    :param names: how the state names tables.
    :param captured: whether a table is captured: one that was requested may be excluded since. Raises ConfigError when a pattern takes
        too long.
    """

    shape: Callable[[TableId], TableSchema | None]
    learn: Callable[[TableId], SchemaChange | None]
    names: TableNames
    captured: Callable[[TableId], bool] = lambda _: True
