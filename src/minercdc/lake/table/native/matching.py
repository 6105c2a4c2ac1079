"""What the last changes of rows make of a table's rows: which go, and which come. The rule is that of `merge.modes.Mirror` and `SoftDelete`, whose
MERGE in Spark is the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minercdc.lake.table.columns import CDC
from minercdc.lake.table.format import LastChanges
from minercdc.lake.table.native.fields import FileField

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class Identity(NamedTuple):
    """What identifies a row, in a data file: paths of the columns; and in the changes: their names."""

    paths: tuple[tuple[str, ...], ...]
    types: tuple[pa.DataType, ...]
    names: tuple[str, ...]


class Matches(NamedTuple):
    """What the changes find.

    :param deleted: numbers of the rows that go, by file.
    :param known: of each change, whether the table has its row.
    :param newer: of each change, whether it is newer than that row.
    """

    deleted: Mapping[int, list[int]]
    known: pa.Array
    newer: pa.Array


def without(rows: pa.Table, gone: Iterable[int]) -> pa.Table:
    """The rows of a file but those of these numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if not gone:
        return rows
    places = pa.array(range(rows.num_rows), pa.int64())
    return rows.filter(pc.invert(pc.is_in(places, value_set=pa.array(gone, pa.int64()))))


def identity_of(fields: Sequence[FileField], changes: LastChanges) -> Identity | None:
    """What identifies rows; None where equality of it is more than that of values."""
    import pyarrow as pa

    of_name = {field.name: field for field in fields}
    if CDC not in of_name:
        return None
    if not changes.key:
        member = next((member for member in of_name[CDC].members if member.name == "row_id"), None)
        if member is None or changes.rows.column("row_id").null_count:
            return None
        return Identity(((of_name[CDC].physical, member.physical),), (member.type,), ("row_id",))
    names = {column.id: column.name for column in changes.target}
    found = [of_name.get(names.get(part, "")) for part in changes.key]
    places = tuple(f"k{i}" for i in range(len(found)))
    if any(field is None or pa.types.is_floating(field.type) or field.members for field in found):
        return None
    if any(changes.rows.column(place).null_count for place in places):
        return None
    parts = [field for field in found if field is not None]
    return Identity(tuple((part.physical,) for part in parts), tuple(part.type for part in parts), places)


def as_written(fields: Sequence[FileField], changes: LastChanges) -> pa.Table | None:
    """The changes as rows of the table; None where it has other columns, or a value is of another type."""
    import pyarrow as pa

    places = {column.name: f"c{i}" for i, column in enumerate(changes.target)}
    if {field.name for field in fields} != {*places, CDC}:
        return None
    rows, columns = changes.rows, []
    for field in fields:
        if field.name == CDC:
            column = _cdc(field, changes)
        else:
            try:
                column = rows.column(places[field.name]).cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return None
        if column is None:
            return None
        columns.append(column)
    return pa.table(columns, schema=pa.schema([field.arrow() for field in fields]))


def _cdc(field: FileField, changes: LastChanges) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, members = changes.rows, []
    for member in field.members:
        if member.name == "deleted":
            if changes.mode == "mirror":
                members.append(pa.repeat(pa.scalar(False), rows.num_rows))
            else:
                members.append(pc.equal(rows.column("op"), "d").combine_chunks())
        elif member.name in rows.column_names:
            members.append(rows.column(member.name).cast(member.type).combine_chunks())
        else:
            return None
    return pa.StructArray.from_arrays(members, fields=[member.arrow() for member in field.members])


def column_at(rows: pa.Table, path: Sequence[str]) -> Any:
    """A column of a file by its path; None where the file lacks it."""
    if path[0] not in rows.column_names:
        return None
    column = rows.column(path[0]).combine_chunks()
    for name in path[1:]:
        if column.type.get_field_index(name) < 0:
            return None
        column = column.field(name)
    return column


