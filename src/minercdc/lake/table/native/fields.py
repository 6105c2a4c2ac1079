"""The columns of a table as they are in its data files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

SQL_TYPES: Final[Mapping[str, str]] = {
    "int32": "INT",
    "int64": "BIGINT",
    "string": "STRING",
    "bool": "BOOLEAN",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
}
"""Of Arrow's types that the lake's own records have, those that Spark SQL names."""


@dataclass(frozen=True, slots=True)
class FileField:
    """A column, or a member of a struct.

    :param physical: its name in data files and statistics.
    :param number: its id there; None where files have none.
    :param members: of a struct, in order.
    """

    name: str
    physical: str
    number: int | None
    type: pa.DataType
    members: tuple[FileField, ...] = ()

    def arrow(self) -> pa.Field:
        """The column in a data file."""
        import pyarrow as pa

        metadata = None if self.number is None else {"PARQUET:field_id": str(self.number)}
        return pa.field(self.physical, self.type, metadata=metadata)
