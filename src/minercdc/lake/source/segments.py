"""`spark.readStream.format("minercdc")`: the connector's segments as a stream, with no Kafka in between.

Spark uses a source in several Python processes: one for its schema, one that plans micro-batches (`segment_batches`), and one per
task. The one that plans starts the connector, unless one runs (`connector_process`) or an option says otherwise; so does the first,
while no table is known.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.errors import ConfigError
from minercdc.lake.read.row_decoder import ChangeRows
from minercdc.lake.source.connector_process import ConnectorProcess
from minercdc.lake.source.segment_batches import RECORDS, SegmentStream
from minercdc.lake.source.segment_history import SegmentHistory, for_tasks
from minercdc.lake.source.typed_rows import TypedRows
from minercdc.lake.table.history import TableHistory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "minercdc"
_TABLE_SECONDS = 120.0  # how long a new connector may take to read the structures
_OPTIONS = {"config", "path", "table", "run", "maxoffsetspertrigger"}


def register(spark: SparkSession) -> None:
    """Make `format("minercdc")` known to a session whose Python does not find it by itself, as in a zip of modules."""
    spark.dataSource.register(MinercdcSource)


class MinercdcSource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source. Options, in upper or lower case:

    :param config: the connector's configuration file; its sink has to be segments.
    :param path: in its place, the directory of the segments: only what is there is read, as records; no connector is started.
    :param table: typed changes of this table, named as for `read_changes`; without it, the records of all topics.
    :param run: false: read what a connector writes that runs elsewhere; default true: start one where none runs. Not used with
        `path`.
    :param maxOffsetsPerTrigger: about how many records a batch has; default minercdc.lake.max.offsets.per.trigger, with `path` no
        limit.
    :raises ConfigError: an option is unknown, missing or wrong, or the configuration cannot be used.
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
        self._config = None if self._file is None else for_tasks(load_config(self._file))
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
        """The name by which Spark finds the source: `minercdc`."""
        return NAME

    def schema(self) -> str:
        """The columns, as Spark SQL; without `table` nothing is read or raised. With it, while the schema history has no table,
        the connector is started, unless `run` is false, and given up to two minutes.

        :raises ConfigError: as `ChangeRows` and `TableHistories`.
        :raises LakeError: as `TableHistories.known` and `ConnectorProcess.ensure`, or the records are in a form that is not read back.
        :raises SinkError, SchemaHistoryError: the segments, or the schema history, cannot be read.
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
                if any(one.versions for one in history.given(name)):
                    return history.known(name)
                if time.monotonic() >= deadline or any(True for _ in history.tables()):
                    return history.known(name)  # says that it is not
                connector.ensure()
                time.sleep(0.2)

    def _connector(self) -> ConnectorProcess:
        assert self._file is not None
        assert self._config is not None
        return ConnectorProcess(self._file, self._directory, streams=self._config.snapshot.snapshot_mode != "initial_only")

    def streamReader(self, schema: StructType) -> SegmentStream:
        """What plans and reads the batches, in rows of `schema`."""
        connector = self._connector() if self._runs else None
        deletes = self._config is not None and self._config.sink.minercdc_sink_retention == "delete"
        rows = None
        if self._table is not None and self._config is not None:
            rows = TypedRows(self._config, self._table, schema)
        return SegmentStream(self._directory, connector, self._most, schema, rows, deletes=deletes)


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError([f"option run: '{text}' is not true or false"])
    return text.strip().lower() == "true"


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError([f"option maxOffsetsPerTrigger: '{text}' is not a number of records, 1 or more"])
    return int(text)
