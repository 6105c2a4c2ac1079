"""The micro-batches of a direct stream: planned in one Python process, read in those of tasks.

    offset   {"log": .., "segment": n, "byte": b}: the end of a commit, or the begin of a segment
    batch    the commits between two offsets; a task per segment. A restart plans the same bytes again
    commit   with minercdc.sink.retention=delete, segments before the offset are removed

Every task's process imports this module, so what typed rows take is imported where it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from minercdc.errors import LakeError
from minercdc.sinks.segments.frames import StoredRecord
from minercdc.sinks.segments.reader import Place, SegmentLog, segment_file

try:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:
    raise LakeError(
        "this Spark cannot bound the batches of a Python data source: the direct stream (format minercdc) needs Spark 4.2 or later",
        hint="Install pyspark 4.2, or read the topics: minercdc.lake.read_changes.",
    ) from None

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

    from minercdc.lake.source.connector_process import ConnectorProcess
    from minercdc.lake.source.typed_rows import TypedRows

RECORDS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_ROWS = 10_000  # of an Arrow batch
_NOTHING = {"log": "", "segment": 0, "byte": 0}  # before there are segments


class SegmentRange(InputPartition):  # type: ignore[misc]
    """The commits of one segment between two bytes; `until` None for the end of a segment that is complete."""

    def __init__(self, segment: int, begin: int, until: int | None) -> None:
        self.segment, self.begin, self.until = segment, begin, until


class SegmentStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans and reads the batches of one query. Methods raise SinkError when a segment is missing or damaged, LakeError when
    the connector ended or cannot be started, or an offset is of other segments.

    :param directory: of the segments.
    :param connector: started by what plans a batch when it does not run; None when it runs elsewhere.
    :param most: about how many records a batch has; None for no limit.
    :param schema: of the rows, or of the records (`RECORDS`).
    :param rows: decodes the records of a table; None for the records as they are.
    :param deletes: remove segments that the query has read.
    """

    def __init__(
        self,
        directory: Path,
        connector: ConnectorProcess | None,
        most: int | None,
        schema: StructType,
        rows: TypedRows | None,
        *,
        deletes: bool,
    ) -> None:
        self._directory, self._connector, self._most = directory, connector, most
        self._schema, self._rows, self._deletes = schema, rows, deletes
        self._log = SegmentLog(directory)
        self._last: Place | None = None  # with Trigger.AvailableNow

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connector": None}  # a task starts none

    def initialOffset(self) -> dict[str, Any]:
        """The begin of the oldest segment that is there; an offset that names no segments when there is none yet."""
        self._ensure()
        numbers = self._log.numbers()
        return self._offset(Place(numbers[0], 0)) if numbers else _NOTHING

    def getDefaultReadLimit(self) -> ReadLimit:
        """`most` rows; Spark's default for None."""
        return ReadMaxRows(self._most) if self._most else super().getDefaultReadLimit()

    def prepareForTriggerAvailableNow(self) -> None:
        """Note the last commit that is there now: no later batch goes beyond it."""
        self._ensure()
        numbers = self._log.numbers()
        self._last = self._log.reach(Place(numbers[-1], 0)) if numbers else Place(0, 0)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of a commit; `start` when there is no newer one.

        :raises LakeError: the connector ended; or the segments are not those that the checkpoint is of.
        :raises SinkError: a segment is missing or damaged.
        """
        self._ensure()
        begin = self._place(start)
        if begin is None:
            return start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = self._log.reach(begin, most)
        if self._last is not None:
            end = max(min(end, self._last), begin)
        return start if end == begin else self._offset(end)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The commits between two offsets, a range per segment; [] while there are no segments."""
        begin, last = self._place(start), self._place(end)
        if begin is None or last is None:
            return []
        return [SegmentRange(place.segment, place.byte, until) for place, until in self._log.ranges(begin, last)]

    def read(self, partition: SegmentRange) -> Iterator[pa.RecordBatch]:
        """The rows, or records, of one range, as Arrow batches. Runs in a task.

        :raises SinkError: the segment is missing or damaged; or the schema registry, which typed rows may take, cannot be read.
        :raises SchemaHistoryError: the schema history, which typed rows take, cannot be read.
        :raises LakeError: a record of the table has another structure, or cannot be decoded.
        :raises ConfigError: as `TypedRows.rows`.
        """
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(self._schema, timezone="UTC")
        records = self._log.read(Place(partition.segment, partition.begin), partition.until)
        rows = map(_record, records) if self._rows is None else self._rows.rows(records)
        while batch := list(islice(rows, _ROWS)):
            yield pa.RecordBatch.from_arrays(
                [pa.array([row[field.name] for row in batch], field.type) for field in schema], schema=schema
            )

    def commit(self, end: dict[str, Any]) -> None:
        """Remove the segments before that of `end`, with `deletes`: Spark will not request them again. Raises OSError when
        one cannot be removed."""
        place = self._place(end)
        if not self._deletes or place is None:
            return
        for number in self._log.numbers():
            if number < place.segment:
                segment_file(self._directory, number).unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the connector, if this query started it, and wait for its end."""
        if self._connector is not None:
            self._connector.stop()

    def _ensure(self) -> None:
        if self._connector is not None:
            self._connector.ensure()

    def _offset(self, place: Place) -> dict[str, Any]:
        return {"log": self._log.header(place.segment).log, "segment": place.segment, "byte": place.byte}

    def _place(self, offset: dict[str, Any]) -> Place | None:
        """The place of an offset; None where there are no segments yet."""
        if offset == _NOTHING:
            numbers = self._log.numbers()
            return Place(numbers[0], 0) if numbers else None
        place = Place(offset["segment"], offset["byte"])
        log = self._log.header(place.segment).log
        if log != offset["log"]:
            raise LakeError(
                f"the segments in {self._directory} were started over after the query read {json.dumps(offset)}",
                hint="Start the query with a new checkpoint and an empty target: the connector has taken a new snapshot.",
            )
        return place


def _record(record: StoredRecord) -> dict[str, Any]:
    return {
        "key": record.key,
        "value": record.value,
        "topic": record.topic,
        "partition": 0,
        "offset": record.number,
        "timestamp": record.time_ms * 1000,
        "headers": [{"key": name, "value": content} for name, content in record.headers],
    }
