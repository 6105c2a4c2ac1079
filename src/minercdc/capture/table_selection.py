"""Selects the captured tables of a configuration, and their names in reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minercdc.capture.registry import adapter_factory
from minercdc.config.load import ConnectorConfig
from minercdc.oracle.connect import database_names
from minercdc.schema.table import TableId, TableNames
from minercdc.schema.table_filter import TableFilter


def table_filter(config: ConnectorConfig, database: str = "") -> TableFilter:
    """Filter of the captured tables: include and exclude lists, without tables that the adapter itself writes to. Raises ConfigError
    for an adapter that there is not.

    :param database: which of several pluggable databases the tables are in; patterns may name it then. Without effect with one.
    """
    lists = config.filters
    return TableFilter(
        lists.schema_include_list,
        lists.schema_exclude_list,
        lists.table_include_list,
        lists.table_exclude_list,
        never=adapter_factory(config.database.database_connection_adapter).own_tables(config),
        database=database if config.database.has_several_pdbs else "",
    )


def table_filters(config: ConnectorConfig) -> dict[str, TableFilter]:
    """`table_filter` of each database whose tables are captured, by its name and in the order of
    `oracle.connect.database_names`. Raises as `table_filter`."""
    return {name: table_filter(config, name) for name in database_names(config.database)}


def table_names(config: ConnectorConfig) -> TableNames:
    """How stored state, the lake and reports name the captured tables."""
    return TableNames.among(database_names(config.database))


def captured_by(filters: Mapping[str, TableFilter]) -> Callable[[TableId], bool]:
    """A function that returns whether a table is captured. It raises as `TableFilter.includes`.

    :param filters: those of `table_filters`. The only one decides about the tables of every database.
    """
    only = TableNames.among(filters).database

    def captured(table: TableId) -> bool:
        found = filters.get(only or table.database)
        return found is not None and found.includes(table.schema, table.table)

    return captured
