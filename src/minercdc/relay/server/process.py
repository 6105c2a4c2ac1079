"""A relay as a process: its files, its buffer, what fills it, and its port."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig
from minercdc.config.target.sink import relay_directory
from minercdc.messages.configured import key_columns, published_columns
from minercdc.observe.prometheus import exposition_of
from minercdc.pipeline.connector import Connector
from minercdc.pipeline.pipeline import Begun, Bounds, Pipeline
from minercdc.relay.buffer.chain import ChainedFeed
from minercdc.relay.buffer.mapped_file import open_mapped
from minercdc.relay.buffer.progress_file import MaxScnFile, OffsetFile
from minercdc.relay.buffer.sink import Completeness, CompletenessCapture, RelaySink
from minercdc.relay.buffer.storage import Memory
from minercdc.relay.buffer.store import RelayStore
from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.client.connection import Connection
from minercdc.relay.events.encoding import RelayEncoder
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.server.commands import Commands
from minercdc.relay.server.http import serve
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.prometheus import RelayCollector, figures_of
from minercdc.relay.server.requests import Requests
from minercdc.relay.server.statistics import Statistics
from minercdc.sinks.durable_files import OwnerLock
from minercdc.stream.contracts import StopFlag
from minercdc.stream.offset import Offset
from minercdc.stream.state_directory import make_private

_log = logging.getLogger(__name__)

_UNBOUNDED = 1 << 62
_BATCH_EVENTS, _BATCH_BYTES = 50_000, 16 * 1024 * 1024


def registry_of(config: ConnectorConfig) -> SchemaRegistry:
    """The schema registry of a relay's configuration. Raises RelayError when it cannot be read."""
    relay = config.relay
    home = relay_directory(config.capture.minercdc_state_dir, config.identity.name)
    return SchemaRegistry(
        relay.minercdc_relay_schemas_path or home / "schemas",
        namespace=relay.minercdc_relay_schemas_namespace,
        types=relay.minercdc_relay_schemas_types,
        names=relay.sources,
    )


