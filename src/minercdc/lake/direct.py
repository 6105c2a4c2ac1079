"""`spark.readStream.format("minercdc")`: the connector's segments as a stream, with no Kafka in between.

    offset      {"log": .., "segment": n, "byte": b}: the end of a commit
    batch       the commits between two offsets; a task per segment. A restart plans the same bytes again
    commit      with minercdc.sink.retention=delete, segments before the offset are removed
    connector   started by the first call for an offset, unless one runs (`connector_process`)

Spark makes a source in several Python processes: one that asks the schema, one that plans batches, and one per task. Only the one that
plans starts a connector.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.connector_process import ConnectorProcess
from minercdc.lake.history import TableHistory
from minercdc.lake.row_decoder import ChangeRows
from minercdc.lake.segment_history import SegmentHistory
from minercdc.sink.frames import StoredRecord
from minercdc.sink.segment_log import Place, SegmentLog, segment_file

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "minercdc"
RECORDS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_ROWS = 10_000  # of an Arrow batch
_TABLE_SECONDS = 120.0  # how long a new connector may take to read the structures
_AGAIN = "Call load() again, and start the query with the same checkpoint: it goes on from there."
_OPTIONS = {"config", "path", "table", "run", "maxoffsetspertrigger"}


def register(spark: SparkSession) -> None:
    """Make `format("minercdc")` known to a session whose Python does not find it by itself, as in a zip of modules."""
    spark.dataSource.register(MinercdcSource)


class MinercdcSource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source. Options, in any case:

    :param config: the connector's configuration file; its sink has to be segments.
    :param path: in its place, the directory of the segments: only what is there is read, as records.
    :param table: `SCHEMA.TABLE`: typed changes of this table; without it, the records of all topics.
    :param run: false: read what a connector writes that runs elsewhere; default true: start one where none runs.
    :param maxOffsetsPerTrigger: about how many records a batch has; default minercdc.lake.max.offsets.per.trigger.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        given = {name.lower(): value for name, value in options.items()}
        if unknown := given.keys() - _OPTIONS:
            raise ConfigError(
                [f"option {name}: not one of config, path, table, run, maxOffsetsPerTrigger" for name in sorted(unknown)]
            )
        if ("config" in given) == ("path" in given):
            raise ConfigError(["option config: needed, the connector's configuration file (or path, its segments)"])
        self._table = given.get("table")
        self._file = Path(given["config"]).absolute() if "config" in given else None
        self._config = None if self._file is None else _without_password(load_config(self._file))
        if self._config is not None and self._config.sink.debezium_sink_type != "segments":
            kind = self._config.sink.debezium_sink_type
            raise ConfigError([f'debezium.sink.type: format("{NAME}") reads segments, not {kind}'], where=str(self._file))
        if self._config is None and self._table is not None:
            raise ConfigError(["option table: needs config, since the types of a table are in the schema history"])
        self._directory = (self._config.sink.directory if self._config else Path(given["path"])).absolute()
        self._runs = self._config is not None and _boolean(given.get("run", "true"))
        self._most = _count(given.get("maxoffsetspertrigger")) or (
            self._config.lake.minercdc_lake_max_offsets_per_trigger if self._config else None
        )

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        """The columns. With a table that the connector has not met yet it is started, and waited for.

        :raises LakeError: there is no such table, or the connector ended.
        """
        if self._table is None:
            return RECORDS
        assert self._config is not None
        return ChangeRows(self._known(self._config, self._table), self._config).schema

    def _known(self, config: ConnectorConfig, name: str) -> TableHistory:
        history = SegmentHistory(config)
        deadline = time.monotonic() + (_TABLE_SECONDS if self._runs else 0.0)
        with self._connector() as connector:
            while True:
                history.refresh()
                found = history.find(name)
                if found is not None and found.versions:
                    return found
                if time.monotonic() >= deadline or any(True for _ in history.tables()):
                    known = ", ".join(sorted(one.name for one in history.tables())) or "none"
                    raise LakeError(f"the schema history {history.topic} has no table {name}", hint=f"It has: {known}")
                connector.ensure()
                time.sleep(0.2)

    def _connector(self) -> ConnectorProcess:
        assert self._file is not None
        assert self._config is not None
        return ConnectorProcess(self._file, self._directory, streams=self._config.snapshot.snapshot_mode != "initial_only")

    def streamReader(self, schema: StructType) -> SegmentStream:
        connector = self._connector() if self._runs else None
        deletes = self._config is not None and self._config.sink.minercdc_sink_retention == "delete"
        rows = None
        if self._table is not None and self._config is not None:
            rows = TypedRows(self._config, self._table, schema)
        return SegmentStream(self._directory, connector, self._most, schema, rows, deletes=deletes)


class SegmentRange(InputPartition):  # type: ignore[misc]
    """The commits of one segment between two bytes; `until` None for the end of a segment that is complete."""

    def __init__(self, segment: int, begin: int, until: int | None) -> None:
        self.segment, self.begin, self.until = segment, begin, until


class TypedRows:
    """Decodes the records of one table; the version of a row is looked up in the history as it is when the row is read.

    :param schema: that the query was made with.
    """

    def __init__(self, config: ConnectorConfig, table: str, schema: StructType) -> None:
        self._config, self._name, self._schema = config, table, schema

    def rows(self, records: Iterator[StoredRecord]) -> Iterator[dict[str, Any]]:
        """Raises LakeError at a row of a structure that the query does not have."""
        history = SegmentHistory(self._config)
        history.refresh()
        table = history.find(self._name)
        if table is None or not table.versions:
            raise LakeError(f"the schema history {history.topic} has no table {self._name}")
        known = self._known(table)
        newer = table.versions[known] if known < len(table.versions) else None

        def refuse(scn: int) -> None:
            if newer is not None and scn >= newer.since:
                what = newer.ddl or "its structure was read again by a snapshot"
                raise LakeError(
                    f"{self._name} has another structure since SCN {newer.since}, which this query does not know: {what}",
                    hint=_AGAIN,
                )

        decoder = ChangeRows(replace_versions(table, known), self._config, refuse)
        for record in records:
            if record.topic == table.topic and record.value is not None:
                yield decoder.row(record.key, record.value)

    def _known(self, table: TableHistory) -> int:
        """How many versions of the table the query knows: up to the last one that has the query's columns."""
        for count in range(len(table.versions), 0, -1):
            if ChangeRows(replace_versions(table, count), self._config).fits(self._schema):
                return count
        raise LakeError(
            f"no version of {self._name} has the columns of this query",
            hint=_AGAIN,
        )


