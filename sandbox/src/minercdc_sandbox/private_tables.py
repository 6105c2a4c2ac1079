"""A session's own rows of global temporary tables: a segment for each table, made at its first use by the session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.tables import Table


class PrivateTables:
    """The session's copies of temporary tables, by OBJECT_ID and version of the definition: tables of their own segments, which
    no other session reads. Iteration gives those made so far, from a copy. `forget` with `session_ends` drops them all."""

    def __init__(self, catalog: Catalog, storage: Storage) -> None:
        self._catalog, self._storage = catalog, storage
        self._own: dict[tuple[int, int], Table] = {}

    def __iter__(self) -> Iterator[Table]:
        return iter(tuple(self._own.values()))

    def of(self, table: Table) -> Table:
        """The session's own copy of a global temporary table, made with an empty segment at first use and after `forget`; takes
        the storage lock."""
        key = (table.object_id, table.version)
        if key not in self._own:
            with self._storage.lock:
                own = replace(table, data_object_id=self._catalog.new_object_id(), next_rid=0)
                self._storage.segments.create(own)
                self._own[key] = own
        return self._own[key]

    def forget(self, *, session_ends: bool) -> bool:
        """Drop the copies of ON COMMIT DELETE ROWS tables with their rows, of all when the session ends; returns whether there
        were any. Call under the storage lock, once the transaction has ended; plans on the copies are the caller's to drop."""
        gone = [key for key, table in self._own.items() if session_ends or table.temporary == "TRANSACTION"]
        for key in gone:
            self._storage.drop_segment(self._own.pop(key))
        return bool(gone)
