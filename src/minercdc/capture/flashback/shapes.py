"""Brings the known tables in line with the dictionary, by SchemaChanges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.stream.events import SchemaChange, Scn


def follow(
    tables: Tables, shapes: Mapping[TableId, TableSchema], scn: int, time_us: int
) -> Iterator[tuple[SchemaChange, TableSchema | None]]:
    """Put renamed, altered and created-again tables into `tables`, and drop those that are gone; new ones are left to
    `announce`. Each change is made when it is yielded.

    :param shapes: of the tables in the dictionary that are read.
    :param scn: first SCN of the rows that have the new shape.
    :param time_us: of the changes, microseconds since the epoch in UTC.
    :returns: each change, and the table that was created again by it, whose rows so far in the window are lost; else None.
        Such a table has two changes: first it is dropped.
    """
    yield from ((change, None) for change in _renames(tables, shapes, scn, time_us))
    for known in list(tables):
        shape = shapes.get(known.id)
        if shape is not None and not created_again(known, shape):
            if (shape.columns, shape.key) != (known.columns, known.key):
                after = tables.next_version(shape)
                yield _applied(tables, SchemaChange(known.id, known, after, "", Scn(scn), time_us)), None
            continue
        yield _applied(tables, SchemaChange(known.id, known, None, "", Scn(scn), time_us)), None
        if shape is not None:
            yield announce(tables, shape, scn, time_us), tables.find(shape.id)


def _renames(tables: Tables, shapes: Mapping[TableId, TableSchema], scn: int, time_us: int) -> Iterator[SchemaChange]:
    """As `follow`, of the tables that have another name now. One whose new name is that of a table waits until that has left it, or is
    dropped; where tables have exchanged their names, none of them can be first, and they are left to `follow`."""
    now = {shape.object_id: shape for shape in shapes.values() if shape.object_id}
    waiting = [known for known in tables if known.object_id in now and now[known.object_id].id != known.id]
    while waiting:
        left = []
        for known in waiting:
            renamed = now[known.object_id]
            other = tables.find(renamed.id)
            if other is not None and (other.object_id in now or not other.object_id):
                left.append(known)
                continue
            if other is not None:
                yield _applied(tables, SchemaChange(other.id, other, None, "", Scn(scn), time_us))
            after = tables.next_version(renamed)
            yield _applied(tables, SchemaChange(after.id, known, after, "", Scn(scn), time_us))
        if len(left) == len(waiting):
            return
        waiting = left


def announce(tables: Tables, shape: TableSchema, scn: int, time_us: int) -> SchemaChange:
    """Put a table that is not known into `tables`, with the next version number of its name, and return the change.

    :param scn: first SCN of its rows.
    :param time_us: of the change, microseconds since the epoch in UTC.
    """
    after = tables.next_version(shape)
    return _applied(tables, SchemaChange(after.id, None, after, "", Scn(scn), time_us))


def version_of(tables: Tables, shape: TableSchema) -> TableSchema:
    """The shape with the version number that the table has in `tables`, or would get by `announce` when it is not there.
    Nothing is changed."""
    known = tables.find(shape.id)
    return replace(shape, version=known.version) if known is not None else tables.next_version(shape)


def created_again(known: TableSchema, shape: TableSchema) -> bool:
    """Whether `shape`, of the dictionary, is of another table than `known`, which has its name."""
    return bool(known.object_id and shape.object_id and known.object_id != shape.object_id)


def _applied(tables: Tables, change: SchemaChange) -> SchemaChange:
    tables.apply(change)
    return change
