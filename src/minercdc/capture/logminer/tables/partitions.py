"""Maps the object ids of partitions to tables over time, and finds candidates for rows of dropped objects.

    DATA_OBJ#   the partition that the row lies in (docs/reference/logminer-facts.md#b-10). While the partition is there, LogMiner prints
                the table's name; once DROP, SPLIT, MERGE .. have taken it away, `OBJ# n`

Ids become known when a structure is read, at each start, by DDL of partitions, and when a row has one that was not known, as after
INTERVAL has made a partition; the schema history keeps them. An id that came and went in between says nothing. Its row may be of

    a table whose partitions rows make           INTERVAL, AUTOMATIC; or its parent, where it is partitioned by reference (`parts_from`)
    a table whose list is younger than the row   its structure was read late, or its DDL made partitions that the dictionary does not have any
                                                 more when it is followed (`listed_at`)
    one that is not captured, and was dropped

The first two only if they had DDL since the row was written, or are gone: else the partition would be there. A table that was dropped into
the recycle bin keeps its partitions there, and LogMiner prints its new name, `BIN$..`: a row of an unknown id may be of one that is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from minercdc.capture.logminer.session.host_clock import margin_at
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.oracle.dictionary.dependent_tables import Child
from minercdc.oracle.dictionary.object_ids import Listing, StoredNow
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables


class DictionaryIds(Protocol):
    """The dictionary as it is now; `oracle.dictionary.object_ids.ObjectIds` fits. Methods raise its errors; tables are of one database."""

    def parts(self, tables: Iterable[TableSchema]) -> dict[TableId, frozenset[int]]:
        """Ids of the partitions that tables have now, without those that have none."""

    def listing(self, table: TableSchema) -> Listing | None:
        """The partitions that a table has now; None when it is gone."""

    def sources(self, tables: Iterable[TableSchema]) -> dict[TableId, str]:
        """What makes the partitions of tables now (`TableSchema.parts_from`); without those that are gone."""

    def children(self, table: TableId) -> tuple[Child, ...]:
        """The tables that refer to a table now, directly or by others."""

    def clustered(self, cluster: TableId) -> tuple[int, ...]:
        """Object ids of the tables that are in a cluster now; `cluster` has the name of that."""

    def altered(self, tables: Iterable[TableSchema], since: datetime) -> frozenset[TableId]:
        """Which tables had DDL since a time of the database's host, or are gone."""

    def present_name(self, table: TableSchema) -> TableId | None:
        """What a table is called now; None when it is gone."""

    def stored_now(self, tables: Iterable[TableSchema], scn: int) -> dict[TableId, StoredNow]:
        """The stored columns that tables have now, without those that are gone."""

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
        # Partitions of before are not in a list that is the first one.
        first = {table.id: table for table in some if table.id in found and table.listed_at is None}
        sources = self._ids.sources(first.values())
        now = self._ids.host_time(self._database) if first else None
        for before in some:
            after = with_parts(before, found.get(before.id))
            if before.id in first:
                after = replace(after, listed_at=now, parts_from=before.parts_from or sources.get(before.id, ""))
            if (after.parts, after.listed_at) != (before.parts, before.listed_at):
                self._tables.put(after)
                yield before, after

    def after_ddl(self, table: TableSchema, made: tuple[str, ...] | None, at: datetime) -> TableSchema:
        """A table after DDL on its partitions: with the ids that it has now beside those that were known. Where the dictionary does not
        have all partitions that the DDL made, some of them may be gone: the list is one of now. Not put into `Tables`.

        :param made: names of the partitions that the DDL made; None where they are not known.
        :param at: when, by the time of the database's host.
        """
        table = with_parts(table, frozenset())
        if self._ids is None or not table.object_id:
            return table
        listing = self._ids.listing(table)
        if listing is None:
            return replace(table, listed_at=self._ids.host_time(self._database))
        table = replace(with_parts(table, listing.ids), parts_from=table.parts_from or listing.source)
        # One that was made later under the same name is another one.
        is_whole = made is not None and all(name in listing.created and listing.created[name][1] <= at for name in made)
        return table if is_whole and table.listed_at is not None else replace(table, listed_at=listing.taken_at)

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
        """The captured tables that a row of an unknown object may be of; () for a row with a table's name, or with a known object id.

        A partition has a higher id than its table. The DDL that took it away came after the row, and before now.
        """
        number = row.object_id
        if self._ids is None or not self.is_unknown(row):
            return ()
        since = row.timestamp - margin_at(row.timestamp)
        candidates = [table for table in self._partitioned() if table.object_id < number and _may_lack(table, since)]
        asked = frozenset(table.object_id for table in candidates)
        before, found = self._possible.get(number, (frozenset(), frozenset()))
        if not found and asked != before:
            if is_recycled(row):
                altered = frozenset(table.id for table in candidates if self._ids.present_name(table) is None)
            else:
                altered = self._ids.altered(candidates, since)
            found = frozenset(table.object_id for table in candidates if table.id in altered)
            self._possible[number] = asked, found
        names = (self._tables.find_object(self._database, object_id) for object_id in sorted(found))
        return tuple(name for name in names if name is not None)

    def is_unknown(self, row: LogMinerRow) -> bool:
        """Whether a row has no table's name, and an object id of which nothing is known."""
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


def _may_lack(table: TableSchema, at: datetime) -> bool:
    """Whether the ids of a table may lack that of a partition that had rows at a time."""
    return table.parts_from in ("", "ROWS", "PARENT") or table.listed_at is None or at <= table.listed_at


def with_parts(table: TableSchema, ids: frozenset[int] | None) -> TableSchema:
    """The table with further ids of partitions; None adds nothing."""
    if ids is None or (table.parts is not None and ids <= table.parts):
        return table
    return replace(table, parts=(table.parts or frozenset()) | ids)


def is_of_temporary_table(row: LogMinerRow) -> bool:
    """Whether LogMiner shows a row of a temporary table, which has no redo of its rows (docs/reference/logminer-facts.md#b-9)."""
    return (row.sql or "").startswith("/* No SQL_REDO for temporary tables")


def is_unnamed(row: LogMinerRow) -> bool:
    """Whether LogMiner's dictionary does not have the row's object (any more), or has it in the recycle bin."""
    return row.table is None or row.table.startswith("OBJ# ") or is_recycled(row)


def is_recycled(row: LogMinerRow) -> bool:
    """Whether the row's table is in the recycle bin by now."""
    return row.table is not None and row.table.startswith("BIN$")
