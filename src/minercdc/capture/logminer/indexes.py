"""Whose unique indexes DDL makes, drops and renames. An index may be in another schema than its table.

Redo has, beside the text, one schema (SEG_OWNER), which may be that of the index or of its table, and the session's user. Where these leave
several tables or owners, the dictionary decides, as it is now.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

from minercdc.capture.logminer.row import LogMinerRow
from minercdc.capture.logminer.session_schema import current_schemas
from minercdc.schema.ddl import IndexChange, UniqueIndex
from minercdc.schema.ddl_changes import with_index, with_index_changed
from minercdc.schema.table import Key, TableId, TableSchema, key_of
from minercdc.schema.tables import Tables

_log = logging.getLogger(__name__)


class Indexes:
    """Follows the unique indexes of known tables of one database.

    :param present: a table as the dictionary has it now, None when it is gone; its errors pass through.
    """

    def __init__(
        self,
        tables: Tables,
        database: str,
        present: Callable[[TableSchema], TableSchema | None],
        name_of: Callable[[TableId], str],
    ) -> None:
        self._tables, self._database, self._present, self._name_of = tables, database, present, name_of

    def created(self, statement: UniqueIndex, row: LogMinerRow) -> Iterator[tuple[TableSchema, TableSchema]]:
        """The table on which CREATE UNIQUE INDEX makes one, before and after; nothing when it is not known."""
        known = self._table_of(statement, row)
        if known is None:
            return
        owner = statement.schema
        if owner is None:
            owners = current_schemas(row, statement.name.schema)
            there = self._owners_now(known, statement.key) if len(owners) > 1 else []
            owner = next((one for one in owners if one in there), owners[0])
        key = statement.key._replace(owner="" if owner == known.id.schema else owner)
        yield known, with_index(self._with_keys(known), key)

    def changed(self, change: IndexChange, row: LogMinerRow) -> Iterator[tuple[TableSchema, TableSchema]]:
        """The tables whose index is dropped or renamed, before and after: one, or none; and those whose keys were not known, which are
        looked up."""
        owners = {change.schema} if change.schema is not None else {row.owner or "", row.user or ""}
        found: list[tuple[TableSchema, TableSchema, Key]] = []
        for known in list(self._tables):
            if known.id.database != self._database:
                continue
            table = self._with_keys(known)
            keys = [key for key in table.keys or () if key.kind == "I" and key.name == change.index]
            keys = [key for key in keys if owners & self._owners_of(table, key, owners)]
            if keys:
                found.append((known, table, keys[0]))
            elif known.keys is None:
                # The key may be that of the index, which the dictionary does not have any more.
                lost = table.keys and not _has_key(table)
                yield known, replace(table, key=key_of(table.columns, table.keys or ())) if lost else table
        for known, table, key in self._meant(found, row):
            yield known, with_index_changed(table, key, change.new_name)

    def _table_of(self, statement: UniqueIndex, row: LogMinerRow) -> TableSchema | None:
        name = statement.name
        if name.schema is not None:
            return self._tables.find(TableId(self._database, name.schema, name.table))
        by_id = self._tables.find_object(self._database, row.object_id)
        if by_id is not None and by_id.table == name.table:
            return self._tables.find(by_id)
        schemas = current_schemas(row, statement.schema)
        known = [self._tables.find(TableId(self._database, schema, name.table)) for schema in schemas]
        there = (
            [table for table in known if table is not None and self._owners_now(table, statement.key)]
            if len(known) > 1
            else []
        )
        if there:
            return there[0]
        if known[0] is None and any(known):
            _log.warning(
                "a unique index on %s is in no known schema by now, and counts for no table: %s",
                name.table,
                (row.sql or "").strip(),
            )
        return known[0]

    def _meant(
        self, found: list[tuple[TableSchema, TableSchema, Key]], row: LogMinerRow
    ) -> list[tuple[TableSchema, TableSchema, Key]]:
        """Of indexes with one name, that which a statement is about."""
        if len(found) < 2:
            return found
        by_id = [one for one in found if row.object_id and one[0].object_id == row.object_id]
        gone = [one for one in found if not self._owners_now(one[1], one[2])]
        return (by_id or gone or found)[:1]

    def _owners_now(self, table: TableSchema, key: Key) -> list[str]:
        """In which schemas the dictionary has this unique index of a table now."""
        present = self._present(table)
        keys = (present.keys or ()) if present is not None else ()
        same = [one for one in keys if (one.kind, one.name, one.columns) == ("I", key.name, key.columns)]
        return [one.owner or table.id.schema for one in same]

    def _owners_of(self, table: TableSchema, key: Key, unknown: set[str]) -> set[str]:
        """The schema of an index; `unknown` where an earlier release did not store it, and the dictionary does not have it any more."""
        if key.owner is not None:
            return {key.owner or table.id.schema}
        return set(self._owners_now(table, key)) or unknown

    def _with_keys(self, known: TableSchema) -> TableSchema:
        """The table with all its keys: those of the dictionary where they are not known, as of one that an earlier release
        stored."""
        if known.keys is not None or not known.key:
            return known if known.keys is not None else replace(known, keys=())
        present = self._present(known)
        return replace(known, keys=present.keys if present is not None else ())


def _has_key(table: TableSchema) -> bool:
    """Whether the key of a table is one of its `keys`."""
    names = {table.columns[i].name for i in table.key}
    return any(set(key.columns) == names for key in table.keys or ())
