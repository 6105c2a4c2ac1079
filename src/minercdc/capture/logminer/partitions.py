"""Knows which object ids are those of a table's partitions, over time, and what a row may be of whose object is gone.

    DATA_OBJ#   the partition that the row lies in (docs/reference/logminer-facts.md#b-10). While the partition is there, LogMiner prints
                the table's name; once DROP, SPLIT, MERGE .. have taken it away, `OBJ# n`

Ids become known when a structure is read, at each start, by DDL of partitions, and when a row has one that was not known, as after
INTERVAL has made a partition; the schema history keeps them. An id that came and went in between says nothing: the row may be of a
captured table with partitions that had DDL since the row was written, or of a table that is not captured and was dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from minercdc.capture.logminer.row import LogMinerRow
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables

# LAST_DDL_TIME and the TIMESTAMP of redo are the host's local time, of several hosts with RAC.
_MARGIN: Final = timedelta(seconds=3)
# At night the host's clock may have gone back an hour.
_MARGIN_AT_NIGHT: Final = timedelta(minutes=70)
_MORNING: Final = 5


class DictionaryIds(Protocol):
    """The dictionary as it is now; `oracle.object_ids.ObjectIds` fits. Methods raise its errors; tables are of one database."""

    def parts(self, tables: Iterable[TableSchema]) -> dict[TableId, frozenset[int]]:
        """Ids of the partitions that tables have now, without those that have none."""

    def altered(self, tables: Iterable[TableSchema], since: datetime) -> frozenset[TableId]:
        """Which tables had DDL since a time of the database's host, or are gone."""

    def present_name(self, table: TableSchema) -> TableId | None:
        """What a table is called now; None when it is gone."""

    def columns_since(self, table: TableId, since: datetime) -> tuple[str, ...]:
        """Names of the columns that `SELECT *` has of a table or view; () when it is gone, or had DDL after that time."""

    def host_time(self, database: str) -> datetime:
        """The time of the database's host, in whole seconds."""

    def is_temporary(self, table: TableId) -> bool:
        """Whether there is a temporary table of this name."""


class Partitions:
    """Keeps `parts` of the tables of one database; its methods raise what `ids` raises.

    :param ids: None: nothing is asked, as where redo always has the table's own name.
    """

    def __init__(self, tables: Tables, database: str, ids: DictionaryIds | None) -> None:
        self._tables, self._database, self._ids = tables, database, ids
        self._asked: set[tuple[TableId, int]] = set()
        self._others: set[int] = set()  # of objects that are not captured
        # By the id of an unknown object: the tables that were looked at, and those that it may be of.
        self._possible: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        self._candidates: tuple[int, tuple[TableSchema, ...]] = (-1, ())

    def refreshed(self, known: Iterable[TableSchema]) -> Iterator[tuple[TableSchema, TableSchema]]:
        """Tables before and after ids were added that they have now, of those that have such; `Tables` has them then."""
        some = [table for table in known if table.object_id and table.id.database == self._database]
        if self._ids is None or not some:
            return
        found = self._ids.parts(some)
        for before in some:
            after = with_parts(before, found.get(before.id))
            if after.parts != before.parts:
                self._tables.put(after)
                yield before, after

    def present(self, table: TableSchema) -> TableSchema:
        """The table with the ids of its partitions now, beside those that were known; not put into `Tables`."""
        return with_parts(table, self._ids.parts([table]).get(table.id)) if self._ids and table.object_id else table

    def met(self, table: TableId, object_id: int) -> Iterator[tuple[TableSchema, TableSchema]]:
        """As `refreshed`, when a row of the table has an object id: nothing for one that is known, or was looked up before. The
        rows of a cluster, which is no partition, have an id of several tables: it is never taken."""
        known = self._tables.find(table)
        if known is None or not object_id or object_id == known.object_id or object_id in (known.parts or ()):
            return
        if (table, object_id) not in self._asked:
            self._asked.add((table, object_id))
            yield from self.refreshed([known])

    def note_other(self, object_id: int) -> None:
        """Note that an object is not captured: rows that carry its id once it is gone are left out."""
        if object_id:
            self._others.add(object_id)

    def possible(self, row: LogMinerRow) -> tuple[TableId, ...]:
        """The captured tables that a row of an unknown object may be of; () for a row with a name, or with a known object id.

        A partition has a higher id than its table. The DDL that took it away came after the row, and before now.
        """
        number = row.object_id
        if self._ids is None or not self.is_unknown(row):
            return ()
        candidates = [table for table in self._partitioned() if table.object_id < number]
        asked = frozenset(table.object_id for table in candidates)
        before, found = self._possible.get(number, (frozenset(), frozenset()))
        if not found and asked != before:
            margin = _MARGIN_AT_NIGHT if row.timestamp.hour < _MORNING else _MARGIN
            altered = self._ids.altered(candidates, row.timestamp - margin)
            found = frozenset(table.object_id for table in candidates if table.id in altered)
            self._possible[number] = asked, found
        names = (self._tables.find_object(self._database, object_id) for object_id in sorted(found))
        return tuple(name for name in names if name is not None)

    def is_unknown(self, row: LogMinerRow) -> bool:
        """Whether a row has no name, and an object id of which nothing is known."""
        number = row.object_id
        if not number or not is_unnamed(row) or number in self._others:
            return False
        return self._tables.find_object(self._database, number) is None

    def _partitioned(self) -> tuple[TableSchema, ...]:
        generation, found = self._candidates
        if generation != self._tables.generation:
            found = tuple(
                table
                for table in self._tables
                if table.parts is not None and table.object_id and table.id.database == self._database
            )
            self._candidates = self._tables.generation, found
        return found


def with_parts(table: TableSchema, ids: frozenset[int] | None) -> TableSchema:
    """The table with further ids of partitions; None adds nothing."""
    if ids is None or (table.parts is not None and ids <= table.parts):
        return table
    return replace(table, parts=(table.parts or frozenset()) | ids)


def is_of_temporary_table(row: LogMinerRow) -> bool:
    """Whether LogMiner shows a row of a temporary table, which has no redo of its rows (docs/reference/logminer-facts.md#b-9)."""
    return (row.sql or "").startswith("/* No SQL_REDO for temporary tables")


def is_unnamed(row: LogMinerRow) -> bool:
    """Whether LogMiner's dictionary does not have the row's object (any more)."""
    return row.table is None or row.table.startswith("OBJ# ")
