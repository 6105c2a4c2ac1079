"""Keeps the known tables, in the shape they have at the point that the stream has come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from minercdc.schema.table import TableId, TableSchema, without_comments


class ShapeChange(Protocol):
    """The part of a change that `apply` needs; `events.SchemaChange` fits."""

    @property
    def before(self) -> TableSchema | None:
        """Its structure before; None for a new table."""

    @property
    def after(self) -> TableSchema | None:
        """Its structure after, under its new name after a RENAME; None when it was dropped."""


class Tables:
    """Keeps the current version of each table, by name and by object id. Iteration gives the versions, and the length is how many
    there are. One thread changes it.

    :param comments: comments of tables and columns are part of their shapes; else they are left out of what is put.
    :ivar generation: rises with every change: what was derived from a table before may be stale.
    """

    def __init__(self, schemas: Iterable[TableSchema] = (), *, comments: bool = False) -> None:
        self.comments = comments
        self.generation = 0
        self._by_id: dict[TableId, TableSchema] = {}
        self._by_object: dict[tuple[str, int], TableId] = {}  # an id is unique within its database
        # Survives DROP: versions never repeat, for encoders remember what they compiled by (id, version).
        self._last_version: dict[TableId, int] = {}
        for schema in schemas:
            self.put(schema)

    def __iter__(self) -> Iterator[TableSchema]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, table: TableId) -> TableSchema | None:
        """The table's current version, None when it is not known."""
        return self._by_id.get(table)

    def find_object(self, database: str, object_id: int) -> TableId | None:
        """The table of a database with this OBJECT_ID, or with a partition that has it or had it, whatever name redo has for it
        (`BIN$..` after DROP, `OBJ# n`); None when not known."""
        return self._by_object.get((database, object_id))

    def next_version(self, schema: TableSchema) -> TableSchema:
        """A copy of `schema` with the number that follows every version this table ever had here; it is not `put`."""
        return replace(schema, version=self._last_version.get(schema.id, 0) + 1)

    def put(self, schema: TableSchema) -> None:
        """Make `schema` the table's current version; without its comments unless `comments`. The ids of partitions that it had
        before stay, unless it is another table of that name. `generation` rises."""
        old = self._by_id.get(schema.id)
        if old is not None and old.parts and old.object_id == schema.object_id:
            schema = replace(schema, parts=old.parts | (schema.parts or frozenset()))
        self.drop(schema.id)
        schema = schema if self.comments else without_comments(schema)
        self._by_id[schema.id] = schema
        self._last_version[schema.id] = max(schema.version, self._last_version.get(schema.id, 0))
        for object_id in _object_ids(schema):
            self._by_object[schema.id.database, object_id] = schema.id

    def drop(self, table: TableId) -> None:
        """Forget the table, if it is known, but not its last version number; `generation` rises in any case."""
        self.generation += 1
        old = self._by_id.pop(table, None)
        for object_id in _object_ids(old) if old is not None else ():
            if self._by_object.get((table.database, object_id)) == table:
                del self._by_object[table.database, object_id]

    def apply(self, change: ShapeChange) -> None:
        """Put `change.after`, if there is one; drop the table of `change.before` when there is no `after`, or `after` has
        another name (a rename)."""
        if change.before is not None and (change.after is None or change.after.id != change.before.id):
            self.drop(change.before.id)
        if change.after is not None:
            self.put(change.after)


def _object_ids(schema: TableSchema) -> Iterator[int]:
    if schema.object_id:
        yield schema.object_id
    yield from schema.parts or ()
