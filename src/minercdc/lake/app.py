"""Starts the stream that keeps the lake equal to the source."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.merge import BatchApplier
from minercdc.lake.stream import read_changes, register_functions
from minercdc.lake.structures import Structure, Structures
from minercdc.lake.tables import DeltaTable, LakeTable
from minercdc.lake.types import refuse_unsupported_modes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


class StopFlag(Protocol):
    """Polled now and then; a `threading.Event` fits."""

    def is_set(self) -> bool: ...


def lake_root(config: ConnectorConfig) -> str:
    """The directory of the tables: an absolute path, or a URL as it is configured."""
    path = config.lake.minercdc_lake_path
    return path if "://" in path else str(Path(path).absolute())


def start(spark: SparkSession, config: ConnectorConfig) -> StreamingQuery:
    """Start the stream and return its running query, for `await_end`.

    :raises ConfigError: the topics have a form that the lake does not read, or the schema history is in a file.
    """
    refuse_unsupported_modes(config.values)
    if config.history.file is not None:
        raise ConfigError(
            ["schema.history.internal: the lake learns the tables from the schema history's topic, a file will not do"]
        )
    register_functions(spark)
    lake, root = config.lake, lake_root(config)
    checkpoint = lake.minercdc_lake_checkpoint or f"{root}/_checkpoint"
    writer: Future[str] = Future()  # the query's id, which its checkpoint keeps
    structures = Structures(config.identity, config.topics, config.kafka, config.values, config.kafka_client)

    opened: dict[str, LakeTable] = {}
    applier: list[BatchApplier] = []

    def apply(batch: DataFrame, number: int) -> None:
        session = batch.sparkSession  # the stream's own clone of `spark`, the same for all its batches

        def open_table(structure: Structure) -> LakeTable:
            if structure.name not in opened:
                path = f"{root}/{structure.schema}/{structure.table}"
                opened[structure.name] = DeltaTable(session, path, f"{writer.result()}/{structure.name}")
            return opened[structure.name]

        if not applier:
            applier.append(BatchApplier(config, structures, open_table))
        applier[0].apply(batch, number)

    query = (
        read_changes(spark, config)
        .writeStream.foreachBatch(apply)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime=f"{lake.minercdc_lake_trigger_interval_ms} milliseconds")
        .queryName(f"minercdc-{config.identity.name}")
        .start()
    )
    writer.set_result(str(query.id))
    return query


def await_end(query: StreamingQuery, stop: StopFlag) -> None:
    """Wait until `stop` is set or the stream ends by itself; the query is stopped then.

    :raises LakeError: the stream failed; the message has our own error, else Spark's first line.
    """
    from pyspark.errors import StreamingQueryException

    try:
        while not stop.is_set():
            if query.awaitTermination(1):
                return
    except StreamingQueryException as error:
        raise LakeError(f"the lake's stream ended: {_first_cause(str(error))}") from error
    finally:
        query.stop()


def _first_cause(text: str) -> str:
    """The Python error's own line for a failure inside foreachBatch; else Spark's first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if line.startswith("minercdc.errors.")), lines[0] if lines else "no message"
    )
