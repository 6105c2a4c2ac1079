"""Decides what a snapshot reads of a table: all of it, or what a callable of the user's selects (`snapshot.query.mode`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc.config.plugin import load_callable
from minercdc.config.sections import SnapshotConfig
from minercdc.errors import ConfigError
from minercdc.schema.select_text import without_end
from minercdc.schema.table import TableSchema

Query: TypeAlias = Callable[[TableSchema], str | None]
"""The SELECT that a table is read by; None for the whole table. Raises ConfigError when the user's callable gives something
else."""


def query_of(config: SnapshotConfig) -> Query | None:
    """A Query that calls the user's callable with `SCHEMA.TABLE` and a list of the columns' names, and takes what may not stand in
    parentheses off the end of its SELECT; an empty SELECT counts as None. None where no callable is configured.

    :raises ConfigError: `snapshot.query.mode.custom.name` names nothing that can be called.
    """
    if config.snapshot_query_mode != "custom":
        return None
    name = config.snapshot_query_mode_custom_name or ""
    called = load_callable(name, "snapshot.query.mode.custom.name", "table", "columns")

    def query(table: TableSchema) -> str | None:
        select = called(str(table.id), [column.name for column in table.columns])
        if select is not None and not isinstance(select, str):
            raise ConfigError([f"snapshot.query.mode.custom.name: {name} returned {select!r}, neither a SELECT nor None"])
        found = without_end(select).strip() if select else ""
        if select and not found:
            raise ConfigError([f"snapshot.query.mode.custom.name: {name} returned {select!r}, in which there is no SELECT"])
        return found or None

    return query
