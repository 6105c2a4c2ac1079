"""How the files of an Iceberg table are laid out, by the configuration: partitions, order, and tags of its versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake_layout import PartitionField, SortField
from minercdc.errors import LakeError
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.columns import TableColumn
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import TableId

_Field = TypeVar("_Field", PartitionField, SortField)

TAG = "scn-"
"""Before the SCN in the names of tags that the lake makes, and removes again."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one table.

    :param sort: the order of rows in files that maintenance joins; () for that of the key.
    :param tags: whether each version that has all changes up to an SCN gets a tag.
    """

    partitions: Sequence[PartitionField] = ()
    sort: Sequence[SortField] = ()
    tags: bool = False

    def partitioned_by(self, table: str, columns: Sequence[TableColumn]) -> str:
        """The PARTITIONED BY clause for a table of these columns; '' for none.

        :raises LakeError: it lacks one of the columns.
        """
        names = {column.name for column in columns}
        missing = [field.column for field in self.partitions if field.column not in names]
        if missing:
            raise LakeError(
                f"{table} has no column {', '.join(missing)}, which minercdc.lake.iceberg.partitions names",
                hint="Nothing is lost: the change log has the rows. Change the property, and start the lake again.",
            )
        return f"PARTITIONED BY ({', '.join(map(_transform, self.partitions))})" if self.partitions else ""

    def order(self, columns: Sequence[TableColumn], key: Sequence[str]) -> list[SortField]:
        """The order of a table of these columns, as far as it has them.

        :param key: the columns by which it is sorted where nothing else is configured.
        """
        names = {column.name for column in columns}
        return [field for field in self.sort or [SortField(name) for name in key] if field.column in names]


def layout_of(config: ConnectorConfig) -> Callable[[TableId], Layout]:
    """A function that returns the layout of a table: by the first entry of each property that matches one of `TableNames.given`."""
    lake, names = config.lake, table_names(config)

    def of(table: TableId, entries: Sequence[tuple[str, tuple[_Field, ...]]]) -> tuple[_Field, ...]:
        given = names.given(table)
        return next((fields for text, fields in entries if any(map(configured_pattern(text).matches, given))), ())

    partitions, sort = list(lake.partitions()), list(lake.sort())
    return lambda table: Layout(of(table, partitions), of(table, sort), lake.minercdc_lake_iceberg_tags)


def _transform(field: PartitionField) -> str:
    column = quoted(field.column)
    if not field.transform:
        return column
    return f"{field.transform}({f'{field.number}, ' if field.number else ''}{column})"
