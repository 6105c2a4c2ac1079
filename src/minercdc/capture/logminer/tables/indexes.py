"""Tracks the unique indexes that DDL creates, drops and renames, and their tables. An index may be in another schema than its table.

Redo has, beside the text, one schema (SEG_OWNER), which may be that of the index or of its table, and the session's user. Where these leave
several tables or owners, the dictionary decides, as it is now.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.tables.session_schema import current_schemas
from minercdc.schema.ddl.changes import with_index, with_index_changed
from minercdc.schema.ddl.statements import IndexChange, UniqueIndex
from minercdc.schema.table import Key, TableId, TableSchema, key_of
from minercdc.schema.tables import Tables

_log = logging.getLogger(__name__)


class _Meant(NamedTuple):
    """An index that a statement may be about; `table` is `known` with all its keys."""

    known: TableSchema
    table: TableSchema
    key: Key
    likely: bool


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
            owners = current_schemas(row, statement.name.schema, None)
            there = self._owners_now(known, statement.key) if len(owners) > 1 else []
            owner = next((one for one in (*owners, *there) if one in there), owners[0])
        key = statement.key._replace(owner="" if owner == known.id.schema else owner)
        yield known, with_index(self._with_keys(known), key)

    def changed(self, change: IndexChange, row: LogMinerRow) -> Iterator[tuple[TableSchema, TableSchema]]:
        """The tables whose index is dropped or renamed, before and after: one, or none; and those whose keys were not known, which are
        looked up."""
        found: list[_Meant] = []
        for known in list(self._tables):
            if known.id.database != self._database:
                continue
            table = self._with_keys(known)
            keys = [key for key in table.keys or () if key.kind == "I" and key.name == change.index]
            mine = [one for key in keys if (one := self._meant_by(change, row, known, table, key)) is not None]
            if mine:
                found += mine
            elif known.keys is None:
                # The key may be that of the index, which the dictionary does not have any more.
                lost = table.keys and not _has_key(table)
                yield known, replace(table, key=key_of(table.columns, table.keys or ())) if lost else table
        for one in self._meant(found, row):
            yield one.known, with_index_changed(one.table, one.key, change.new_name)

    def _table_of(self, statement: UniqueIndex, row: LogMinerRow) -> TableSchema | None:
        name = statement.name
        if name.schema is not None:
            return self._tables.find(TableId(self._database, name.schema, name.table))
        by_id = self._tables.find_object(self._database, row.object_id)
        if by_id is not None and by_id.table == name.table:
            return self._tables.find(by_id)
        schemas = current_schemas(row, statement.schema, None)
        likely = self._tables.find(TableId(self._database, schemas[0], name.table))
        if len(schemas) == 1:
            return likely
        same_name = [table for table in self._tables if (table.id.database, table.id.table) == (self._database, name.table)]
        there = [table for table in same_name if statement.schema in self._owners_now(table, statement.key)]
        if not there and likely is None and same_name:
            _log.warning("the table of this unique index is no longer known, so the index is ignored: %s", row.sql)
        return there[0] if there else likely

    def _meant_by(
        self, change: IndexChange, row: LogMinerRow, known: TableSchema, table: TableSchema, key: Key
    ) -> _Meant | None:
        """An index, if it may be the one of that name which is changed. Without a schema it is most likely in that of SEG_OWNER; if this
        is the table's, in any."""
        owners = {key.owner or table.id.schema}
        if key.owner is None:  # an earlier release did not store it
            owners = set(self._owners_now(table, key)) or {change.schema or row.owner or ""}
        if (change.schema or row.owner or row.user or "") in owners:
            return _Meant(known, table, key, likely=True)
        if change.schema is None and (row.user in owners or row.owner == table.id.schema):
            return _Meant(known, table, key, likely=False)
        return None

    def _meant(self, found: list[_Meant], row: LogMinerRow) -> list[_Meant]:
        """Of indexes with one name, that which a statement is about; [] for none of them."""
        if by_id := [one for one in found if row.object_id and one.known.object_id == row.object_id]:
            return by_id[:1]
        if self._tables.find_object(self._database, row.object_id) is not None:
            return []  # it is of another table
        likely = [one for one in found if one.likely]
        if len(found) == len(likely) == 1:
            return likely
        gone = [one for one in (*likely, *found) if not self._owners_now(one.table, one.key)]
        return (gone or likely)[:1]

    def _owners_now(self, table: TableSchema, key: Key) -> list[str]:
        """In which schemas the dictionary has this unique index of a table now."""
        present = self._present(table)
        keys = (present.keys or ()) if present is not None else ()
        same = [one for one in keys if (one.kind, one.name, one.columns) == ("I", key.name, key.columns)]
        return [one.owner or table.id.schema for one in same]

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
