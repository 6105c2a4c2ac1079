"""Captures the tables of a run: once while the history runs, by the whole connector with its snapshot; and once more, recorded, when
all of it has happened."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import MinerCdcError, SourceError
from minercdc.messages.formats.connect import payload_of
from minercdc.messages.record_encoder import RecordStages
from minercdc.operate.offsets.read import StoredOffset
from minercdc.operate.qualify.comparison import CapturedEvent
from minercdc.operate.qualify.place import Place
from minercdc.operate.recording.recording import Limits, record
from minercdc.pipeline.engine import run
from minercdc.pipeline.pipeline import Pipeline, PipelineFactory
from minercdc.pipeline.pipeline_builder import PipelineBuilder
from minercdc.pipeline.process import Instance, ProcessState
from minercdc.snapshot.initial.mode import decision_of
from minercdc.stream.contracts import Record, SchemaHistory, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import JsonValue, Offset, SuspendedTable

PREFIX: Final = "minercdc_qualify"
"""`topic.prefix` of a run, so that topics name nothing of the database."""
_PATIENCE_SECONDS = 600.0  # without any progress of the capture
_LOOK_SECONDS = 0.1
_MOST_ROWS = 5_000_000
_RESTARTS = 3

# A configuration's own properties, beside those of the database. Values are printed so that nothing of them is lost.
_OWN: Final = {
    "name": PREFIX,
    "topic.prefix": PREFIX,
    "debezium.sink.type": "json",
    "minercdc.sink.path": "-",
    "lob.enabled": "true",
    "decimal.handling.mode": "string",
    "binary.handling.mode": "hex",
    "interval.handling.mode": "string",
    "skipped.operations": "none",
    "include.schema.changes": "false",  # their keys would name the database
    "tombstones.on.delete": "false",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "event.processing.failure.handling.mode": "suspend",
    "poll.interval.ms": "200",
}
# Of the configuration's section of LogMiner: what would leave the run's own changes out, or write to a table of the connector.
_WITHOUT: Final = {
    "minercdc_log_mining_flush_table": None,
    "log_mining_username_include_list": (),
    "log_mining_username_exclude_list": (),
    "log_mining_clientid_include_list": (),
    "log_mining_clientid_exclude_list": (),
}


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture delivered.

    :param events: by table, in order.
    :param suspended: tables whose rows were left out, and why.
    :param error: that ended it before all had come; None for none.
    """

    events: Mapping[str, Sequence[CapturedEvent]]
    suspended: Mapping[str, str]
    error: MinerCdcError | None


def capture_config(config: ConnectorConfig, place: Place, cases: Sequence[int], state: Path) -> ConnectorConfig:
    """The configuration that captures the tables of these cases with the connection, and the way of mining, of `config`.

    :param cases: by their numbers.
    :param state: a directory for files, which the caller removes.
    """
    numbers = "|".join(f"{number:02d}" for number in cases)
    given = {
        **_OWN,
        "database.hostname": "-",
        "database.user": "-",
        "database.password": "-",
        "database.dbname": "-",
        "minercdc.state.dir": str(state),
        "table.include.list": rf"{re.escape(place.schema)}\.{place.prefix}(?:(?:{numbers})(?:_U)?|END)",
    }
    return replace(
        parse_properties(given),
        database=config.database,
        secondary=config.secondary,
        log_mining=config.log_mining.model_copy(update=_WITHOUT),
    )


