"""The columns of an Iceberg data file, which a table knows by their ids: a file keeps the names that they had when it was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native.parquet import UnknownRows

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

ID: Final = b"PARQUET:field_id"
"""Of a column of a file, the member of PyArrow's metadata that has its id."""


def rows_of_file(source: Any, fields: Sequence[FileField], paths: Sequence[tuple[str, ...]] | None = None) -> pa.Table:
    """All rows of a data file, in columns of the fields' names; those that the file lacks are left out.

    :param source: of the file, for PyArrow's Parquet reader.
    :param fields: of the table now.
    :param paths: which columns, or members of a struct; None for all of the fields.
    :raises UnknownRows: the file does not say the ids of its columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet:
        names = _names(parquet.schema_arrow)
        wanted = paths if paths is not None else [(field.name,) for field in fields]
        of_name = {field.name: field for field in fields}
        there = [found for path in wanted if (found := _path_in_file(of_name[path[0]], path[1:], names)) is not None]
        rows = parquet.read(columns=there)
    known = [field for field in fields if names.get(field.number) in rows.column_names]
    if not known:
        raise UnknownRows("a file has none of the columns")
    columns = [_renamed(rows.column(names[field.number]), field, names) for field in known]
    return pa.table(columns, names=[field.name for field in known])


def _names(fields: Iterable[pa.Field]) -> dict[int | None, str]:
    """The names that a file has for columns, and for members of structs, by their ids.

    :raises UnknownRows: it does not say the ids.
    """
    import pyarrow as pa

    found: dict[int | None, str] = {}
    for field in fields:
        if (number := (field.metadata or {}).get(ID)) is None:
            raise UnknownRows(f"a file has no id of column {field.name}")
        found[int(number)] = field.name
        if pa.types.is_struct(field.type):
            found |= _names(field.type)
    return found


def _path_in_file(field: FileField, members: tuple[str, ...], names: Mapping[int | None, str]) -> str | None:
    """The path of a column, or of a member of it, in a file; None where it has none."""
    path = [names.get(field.number)]
    for name in members:
        field = next(one for one in field.members if one.name == name)
        path.append(names.get(field.number))
    known = [name for name in path if name is not None]
    return ".".join(known) if len(known) == len(path) else None


def _renamed(column: pa.ChunkedArray, field: FileField, names: Mapping[int | None, str]) -> pa.Array | pa.ChunkedArray:
    """A column of a file with the members' names of now."""
    import pyarrow as pa

    if not field.members:
        return column
    array = column.combine_chunks()
    there = [one for one in field.members if names.get(one.number) is not None]
    there = [one for one in there if array.type.get_field_index(names[one.number]) >= 0]
    parts = [array.field(names[one.number]) for one in there]
    return pa.StructArray.from_arrays(parts, names=[one.name for one in there], mask=array.is_null())