def matches_of(parts: Sequence[pa.Table], identity: Identity, merged: LastChanges) -> Matches | None:
    """What the changes find among the rows of files; None where a row is found by more than one key, or a row that is kept would become one
    with another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changes = merged.rows
    count = changes.num_rows
    nothing = pa.repeat(pa.scalar(False), count)
    if not parts:
        return Matches({}, nothing, nothing)
    there = pa.concat_tables(parts)
    wanted = [changes.column(name).cast(kind) for name, kind in zip(identity.names, identity.types, strict=True)]
    numbers = pa.array(range(count), pa.int32())
    asked = pa.table(
        [numbers, changes.column("commit_scn"), changes.column("seq"), *wanted],
        ["change", "c_scn", "c_seq", *identity.names],
    )
    names = list(identity.names)
    found = there.join(asked, keys=names, join_type="inner", use_threads=False)
    later = pc.greater(found.column("c_scn"), found.column("t_scn"))
    same = pc.equal(found.column("c_scn"), found.column("t_scn"))
    if merged.mode == "mirror":
        next_ = pc.greater_equal(found.column("c_seq"), found.column("t_seq"))
    else:  # as `merge.modes.soft_clauses` has it: what is there has values that the change itself may lack
        next_ = pc.or_(pc.greater(found.column("c_seq"), found.column("t_seq")), pc.equal(found.column("t_op"), "t"))
        if pc.count_distinct(found.column("change")).as_py() < found.num_rows:
            return None
    newer = found.filter(pc.or_(later, pc.and_(same, next_)))
    deleted: dict[int, list[int]] = {}
    for file, row in zip(newer.column("file").to_pylist(), newer.column("row").to_pylist(), strict=True):
        deleted.setdefault(file, []).append(row)
    if any(len(set(rows)) < len(rows) for rows in deleted.values()):
        return None
    of = [pc.is_in(numbers, value_set=one.column("change").combine_chunks()) for one in (found, newer)]
    return Matches(deleted, *of)


def makes_row(changes: LastChanges) -> pa.Array:
    """Which changes are rows of a table that has none of them: in a mirror all but deletes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if changes.mode == "mirror":
        return pc.not_equal(changes.rows.column("op"), "d")
    return pa.repeat(pa.scalar(True), changes.rows.num_rows)


def inserted(changes: LastChanges, matches: Matches) -> pa.Array:
    """Which changes become rows, where the table does not have a later state of the row."""
    import pyarrow.compute as pc

    wanted = pc.or_(pc.invert(matches.known), matches.newer)
    return pc.and_(makes_row(changes), wanted)


def key_paths(fields: Sequence[FileField], identity: Identity) -> list[tuple[str, ...]]:
    """The paths, in a data file, of what `keys_in` takes of it."""
    cdc = next(field for field in fields if field.name == CDC)
    names = {member.name: member.physical for member in cdc.members}
    return [*((cdc.physical, names[name]) for name in ("commit_scn", "seq", "op")), *identity.paths]


def keys_in(
    rows: pa.Table, number: int, paths: Sequence[tuple[str, ...]], identity: Identity, gone: Iterable[int]
) -> pa.Table | None:
    """Of the rows of a file, but those that are deleted: columns `file`, `row`, `t_scn`, `t_seq`, `t_op`, and `k0`, .. or `row_id`. None where
    the file lacks a column of the key, which was added later and is null in it.

    :param rows: all of the file.
    :param number: of the file.
    :param paths: `key_paths`.
    :raises KeyError: the file lacks `__cdc`.
    """
    import pyarrow as pa

    columns = [column_at(rows, path) for path in paths]
    if any(column is None for column in columns[:3]):
        raise KeyError(CDC)
    if any(column is None for column in columns):
        return None
    typed = [column.cast(kind) for column, kind in zip(columns[3:], identity.types, strict=True)]
    place = pa.array(range(rows.num_rows), pa.int64())
    file = pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows)
    table = pa.table([file, place, *columns[:3], *typed], ["file", "row", "t_scn", "t_seq", "t_op", *identity.names])
    return without(table, gone)


def whole_rows(rows: pa.Table, fields: Sequence[FileField], gone: Iterable[int]) -> pa.Table:
    """The rows of a file, but those that are deleted, in the table's present columns."""
    import pyarrow as pa

    schema = pa.schema([field.arrow() for field in fields])
    columns = [
        rows.column(field.name).cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return without(pa.table(columns, schema=schema), gone)


def bounds_of(identity: Identity, rows: pa.Table) -> dict[str, tuple[int, int]]:
    """By the name of the first column of an integer key, its least and greatest value in changes; empty for another key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(identity.paths[0]) > 1 or not pa.types.is_integer(identity.types[0]):
        return {}
    found = pc.min_max(rows.column(identity.names[0])).as_py()
    return {identity.paths[0][0]: (found["min"], found["max"])}