class _Memory:
    """Keeps records, offset and schema history of a run in memory (`contracts.RecordSink`, `SchemaHistory`, `pipeline.Target`,
    `OpenTarget`). What was not committed is forgotten.

    :ivar begun: where the stream began, once the snapshot is complete.
    :ivar records: committed ones.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.begun: StoredOffset | None = None
        self._written: list[Record] = []
        self._changes: list[SchemaChange] = []
        self._offset: Offset | None = None

    @property
    def suspended(self) -> Sequence[SuspendedTable]:
        return self._offset.suspended if self._offset is not None else ()

    def write(self, record: Record) -> None:
        self._written.append(record)

    def commit(self, offset: Offset) -> None:
        self.records += self._written
        self._written, self._offset = [], offset
        if self.begun is None and offset.position is not None:
            self.begun = StoredOffset(offset, "memory", tuple(self._changes))

    def check_owner(self) -> None:
        pass

    def load_offset(self) -> Offset | None:
        return self._offset

    def close(self) -> None:
        self._written = []

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        self._changes.append(change)
        return None

    def mark(self) -> int | None:
        return len(self._changes)

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        del self._changes[mark or 0 :]
        return iter(tuple(self._changes))

    def forget(self) -> None:
        self._changes = []

    def open(self) -> _Memory:
        return self

    @property
    def sink(self) -> _Memory:
        return self

    def adapted(self, pipeline: Pipeline) -> Pipeline:
        """A copy of the pipeline without heartbeats and without notifications."""
        return replace(pipeline, heartbeat=None, waiting=tuple)


class LiveCapture:
    """A connector in a thread: an initial snapshot of the tables, then the stream.

    :ivar counters: of it.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        self._config, self._memory = config, _Memory()
        self.counters = Counters()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="capture", daemon=True)
        instance = Instance.of(config, self.counters)
        self._process = ProcessState(decision_of(config.snapshot), instance, RecordStages(), self._memory)

    def start(self, stop: StopFlag) -> None:
        """Begin, and wait until it streams. Raises what ends it before, as PrerequisiteError for missing privileges; it has not begun to
        stream when `stop` is set meanwhile."""
        self._thread.start()
        while self._memory.begun is None and self._thread.is_alive() and not stop.is_set():
            time.sleep(_LOOK_SECONDS)
        if self._memory.begun is None and not stop.is_set():
            self.end()
            raise self._error or SourceError("the capture ended before it streamed")

    def finish(self, last: str, stop: StopFlag) -> Captured:
        """Wait for the row of a table that ends the run, for an error, or until nothing comes any more; then end it, and return what it
        delivered.

        :param last: name of the table.
        """
        ending, known, at = f".{last}", (0, 0), time.monotonic()
        while self._thread.is_alive() and not stop.is_set():
            records = list(self._memory.records)
            if records and any(record.topic.endswith(ending) for record in reversed(records)):
                break
            if known != (known := (len(records), self.counters.complete_scn)):
                at = time.monotonic()
            elif time.monotonic() - at > _PATIENCE_SECONDS:
                self._error = SourceError(
                    f"nothing came for {_PATIENCE_SECONDS:g} s",
                    hint="If log.mining.archive.log.only.mode is on, the log has to be switched.",
                )
                break
            time.sleep(_LOOK_SECONDS)
        self.end()
        suspended = {one.table: f"{one.code}: {one.reason}" for one in self._memory.suspended}
        error = self._error if isinstance(self._error, MinerCdcError) else None
        if self._error is not None and error is None:
            raise self._error
        return Captured(events_of(self._memory.records), suspended, error)

    def end(self) -> None:
        """Stop, and wait for the end."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE_SECONDS)

    @property
    def begun(self) -> StoredOffset:
        """Where the stream began; to be read once `start` has returned and was not stopped."""
        assert self._memory.begun is not None
        return self._memory.begun

    def _run(self) -> None:
        try:
            run(PipelineFactory(self._opened, _RESTARTS, 10.0, time.monotonic, self.counters), self._stop)
        except BaseException as error:
            self._error = error

    def _opened(self) -> Pipeline:
        history: SchemaHistory = self._memory
        return PipelineBuilder(self._config, self._process, history=history).open()


def captured_later(config: ConnectorConfig, begun: StoredOffset, path: Path, stop: StopFlag) -> Captured:
    """What a capture delivers that begins where the first one streamed from, when everything has happened; its session is recorded.

    :param path: of the recording.
    :raises MinerCdcError, OSError: as `record`.
    """
    records: list[Record] = []
    made = record(config, begun, path, Limits(None, _MOST_ROWS), stop, replaced=False, take=records.append)
    return Captured(events_of(records), {}, made.error)


def events_of(records: Sequence[Record]) -> dict[str, list[CapturedEvent]]:
    """The events of each table, by its name."""
    found: dict[str, list[CapturedEvent]] = {}
    for one in records:
        table = one.topic.rpartition(".")[2]
        if one.value is None or "." not in one.topic:
            continue
        value = json.loads(payload_of(one.value))
        key = json.loads(payload_of(one.key)) if one.key is not None else None
        event = CapturedEvent(str(value["op"]), key, value.get("before"), value.get("after"))
        found.setdefault(table, []).append(event)
    return found
