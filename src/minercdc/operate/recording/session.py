"""Runs a pipeline from the stored offset on, whose database is being recorded or comes from a recording. It stores nothing and
delivers nowhere: its records are given to a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import DatabaseConfig
from minercdc.config.transforms.chain import Transformation
from minercdc.errors import ConfigError
from minercdc.messages.record_encoder import RecordStages
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.operate.offsets.read import StoredOffset
from minercdc.operate.recording.tap import ROOT
from minercdc.oracle.connect import database_name
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.pipeline import Begun, Pipeline, PipelineFactory
from minercdc.pipeline.pipeline_builder import PipelineBuilder
from minercdc.pipeline.process import Instance, ProcessState
from minercdc.snapshot.initial.mode import decision_of
from minercdc.stream.contracts import Record, SchemaHistory, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import JsonValue, Offset

ADAPTERS = ("logminer", "logminer_unbuffered")


class _Memory:
    """An offset and a schema history that are not stored, in place of a sink (`contracts.RecordSink`, `SchemaHistory`,
    `Target`, `OpenTarget`)."""

    def __init__(self, stored: StoredOffset, take: Callable[[Record], None]) -> None:
        self._offset, self._changes, self._take = stored.offset, stored.changes, take

    def write(self, record: Record) -> None:
        self._take(record)

    def commit(self, offset: Offset) -> None:
        self._offset = offset

    def check_owner(self) -> None:
        pass

    def load_offset(self) -> Offset | None:
        return self._offset

    def close(self) -> None:
        pass

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        return None

    def mark(self) -> int | None:
        return None

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        return iter(self._changes)

    def forget(self) -> None:
        self._changes = ()

    def open(self) -> _Memory:
        return self

    @property
    def sink(self) -> _Memory:
        return self

    def adapted(self, pipeline: Pipeline) -> Pipeline:
        """A copy of the pipeline without heartbeats and notifications, which come by themselves, without a snapshot and
        without signals; it streams."""

        def begin(stored: Offset | None) -> Begun:
            begun = pipeline.begin(stored)
            return Begun(begun.offset, begun.capture)

        return replace(pipeline, begin=begin, heartbeat=None, waiting=tuple)


def refuse_other_adapters(config: ConnectorConfig) -> None:
    """Raise ConfigError when the configured adapter is none of `ADAPTERS`, which mine by LogMiner."""
    adapter = config.database.database_connection_adapter
    if adapter not in ADAPTERS:
        raise ConfigError(
            [f"database.connection.adapter={adapter}: only sessions of {' and '.join(ADAPTERS)} can be recorded"]
        )


def run_session(
    config: ConnectorConfig,
    stored: StoredOffset,
    connect: Callable[[str], oracledb.Connection],
    take: Callable[[Record], None],
    stop: StopFlag,
    *,
    counters: Counters,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Stream from the offset on, until stopped; an error that ends a run of the connector ends it, without a further attempt.

    :param stored: where to begin, with the structures of the tables; it is not changed.
    :param connect: opens a connection to a place, see `tap.ROOT`.
    :param take: gets each record, as the connector would send it as JSON, in order.
    :param counters: get the figures of the session.
    :param monotonic: seconds of the clock by which the capture decides how much it reads at a time.
    :raises MinerCdcError: as a run of the connector; ConfigError for an adapter that does not mine. What `take` and `connect`
        raise.
    """
    refuse_other_adapters(config)
    memory = _Memory(stored, take)
    history: SchemaHistory = memory
    stages = RecordStages(transformer=_transformer(config.transforms))
    process = ProcessState(decision_of(config.snapshot), Instance.of(config, counters), stages, memory)
    process.checked = True

    def opened() -> Pipeline:
        builder = PipelineBuilder(
            config,
            process,
            connect=lambda database, container: connect(ROOT if container == "root" else _pdb(config, database)),
            history=history,
            monotonic=monotonic,
        )
        return builder.open()

    run_once(PipelineFactory(opened, 0, 0.0, time.monotonic, counters), stop)


def _pdb(config: ConnectorConfig, database: DatabaseConfig) -> str:
    return database_name(database) if config.database.has_several_pdbs else "pdb"


def _transformer(transforms: tuple[Transformation, ...]) -> RecordTransformer | None:
    return RecordTransformer(chain_of(transforms)) if transforms else None
