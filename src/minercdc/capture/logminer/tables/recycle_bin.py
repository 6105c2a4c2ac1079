"""Keeps the tables that were dropped, as they were, for those that FLASHBACK TABLE .. TO BEFORE DROP brings back.

A table comes back with its object id, rows and columns; its indexes and constraints keep the names of the recycle bin (SQL Language
Reference, FLASHBACK TABLE). What was dropped before the start is not known here.
"""

from __future__ import annotations

from dataclasses import replace

from minercdc.schema.table import TableId, TableSchema


class Recycled:
    """The dropped tables of one database."""

    def __init__(self) -> None:
        self._tables: dict[TableId, TableSchema] = {}  # by their names in the recycle bin, in the order of their DROP

    def put(self, table: TableSchema, recycled: str) -> None:
        """Keep a table that is dropped into the recycle bin; `recycled` is its name there."""
        self._tables[table.id._replace(table=recycled)] = table

    def take(self, name: TableId) -> TableSchema | None:
        """The table that this name means, by which it was dropped last, or which it had in the recycle bin: with the name from before
        and without those of its constraints. None for one that is not known."""
        names = [recycled for recycled, table in self._tables.items() if name in (recycled, table.id)]
        if not names:
            return None
        found = self._tables.pop(names[-1])
        keys = None if found.keys is None else tuple(key._replace(name="") if key.kind != "I" else key for key in found.keys)
        nulls = None if found.not_nulls is None else tuple(one._replace(name="") for one in found.not_nulls)
        return replace(found, keys=keys, not_nulls=nulls)