class Relay:
    """One relay (`minercdc relay`). Construction locks its directory and opens its files and buffer, which are its own
    until `run` ends.

    :raises FencedError: another process has its directory.
    :raises StateDirectoryError: `minercdc.state.dir` cannot be made.
    :raises RelayError, SinkError: its files cannot be used.
    :ivar address: `HOST:PORT` that it listens on, set by `run`.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        make_private(config.capture.minercdc_state_dir)
        self._home = relay_directory(config.capture.minercdc_state_dir, config.identity.name)
        self._owner = OwnerLock(self._home / "lock", f"the relay's directory {self._home.absolute()}")
        self._offsets = OffsetFile(self._home / "offset.json")
        self._max_scn = MaxScnFile(config.relay.minercdc_relay_max_scn_file or self._home / "max.scn")
        self._registry = registry_of(config)
        self._statistics = Statistics()
        self._begin_after = 0
        self._save: Callable[[], None] = lambda: None  # memory ends with the process
        self._buffer = self._opened()
        self._store = RelayStore(self._buffer, self._offsets, self._max_scn, self._owner, self._statistics)
        self._ready = threading.Event()
        self.address = ""

    def _opened(self) -> EventBuffer:
        """The buffer, at the place where what fills it goes on. Sets `_begin_after`, an SCN or 0, for a start without a
        stored offset."""
        relay = self._config.relay
        stored, noted = self._offsets.load(), self._max_scn.load()
        if relay.minercdc_relay_buffer_type == "mapped":
            path: Path = relay.minercdc_relay_buffer_path or self._home / "buffer"
            buffer, file = open_mapped(path, relay.minercdc_relay_buffer_bytes)
            self._save = file.flush
        else:
            buffer = EventBuffer(Memory(relay.minercdc_relay_buffer_bytes))
        reached = buffer.state.max_scn
        if stored is not None:
            # What was stored was in the buffer once. Windows after it, of a mapped buffer, come again and are left out.
            if stored.scn > reached:
                buffer.clear(stored.scn)
            return buffer
        self._begin_after = max(noted or 0, reached, self._config.snapshot.minercdc_start_scn or 0)
        if self._begin_after > reached and self._begin_after > 0:
            buffer.clear(self._begin_after)
        return buffer

    def run(self, stop: StopFlag, ready: Callable[[str], None]) -> None:
        """Serve clients, and fill the buffer, until `stop` is set; then release the buffer and the files. Runs once.

        :param ready: called with `HOST:PORT` once clients may connect and no later change is missed.
        :raises MinerCdcError: the port is taken, or what fills the buffer cannot go on.
        """
        relay, name = self._config.relay, self._config.identity.name
        connector = None if relay.minercdc_relay_upstream else Connector(self._starting(), self)
        with ExitStack() as stack:
            stack.callback(self._owner.release)
            stack.callback(self._buffer.close)
            connections = Connections()
            requests = Requests(self._buffer, self._registry, self._statistics, name, self._commands(connections))
            collector = RelayCollector(self._buffer, self._registry, self._statistics, connections, name)
            counted = figures_of(collector, exposition_of(connector.counters, name) if connector else (lambda: b""))
            self.address = stack.enter_context(
                serve(
                    relay.minercdc_relay_host,
                    relay.minercdc_relay_port,
                    requests,
                    connections,
                    counted,
                    most_clients=relay.minercdc_relay_clients_max,
                    timeout=relay.minercdc_relay_client_timeout_ms / 1000,
                )
            )
            self._announce = ready
            if connector is not None:
                connector.run(stop)
            else:
                self._chained(relay.minercdc_relay_upstream or "").run(stop)

    def _commands(self, connections: Connections) -> Commands | None:
        if not self._config.relay.minercdc_relay_commands:
            return None
        return Commands(self._buffer, connections, self._save, lambda: signal.raise_signal(signal.SIGTERM))

    def _starting(self) -> ConnectorConfig:
        """The configuration with which the connector streams and reads no rows: clients read those themselves (bootstrap)."""
        snapshot = self._config.snapshot
        update: dict[str, object] = {} if snapshot.snapshot_mode == "recovery" else {"snapshot_mode": "no_data"}
        if self._begin_after > 0:
            update |= {"snapshot_mode": "no_data", "minercdc_start_scn": self._begin_after, "minercdc_start_timestamp": None}
        return replace(self._config, snapshot=snapshot.model_copy(update=update))

    def _chained(self, upstream: str) -> ChainedFeed:
        connection = Connection(upstream, name=self._config.identity.name)
        return ChainedFeed(
            connection,
            self._store,
            self._registry,
            self._is_ready,
            longest_wait=self._config.run.retriable_restart_connector_wait_ms / 1000,
        )

    def _is_ready(self) -> None:
        if not self._ready.is_set():
            self._ready.set()
            self._announce(self.address)

    def open(self) -> _Filled:
        """The target of one run of the stream (`pipeline.Target`): a sink that puts records into the buffer. Raises RelayError
        when the file with the offset cannot be read."""
        complete = Completeness()
        hold_seconds = self._config.relay.minercdc_relay_window_hold_ms / 1000
        sink = RelaySink(self._store, complete, self._is_ready, hold_seconds=hold_seconds)
        return _Filled(self._config, self._registry, sink, complete)


@dataclass(frozen=True, slots=True)
class _Filled:
    """The relay as the target of one run of the stream (`pipeline.OpenTarget`).

    :param registry: gets the schemas of the events.
    :param sink: puts them into the buffer.
    :param complete: what the run's capture has said, for the sink.
    """

    config: ConnectorConfig
    registry: SchemaRegistry
    sink: RelaySink
    complete: Completeness

    def adapted(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the relay's encoder, heartbeat and bounds. A transaction is never split: a window is published
        whole."""
        config = self.config
        captured = table_filter(config)
        encoder = RelayEncoder(
            self.registry,
            published_columns(config.filters),
            key_columns(config.filters),
            captured=lambda table: captured.includes(table.schema, table.table),
            skipped=config.values.skipped_operations,
            unavailable=config.values.unavailable_value_placeholder,
        )

        def begin(stored: Offset | None) -> Begun:
            begun = pipeline.begin(stored)
            return replace(begun, capture=CompletenessCapture(begun.capture, self.complete))

        return replace(
            pipeline,
            encoder=encoder,
            encode_run=None,
            heartbeat=self.sink,
            counts=None,
            begin=begin,
            bounds=Bounds(
                records=_BATCH_EVENTS,
                bytes=_BATCH_BYTES,
                seconds=config.kafka.minercdc_kafka_transaction_interval_ms / 1000,
                hold_bytes=_UNBOUNDED,
                longest=float("inf"),
            ),
        )
