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
    for known in list(tables):
        shape = shapes.get(known.id)
        if shape is not None and not _created_again(known, shape):
            if (shape.columns, shape.key) != (known.columns, known.key):
                after = tables.next_version(shape)
                yield _applied(tables, SchemaChange(known.id, known, after, "", Scn(scn), time_us)), None
            continue
        renamed = next((s for s in shapes.values() if known.object_id and s.object_id == known.object_id), None)
        if shape is None and renamed is not None and tables.find(renamed.id) is None:
            after = tables.next_version(renamed)
            yield _applied(tables, SchemaChange(after.id, known, after, "", Scn(scn), time_us)), None
            continue
        yield _applied(tables, SchemaChange(known.id, known, None, "", Scn(scn), time_us)), None
        if shape is not None:
            yield announce(tables, shape, scn, time_us), tables.find(shape.id)


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


def _created_again(known: TableSchema, shape: TableSchema) -> bool:
    return bool(known.object_id and shape.object_id and known.object_id != shape.object_id)


def _applied(tables: Tables, change: SchemaChange) -> SchemaChange:
    tables.apply(change)
    return change
