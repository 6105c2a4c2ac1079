"""Typed rows of one table from the records of segments, ended at DDL that the query does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.read.row_decoder import ChangeRows
from minercdc.lake.source.segment_history import SegmentHistory
from minercdc.lake.table.history import TableHistory
from minercdc.sinks.segments.frames import StoredRecord

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_AGAIN = "Call load() again and start the query with the same checkpoint: it continues from there."


class TypedRows:
    """Decodes the records of one table, with its versions in the schema history as that is when `rows` begins.

    :param table: named as for `read_changes`.
    :param schema: that the query was made with.
    """

    def __init__(self, config: ConnectorConfig, table: str, schema: StructType) -> None:
        self._config, self._name, self._schema = config, table, schema

    def rows(self, records: Iterator[StoredRecord]) -> Iterator[dict[str, Any]]:
        """The rows of the table's records; other topics, and tombstones, are left out.

        :raises LakeError: as `TableHistories.known`; the query does not know the structure of a row, or a row cannot be decoded.
        :raises SinkError, SchemaHistoryError: the segments, the schema registry or the schema history cannot be read.
        :raises ConfigError: as `ChangeRows`.
        """
        history = SegmentHistory(self._config)
        history.refresh()
        table = history.known(self._name)
        known = self._known(table)
        newer = table.versions[known] if known < len(table.versions) else None

        def refuse(scn: int) -> None:
            if newer is not None and scn >= newer.since:
                what = newer.ddl or "its structure was read again by a snapshot"
                raise LakeError(
                    f"{self._name} has a different structure since SCN {newer.since}, unknown to this query: {what}",
                    hint=_AGAIN,
                )

        decoder = ChangeRows(_with_versions(table, known), self._config, refuse)
        for record in records:
            if record.topic == table.topic and record.value is not None:
                yield decoder.row(record.key, record.value)

    def _known(self, table: TableHistory) -> int:
        """How many versions of the table the query knows: up to the last one that has the query's columns."""
        for count in range(len(table.versions), 0, -1):
            if ChangeRows(_with_versions(table, count), self._config).fits(self._schema):
                return count
        raise LakeError(
            f"no version of {self._name} has the columns of this query",
            hint=_AGAIN,
        )


def _with_versions(table: TableHistory, count: int) -> TableHistory:
    """The table as it was known with its first versions."""
    return replace(table, versions=table.versions[:count])