def replace_versions(table: TableHistory, count: int) -> TableHistory:
    """The table as it was known with its first versions."""
    return replace(table, versions=table.versions[:count])


class SegmentStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans and reads the batches of one query.

    :param connector: None when it runs elsewhere.
    :param most: about how many records a batch has; None for no limit.
    :param rows: None for the records as they are.
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
        """The oldest segment that is there; segment 0 when there is none yet."""
        self._ensure()
        numbers = self._log.numbers()
        return self._offset(Place(numbers[0], 0)) if numbers else _NOTHING

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._most) if self._most else super().getDefaultReadLimit()

    def prepareForTriggerAvailableNow(self) -> None:
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
        begin, last = self._place(start), self._place(end)
        if begin is None or last is None:
            return []
        return [SegmentRange(place.segment, place.byte, until) for place, until in self._log.ranges(begin, last)]

    def read(self, partition: SegmentRange) -> Iterator[pa.RecordBatch]:
        """Called in a task.

        :raises SinkError: the segment is missing or damaged.
        :raises LakeError: a record of the table has another structure, or cannot be decoded.
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
        """Remove the segments before `end`, if the configuration says so: Spark will not request them again."""
        place = self._place(end)
        if not self._deletes or place is None:
            return
        for number in self._log.numbers():
            if number < place.segment:
                segment_file(self._directory, number).unlink(missing_ok=True)

    def stop(self) -> None:
        if self._connector is not None:
            self._connector.stop()

    def _ensure(self) -> None:
        if self._connector is not None:
            self._connector.ensure()

    def _offset(self, place: Place) -> dict[str, Any]:
        return {"log": self._log.header(place.segment).log, "segment": place.segment, "byte": place.byte}

    def _place(self, offset: dict[str, Any]) -> Place | None:
        """The place of an offset; None where there are no segments yet. Raises LakeError for an offset of other segments."""
        if offset == _NOTHING:
            numbers = self._log.numbers()
            return Place(numbers[0], 0) if numbers else None
        place = Place(offset["segment"], offset["byte"])
        log = self._log.header(place.segment).log
        if log != offset["log"]:
            raise LakeError(
                f"the segments in {self._directory} were begun again since the query read {json.dumps(offset)}",
                hint="Start the query with a new checkpoint, and its target over: the connector has taken a new snapshot.",
            )
        return place


_NOTHING = {"log": "", "segment": 0, "byte": 0}


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


def _without_password(config: ConnectorConfig) -> ConnectorConfig:
    """What is sent to tasks: they read files only."""
    return replace(config, database=config.database.model_copy(update={"database_password": SecretStr("")}))


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError([f"option run: '{text}' is not true or false"])
    return text.strip().lower() == "true"


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.strip().isdigit() or int(text) < 1:
        raise ConfigError([f"option maxOffsetsPerTrigger: '{text}' is not a number of records, 1 or more"])
    return int(text)
