"""Decides what a snapshot reads of a table: all of it, or what a SELECT of the user's returns (`snapshot.select.statement.overrides`,
`snapshot.query.mode`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from minercdc.config.plugin import load_callable
from minercdc.config.sections import SnapshotConfig
from minercdc.config.source.selects import select_of
from minercdc.errors import ConfigError
from minercdc.schema.select_text import without_end
from minercdc.schema.table import TableId, TableSchema

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


def own_select(
    selects: Mapping[str, str],
    query: Query | None,
    table: TableId,
    tables: Iterable[TableId],
    shape: Callable[[], TableSchema | None],
) -> str | None:
    """The SELECT of the user's that a table is read by; None when all of it is read. Raises as `query` and `shape`.

    :param selects: `snapshot.select.statement.overrides`, which go before `query`.
    :param tables: all that a name in `selects` may mean.
    :param shape: of the table, asked for where `query` decides; None where it has none, which is read as a whole.
    """
    given = select_of(selects, table, tables)
    if given is not None or query is None:
        return given
    found = shape()
    return None if found is None else query(found)
