"""Finds the captured tables from which DDL removes rows, or to which it adds rows, besides its own table. Redo names none of them:

EXCHANGE PARTITION .. WITH TABLE x      x got the rows of the partition, which got those of x
EXCHANGE .. CASCADE                     so did the tables that refer to the two
TRUNCATE CLUSTER                        the tables in it are empty
TRUNCATE TABLE .. CASCADE               tables that refer to it ON DELETE CASCADE are empty, too
DROP, SPLIT .. PARTITION                of tables that are partitioned by reference to it the same partitions, TRUNCATE with CASCADE
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from minercdc.capture.logminer.session.host_clock import margin_at
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.tables.partitions import DictionaryIds
from minercdc.capture.logminer.tables.session_schema import current_schemas
from minercdc.oracle.dictionary.dependent_tables import Child
from minercdc.schema.ddl.statements import AlterTable, TableName, TruncateTable
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables

_log = logging.getLogger(__name__)


class Concerned(NamedTuple):
    """A table whose rows went or came by DDL on another one.

    :param emptied: it has certainly no rows any more; else some may have gone, or come.
    """

    table: TableSchema
    emptied: bool = False


class Losses:
    """Finds the tables that DDL takes rows from without redo of them; raises what `ids` raises.

    :param ids: None: what the text does not say is logged as not known.
    """

    def __init__(self, tables: Tables, database: str, ids: DictionaryIds | None, name_of: Callable[[TableId], str]) -> None:
        self._tables, self._database, self._ids, self._name_of = tables, database, ids, name_of

    def of_truncate(self, statement: TruncateTable, table: TableId, row: LogMinerRow) -> Iterator[Concerned]:
        """The known tables that TRUNCATE TABLE .. CASCADE of a table empties, or may have emptied."""
        if not statement.cascades:
            return
        for child, known in self._children(table):
            if child.changed is None or child.changed >= row.timestamp - margin_at(row.timestamp):
                yield Concerned(known)  # what its foreign key was then is not known
            elif child.cascades:
                yield Concerned(known, emptied=True)

    def of_cluster(self, cluster: TableId) -> Iterator[Concerned]:
        """The known tables that TRUNCATE CLUSTER empties; a table stays in its cluster until it is dropped."""
        if self._ids is None:
            _log.warning("TRUNCATE of cluster %s: without a dictionary, the emptied tables are unknown", cluster)
            return
        for object_id in self._ids.clustered(cluster):
            name = self._tables.find_object(self._database, object_id)
            if name is not None and (known := self._tables.find(name)) is not None:
                yield Concerned(known, emptied=True)

    def of_alter(self, statement: AlterTable, table: TableId, row: LogMinerRow) -> Iterator[Concerned]:
        """The known tables beside `table` that an ALTER TABLE takes rows from, brings some to, or gives other ROWIDs."""
        if statement.parts.exchanged is not None:
            yield from self._exchanged(statement, statement.parts.exchanged, table, row)
            return
        reaches = statement.parts.cascades or (statement.changes_parts and (statement.loses_rows or statement.moves_rows))
        if reaches and any(self.of_reference()):
            yield from (Concerned(known) for child, known in self._children(table) if child.by_reference)

    def of_reference(self) -> Iterator[TableSchema]:
        """The known tables whose partitions come and go with those of another one."""
        return (table for table in self._tables if table.parts_from == "PARENT" and table.id.database == self._database)

    def _exchanged(self, statement: AlterTable, other: TableName, table: TableId, row: LogMinerRow) -> Iterator[Concerned]:
        schemas = (other.schema,) if other.schema is not None else current_schemas(row, statement.name.schema)
        names = [TableId(self._database, schema, other.table) for schema in schemas]
        found = [known for name in names if (known := self._tables.find(name)) is not None and name != table]
        if len(names) > 1 and found and self._ids is not None:
            # The exchange was DDL on it: one without any since is another table.
            altered = self._ids.altered(found, row.timestamp - margin_at(row.timestamp))
            found = [known for known in found if known.id in altered]
        yield from map(Concerned, found)
        if statement.parts.cascades:
            mine = [(child, known) for child, known in self._children(table) if child.by_reference]
            theirs = [pair for name in names for pair in self._children(name)]
            of_both = {known.id: known for _, known in (*mine, *theirs)}
            yield from (Concerned(known) for name, known in of_both.items() if known not in found and name != table)

    def _children(self, table: TableId) -> list[tuple[Child, TableSchema]]:
        """The tables that refer to a table and are known, as they are called by the DDL. Those that do not refer to it any more are
        not found: that is logged."""
        if self._ids is None:
            _log.warning("CASCADE of DDL on %s: without a dictionary, the affected tables are unknown", self._name_of(table))
            return []
        known = self._tables.find(table)
        name = self._ids.present_name(known) if known is not None and known.object_id else table
        if name is None:
            _log.warning(
                "CASCADE of DDL on %s, which no longer exists: the affected tables are unknown, and they get no"
                " event; read again the tables that referred to it",
                self._name_of(table),
            )
            return []
        found = []
        for child in self._ids.children(name):
            called = self._tables.find_object(self._database, child.object_id)
            if called is not None and (schema := self._tables.find(called)) is not None:
                found.append((child, schema))
        return found
